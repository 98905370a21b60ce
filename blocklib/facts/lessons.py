"""Lessons: notebooks kept as percent files, one source for both languages, read as a page of either, line for line.

    # ---
    # title.zh: 四个短语
    # title.en: Four phrases
    # ---

    # %% [markdown] lang="zh"
    # # 四个短语 { #four-phrases }

    # %% [markdown] lang="en"
    # # Four phrases { #four-phrases }

    # %%
    print(1 + 1)

Markdown cells come in pairs, Chinese then English; code is shared. ``docs/lab/lessons/x.py`` stands for the two pages
``docs/lab/lessons/x.zh.md`` and ``docs/lab/lessons/x.en.md``, which exist in no folder: their text is made here, every
line on the line where it stands in the lesson, so that whatever is said of a line of the page holds for the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from blocklib.problems import Problem
from blocklib.text import LANGS

SUFFIX = ".py"
CELL = re.compile(r'^`{3,}python exec="on" cell="(\d+)"', re.M)  # the fence of a code cell in the text of a page
_MARKER = re.compile(r"#[ ]*%%(.*)$")
_MARKDOWN = re.compile(r"""[ ]\[markdown\][ ]lang=["'](\w+)["'][ ]*$""")
_FRONT_KEY = re.compile(r"([A-Za-z_]\w*)(?:\.(\w+))?:")
_PAGE = re.compile(r"(docs/[\w./-]+?)\.(zh|en)\.md\b")


@dataclass(frozen=True)
class Cell:
    """``lang`` is "" for a code cell; ``number`` counts code cells from 1. ``line`` is that of the first line of
    ``source``, ``end`` the line after the cell's last; ``source`` has no comment marks and no blank ends."""

    lang: str
    number: int
    line: int
    end: int
    source: str

    @property
    def code(self) -> bool:
        """Whether the cell holds code."""
        return not self.lang


@dataclass(frozen=True)
class Lesson:
    """A lesson taken apart: its cells, the front matter of each language by line, and what is wrong with its form."""

    lines: int
    cells: tuple[Cell, ...]
    front: dict[str, dict[int, str]]
    faults: tuple[tuple[int, str], ...]

    @property
    def code(self) -> list[Cell]:
        """The code cells, in order."""
        return [cell for cell in self.cells if cell.code]

    @property
    def program(self) -> str:
        """All code cells as one source text."""
        return "\n\n".join(cell.source for cell in self.code)

    def prose(self, lang: str) -> str:
        """What a person reads before signing: front matter and Markdown of one language, wherever it stands."""
        texts = ["\n".join(self.front[lang].values()), *(cell.source for cell in self.cells if cell.lang == lang)]
        return "\n\n".join(texts)

    def page(self, lang: str) -> str:
        """The Markdown page of one language; a code cell is an executed fence that names its number."""
        rows = [""] * self.lines
        for number, text in self.front[lang].items():
            rows[number - 1] = text
        for cell in self.cells:
            body = cell.source.split("\n")
            if cell.lang == lang:
                rows[cell.line - 1 : cell.line - 1 + len(body)] = body
            elif cell.code and cell.source:
                ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", cell.source)), default=0))
                fence = f'{ticks}python exec="on" cell="{cell.number}"'
                rows[cell.line - 2 : cell.line + len(body)] = [fence, *body, ticks]
        return "\n".join(rows).rstrip("\n") + "\n"


@lru_cache(maxsize=64)
def read(source: str) -> Lesson:
    """Take a lesson's source apart. Faults of its form are collected with their lines; nothing is raised."""
    lines = source.split("\n")
    faults: list[tuple[int, str]] = []
    front, begin = _front(lines, faults)
    starts = [i for i in range(begin, len(lines)) if _MARKER.match(lines[i])]
    for index in range(begin, starts[0] if starts else len(lines)):
        if lines[index].strip():
            faults.append((index + 1, "this line stands in no cell; a cell begins with `# %%`"))
    cells: list[Cell] = []
    number = 0
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        options = _MARKER.match(lines[start])[1]
        lang = ""
        if options.strip():
            found = _MARKDOWN.match(options)
            if not found or found[1] not in LANGS:
                faults.append((start + 1, f"{lines[start]!r} begins no cell; write `# %%` for code, "
                                          'or `# %% [markdown] lang="zh"` (or "en")'))  # fmt: skip
                continue
            lang = found[1]
        number += not lang
        cells.append(_cell(lines, start, end, lang, number, faults))
    faults += _unpaired(cells)
    return Lesson(len(lines), tuple(cells), front, tuple(sorted(faults)))


def _front(lines: list[str], faults: list[tuple[int, str]]) -> tuple[dict[str, dict[int, str]], int]:
    """Front matter by language and line, and the index of the first line after it. ``key.zh: value`` is the key of one
    language, ``key: value`` of both; an indented line goes on with the value before it."""
    front: dict[str, dict[int, str]] = {lang: {} for lang in LANGS}
    if lines[0].rstrip() != "# ---":
        faults.append((1, "a lesson begins with `# ---` and names its title.zh, title.en, description.zh and .en"))
        return front, next((i for i, line in enumerate(lines) if _MARKER.match(line)), len(lines))
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() == "# ---"), 0)
    if not end:
        faults.append((1, "the front matter that opens here is never closed by `# ---`"))
        return front, len(lines)
    langs: tuple[str, ...] = LANGS
    for number, line in enumerate(lines[: end + 1], 1):
        text = _uncommented(line)
        if text is None:
            faults.append((number, "a line of the front matter begins with `# `"))
            continue
        key = _FRONT_KEY.match(text)
        if key and key[2]:
            if key[2] not in LANGS:
                faults.append((number, f"{key[0]} names no language; one of {', '.join(LANGS)}"))
                continue
            langs, text = (key[2],), f"{key[1]}:{text[key.end() :]}"
        elif key or not text.startswith(" "):
            langs = LANGS
        for lang in langs:
            front[lang][number] = text
    return front, end + 1


def _uncommented(line: str) -> str | None:
    if line.rstrip() == "#":
        return ""
    return line[2:].rstrip() if line.startswith("# ") else None


def _cell(lines: list[str], start: int, end: int, lang: str, number: int, faults: list[tuple[int, str]]) -> Cell:
    first, last = start + 1, end
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    what = f"cell {number}" if not lang else f"the Markdown cell in {lang}"
    if first == last:
        faults.append((start + 1, f"{what} is empty"))
    elif last == end and end < len(lines):
        faults.append((end + 1, "an empty line belongs before a cell"))
    body = []
    for index in range(first, last):
        text = _uncommented(lines[index]) if lang and lines[index].strip() else lines[index].rstrip()
        if text is None:
            faults.append((index + 1, f"a line of {what} begins with `# `"))
        body.append(text or "")
    return Cell(lang, 0 if lang else number, first + 1, end + 1, "\n".join(body))


def _unpaired(cells: Iterable[Cell]) -> Iterable[tuple[int, str]]:
    """Markdown cells come in pairs, Chinese then English."""
    waiting: Cell | None = None
    for cell in [*cells, Cell("", 0, 0, 0, "")]:
        if waiting is not None and cell.lang != "en":
            yield waiting.line - 1, 'this cell has no twin: a cell with lang="en" belongs right after it'
        if waiting is None and cell.lang == "en":
            yield cell.line - 1, 'this cell has no twin: a cell with lang="zh" belongs right before it'
        waiting = cell if cell.lang == "zh" else None


# ---- files --------------------------------------------------------------------------------------------


def lesson_paths(root: Path) -> list[str]:
    """Every lesson under ``docs/``, relative to ``root``, sorted."""
    return sorted(p.relative_to(root).as_posix() for p in (Path(root) / "docs").rglob(f"*{SUFFIX}"))


def pages_of(path: str) -> list[str]:
    """The pages for which a lesson stands: ``docs/x.py`` is ``docs/x.zh.md`` and ``docs/x.en.md``."""
    return [f"{path.removesuffix(SUFFIX)}.{lang}.md" for lang in LANGS]


def source_of(root: Path, path: str) -> str | None:
    """The lesson that stands for the page at ``path``; None for a page that is a file of its own."""
    found = _PAGE.fullmatch(path)
    if not found or (root / path).is_file():
        return None
    return found[1] + SUFFIX if (root / f"{found[1]}{SUFFIX}").is_file() else None


def told(root: Path, problems: Iterable[Problem]) -> list[Problem]:
    """The problems told of the files that a person edits, sorted: a page of a lesson becomes the lesson."""

    def name(match: re.Match[str]) -> str:
        lesson = source_of(root, match[0])
        line = match.string[match.end() :]
        return (
            match[0]
            if lesson is None
            else lesson
            if line[:1] == ":" and line[1:2].isdigit()
            else f"{lesson} ({match[2]})"
        )

    return sorted({Problem(source_of(root, p.path) or p.path, p.line, _PAGE.sub(name, p.message)) for p in problems})
