"""Sections that are still to be written: pages point to them by an id, docs/later.toml lists every such id.

    [its cache is exact](later:inference#exact-cache)

The reader sees the text without a link. An id is ROOM#ANCHOR: as soon as a page of that room (or the page of
that name) bears the anchor as the id of a heading, each of these links must become a real one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.claims.pages import pages
from blocklib.claims.registry import nearest
from blocklib.claims.tomlfile import TomlFile, read_toml
from blocklib.facts.items import OPAQUE
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound
from blocklib.problems import Problem
from blocklib.text import LANGS, Text

LATER = "docs/later.toml"
TO_COME = Text("待写：", "To come: ")
_ID = re.compile(r"[a-z][a-z0-9-]*(?:/[a-z0-9-]+)*#[A-Za-z][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True)
class Listing:
    """The sections to come by id, with what each will be; ``unread`` are the ids of a file that is not TOML."""

    sections: dict[str, Text]
    file: TomlFile
    problems: tuple[Problem, ...]

    @property
    def unread(self) -> set[str]:
        """Ids that stand in the file although it cannot be read."""
        return {place for place in self.file.places if isinstance(place, str)} if self.file.problems else set()


def load(root: Path) -> Listing:
    """Read docs/later.toml under ``root``; faults are collected with their lines, nothing is raised."""
    file = read_toml(root, LATER, required=False)
    problems = list(file.problems)
    sections: dict[str, Text] = {}
    for ident, table in file.data.items():
        line = file.line(ident) if isinstance(table, dict) else file.line("", ident)
        if not _ID.match(ident):
            message = f'{ident!r} is not ROOM#ANCHOR; write a table like ["inference#exact-cache"]'
            problems.append(Problem(LATER, line, message))
        titles = table if isinstance(table, dict) else {}
        for key in sorted(set(titles) - set(LANGS)):
            problems.append(
                Problem(LATER, file.line(ident, key), f"{ident}: unknown field {key!r}; zh and en are known")
            )
        for lang in LANGS:
            title = titles.get(lang)
            if not isinstance(title, str) or not title.strip():
                problems.append(Problem(LATER, line, f"{ident}: {lang} is missing: in a few words, what it will say"))
            elif find_unbound(scan(title, LATER, lang)):
                problems.append(Problem(LATER, file.line(ident, lang), f"{ident}: a title to come holds no numerals"))
        sections[ident] = Text(*(str(titles.get(lang, "")).strip() for lang in LANGS))
    return Listing(sections, file, tuple(problems))


def titles(root: Path, lang: str) -> dict[str, str]:
    """Id → what the reader sees on pointing at the text of such a link."""
    return {ident: TO_COME[lang] + title[lang] for ident, title in load(root).sections.items()}


def written(root: Path) -> dict[tuple[str, str], tuple[str, int]]:
    """(page, heading id) → file and line of every section that exists."""
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for name, page in pages(root):
        for head in page.headings:
            if head.id:
                found.setdefault((name, head.id), (page.path, head.line))
    return found


def find(ident: str, sections: dict[tuple[str, str], tuple[str, int]]) -> tuple[str, str] | None:
    """The page and anchor that an id to come has become; None while nothing bears it."""
    room, _, anchor = ident.partition("#")
    return next(
        (place for place in sections if place[1] == anchor and (place[0] == room or place[0].startswith(f"{room}/"))),
        None,
    )


def check(root: Path) -> list[Problem]:
    """Links to sections that nothing lists or that exist by now, and listed sections that no page points to; sorted."""
    listing, sections = load(root), written(root)
    problems = [*listing.problems]
    used: set[str] = set()
    for name, page in pages(root):
        for link in page.later:
            used.add(link.target)
            line = page.line(link.start)
            problems += (Problem(page.path, line, says) for says in _faults(name, link.target, listing, sections))
            if not link.text.strip(f" {OPAQUE}") and OPAQUE not in link.text:
                problems.append(
                    Problem(page.path, line, f"later:{link.target} has no text; the reader would see nothing")
                )
    for ident in listing.sections:
        line = listing.file.line(ident)
        if place := find(ident, sections):
            path, at = sections[place]
            problems.append(Problem(LATER, line, f"{ident} is written, at {path}:{at}; take it out"))
        elif ident not in used:
            problems.append(Problem(LATER, line, f"no page points to {ident}; take it out"))
    return sorted(set(problems))


def _faults(name: str, ident: str, listing: Listing, sections: dict) -> Iterator[str]:
    if place := find(ident, sections):
        target = posixpath.relpath(f"{place[0]}.md", posixpath.dirname(name) or ".")
        yield f"later:{ident} is written by now; make it a link: [text]({target}#{place[1]})"
    elif ident not in listing.sections and ident not in listing.unread:
        yield f"later:{ident} is not listed in {LATER}{nearest(ident, listing.sections)}"
