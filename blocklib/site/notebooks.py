"""Lessons as pages: what mkdocs-jupyter does for them, and what is done otherwise because it does it badly.

mkdocs-jupyter tells which files under docs/ are notebooks (its ``include`` in mkdocs.yml) and brings jupytext, which
turns a percent file into the notebook that readers download. The rest of it is not used, for these reasons:

* it renders Markdown apart from MkDocs: links unchecked, headings in Chinese without ids, no numbers, claims, exhibits;
  a lesson's Markdown is converted like that of any page;
* it inlines 574 kB of styles, an empty ``<script src="">`` and an import from another host into each page; a cell is
  marked up as the site's other executed code, with the site's sheets;
* it passes a cell that fails, or dies in a traceback; here a failure is a fault with cell, file and line (`allow_errors`);
* it starts a kernel for each notebook and language (see :mod:`blocklib.site.notebooks_run`);
* a Plotly figure comes out as nothing at all; here what would draw itself is refused, and ``show.chart`` draws;
* its cache forgets one language while it builds the other, and does not know what the code imports; it is off.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from blocklib.facts import lessons
from blocklib.facts.files import read_text
from blocklib.problems import Problem
from blocklib.site import blockhtml
from blocklib.site.meta import SITE_ROOT
from blocklib.site.notebooks_run import DRAWING, INSTEAD, Outcome
from blocklib.text import Text

DOWNLOAD = Text("下载本课的 notebook（.ipynb）", "Download this lesson as a notebook (.ipynb)")
WAITS = Text("没有运行：缺少前面出错的格子里的 {name}", "Not run: it needs {name} from a cell above that failed")
_OFF_HOST = re.compile(
    r"""!\[[^\]\n]*\]\(\s*<?(?:https?:)?//"""  # a picture
    r"""|<(?:img|script|iframe|source|video|audio|embed|object|link)\b[^>]*?\b(?:src|srcset|data|href)\s*=\s*["']?\s*(?:https?:)?//"""
    r"""|\burl\(\s*["']?(?:https?:)?//|@import\b"""
)
_SCRIPT = re.compile(r"<\s*(script|iframe|object|embed)\b", re.I)


def is_notebook(file: object) -> bool:
    """Whether mkdocs-jupyter takes this file of docs/ for a notebook."""
    from mkdocs_jupyter.plugin import NotebookFile

    return isinstance(file, NotebookFile)


def lesson_of(root: Path, path: str) -> tuple[str, lessons.Lesson] | None:
    """The lesson behind a page: its path and what it consists of; None for any other page."""
    source = lessons.source_of(root, path)
    return (source, lessons.read(read_text(root, source)[0])) if source else None


# ---- what can be seen without running -----------------------------------------------------------------


def check(root: Path) -> list[Problem]:
    """Faults of the lessons' form and code that can be seen without running a cell, sorted."""
    problems = [
        Problem(
            file.relative_to(root).as_posix(), 0, "a lesson is a percent file, SLUG.py, not a notebook with outputs"
        )
        for file in (root / "docs").rglob("*.ipynb")
    ]
    for path in lessons.lesson_paths(root):
        text, faults = read_text(root, path)
        lesson = lessons.read(text)
        problems += faults
        problems += [Problem(path, line, message) for line, message in lesson.faults]
        for cell in lesson.cells:
            found = _code_faults(cell) if cell.code else _markdown_faults(cell)
            problems += [Problem(path, line, message) for line, message in found]
    return sorted(set(problems))


def _code_faults(cell: lessons.Cell) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse("\n" * (cell.line - 1) + cell.source)
    except SyntaxError as error:
        yield error.lineno or cell.line, f"cell {cell.number}: SyntaxError: {error.msg}"
        return
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        for name in {name.split(".")[0] for name in names} & DRAWING:
            yield node.lineno, f"cell {cell.number}: imports {name}; {INSTEAD}"


def _markdown_faults(cell: lessons.Cell) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(cell.source.split("\n"), cell.line):
        if _OFF_HOST.search(line):
            yield number, "asks another host; what a lesson shows stands in the site"
        elif found := _SCRIPT.search(line):
            yield number, f"<{found[1].lower()}> in a lesson; pages run the site's own scripts only"


# ---- the page -----------------------------------------------------------------------------------------


def notebook_path(path: str, lang: str) -> str:
    """Where the notebook of a lesson stands below the site's root."""
    return f"assets/notebooks/{Path(path).stem}.{lang}.ipynb"


def with_download(content: str, path: str, lang: str) -> str:
    """The page with a link to its notebook after the title and what introduces it."""
    link = (
        f'<p class="tl-download" data-search-exclude><a href="{SITE_ROOT}{notebook_path(path, lang)}" download>'
        f"{DOWNLOAD[lang]}</a></p>"
    )
    head = re.search(r'</h1>(?:\s*<p class="tl-standfirst">.*?</p>)?', content, re.S)
    at = head.end() if head else 0
    return f"{content[:at]}\n{link}{content[at:]}"


def cell_html(cell: lessons.Cell, outcome: Outcome, lang: str, printed: Callable[[str], str],
              chart: Callable[[list], str]) -> str:  # fmt: skip
    """A code cell with its result, or with the fault it ended with."""
    block = blockhtml.render_cell(cell.number, cell.source, outcome.parts, lang, printed, chart)
    said = outcome.fault or (WAITS[lang].format(name=outcome.waits) if outcome.waits else "")
    return block + (f'\n<p class="tl-fault"><code>{html.escape(said)}</code></p>' if said else "")
