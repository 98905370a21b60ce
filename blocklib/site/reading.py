"""How long a page takes to read, and on what other pages it leans: worked out from the pages, in each language.

    /// chapters | design           a table whose rows begin with a link to a page of the room: each gets its minutes
    /// leans-on | primer           the pages of another room to which the pages of this one send the reader

Counted is what an author wrote for the eye: words, Chinese characters one by one, and a flat time for every
exhibit and executed block. Code, captions' data and generated lists are not.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import ceil
from pathlib import Path
from typing import Literal

from blocklib.claims.pages import pages
from blocklib.facts.items import Page
from blocklib.facts.registry import fact
from blocklib.problems import BlocklibError, Problem
from blocklib.text import Text

PACE = {"words": 200, "characters": 350, "figures": 2}  # a minute holds so many of each
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W_\u3400-\u4dbf\u4e00-\u9fff]+(?:['’.,-][^\W_\u3400-\u4dbf\u4e00-\u9fff]+)*")
_ROW = re.compile(r"^\|\s*\[[^\]]*\]\(([^()#\s]+)\.md(?:#[^()\s]*)?\)")
_LINK = re.compile(r"\]\(([^()#\s:]+)\.md(?:#[^()\s]*)?\)")
MINUTES = Text("约 {} 分钟", "{} min")
ALL = Text("合计约 {} 分钟。", "In all about {} minutes.")
IN = Text("（{}）", " ({})")


@fact(grade="convention")
def reading_pace(of: Literal["words", "characters", "figures"]) -> int:
    """How many English words, Chinese characters, or exhibits and executed blocks are taken to fill a minute.

    中文：估计阅读时间时，一分钟算多少个英文词、多少个汉字、多少张图或代码块。
    """
    return PACE[of]


@dataclass(frozen=True)
class Length:
    """What there is to read: words, Chinese characters, exhibits and executed blocks."""

    words: int = 0
    characters: int = 0
    figures: int = 0

    def __add__(self, other: Length) -> Length:
        return Length(self.words + other.words, self.characters + other.characters, self.figures + other.figures)

    @property
    def minutes(self) -> int:
        """Reading time in whole minutes, rounded up."""
        return ceil(sum(Fraction(getattr(self, name), pace) for name, pace in PACE.items()))


def length(page: Page) -> Length:
    """What there is to read on a scanned page."""
    text = "\n".join(run.text for run in page.runs if run.kind == "prose" and not run.place.text_only)
    figures = sum(block.kind == "exhibit" or (block.kind == "snippet" and block.executed) for block in page.blocks)
    return Length(len(_WORD.findall(text)), len(_HAN.findall(text)), figures)


def room_of(name: str) -> str:
    """``design/qkv`` → ``design``; "" for a page that stands in no room."""
    return name.rpartition("/")[0]


def lengths(root: Path, room: str, lang: str) -> dict[str, Length]:
    """Page → what there is to read on it, for every page of ``room`` in ``lang``."""
    return {name: length(page) for name, page in pages(root, lang) if room_of(name) == room}


def rows(page: Page, line: int) -> list[tuple[str, int]]:
    """(page, line) of each table row that begins with a link to a page, in the block that opens on ``line``."""
    folder = posixpath.dirname(page.path.removeprefix("docs/"))
    found = []
    for number, text in enumerate(page.source.split("\n")[line:], line + 1):
        if text.strip() == "///":
            break
        if match := _ROW.match(text.strip()):
            found.append((posixpath.normpath(posixpath.join(folder, match[1])), number))
    return found


def check(root: Path) -> list[Problem]:
    """Tables of chapters that leave out a page of their room or name another, and rooms that are not there; sorted."""
    problems = []
    for name, page in pages(root):
        for block in page.blocks:
            if block.kind not in ("chapters", "leans-on"):
                continue
            known = {other for other, _ in pages(root, page.lang) if room_of(other) == block.id}
            if not known:
                problems.append(Problem(page.path, block.line, f"no pages in the room {block.id!r}"))
            elif block.kind == "chapters":
                named = rows(page, block.line)
                problems += [
                    Problem(page.path, line, f"{other} is no page of the room {block.id!r}")
                    for other, line in named
                    if other not in known
                ]
                problems += [
                    Problem(page.path, block.line, f"the table leaves out {other}")
                    for other in sorted(known - {name} - {other for other, _ in named})
                ]
    return sorted(set(problems))


@dataclass(frozen=True)
class Chapters:
    """The minutes of each row of a table of chapters by the link it begins with, and the line below the table."""

    minutes: dict[str, str]
    total: str

    def __getitem__(self, link: str) -> str:
        if link not in self.minutes:
            raise BlocklibError(f"a row of the table leads to {link!r}, which is no page of the room")
        return self.minutes[link]


def chapters(root: Path, here: str, room: str, lang: str) -> Chapters:
    """What the table of chapters on the page ``here`` is furnished with; the page's own length is not counted."""
    found = {name: size for name, size in lengths(root, room, lang).items() if name != here}
    folder = posixpath.dirname(here) or "."
    minutes = {posixpath.relpath(name, folder): MINUTES[lang].format(size.minutes) for name, size in found.items()}
    return Chapters(minutes, ALL[lang].format(sum(found.values(), Length()).minutes))


def leans_on(root: Path, here: str, other: str, lang: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(page of ``other``, its title, the pages that send the reader there with their titles), most called for first."""
    room, titles, callers = room_of(here), {}, {}
    for name, page in pages(root, lang):
        titles[name] = page.headings[0].text if page.headings else name
        if room_of(name) == other:
            callers.setdefault(name, [])
    for name, page in pages(root, lang):
        if room_of(name) != room or name == here:
            continue
        targets = {posixpath.normpath(posixpath.join(room, link)) for link in _LINK.findall(page.source)}
        for target in sorted(targets & callers.keys()):
            callers[target].append((name, titles[name]))
    called = [(name, titles[name], by) for name, by in callers.items() if by]
    return sorted(called, key=lambda row: (-len(row[2]), row[0]))


def leans_on_html(root: Path, here: str, other: str, lang: str) -> str:
    """:func:`leans_on` as a list of links, written as addresses of source files."""
    folder = posixpath.dirname(here) or "."

    def link(name: str, title: str) -> str:
        return f'<a href="{escape(posixpath.relpath(f"{name}.md", folder))}">{escape(title)}</a>'

    stop = "、" if lang == "zh" else ", "
    items = [
        f"<li>{link(name, title)}{IN[lang].format(stop.join(link(*caller) for caller in by))}</li>"
        for name, title, by in leans_on(root, here, other, lang)
    ]
    return f'<ul class="tl-leans">{"".join(items)}</ul>'


def stamp(root: Path, here: str, lang: str) -> list[object]:
    """What the blocks of this module depend on besides the page itself, for the key of its cache."""
    room = room_of(here)
    sources = [[name, page.source] for name, page in pages(root, lang) if room_of(name) == room]
    return [sources, [[name, *(head.text for head in page.headings[:1])] for name, page in pages(root, lang)]]
