"""The cited works: docs/sources.bib read by a BibTeX library, checked, formatted for a page, exported."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from blocklib.claims.registry import Citation, nearest
from blocklib.claims.registry import load as load_claims
from blocklib.claims.tomlfile import read_toml
from blocklib.facts.files import page_paths, read_text
from blocklib.problems import Problem

SOURCES_FILE = "docs/sources.bib"
CITED_FILE = "blocklib/facts/cited.toml"
_ENTRY = re.compile(r"^[ \t]*@(\w+)[ \t]*[{(][ \t]*([^,\s]+)[ \t]*,", re.M)
_PAGE_LINK = re.compile(r"reference/sources(?:\.md|/)#([\w-]+)")
# What we note for ourselves about an entry (how it was checked) is not given to readers who copy it.
_PRIVATE = ("annote", "keywords")
_ORDER = (
    "author",
    "title",
    "booktitle",
    "journal",
    "howpublished",
    "volume",
    "number",
    "pages",
    "year",
    "eprint",
    "archiveprefix",
    "doi",
    "url",
)


@dataclass(frozen=True)
class Source:
    """One work; ``authors`` are (given names, family name) as plain text, ``raw`` the fields as written."""

    key: str
    kind: str
    title: str
    year: str
    authors: tuple[tuple[str, str], ...]
    venue: str
    link: str
    raw: dict[str, str]
    line: int

    @property
    def anchor(self) -> str:
        """The id of its entry in the list of sources: the key."""
        return self.key  # pages link to reference/sources.md#KEY

    def bibtex(self) -> str:
        """The entry as BibTeX that parses on its own, without our working notes."""
        order = [*_ORDER, *sorted(set(self.raw) - set(_ORDER) - set(_PRIVATE))]
        fields = [(name, self.raw[name]) for name in order if name in self.raw]
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields)
        return f"@{self.kind}{{{self.key},\n{body}}}\n"

    def people(self, lang: str) -> str:
        """The authors for a reference: all of up to three, else the first and *et al.* / 等."""
        and_others = bool(self.authors) and self.authors[-1][1].lower() == "others"
        people = [" ".join(filter(None, person)) for person in self.authors[: -1 if and_others else None]]
        if len(people) > 3 or and_others:
            return f"{people[0]} 等" if lang == "zh" else f"{people[0]} et al."
        if lang == "zh":
            return "、".join(people)
        return " and ".join(filter(None, (", ".join(people[:-1]), people[-1]))) if people else ""

    def label(self, lang: str) -> str:
        """The short form for running text: family names and year."""
        names = [family for _, family in self.authors if family.lower() != "others"]
        if not names:
            return self.year
        if len(names) > 2 or len(self.authors) > len(names):
            who = f"{names[0]} 等" if lang == "zh" else f"{names[0]} et al."
        else:
            who = (" 与 " if lang == "zh" else " and ").join(names)
        return f"{who} {self.year}"

    def reference(self, lang: str) -> str:
        """The full reference as HTML, the title linked to arXiv, the DOI or the page it stands on."""
        title = html.escape(self.title)
        if self.link:
            title = f'<a href="{html.escape(self.link)}">{title}</a>'
        title = f"《{title}》" if lang == "zh" else f"<cite>{title}</cite>"
        ident = f"arXiv:{self.raw['eprint']}" if "eprint" in self.raw else ""
        tail = [html.escape(part) for part in (self.venue, self.year, ident) if part]
        people = html.escape(self.people(lang))
        if lang == "zh":
            return f"{people}。{title}。{'，'.join(tail)}。"
        # "et al." already ends in a full stop.
        return f"{people}{'' if people.endswith('.') else '.'} {title}. {', '.join(tail)}."


@dataclass(frozen=True, eq=False)
class Library:
    """The entries by key, in the order of the file, and what is wrong with the file."""

    entries: dict[str, Source]
    problems: tuple[Problem, ...]


def load(root: Path) -> Library:
    """Read docs/sources.bib under ``root``; faults are collected with their lines, nothing is raised."""
    path = root / SOURCES_FILE
    if not path.exists():
        return Library({}, (Problem(SOURCES_FILE, 0, "the file is missing"),))
    return _parse(path.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n"))


@lru_cache(maxsize=4)
def _parse(text: str) -> Library:
    from pybtex.database import BibliographyDataError, parse_string
    from pybtex.exceptions import PybtexError

    problems: list[Problem] = []
    lines: dict[str, int] = {}
    for found in _ENTRY.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        if found[2].lower() in map(str.lower, lines):
            first = next(at for key, at in lines.items() if key.lower() == found[2].lower())
            problems.append(Problem(SOURCES_FILE, line, f"key {found[2]!r} stands already in line {first}"))
        lines.setdefault(found[2], line)
    try:
        data = parse_string(text, "bibtex")
    except BibliographyDataError as error:
        if not problems:
            problems.append(Problem(SOURCES_FILE, 0, f"not valid BibTeX: {error}"))
        return Library({}, tuple(problems))
    except PybtexError as error:
        line = getattr(error, "lineno", None) or 0
        message = str(error).split(": ", 1)[-1] if line else str(error)
        return Library({}, (*problems, Problem(SOURCES_FILE, line, f"not valid BibTeX: {message}")))
    entries = {key: _source(key, entry, lines.get(key, 0)) for key, entry in data.entries.items()}
    return Library(entries, tuple(problems))


def _plain(latex: str) -> str:
    from pybtex.richtext import Text as RichText

    return str(RichText.from_latex(latex)).replace("\u00a0", " ").strip()


def _source(key: str, entry: Any, line: int) -> Source:
    raw = {name.lower(): " ".join(value.split()) for name, value in entry.fields.items()}
    people = entry.persons.get("author", [])
    authors = tuple(
        (
            _plain(" ".join([*person.first_names, *person.middle_names])),
            _plain(" ".join([*person.prelast_names, *person.last_names, *person.lineage_names])),
        )
        for person in people
    )
    raw["author"] = " and ".join(map(str, people))
    if not people:
        del raw["author"]
    venue = _plain(raw.get("booktitle") or raw.get("journal") or raw.get("howpublished") or "")
    return Source(
        key,
        entry.type,
        _plain(raw.get("title", "")),
        raw.get("year", ""),
        authors,
        venue,
        _link(raw),
        raw,
        line,
    )


def _link(raw: dict[str, str]) -> str:
    if "doi" in raw:
        return f"https://doi.org/{raw['doi']}"
    if "eprint" in raw and raw.get("archiveprefix", "arXiv").lower() == "arxiv":
        return f"https://arxiv.org/abs/{raw['eprint']}"
    url = raw.get("url", "")
    return url if url.startswith(("https://", "http://")) else ""


@dataclass(frozen=True)
class Cite:
    """Who cites a source: ``kind`` is claim, fact, model or page; ``place`` is the table or section in it."""

    kind: str
    name: str
    key: str
    place: str
    path: str
    line: int


def citations(root: Path) -> list[Cite]:
    """Every citation of a source by a claim, a cited fact, a model of the atlas or a link on a page."""
    return [*_claim_cites(root), *_fact_cites(root), *_atlas_cites(root), *_page_cites(root)]


def _claim_cites(root: Path) -> Iterator[Cite]:
    registry = load_claims(root)
    for claim in registry.claims.values():
        line = registry.line(claim, "sources")
        for citation in claim.sources:
            yield Cite("claim", claim.id, citation.key, citation.place, claim.path, line)


def _fact_cites(root: Path) -> Iterator[Cite]:
    file = read_toml(root, CITED_FILE, required=False)
    for name, table in file.data.items():
        if isinstance(table, dict) and isinstance(table.get("source"), str):
            key = Citation.parse(table["source"])
            rows = table.get("values", {})
            rows = (
                [row.get("place", "") for row in rows.values() if isinstance(row, dict)]
                if isinstance(rows, dict)
                else []
            )
            place = str(table.get("place") or key.place or ", ".join(dict.fromkeys(filter(None, rows))))
            yield Cite("fact", name, key.key, place, file.path, file.line(name, "source"))


def _atlas_cites(root: Path) -> Iterator[Cite]:
    """Model files name the work that describes the model as ``cite = "key, place"`` (or a list of such)."""
    for path in sorted((root / "blocklib/atlas").rglob("*.toml")):
        file = read_toml(root, path.relative_to(root).as_posix())
        cited = file.data.get("cite", [])
        for text in [cited] if isinstance(cited, str) else cited:
            citation = Citation.parse(str(text))
            name = str(file.data.get("name", path.stem))
            yield Cite("model", name, citation.key, citation.place, file.path, file.line("", "cite"))


def _page_cites(root: Path) -> Iterator[Cite]:
    for path in page_paths(root):
        text = read_text(root, path)[0]
        for found in _PAGE_LINK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Cite("page", path, found[1], "", path, line)


def check(root: Path) -> list[Problem]:
    """Faults of the entries, keys that nothing defines, and entries that nothing cites; sorted."""
    library = load(root)
    problems = list(library.problems)
    for source in library.entries.values():
        needed = {"title": source.title, "author": source.authors, "year": source.year}
        for name, value in needed.items():
            if not value:
                problems.append(Problem(SOURCES_FILE, source.line, f"{source.key}: {name} is missing"))
        if not re.fullmatch(r"\d{4}", source.year or "0000"):
            problems.append(Problem(SOURCES_FILE, source.line, f"{source.key}: year {source.year!r} is not a year"))
        if not source.link:
            problems.append(
                Problem(
                    SOURCES_FILE,
                    source.line,
                    f"{source.key}: no way to find it; give eprint (arXiv), doi or an http(s) url",
                )
            )
    cited = citations(root)
    if library.entries:
        keys = {cite.key for cite in cited}
        problems += [
            Problem(SOURCES_FILE, source.line, f"{key}: cited by no claim, fact, model or page")
            for key, source in library.entries.items()
            if key not in keys
        ]
    for cite in cited:
        if cite.kind == "claim":  # the closure of the claims reports these
            continue
        if cite.key not in library.entries:
            problems.append(
                Problem(
                    cite.path,
                    cite.line,
                    f"{cite.kind} {cite.name}: no entry {cite.key!r} in {SOURCES_FILE}"
                    f"{nearest(cite.key, library.entries)}",
                )
            )
        elif cite.kind == "fact" and not cite.place:
            problems.append(Problem(cite.path, cite.line, f"fact {cite.name}: {cite.key} without a table or section"))
    return sorted(set(problems))
