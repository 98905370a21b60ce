"""Twins: a page in Chinese and the same page in English, held together by structure, numbers and signature.

Structure (headings, claims, exhibits, snippets) stands in the same order; each section binds the same facts
and givens; a person signs the pair after reading both, and an edit of either side voids the signature.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from blocklib.claims.registry import nearest
from blocklib.claims.tomlfile import read_toml
from blocklib.facts import lessons
from blocklib.facts.files import find_root, load_refs, read_page, read_text
from blocklib.facts.fingerprint import ROOT
from blocklib.facts.items import Bound, Page
from blocklib.facts.pages import registry_for
from blocklib.facts.refs import Refs
from blocklib.facts.registry import Registry, canonical_expr, parse_expr
from blocklib.problems import BlocklibError, Problem, UsageError
from blocklib.text import LANGS

SIGNATURES = "docs/twins.toml"
_PAGE = re.compile(r"^(.*)\.(zh|en)\.md$")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_RESERVED = ("n-", "claim-", "ex-")  # anchors of the page's numbers, claims and exhibits
# Everything that MkDocs would publish as a page; only .md is read by the checks, so the others are refused.
_PAGE_SUFFIXES = (".md", ".markdown", ".mdown", ".mkdn", ".mkd", ".html", ".htm")
_HEAD = """\
# The content of each page at the time a person last read both languages side by side.
# Written by `python -m blocklib twins --sign PAGE`; an edit of either side makes the pair stale.

"""


class Mark(NamedTuple):
    """One item of a page's structure, as twins compare it."""

    kind: str
    ident: str
    line: int
    level: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.ident

    def __str__(self) -> str:
        return f"heading #{self.ident}" if self.kind == "heading" else f"{self.kind} {self.ident!r}"


@dataclass(frozen=True)
class State:
    """``status``: signed, stale (``changed`` names the languages edited since), unsigned, or alone (no twin)."""

    page: str
    status: str
    changed: tuple[str, ...] = ()


def page_files(root: Path) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Page → language → path of every source under docs/, and the files that would be pages of no language."""
    found: dict[str, dict[str, str]] = {}
    problems = []
    for file in sorted((root / "docs").rglob("*")):
        path = file.relative_to(root).as_posix()
        if not path.lower().endswith(_PAGE_SUFFIXES):
            continue
        if name := _PAGE.match(path.removeprefix("docs/")):
            found.setdefault(name[1], {})[name[2]] = path
        else:
            problems.append(Problem(path, 0, "a page is named PAGE.zh.md or PAGE.en.md"))
    for lesson in lessons.lesson_paths(root):
        sides = found.setdefault(lesson.removeprefix("docs/").removesuffix(lessons.SUFFIX), {})
        problems += [Problem(path, 0, f"stands twice; {lesson} is this page as well") for path in sides.values()]
        sides |= dict(zip(LANGS, lessons.pages_of(lesson), strict=True))
    return dict(sorted(found.items())), problems


def check(root: Path, strict: bool = True) -> list[Problem]:
    """Every fault of the pairs, sorted. ``strict=False`` leaves stale and missing signatures to :func:`state`."""
    files, problems = page_files(root)
    for page, sides in files.items():
        problems += check_pair(root, page, sides)
    if strict:
        problems += _signature_problems(root, files)
    return sorted(set(problems))


def check_pair(root: Path, page: str, sides: dict[str, str]) -> list[Problem]:
    """The faults of one page: a twin that is missing, or two sides that differ."""
    for lang in LANGS:
        if lang not in sides:
            there = next(iter(sides.values()))
            return [Problem(there, 1, f"the twin docs/{page}.{lang}.md is missing")]
    zh, en = (read_page(root, sides[lang])[0] for lang in LANGS)
    refs, _ = load_refs(root, f"docs/{page}.facts")
    problems = [*_ids(zh), *_ids(en), *_compare_marks(zh, en)]
    registry = registry_for(root)
    return problems + list(_compare_numbers(zh, en, refs, registry))


# ---- structure ----------------------------------------------------------------------------------------


def marks(page: Page) -> list[Mark]:
    """Headings with an id, claims, exhibits, snippets and cells of a page, in the order of their lines."""
    found = [Mark("heading", head.id, head.line, head.level) for head in page.headings if head.id]
    found += [Mark("cell", cell[1], page.line(cell.start())) for cell in lessons.CELL.finditer(page.source)]
    found += [
        Mark(block.kind, block.id, block.line)
        for block in page.blocks
        if block.kind in ("claim", "exhibit", "snippet", "chapters", "leans-on")
    ]
    return sorted(found, key=lambda mark: mark.line)


def _ids(page: Page) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for head in page.headings:
        if not head.id:
            yield Problem(page.path, head.line, f"heading {head.text!r} has no id; write {{ #its-id }} after it")
        elif not _ID.match(head.id):
            yield Problem(page.path, head.line, f"heading id {head.id!r} is not ASCII letters, digits and hyphens")
        elif head.id.startswith(_RESERVED):
            yield Problem(page.path, head.line, f"heading id {head.id!r} may not begin with {head.id.split('-')[0]}-")
        if head.id and head.id in seen:
            yield Problem(page.path, head.line, f"heading id {head.id!r} stands already in line {seen[head.id]}")
        seen.setdefault(head.id, head.line)


def _compare_marks(zh: Page, en: Page) -> Iterator[Problem]:
    sides = {zh.path: marks(zh), en.path: marks(en)}
    keys = {path: [mark.key for mark in found] for path, found in sides.items()}
    common: dict[str, list[Mark]] = {}
    for (here, found), there in zip(sides.items(), reversed(sides), strict=True):
        common[here] = []
        spare = list(keys[there])
        after = 1  # the line of the last mark that both sides have, on the other side
        for mark in found:
            if mark.key in spare:
                spare.remove(mark.key)
                common[here].append(mark)
                after = next(m.line for m in sides[there] if m.key == mark.key)
            else:
                yield Problem(there, after, f"{mark} is missing; it stands in {here}:{mark.line}")
    yield from _order(zh.path, en.path, common[zh.path], common[en.path])


def _order(zh: str, en: str, left: list[Mark], right: list[Mark]) -> Iterator[Problem]:
    """What both sides have, but at another place or, for headings, at another level."""
    kept = _longest_common(left, right)
    for mark, other in kept:
        if mark.level != other.level:
            yield Problem(en, other.line, f"{other} has level {other.level}; level {mark.level} in {zh}:{mark.line}")
    matched = {id(other) for _, other in kept}
    spare = [mark for mark in left if not any(mark is one for one, _ in kept)]
    for index, other in enumerate(right):
        if id(other) in matched:
            continue
        mark = next(one for one in spare if one.key == other.key)
        spare.remove(mark)
        before = f"after {right[index - 1]}" if index else "first"
        at = left.index(mark)
        there = f"after {left[at - 1]}" if at else "first"
        yield Problem(en, other.line, f"{other} stands {before}; in {zh}:{mark.line} it stands {there}")


def _longest_common(left: list[Mark], right: list[Mark]) -> list[tuple[Mark, Mark]]:
    """The longest common subsequence by key, as pairs."""
    rows, columns = len(left), len(right)
    length = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            same = left[i].key == right[j].key
            length[i][j] = length[i + 1][j + 1] + 1 if same else max(length[i + 1][j], length[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if left[i].key == right[j].key:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


# ---- numbers ------------------------------------------------------------------------------------------


def _compare_numbers(zh: Page, en: Page, refs: Refs, registry: Registry) -> Iterator[Problem]:
    sides = {page.path: (page, _numbers(page, refs, registry)) for page in (zh, en)}
    for (here, (_, found)), there in zip(sides.items(), reversed(sides), strict=True):
        other, known = sides[there]
        for section, numbers in found.items():
            head = next((h for h in other.headings if h.id == section), None)
            if section and head is None:
                continue  # the missing heading is reported already
            where = f"section #{section}" if section else "the part before the first heading"
            for what, line in numbers.items():
                if what not in known.get(section, {}):
                    yield Problem(there, head.line if head else 1, f"{where} lacks {what}; it stands in {here}:{line}")


def _numbers(page: Page, refs: Refs, registry: Registry) -> dict[str, dict[str, int]]:
    """Section id → fact, given or quoted claim → the line where it first stands there."""
    found: dict[str, dict[str, int]] = {}
    for item in page.items:
        index = item.place.section
        section = page.headings[index].id if index >= 0 else ""
        what = _fact(item, refs, registry) if isinstance(item, Bound) else _given(item, page.lang)
        found.setdefault(section, {}).setdefault(what, page.line(item.start))
    for badge in page.badges:
        section = page.headings[badge.place.section].id if badge.place.section >= 0 else ""
        found.setdefault(section, {}).setdefault(f"the grade of claim {badge.target!r}", page.line(badge.start))
    return found


def _fact(item: Bound, refs: Refs, registry: Registry) -> str:
    """The fact behind a link, written the same way whichever form the author chose."""
    if item.kind == "key":
        ref = refs.get(item.target)
        if ref is None:
            return f"the key [{item.target}]"
        target = ref.expr
    else:
        target = item.target
    try:
        spec, bound = registry.bind(target, None)
        name, raw = parse_expr(target)
        shown = canonical_expr(spec, bound)
    except BlocklibError:  # an unknown fact is the number check's to report; here only sameness counts
        return "fact " + re.sub(r"^fact:", "", target)
    taken = sorted(key for key, value in raw.items() if value is None)
    return f"fact {shown}" + (("&" if "?" in shown else "?") + "&".join(taken) if taken else "")


def _given(item: object, lang: str) -> str:
    from blocklib.facts.reading import read

    try:
        reading = read(item.text, lang)
        value = f"{reading.value} {reading.unit or ''}".strip()
    except BlocklibError:
        value = " ".join(item.text.split()).casefold()  # a model or a chip
    return f"given {item.name} = {value}"


# ---- signatures ---------------------------------------------------------------------------------------


def content_hash(text: str) -> str:
    """Twelve hex digits of the SHA-256 of a source with normalised line ends."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


def side_hash(root: Path, path: str) -> str:
    """Hash of one side of a pair; of a lesson, of the prose in its language."""
    if lesson := lessons.source_of(root, path):
        return content_hash(lessons.read(read_text(root, lesson)[0]).prose(path.rsplit(".", 2)[1]))
    return content_hash(read_text(root, path)[0])


def state(root: Path) -> list[State]:
    """Where each page stands, sorted by name."""
    files, _ = page_files(root)
    signed = read_toml(root, SIGNATURES, required=False).data
    states = []
    for page, sides in sorted(files.items()):
        if len(sides) < len(LANGS):
            states.append(State(page, "alone", tuple(sides)))
            continue
        entry = signed.get(page)
        if not isinstance(entry, dict):
            states.append(State(page, "unsigned"))
            continue
        changed = tuple(lang for lang in LANGS if entry.get(lang) != side_hash(root, sides[lang]))
        states.append(State(page, "stale" if changed else "signed", changed))
    return states


def _signature_problems(root: Path, files: dict[str, dict[str, str]]) -> Iterator[Problem]:
    file = read_toml(root, SIGNATURES, required=False)
    yield from file.problems
    if file.problems:
        return
    for one in state(root):
        remedy = f"read both, then `python -m blocklib twins --sign {one.page}`"
        if one.status == "unsigned":
            yield Problem(f"docs/{one.page}.zh.md", 1, f"the pair has never been signed; {remedy}")
        for lang in one.changed if one.status == "stale" else ():
            twin = next(other for other in LANGS if other != lang)
            line = file.line("", one.page)
            side = f"the cells in {lang} " if lessons.source_of(root, f"docs/{one.page}.{lang}.md") else ""
            message = (
                f"{side}changed since the pair was signed ({file.path}:{line}); "
                f"compare docs/{one.page}.{twin}.md: {remedy}"
            )
            yield Problem(f"docs/{one.page}.{lang}.md", 1, message)
    for page in sorted(set(file.data) - set(files)):
        yield Problem(file.path, file.line("", page), f"{page!r} is signed but is no page{nearest(page, files)}")


def sign(root: Path, pages: list[str]) -> list[Problem]:
    """Sign the pages and record their ids; nothing is written if one of them has a fault.

    Raises :class:`BlocklibError` for an unknown page.
    """
    from blocklib.site import redirects

    files, _ = page_files(root)
    problems = [problem for page in pages for problem in check_pair(root, page, files[_known(page, files)])]
    if problems:
        return lessons.told(root, problems)
    file = read_toml(root, SIGNATURES, required=False)
    signed = {page: entry for page, entry in file.data.items() if page in files}
    for page in pages:
        signed[page] = {lang: side_hash(root, files[page][lang]) for lang in LANGS}
    rows = [f'"{page}" = {{ zh = "{entry["zh"]}", en = "{entry["en"]}" }}\n' for page, entry in sorted(signed.items())]
    (root / SIGNATURES).write_text(_HEAD + "".join(rows), encoding="utf-8", newline="\n")
    redirects.record(root, pages)
    return []


def _known(page: str, files: dict[str, dict[str, str]]) -> str:
    if page not in files:
        raise BlocklibError(f"no page {page!r} under docs/{nearest(page, files)}", remedy="e.g. primer/shape")
    return page


def page_name(argument: str) -> str:
    """``docs/primer/shape.zh.md``, ``primer/shape.en.md`` or ``primer/shape`` as ``primer/shape``."""
    name = argument.strip().removeprefix("./").removeprefix("docs/").rstrip("/")
    return re.sub(r"(\.(zh|en))?(\.(md|facts|py|claims\.toml))?$", "", name)


def main(argv: list[str], root: Path | None = None) -> int:
    """usage: python -m blocklib twins [--sign PAGE … | --sign --all]

    (nothing)  the state of each pair: signed, stale, unsigned, or alone
    --sign     sign the pairs named (primer/shape), or all, after reading both sides; exit code 1 where they differ
    """
    root = root or find_root(ROOT)
    if not argv:
        for one in state(root):
            note = {"stale": "edited since: " + " ".join(one.changed), "alone": "only " + " ".join(one.changed)}
            print(f"{one.status:<9} {one.page:<28} {note.get(one.status, '')}".rstrip())
        return 0
    if argv[0] != "--sign":
        raise UsageError(f"--sign expected, found {argv[0]!r}")
    if unknown := [word for word in argv[1:] if word.startswith("-") and word != "--all"]:
        raise UsageError(f"unknown option {unknown[0]!r}")
    if len(argv) < 2:
        raise UsageError("--sign needs a page, or --all")
    pages = sorted(page_files(root)[0]) if "--all" in argv else [page_name(word) for word in argv[1:]]
    from blocklib.check import check_before_signing  # stands above the rooms

    files = page_files(root)[0]
    paths = [path for page in pages for path in (*files.get(page, {}).values(), f"docs/{page}.facts")]
    problems = check_before_signing(root, paths) or sign(root, pages)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"not signed: {len(problems)} fault(s) to mend first", file=sys.stderr)
        return 1
    print(f"signed {len(pages)} page(s)")
    return 0
