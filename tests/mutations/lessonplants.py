"""Mistakes planted in a lesson: in its form, its prose in one language, and its cells."""

from __future__ import annotations

from tests.mutations.lessonfiles import LESSON, NAMES
from tests.mutations.plantsite import Edit, Fault, Plant


def cell(name: str, old: str, new: str, at: str, says: str, run: bool = True) -> Plant:
    """The cell that prints ``old`` becomes ``new``; the fault stands on the line that holds ``at``."""
    number = NAMES.index(old) + 1
    return Plant(name, (Edit(LESSON, f'print("{old}")', new),), (Fault(LESSON, at, f"cell {number}: {says}"),), run)


def prose(name: str, old: str, new: str, at: str, says: str) -> Plant:
    return Plant(name, (Edit(LESSON, old, new),), (Fault(LESSON, at, says),))


PLANTS = [
    cell("a cell raising", "raises", 'a_name = 1\nraise ValueError("planted")', "raise Val", "ValueError: planted"),
    cell("a cell warning", "warns", 'import warnings\n\nwarnings.warn("planted", stacklevel=1)', "warnings.warn", "UserWarning: planted"),
    cell("a cell exiting", "exits", "print(1)\nraise SystemExit(0)", "SystemExit", "calls exit (0); a cell runs to its end"),
    cell("a cell ending the process", "leaves", "import os\n\nos._exit(0)", "os._exit", "calls exit"),
    cell("a cell that is no Python", "broken", "broken = (", "broken = (", "SyntaxError", run=False),
    cell("a cell that draws by itself", "draws", "import plotly.graph_objects as go", "plotly",
         "imports plotly; use show.chart", run=False),
    cell("a cell that ends in what draws itself", "shows",
         'class Figure:\n    def _repr_png_(self):\n        return b""\n\n\nFigure()', "Figure()",
         "ends in a __main__ Figure, which shows itself; use show.chart"),
    cell("a cell that prints an address", "address", "print(object())", "print(object())", "prints an address in memory"),
    cell("a cell printing an escape", "escapes", "print(1)\nprint('\\x1b[1mbold')", "x1b[1m", "prints the control character '\\x1b'"),
    cell("a cell writing a file", "writes", "print(1)\nopen('out.txt', 'w').close()", "'out.txt'", "writes out.txt into the tree"),
    cell("a cell losing a thread's exception", "threads", "import threading\n\nthreading.Thread(target=lambda: 1 / 0).start()",
         "lambda: 1 / 0", "ZeroDivisionError: division by zero"),
    cell("a Plotly figure from the library", "drawn",
         'from importlib import import_module\n\nimport_module("plotly.graph_objects").Figure()', ").Figure()",
         "ends in a plotly Figure, which shows itself"),
    Plant("a number wrong in what a cell prints", (Edit(LESSON, '"[128 KiB]', '"[129 KiB]'),),
          (Fault(LESSON, "from blocklib import Text, show", "printed 129 KiB but the value is 128 KiB", above=1),), True),
    prose("unbound in one language of a lesson", "The lead is here,", "The lead is here, all 12,351,", "12,351",
          "printed 12,351 but nothing vouches for it"),
    prose("a digit in one language of a lesson", "导语在这里，[256]", "导语在这里，[265]", "[265]", "printed 265 but the value is 256"),
    Plant("a cell without its twin", (Edit(LESSON, '# %% [markdown] lang="en"\n# A sentence between.\n', "\n"),),
          (Fault(LESSON, "中间的一句", "this cell has no twin", above=1),)),
    prose("a picture from another host", "# A picture follows.", "# ![A picture](https://pictures.example/x.png)", "pictures.example",
          "asks another host"),
    prose("a script in a lesson", "# 图在后面。", '# <script src="x.js"></script>', "x.js", "<script> in a lesson"),
    prose("a heading at another level", "## The last", "### The last", "### The last", "has level 3; level 2 in docs/lab/plot.py:"),
]  # fmt: skip
