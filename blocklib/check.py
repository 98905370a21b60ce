"""Every checker of every room at once: numbers, claims, sources, twins, blocks, ids and terms."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from blocklib.charts.discover import discover
from blocklib.claims import closure, sources, vouchers
from blocklib.claims.pages import pages
from blocklib.facts import lessons
from blocklib.facts.check import Report, check_pages
from blocklib.facts.files import find_root
from blocklib.facts.fingerprint import ROOT
from blocklib.problems import BlocklibError, Problem, UsageError
from blocklib.site import badges, blocks, front, later, notebooks, reading, redirects, terms, twins


def exhibits(root: Path) -> list[Problem]:
    """Exhibit blocks whose id no function of the library bears."""
    try:
        known = discover()
    except BlocklibError as error:  # one id twice
        return [Problem("blocklib/charts", 0, str(error))]
    return [
        Problem(page.path, block.line, f"no exhibit {block.id!r}")
        for _, page in pages(root)
        for block in page.blocks
        if block.kind == "exhibit" and block.id not in known
    ]


CHECKERS = (
    closure.check,
    sources.check,
    vouchers.check,
    blocks.check,
    notebooks.check,
    front.check,
    later.check,
    badges.check,
    reading.check,
    terms.check,
    exhibits,
)
STANDING = (twins.check, redirects.check)  # what signing a pair settles


def check_all(root: Path, paths: Iterable[str] | None = None) -> tuple[Report, list[Problem]]:
    """The report on numbers, and every problem of every checker, sorted; only those of ``paths`` where given."""
    chosen = _with_pages(paths) if paths is not None else None
    report = check_pages(root, paths=chosen)
    problems = set(report.problems)
    for checker in CHECKERS + STANDING:
        problems.update(p for p in checker(root) if chosen is None or p.path in chosen)
    return report, lessons.told(root, problems)


def _with_pages(paths: Iterable[str]) -> set[str]:
    """The paths, and of a lesson the pages for which it stands."""
    paths = set(paths)
    return paths.union(*(lessons.pages_of(path) for path in paths if path.endswith(lessons.SUFFIX)))


def check_before_signing(root: Path, paths: Iterable[str]) -> list[Problem]:
    """Problems of ``paths`` that a signature would not settle: a page is signed when nothing else is wrong with it."""
    chosen = {path for given in paths for path in (given, lessons.source_of(root, given)) if path}
    problems = set(check_pages(root, paths=chosen).problems)
    problems.update(p for checker in CHECKERS for p in checker(root) if p.path in chosen)
    return lessons.told(root, problems)


def main(argv: list[str]) -> int:
    """usage: python -m blocklib check [--root DIR] [PAGE …]

    Checks numbers, claims, twins, terms and sources of all pages, or of those named: every problem is one line
    ``file:line: message``, then one line of summary. Exit code 0 if all is well, 1 if anything is wrong.
    """
    begin = time.perf_counter()
    names, root = list(argv), None
    if names[:1] == ["--root"]:
        root = Path(names[1]).resolve() if len(names) > 1 else None
        if root is None or not (root / "docs").is_dir():
            raise UsageError("--root needs a folder that holds docs/")
        del names[:2]
    root = root or find_root(ROOT)
    report, problems = check_all(root, [_page(name, root) for name in names] if names else None)
    for problem in problems:
        print(problem)
    count = sum(len(row.printed) for page in report.pages.values() for row in page.rows)
    state = f"{len(problems)} problem{'s' * (len(problems) != 1)}" if problems else "all is well"
    print(f"{len(report.pages)} pages, {count} bound numbers: {state} ({time.perf_counter() - begin:.1f} s)")
    return 1 if problems else 0


def _page(name: str, root: Path) -> str:
    """An argument as the path of a page relative to ``root``."""
    if name.startswith("-"):
        raise UsageError(f"unknown option {name!r}")
    file = Path(name).resolve()
    if not file.is_file() or not file.is_relative_to(root / "docs"):
        raise UsageError(f"no page {name!r} under {root.name}/docs")
    return file.relative_to(root).as_posix()
