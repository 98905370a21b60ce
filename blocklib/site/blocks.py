"""Executed blocks: run a snippet file once, alone, and say loudly when it fails.

A block is one file under snippets/. It shares nothing with other blocks, pages or languages: fresh globals,
restored working directory, environment, paths, settings of libraries and random state, one thread
(:mod:`blocklib.site.stage`). It must print something; raising, warning, exiting, or a mistake for which
:mod:`blocklib.site.guards` watches is a fault with the page's line and the block's own line.
"""

from __future__ import annotations

import linecache
import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from blocklib.facts import fingerprint
from blocklib.problems import BlocklibError, Problem
from blocklib.site import cache
from blocklib.site.display import Recorder
from blocklib.site.guards import Refused, watched
from blocklib.site.stage import library_root, stage

SNIPPETS = "snippets"
INCLUDE = re.compile(r'\s*--8<--\s+"([^"]+)"\s*')


class BlockError(BlocklibError):
    """A block that failed; ``line`` is the block's own line (0: the whole file)."""

    def __init__(self, path: str, line: int, message: str):
        super().__init__(f"block {path}:{line}: {message}" if line else f"block {path}: {message}")
        self.line = line


@dataclass(frozen=True)
class Output:
    """What a block printed, as recorded by :class:`~blocklib.site.display.Recorder`."""

    parts: list[list]


def included(fence: str) -> str:
    """The snippet that an executed fence names: its one line ``--8<-- "primer/x/y.py"``.

    Raises :class:`BlocklibError` for a fence that holds anything else.
    """
    match = INCLUDE.fullmatch(fence)
    if not match:
        found = fence.strip().splitlines()[:1]
        raise BlocklibError(
            f"an executed fence holds one line, found {found[0]!r}" if found else "an executed fence is empty",
            remedy='write --8<-- "ROOM/PAGE/BLOCK.py", a file under snippets/',
        )
    return match[1]


def read_snippet(root: Path, name: str) -> str:
    """Source of ``snippets/NAME``. Raises :class:`BlocklibError` when it is missing, outside, or not text."""
    folder = (root / SNIPPETS).resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise BlocklibError(f"snippet {name!r} lies outside {SNIPPETS}/")
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise BlocklibError(f"missing snippet {SNIPPETS}/{name}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BlocklibError(f"cannot read snippet {SNIPPETS}/{name}: {error}") from None


def check(root: Path) -> list[Problem]:
    """What is wrong with the executed fences of all pages and can be seen without running one: missing snippets."""
    from blocklib.claims.pages import pages

    problems = []
    for _, page in pages(root):
        for block in page.blocks:
            if block.kind == "snippet" and block.executed:
                try:
                    read_snippet(root, block.id)
                except BlocklibError as error:
                    problems.append(Problem(page.path, block.line, str(error)))
    return sorted(set(problems))


def block_key(root: Path, source: str) -> str:
    """Cache key of a block: its source, everything it imports from here with its data, and all versions."""
    try:
        closure = fingerprint.closure_hash(source, library_root(root))
    except BlocklibError:
        closure = "unreadable"  # a syntax error is reported by running, with its line
    return cache.key("block", source, closure, cache.versions())


def output_of(root: Path, name: str, source: str, lang: str, store: cache.Store) -> Output:
    """The block's output, from the cache where nothing it depends on changed, else by running it.

    An output that never asked for the language is stored once for both. Raises :class:`BlockError`.
    """
    key = block_key(root, source)
    known = store.get("blocks", key)
    if isinstance(known, dict) and known.get("by_language"):
        known = store.get("blocks", cache.key(key, lang))
    if isinstance(known, dict) and isinstance(known.get("parts"), list):
        return Output(known["parts"])
    recorder = run(f"{SNIPPETS}/{name}", source, lang, root)
    parts = recorder.result()
    if recorder.used_language:
        store.put("blocks", key, {"by_language": True})
        store.put("blocks", cache.key(key, lang), {"parts": parts})
    else:
        store.put("blocks", key, {"parts": parts})
    return Output(parts)


def run(path: str, source: str, lang: str, root: Path, recorder: Recorder | None = None) -> Recorder:
    """Run one block now, its prints going to ``recorder``, by default one of its own. Raises :class:`BlockError` when it raises, warns, exits, prints nothing or is refused."""
    filename = str(root / path)
    recorder = Recorder(lang) if recorder is None else recorder
    scope = {"__name__": "__main__", "__file__": filename}
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    try:
        with stage(root, source, recorder), watched(root):
            exec(compile(source, filename, "exec", dont_inherit=True), scope)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BlockError(path, *failure(error, filename)) from None
    if not recorder.result():
        raise BlockError(path, 0, "prints nothing; use `show` or print its result")
    return recorder


def failure(error: BaseException, filename: str) -> tuple[int, str]:
    """The line of ``filename`` on which its code failed (0 where there is none), and what to say."""
    if isinstance(error, Refused):
        return _line(error, filename), str(error)
    if isinstance(error, SystemExit):
        return _line(error, filename), f"calls exit ({error.code!r}); a block runs to its end"
    if isinstance(error, SyntaxError):
        line = error.lineno if error.filename == filename else _line(error, filename)
        return line or 0, f"SyntaxError: {error.msg}"
    name, text = type(error).__name__, " ".join(str(error).split())
    return _line(error, filename), f"{name}: {text}" if text else name


def _line(error: BaseException, filename: str) -> int:
    """The innermost line of the block's own file in the traceback, 0 where there is none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
    return lines[-1] or 0 if lines else 0
