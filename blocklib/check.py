"""Every checker of every room at once: numbers, claims, sources, twins, blocks, ids and terms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from blocklib.charts.discover import discover
from blocklib.claims import closure, experiments, registry, sources, vouchers
from blocklib.claims.pages import pages
from blocklib.facts import lessons
from blocklib.facts.check import Report, check_pages
from blocklib.facts.files import find_root
from blocklib.facts.fingerprint import ROOT
from blocklib.problems import BlocklibError, Problem, UsageError
from blocklib.site import badges, blocks, front, later, nav, notebooks, reading, redirects, terms, twins


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
    nav.check,
    later.check,
    badges.check,
    reading.check,
    terms.check,
    redirects.check,
    exhibits,
)
BESIDE = (".zh.md", ".en.md", lessons.SUFFIX, ".facts", registry.BESIDE)  # the files of one page


def check_all(root: Path, paths: Iterable[str] | None = None) -> tuple[Report, list[Problem]]:
    """The report on numbers, and every problem of every checker, sorted.

    Of ``paths``, where given, those that concern the pages to which they belong: see :func:`_concerns`.
    """
    return _check(root, None if paths is None else list(paths), twins.check)


def check_before_signing(root: Path, paths: Iterable[str]) -> list[Problem]:
    """Problems of ``paths`` that a signature would not settle: a page is signed when nothing else is wrong with it."""
    return _check(root, list(paths), partial(twins.check, strict=False))[1]


def _check(root: Path, paths: list[str] | None, pairs: Callable) -> tuple[Report, list[Problem]]:
    files = None if paths is None else _files(paths)
    report = check_pages(root, paths=files)
    problems = {problem for checker in (*CHECKERS, pairs) for problem in checker(root)}
    if paths is not None:
        concerns = _concerns(root, _names(paths), files, report)
        problems = set(filter(concerns, problems))
    return report, lessons.told(root, problems.union(report.problems))


def _files(paths: Iterable[str]) -> set[str]:
    """The paths, and all files of the pages to which they belong."""
    return {*paths, *(f"docs/{name}{end}" for name in _names(paths) for end in BESIDE)}


def _names(paths: Iterable[str]) -> set[str]:
    return {twins.page_name(path) for path in paths}


def _concerns(root: Path, names: set[str], files: set[str], report: Report) -> Callable[[Problem], bool]:
    """Whether a problem concerns the pages ``names``: it stands in one of their ``files`` (both languages, facts,
    claims), or in a file that pages share and is about a claim, fact, source or published id of theirs."""
    entered = registry.load(root)
    claims = {use.claim for use in closure.uses(root) if use.page in names}
    claims |= {claim.id for claim in entered.claims.values() if claim.page in names}
    broken = {path for path, file in entered.files.items() if file.problems and claims & file.places.keys()}
    own = [entered.claims[ident] for ident in claims & entered.claims.keys()]
    if any(claim.experiments for claim in own):
        broken.add(experiments.SUMMARY)
    about = {f"claim {ident!r}" for ident in claims}
    about |= {f"{cite.key}: " for claim in own for cite in claim.sources}
    about |= {f"fact {row.fact.name}: " for page in report.pages.values() for row in page.rows}
    about |= {text for name in names for text in (f"page {name!r}", f"heading '{name}#")}
    pages = tuple(end for end in BESIDE if end != registry.BESIDE)

    def concerns(problem: Problem) -> bool:
        if problem.path in files or problem.path in broken:
            return True
        shared = not problem.path.startswith("docs/") or not problem.path.endswith(pages)
        return shared and any(text in problem.message for text in about)

    return concerns


def main(argv: list[str]) -> int:
    """usage: python -m blocklib check [--root DIR] [--twice] [PAGE …]

    Checks numbers, claims, twins, terms and sources of all pages, or of those named, each with its twin and with the
    files beside it: every problem is one line
    ``file:line: message``, then one line of summary. Exit code 0 if all is well, 1 if anything is wrong.
    --twice also runs the code of these pages in two processes and compares what it prints; takes seconds.
    """
    begin = time.perf_counter()
    names, root = list(argv), None
    if names[:1] == ["--root"]:
        root = Path(names[1]).resolve() if len(names) > 1 else None
        if root is None or not (root / "docs").is_dir():
            raise UsageError("--root needs a folder that holds docs/")
        del names[:2]
    again = "--twice" in names
    names = [name for name in names if name != "--twice"]
    root = root or find_root(ROOT)
    paths = [_page(name, root) for name in names] if names else None
    report, problems = check_all(root, paths)
    if again:
        from blocklib.site import twice  # not what a check without it waits for

        problems = sorted({*problems, *twice.check(root, paths and _files(paths))})
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
