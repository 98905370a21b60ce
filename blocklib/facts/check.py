"""The numbers of all pages: every fault at once, each with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from blocklib.facts.files import load_refs, page_paths, read_page
from blocklib.facts.fingerprint import ROOT
from blocklib.facts.items import Numeral, Page
from blocklib.facts.pages import PageNumbers, evaluate_page, registry_for
from blocklib.facts.refs import Refs, fold
from blocklib.facts.registry import Registry
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound
from blocklib.problems import BlocklibError, Problem


@dataclass
class Report:
    """All problems, sorted, and the numbers of each page by its path relative to the root."""

    problems: list[Problem] = field(default_factory=list)
    pages: dict[str, PageNumbers] = field(default_factory=dict)

    def numbers(self, path: str) -> PageNumbers | None:
        """The numbers of the page at ``path``; None for a page that was not checked."""
        return self.pages.get(path)


def check_pages(root: Path | str, registry: Registry | None = None, paths: Iterable[str] | None = None) -> Report:
    """Check the numbers of all pages under ``root/docs``, or of the pages ``paths`` (relative to the root).

    A page is checked with its ``.facts`` file and its twin, because a key must be used by one of them.
    Nothing is raised for what an author can write.
    """
    root = Path(root)
    registry = registry or registry_for(root)
    report = Report()
    fault = _registry_fault(registry)
    problems: list[Problem] = [fault] if fault else []
    chosen = set(paths) if paths is not None else None
    stems: dict[str, list[str]] = {}
    for path in page_paths(root):
        stems.setdefault(re.sub(r"\.\w+\.md$", "", path), []).append(path)
    for stem, pages in stems.items():
        if chosen is None or chosen & {*pages, stem + ".facts"}:
            problems += _check_stem(root, stem, pages, registry, report, evaluate=fault is None)
    if chosen is None:
        problems += _orphans(root, stems)
    else:
        keep = {*chosen, *(re.sub(r"\.\w+\.md$", ".facts", path) for path in chosen)}
        problems = [problem for problem in problems if problem.path in keep or problem is fault]
    report.problems = sorted(set(problems))
    return report


def _registry_fault(registry: Registry) -> Problem | None:
    """A fault that concerns every fact (broken ``cited.toml``, one name twice) is said once, at its place."""
    try:
        registry.names()
    except BlocklibError as error:
        return problem_of(error, registry.package)
    return None


def problem_of(error: BlocklibError, path: str) -> Problem:
    """An error as a problem at the place it names, else at ``path``."""
    found = re.fullmatch(r"(.+?):(\d+)", error.where or "")
    text = str(error).removeprefix(f"{error.where}: ")
    return Problem(found[1], int(found[2]), text) if found else Problem(error.where or path, 0, text)


def _check_stem(root: Path, stem: str, pages: list[str], registry: Registry, report: Report,
                evaluate: bool) -> list[Problem]:  # fmt: skip
    refs, problems = load_refs(root, stem + ".facts")
    bad = set()
    if evaluate:
        for key, ref in refs.by_key.items():
            try:
                registry.bind(ref.expr, None)
            except BlocklibError as error:
                bad.add(key)
                problems.append(Problem(refs.path, ref.line, f"[{ref.key}]: {error}"))
    used: set[str] = set()
    for path in pages:
        page, faults = read_page(root, path)
        problems += faults
        if faults:
            used.update(refs.by_key)
            continue
        used.update(fold(item.target) for item in page.items if getattr(item, "kind", "") == "key")
        problems += page.problems
        problems += [unbound_problem(page, numeral) for numeral in find_unbound(page)]
        if evaluate:
            numbers = evaluate_page(page, refs, registry, bad)
            problems += numbers.problems
            report.pages[path] = numbers
    for key, ref in refs.by_key.items():
        if key not in used:
            problems.append(Problem(refs.path, ref.line, f"the key [{ref.key}] is used by neither language"))
    return problems


def unbound_problem(page: Page, numeral: Numeral) -> Problem:
    """The report of a number that nothing vouches for."""
    line = page.line(numeral.start)
    if numeral.where == "formula":
        message = (f"printed {numeral.text} in a formula but nothing vouches for it ({numeral.reason}); "
                   "write \\fact{…}{NAME?…} or \\given{…}{NAME}")  # fmt: skip
    elif numeral.reason:
        message = f"printed {numeral.text!r} but {numeral.reason}"
    else:
        place = "" if numeral.where == "prose" else f" ({numeral.where})"
        message = f"printed {numeral.text} but nothing vouches for it{place}; link it to a fact or a given"
    return Problem(page.path, line, message)


def _orphans(root: Path, stems: dict[str, list[str]]) -> list[Problem]:
    found = (file.relative_to(root).as_posix() for file in (root / "docs").rglob("*.facts"))
    return [Problem(path, 0, "no page stands beside this file") for path in found if path[:-6] not in stems]


def check_text(markdown: str, path: str, lang: str, line: int, numbers: PageNumbers | None = None,
               registry: Registry | None = None) -> PageNumbers:  # fmt: skip
    """Check the bound numbers of a text that the block on ``line`` of the page printed.

    Keys and givens are those of the page (``numbers``) at that line. What a block prints is computed, so its
    numerals need no fact; those that have one are compared. The result goes to :func:`~blocklib.facts.expand.expand`
    with the same text; its problems stand at the block's line and name the line of the output.
    """
    page = scan(markdown.replace("\r\n", "\n"), path, lang)
    refs = numbers.refs if numbers else Refs()
    outer = numbers.givens_at(line) if numbers else {}
    result = evaluate_page(page, refs, registry or registry_for(ROOT), (), outer)
    result.problems = [Problem(path, line, f"in line {p.line} of what the block prints: {p.message}")
                       for p in [*result.problems, *page.problems]]  # fmt: skip
    for link in page.later:
        at = f"in line {page.line(link.start)} of what the block prints"
        result.problems.append(Problem(path, line, f"{at}: a page links to sections to come in its own text alone"))
    for badge in page.badges:
        at = f"in line {page.line(badge.start)} of what the block prints"
        result.problems.append(Problem(path, line, f"{at}: a page quotes grades of claims in its own text alone"))
    for row in result.rows:
        row.printed = [(text, line) for text, _ in row.printed]
    return result
