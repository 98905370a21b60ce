"""Running a lesson: its code cells in order, in one namespace, once a language, in the process of the build.

A kernel of its own takes 0.8 s to start and another 1.5 s to import torch, twice for each lesson; here a lesson costs
what its code costs. It is the notebook's program all the same: cells share their names, the last expression of a cell
shows its value unless a semicolon follows, and a test runs each lesson's .ipynb in a fresh kernel and compares what
the two print. What a block may not do a cell may not either: raise, warn, exit. Unlike a block it may print nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.facts import fingerprint
from blocklib.facts.lessons import Cell, Lesson
from blocklib.problems import BlocklibError
from blocklib.site import blocks, cache, guards, stage
from blocklib.site.display import Recorder

# They draw in a look of their own, for light or dark but not both, or show HTML that asks other hosts.
DRAWING = frozenset({"IPython", "PIL", "altair", "bokeh", "ipywidgets", "matplotlib", "plotly", "pylab", "seaborn"})
INSTEAD = "use show.chart, or an exhibit: they follow the palette and have a sentence and a table"
_RICH = ("_repr_html_", "_repr_mimebundle_", "_repr_png_", "_repr_svg_", "_repr_jpeg_", "_ipython_display_")


@dataclass(frozen=True)
class Outcome:
    """What a cell printed, as parts of :class:`~blocklib.site.display.Recorder`; or the ``fault`` it ended with, on
    ``line`` of the lesson. ``waits`` names what an earlier cell that failed was to make for it."""

    parts: list[list]
    line: int = 0
    fault: str = ""
    waits: str = ""


def stamp(root: Path, lesson: Lesson) -> str:
    """What the outcomes depend on: the code of the cells, everything it imports from here with its data, versions."""
    try:
        closure = fingerprint.closure_hash(lesson.program, stage.library_root(root))
    except BlocklibError:
        closure = "unreadable"  # a syntax error is reported by running, with its line
    return cache.key("notebook", [cell.source for cell in lesson.code], closure, cache.versions())


def outcomes(root: Path, path: str, lesson: Lesson, lang: str, store: cache.Store) -> list[Outcome]:
    """The outcome of every code cell, recalled where nothing it depends on changed. Failures are not remembered."""
    key = stamp(root, lesson)
    known = store.get("notebooks", key)
    if isinstance(known, dict) and known.get("by_language"):
        known = store.get("notebooks", cache.key(key, lang))
    if isinstance(known, dict) and isinstance(known.get("cells"), list):
        return [Outcome(parts) for parts in known["cells"]]
    found, by_language = run(root, path, lesson, lang)
    if not any(outcome.fault for outcome in found):
        if by_language:
            store.put("notebooks", key, {"by_language": True})
        name = cache.key(key, lang) if by_language else key
        store.put("notebooks", name, {"cells": [outcome.parts for outcome in found]})
    return found


def run(
    root: Path, path: str, lesson: Lesson, lang: str, recorder: Recorder | None = None
) -> tuple[list[Outcome], bool]:
    """Run every code cell now; also whether the output can differ between the languages.

    After a cell that failed the others still run, so that all failures are found at once; one that only lacks a name
    which the failed cell was to make is no failure of its own.
    """
    filename = str(root / path)
    recorder = Recorder(lang) if recorder is None else recorder
    scope = {"__name__": "__main__", "__file__": filename}
    found: list[Outcome] = []
    missing: set[str] = set()
    with stage.stage(root, lesson.program, recorder):
        for cell in lesson.code:
            try:
                with guards.watched(root):
                    drawn = _run_cell(cell, filename, scope)
            except KeyboardInterrupt:
                raise
            except NameError as error:
                if error.name in missing:
                    missing |= set(_made(cell))
                    found.append(Outcome([], waits=str(error.name)))
                else:
                    found.append(_failed(cell, error, filename))
            except BaseException as error:
                found.append(_failed(cell, error, filename))
            else:
                found.append(drawn or Outcome(recorder.result(), cell.line))
            if found[-1].fault:
                missing |= set(_made(cell))
            recorder.clear()
    return found, recorder.used_language


def _failed(cell: Cell, error: BaseException, filename: str) -> Outcome:
    line, message = blocks.failure(error, filename)
    return Outcome([], line or cell.line, message.replace("a block runs", "a cell runs"))


def _run_cell(cell: Cell, filename: str, scope: dict) -> Outcome | None:
    """Run a cell and print the value of its last expression; the fault instead, if that is something that draws itself."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.source, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec", dont_inherit=True), scope)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), filename, "eval", dont_inherit=True), scope)
    if value is None or cell.source.endswith(";"):
        return None
    kind = type(value)
    package = kind.__module__.split(".")[0]
    if package in DRAWING or any(hasattr(kind, name) for name in _RICH):
        return Outcome([], last.lineno, f"ends in a {package} {kind.__name__}, which shows itself; {INSTEAD}")
    print(repr(value))
    return None


def _made(cell: Cell) -> Iterator[str]:
    """Names that a cell binds."""
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:
        yield from re.findall(r"^(?:def |class )?(\w+)\b", cell.source, re.M)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
