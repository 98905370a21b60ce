"""The live preview: library edits take effect, and faults stand on the page instead of stopping it.

This module stays loaded while the rest of the package is loaded anew, so it keeps nothing but plain values.
"""

from __future__ import annotations

import hashlib
import html
import logging
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("mkdocs.twoledgers")
PACKAGE = Path(__file__).resolve().parents[1]
SUFFIXES = (".py", ".toml", ".json", ".cjs")

serving = False  # set by the adapter at start-up
building = False  # a nested build must not unload what the outer one runs
_seen = ""


def _state() -> str:
    digest = hashlib.sha256()
    for folder, names, files in os.walk(PACKAGE):
        names[:] = sorted(n for n in names if n != "__pycache__")
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                stat = os.stat(os.path.join(folder, name))
                digest.update(f"{folder}/{name} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return digest.hexdigest()


def refresh() -> bool:
    """Unload the package's modules when a file of it changed since the last build; True if it did."""
    global _seen
    if building:
        return False
    before, _seen = _seen, _state()
    if not before or before == _seen:
        return False
    for name in [n for n in sys.modules if n == "blocklib" or n.startswith("blocklib.")]:
        if name != __name__:
            del sys.modules[name]
    return True


def banner(problems: Iterable[object], lang: str) -> str:
    """The faults as a plain block for the top of a page; "" when there are none."""
    lines = [html.escape(str(problem)) for problem in problems]
    if not lines:
        return ""
    title = f"{len(lines)} 处错误，构建会失败" if lang == "zh" else f"{len(lines)} fault(s); a build would fail"
    items = "".join(f"<li><code>{line}</code></li>" for line in lines)
    return (
        '<div class="tl-faults" role="note" data-search-exclude style="border:2px solid;padding:.6em 1em;margin-bottom:2em">'
        f"<p><strong>{title}</strong></p><ul>{items}</ul></div>\n"
    )


def guard(server, site_dir: str):
    """``server`` that answers every page with the error of a rebuild that broke off, until it is mended.

    MkDocs alone would leave the browser waiting without a word.
    """
    build, plain, failure = server.builder, server.error_handler, None

    def guarded() -> None:
        nonlocal failure
        try:
            build()
            failure = None
        except (Exception, SystemExit) as error:
            log.error("".join(traceback.format_exception(error)).rstrip())
            failure = error
            for page in Path(site_dir).rglob("*.html"):
                page.unlink()

    server.builder = guarded
    server.error_handler = lambda code: broken(failure) if failure is not None and code == 404 else plain(code)
    return server


def broken(error: BaseException) -> bytes:
    """A page that says why there is no site, and asks again every other second."""
    what = html.escape("".join(traceback.format_exception_only(error)).strip())
    trace = html.escape("".join(traceback.format_exception(error)).strip())
    return (
        '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>构建中断 · build broke off</title>'
        f'<div class="tl-faults" role="alert"><h1>构建中断 · The build broke off</h1><pre>{what}</pre></div><pre>{trace}</pre>'
    ).encode()
