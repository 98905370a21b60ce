"""The search index of one language: pages cut into sections, as plain text.

The index holds text, not a data structure of some library: the worker builds that when a reader first asks.
Code, charts, tables of data and the page's ledger of numbers are left out; numbers stand as printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html.parser import HTMLParser

LIMIT = 600_000  # bytes of one language's index
_SKIPPED_TAGS = {"pre", "svg", "script", "style", "form", "annotation", "template"}  # of a formula its characters stay
_SKIPPED_CLASSES = {
    "headerlink",
    "katex-html",
    "tl-data",
    "tl-claim__foot",
    "tl-hidden",
    "footnote-backref",
    "tl-plot",
    "tl-fact",
}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_BREAKING = {"p", "li", "td", "th", "dt", "dd", "figcaption", "div", "tr", "summary", "aside", "br"}


@dataclass(frozen=True)
class Section:
    """One heading of a page with its text: ``anchor`` is "" for the part before the first subheading."""

    anchor: str
    title: str
    text: str


class _Cutter(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[tuple[str, list[str], list[str]]] = [("", [], [])]
        self.open: list[tuple[str, bool]] = []
        self.skipping = 0
        self.heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in _VOID:
            if tag == "br" and not self.skipping:
                self.sections[-1][2].append(" ")
            return
        skip = (
            tag in _SKIPPED_TAGS
            or "data-search-exclude" in values
            or bool(_SKIPPED_CLASSES & set((values.get("class") or "").split()))
        )
        self.open.append((tag, skip))
        self.skipping += skip
        if self.skipping:
            return
        if tag in ("h2", "h3") and values.get("id"):
            self.sections.append((values["id"], [], []))
        if tag in ("h1", "h2", "h3"):
            self.heading = True
        elif tag in _BREAKING:
            self.sections[-1][2].append(" ")

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, _ in self.open):
            return
        while self.open:
            name, skip = self.open.pop()
            self.skipping -= skip
            if name == tag:
                break
        if tag in ("h1", "h2", "h3"):
            self.heading = False
        elif tag in _BREAKING and not self.skipping:
            self.sections[-1][2].append(" ")

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.sections[-1][1 if self.heading else 2].append(data)


def sections(content: str) -> list[Section]:
    """Cut a page's HTML at its h2 and h3 headings; sections without any text or title are left out."""
    cutter = _Cutter()
    cutter.feed(content)
    cutter.close()
    found = [Section(a, _plain(title), _plain(text)) for a, title, text in cutter.sections]
    return [s for s in found if s.title or s.text]


def _plain(pieces: Iterable[str]) -> str:
    return re.sub(r"\s+", " ", "".join(pieces)).strip()


@dataclass(frozen=True)
class Entry:
    """A section as the worker reads it: address within the language, page title, heading, text."""

    u: str
    p: str
    h: str
    t: str


def entries(url: str, title: str, found: Iterable[Section]) -> list[Entry]:
    """The index entries of one page."""
    address = "" if url in (".", "./") else url
    return [
        Entry(
            address + (f"#{s.anchor}" if s.anchor else ""),
            title,
            "" if s.title == title and not s.anchor else s.title,
            s.text,
        )
        for s in found
    ]


def index_json(all_entries: Iterable[Entry]) -> str:
    """The index file, in the order given."""
    rows = [asdict(entry) for entry in all_entries]
    return json.dumps({"docs": rows}, ensure_ascii=False, separators=(",", ":"))
