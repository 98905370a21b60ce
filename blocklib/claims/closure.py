"""The closure of the claims, both ways: pages ↔ entries ↔ tests, sources and experiments.

Static: pages are read as text, tests by ``ast``. The tests themselves are run by pytest, the same names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.claims import evidence, experiments, sources
from blocklib.claims.pages import body, pages
from blocklib.claims.registry import IDENT, Claim, Registry, load, nearest
from blocklib.problems import Problem


@dataclass(frozen=True)
class Use:
    """A claim block at ``path:line`` on ``page`` (``primer/shape``) in ``lang``; ``body`` is its Markdown."""

    claim: str
    page: str
    lang: str
    path: str
    line: int
    body: str


def uses(root: Path) -> list[Use]:
    """Every claim block of docs/, in the order of paths and lines."""
    return [
        Use(block.id, name, page.lang, page.path, block.line, body(page, block))
        for name, page in pages(root)
        for block in page.blocks
        if block.kind == "claim"
    ]


def check(root: Path) -> list[Problem]:
    """All faults of the claims at once, sorted; empty when pages, entries and evidence agree."""
    registry = load(root)
    found = evidence.collect(root, set(registry.tests))
    library = sources.load(root)
    problems = [*registry.problems, *found.problems]
    problems += _check_pages(root, registry)
    problems += _check_tests(registry, found)
    for claim in registry.claims.values():
        problems += _check_references(claim, registry, library)
    problems += experiments.check(root, registry)
    return sorted(set(problems))


def _check_pages(root: Path, registry: Registry) -> Iterator[Problem]:
    used: dict[str, list[Use]] = {}
    for use in uses(root):
        if not use.claim:
            yield Problem(use.path, use.line, "a claim block without an id; write /// claim | its-id")
            continue
        if use.claim not in registry.claims and use.claim not in registry.unread:
            hint = nearest(use.claim, registry.claims) if IDENT.match(use.claim) else "; an id is lower-case ASCII"
            yield Problem(use.path, use.line, f"claim {use.claim!r} has no entry in {registry.names()}{hint}")
        if not use.body:
            yield Problem(use.path, use.line, f"claim {use.claim!r} says nothing: its block is empty or not closed")
        used.setdefault(use.claim, []).append(use)
    for ident, found in used.items():
        first: dict[str, Use] = {}
        for use in found:
            if use.path in first:
                yield Problem(
                    use.path,
                    use.line,
                    f"claim {ident!r} stands twice on this page; first in line {first[use.path].line}",
                )
            first.setdefault(use.path, use)
        here = {(use.page, use.lang) for use in found}
        for use in first.values():
            other = "en" if use.lang == "zh" else "zh"
            if (use.page, other) not in here:
                yield Problem(
                    use.path,
                    use.line,
                    f"claim {ident!r} stands here only; docs/{use.page}.{other}.md lacks it",
                )
    for claim in registry.claims.values():
        if claim.id not in used:
            yield Problem(claim.path, claim.line, f"claim {claim.id!r} stands on no page")
        elif claim.page and claim.page not in {use.page for use in used[claim.id]}:
            where = f"it stands on {used[claim.id][0].path}"
            yield Problem(claim.path, claim.line, f"claim {claim.id!r} is not a claim of this page; {where}")


def _check_tests(registry: Registry, found: evidence.Evidence) -> Iterator[Problem]:
    marked: dict[str, list[evidence.Marker]] = {}
    for test in found.tests.values():
        for marker in test.markers:
            claim = registry.claims.get(marker.claim)
            if claim is None and marker.claim in registry.unread:
                continue
            if claim is None:
                yield Problem(
                    marker.path,
                    marker.line,
                    f"marker names claim {marker.claim!r}, "
                    f"which {registry.names()} does not have{nearest(marker.claim, registry.claims)}",
                )
            elif test.name not in claim.tests:
                yield Problem(
                    marker.path,
                    marker.line,
                    f"marked as evidence of claim {claim.id!r}, "
                    f"whose tests in {claim.path} (line {claim.line}) do not list {test.name}",
                )
            elif test.idle:
                yield Problem(test.path, test.line, f"evidence of claim {claim.id!r}, but marked {test.idle}")
            else:
                marked.setdefault(claim.id, []).append(marker)
    for claim in registry.claims.values():
        path, line = claim.path, registry.line(claim, "tests")
        missing = len(claim.tests)
        for name in claim.tests:
            test = found.tests.get(name)
            if test is None:
                near = nearest(name, [known for known in found.tests if known.split("::")[0] == name.split("::")[0]])
                yield Problem(path, line, f"claim {claim.id!r}: test {name} does not exist{near}")
            elif claim.id not in {marker.claim for marker in test.markers}:
                yield Problem(
                    path,
                    line,
                    f"claim {claim.id!r}: {name} (line {test.line} there) "
                    f"does not carry @pytest.mark.claim({claim.id!r})",
                )
            else:
                missing -= 1
        if missing or not claim.tests:
            continue  # said already: a test is missing, or all are
        markers = marked.get(claim.id, [])
        if claim.grade in ("proved", "computed") and all(marker.control for marker in markers):
            yield Problem(
                path,
                line,
                f"claim {claim.id!r}: graded {claim.grade} without a test that holds; "
                "mark one with @pytest.mark.claim and no control=",
            )
        if claim.grade == "proved" and not any(marker.control for marker in markers):
            yield Problem(
                path,
                line,
                f"claim {claim.id!r}: graded proved without a negative control; mark one with control=True",
            )


def _check_references(claim: Claim, registry: Registry, library: sources.Library) -> Iterator[Problem]:
    for citation in claim.sources:
        if citation.key not in library.entries:
            yield Problem(
                claim.path,
                registry.line(claim, "sources"),
                f"claim {claim.id!r}: no entry {citation.key!r} in "
                f"{sources.SOURCES_FILE}{nearest(citation.key, library.entries)}",
            )
