"""What stands in a page: headings, blocks, bound numbers, givens, and the text that a reader sees.

Every position is an offset into the page's source, so a line is exact and a replacement touches nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from blocklib.problems import Problem

OPAQUE = "\ufffc"  # stands in visible text for what is not text: code, a picture, a formula
BLOT = "\ufffe"  # stands for a character of an HTML comment, which nobody sees


@dataclass(frozen=True)
class Place:
    """Where an item stands: ``section`` indexes ``Page.headings`` (-1 before the first), ``block`` counts blocks."""

    where: str
    section: int
    block: int
    text_only: bool  # alt text, titles, attributes, front matter: no link can stand there


class _Linked:
    """What bound numbers, givens, quoted grades and links to sections to come have in common: where they stand."""

    opening: tuple[int, int]
    place: Place

    @property
    def start(self) -> int:
        """Source offset of the link."""
        return self.opening[0]

    @property
    def where(self) -> str:
        return self.place.where


@dataclass(frozen=True)
class Bound(_Linked):
    """A number in a link to a fact. ``target`` is an expression (kind "fact") or a key of the .facts file ("key").

    ``opening`` and ``closing`` are the source spans of what stands before and after the text: ``[`` and ``][ln]``.
    ``math`` is set for ``\\fact{text}{target}``.
    """

    text: str
    target: str
    kind: str
    opening: tuple[int, int]
    closing: tuple[int, int]
    place: Place
    math: bool = False


@dataclass(frozen=True)
class Given(_Linked):
    """A number or name that the author chooses: ``[4,096](given:d_model)``; ``name`` is "" where it is missing."""

    text: str
    name: str
    opening: tuple[int, int]
    closing: tuple[int, int]
    place: Place
    math: bool = False


@dataclass(frozen=True)
class Later(_Linked):
    """A link to a section that is still to be written: ``[text](later:ROOM#ANCHOR)``; ``target`` is the id."""

    text: str
    target: str
    opening: tuple[int, int]
    closing: tuple[int, int]
    place: Place


@dataclass(frozen=True)
class Badge(_Linked):
    """The grade of a claim that stands elsewhere: ``[proved](claim:ID)``; ``text`` is the grade, ``target`` the id."""

    text: str
    target: str
    opening: tuple[int, int]
    closing: tuple[int, int]
    place: Place


@dataclass(frozen=True)
class Run:
    """Text as the reader sees it; ``at[i]`` is the source offset of its i-th character.

    ``bounds`` are the spans of the text that a link to a fact or a given holds. ``kind``: prose, code or math.
    """

    text: str
    at: tuple[int, ...]
    place: Place
    bounds: tuple[tuple[int, int, Bound | Given], ...] = ()
    kind: str = "prose"


@dataclass(frozen=True)
class Numeral:
    """A number that nothing vouches for: its text, source offset, where it stands, and why it matters."""

    text: str
    start: int
    where: str
    reason: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading: level, explicit id ("" where there is none), visible text, source offset, line."""

    level: int
    id: str
    text: str
    start: int
    line: int


@dataclass(frozen=True)
class Block:
    """``kind`` claim, exhibit, margin … with its id, or snippet with its path; ``executed`` for exec fences."""

    kind: str
    id: str
    line: int
    section: int
    executed: bool = False


@dataclass
class Page:
    """One Markdown source, scanned. ``items`` are the bound numbers and givens in the order they stand."""

    path: str
    lang: str
    source: str
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    items: list[Bound | Given] = field(default_factory=list)
    later: list[Later] = field(default_factory=list)  # links to sections to come
    badges: list[Badge] = field(default_factory=list)  # grades of claims, quoted
    runs: list[Run] = field(default_factory=list)
    numerals: list[Numeral] = field(default_factory=list)  # found in formulas; the others by unbound.py
    labels: dict[str, int] = field(default_factory=dict)  # link definitions of the page itself
    front: dict[str, int] = field(default_factory=dict)  # keys of the front matter and their lines
    problems: list[Problem] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def line(self, offset: int) -> int:
        """The line (from 1) on which a source offset stands."""
        if not self._starts:
            self._starts.append(0)
            for number, char in enumerate(self.source, 1):
                if char == "\n":
                    self._starts.append(number)
        return bisect_right(self._starts, offset)

    def section_end(self, section: int) -> int:
        """Index of the first heading after ``section`` that ends it: of its level or above, else the count."""
        if section < 0:
            return len(self.headings)
        level = self.headings[section].level
        later = range(section + 1, len(self.headings))
        return next((i for i in later if self.headings[i].level <= level), len(self.headings))

    def problem(self, offset: int, message: str) -> None:
        """Note a problem at a source offset."""
        self.problems.append(Problem(self.path, self.line(offset), message))
