"""Facts and the tests they name: a number is vouched for by code that is tested, so each test must exist and run."""

from __future__ import annotations

from pathlib import Path

from blocklib.claims import evidence
from blocklib.claims.registry import nearest
from blocklib.facts.discover import FactError, FactSpec
from blocklib.facts.pages import registry_for
from blocklib.problems import Problem

VOUCHED_OTHERWISE = ("cited", "convention")  # by a source, or by what the field does


def check(root: Path) -> list[Problem]:
    """Facts without a test, and tests that do not exist or never run.

    Facts that cannot be read are others' to report, and those of a library that stands elsewhere are tested there.
    """
    if not (root / "blocklib").is_dir():
        return []
    registry = registry_for(root)
    try:
        sites = registry.sites
    except FactError:
        return []
    specs: dict[str, FactSpec] = {}
    for name in sites:
        try:
            specs[name] = registry.lookup(name)
        except FactError:
            continue
    tests = evidence.collect(root, {test for spec in specs.values() for test in spec.tests}).tests
    problems = []
    for name, spec in specs.items():

        def note(message: str, name: str = name) -> None:
            problems.append(Problem(sites[name].path, sites[name].line, f"fact {name}: {message}"))

        if not spec.tests and spec.grade not in VOUCHED_OTHERWISE:
            note("no test vouches for it; name one in tests=(…)")
        for test in spec.tests:
            if test not in tests:
                note(f"there is no test {test!r}{nearest(test, tests)}")
            elif tests[test].idle:
                note(f"test {test!r} never runs ({tests[test].idle})")
    return sorted(problems)
