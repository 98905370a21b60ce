"""``show``: the one way in which an executed block prints.

In a page the build records what is shown, in order with what is printed, and renders it; run from a clone, the
same calls print plain text. A label that is a :class:`~blocklib.text.Text` appears in the reader's language.
"""

from __future__ import annotations

import io
import os
import unicodedata
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from blocklib.site import guards
from blocklib.text import LANGS, Text

if TYPE_CHECKING:
    from blocklib.charts.exhibit import State

_recorder: ContextVar[Recorder | None] = ContextVar("blocklib_recorder", default=None)


class Recorder(io.TextIOBase):
    """Collects one block's output as parts: ``["text", str]``, ``["table", head, rows]``, ``["markdown", str]``,
    ``["chart", html, payload]``.

    It also stands in for ``sys.stdout``, so plain prints keep their place among the parts. ``used_language``
    tells whether the output can differ between the languages.
    """

    def __init__(self, lang: str):
        super().__init__()
        self.lang = lang
        self.parts: list[list] = []
        self.used_language = False
        self._printed = 0  # characters

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            self.take(text)
            if self.parts and self.parts[-1][0] == "text":
                self.parts[-1][1] += text
            else:
                self.parts.append(["text", text])
        return len(text)

    def take(self, *texts: str) -> None:
        """Count what is printed and look at it; raises :class:`~blocklib.site.guards.Refused`."""
        for text in texts:
            guards.look_at(text)
        self._printed += sum(map(len, texts))
        guards.count(self._printed)

    def clear(self) -> None:
        """Begin anew, for the next cell."""
        self.parts, self._printed = [], 0

    def __enter__(self) -> Recorder:
        self._token = _recorder.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _recorder.reset(self._token)

    def result(self) -> list[list]:
        """The parts, without those that hold only blanks."""
        return [part for part in self.parts if part[0] == "table" or part[1].strip()]


def reader_language() -> str:
    """The page's language while a block runs; else ``BLOCKLIB_LANG`` or that of the terminal's locale."""
    if recorder := _recorder.get():
        recorder.used_language = True
        return recorder.lang
    named = os.environ.get("BLOCKLIB_LANG", "")
    if named in LANGS:
        return named
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.startswith("zh") else "en"


def _string(value: object) -> str:
    return value[reader_language()] if isinstance(value, Text) else str(value)


def text_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal; a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as aligned text; a column of figures is set right."""
    table = [list(head), *map(list, rows)]
    widths = [max(text_width(row[i]) for row in table) for i in range(len(head))]
    right = [all(row[i][:1] in "+-−.0123456789" for row in table[1:]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = []
        for cell, width, to_right in zip(row, widths, right, strict=True):
            pad = " " * (width - text_width(cell))
            cells.append(pad + cell if to_right else cell + pad)
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(table[0]), rule, *map(line, table[1:])])


class Show:
    """The display function: ``show(…)``, ``show.table(head, rows)``, ``show.markdown(text)``, ``show.chart(state, title)``."""

    def __call__(self, *values: object) -> None:
        """Print the values on one line, separated by spaces."""
        print(*map(_string, values))

    def table(self, head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
        """Print a table. Raises ValueError where a row has another length than the head."""
        heads = [_string(cell) for cell in head]
        body = [[_string(cell) for cell in row] for row in rows]
        for number, row in enumerate(body, 1):
            if len(row) != len(heads):
                raise ValueError(f"row {number} has {len(row)} cells, the head has {len(heads)}")
        if recorder := _recorder.get():
            recorder.take(*heads, *(cell for row in body for cell in row))
            recorder.parts.append(["table", heads, body])
        else:
            print(plain_table(heads, body))

    def markdown(self, text: object) -> None:
        """Print Markdown; numbers in it may be bound, and are then checked as on the page."""
        if recorder := _recorder.get():
            recorder.take(_string(text))
            recorder.parts.append(["markdown", _string(text)])
        else:
            print(_string(text))

    def chart(self, state: State, title: object) -> None:
        """Draw a chart as an exhibit without controls: picture, sentence and table. ``state`` holds the three.

        In a page it is drawn like an exhibit, static first; in Jupyter the picture stands above sentence and table.
        Raises :class:`~blocklib.charts.model.ChartError` for what is no chart.
        """
        from blocklib.charts import shown

        lang, state = reader_language(), shown.checked(state)
        if recorder := _recorder.get():
            recorder.take(_string(title), state.sentence[lang])
            recorder.parts.append(["chart", *shown.figure(state, title, lang)])
            return
        shown.in_jupyter(state, lang)
        print(_string(title))
        print(state.sentence[lang].replace("**", ""))
        print(plain_table(*shown.table(state, lang)))

    @property
    def lang(self) -> str:
        """The reader's language, "zh" or "en"; asking for it makes the block's output differ by language."""
        return reader_language()


show = Show()
