"""Mistakes for which the code of a page is watched while it runs: it takes too long, prints too much, prints what no page
can hold, writes into the tree, or loses the exception of a thread.

None of this is a sandbox. The author is trusted, and what somebody wants to do in spite of it can be done.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS = 60.0  # that a block, or a cell of a lesson, may take
CHARACTERS = 200_000  # that it may print
PATIENCE = 1.0  # seconds for threads that are about to end

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# `<object at 0x…>`, and what id() gives on Linux and Windows. Addresses of other looks differ between two runs.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}|\b0x(?:5[56]|7[ef])[0-9a-f]{10}\b|\b0x0000[0-9A-F]{12}\b")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events that change files: how many of their arguments are paths, and where those that paths are relative to follow.
_CHANGES = {
    "os.remove": (1, slice(1, 2)), "os.rmdir": (1, slice(1, 2)), "os.mkdir": (1, slice(2, 3)), "os.truncate": (1, slice(0)),
    "os.rename": (2, slice(2, 4)), "os.link": (2, slice(2, 4)), "os.symlink": (2, slice(2, 3)),
}  # fmt: skip

_tree: Path | None = None  # where nothing may be written just now
_refused: list[Refused] = []  # in the block that is running
_hooked = False


class Refused(BaseException):
    """What a block may not do. No ``Exception``, so that a block that catches those does not catch this."""


def refuse(message: str) -> None:
    """Raise :class:`Refused`, and keep it for a block that swallows even that."""
    _refused.append(Refused(message))
    raise _refused[-1]


@contextlib.contextmanager
def watched(tree: Path) -> Iterator[None]:
    """Run a block, or a cell: raises :class:`Refused`, or what a thread of it raised, where it would otherwise end well."""
    global _tree
    _hook()
    outer = _tree, _refused[:]
    _tree = Path(os.path.abspath(tree))
    _refused.clear()
    try:
        with _timed(), _threads():
            yield
        if _refused:
            raise _refused[0]
    finally:
        _tree, _refused[:] = outer


def look_at(text: str) -> None:
    """Refuse text that a page cannot hold, or that would be another at every run."""
    if found := _CONTROL.search(text):
        refuse(f"prints the control character {found[0]!r}")
    if found := _ADDRESS.search(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 :].split("\n")[0].strip()
        refuse(f"prints an address in memory, another at every run: {line[:120]!r}")


def count(printed: int) -> None:
    """Refuse more characters than a block may print."""
    if printed > CHARACTERS:
        refuse(f"prints more than {CHARACTERS:,} characters")


# ---- time ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    """Stop after :data:`SECONDS`, at the line that is then running. Python stops the main thread only."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        refuse(f"takes longer than {SECONDS:g} seconds")

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, stop)
    left, interval = signal.setitimer(signal.ITIMER_REAL, SECONDS)  # of another clock that was already running
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)), interval)


# ---- threads ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _threads() -> Iterator[None]:
    """Wait for the threads that were started; raise what one of them raised, and refuse those that go on."""
    lost: list[BaseException] = []
    hook, before = threading.excepthook, set(threading.enumerate())

    def hear(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            lost.append(args.exc_value)

    threading.excepthook = hear
    try:
        yield
        end = time.monotonic() + PATIENCE
        for thread in _started(before):
            thread.join(max(0.0, end - time.monotonic()))
        if lost:
            raise lost[0]
        if going := _started(before):
            refuse(f"leaves the thread {going[0].name!r} running; wait for it")
    finally:
        threading.excepthook = hook


def _started(before: set[threading.Thread]) -> list[threading.Thread]:
    """New threads that a block's code made; helpers of libraries are classes of theirs and go on at will."""
    mine = (threading.__name__, "__main__")
    return [t for t in threading.enumerate() if t not in before and type(t).__module__ in mine]


# ---- files --------------------------------------------------------------------------------------------


def _hook() -> None:
    """Hear of every file that is opened to be written, once a process: such a hook cannot be taken away again."""
    global _hooked
    if not _hooked:
        _hooked = True
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple) -> None:
    if _tree is None:
        return
    if event == "open":
        path, mode, flags = args
        if set(mode) & set("wax+") if isinstance(mode, str) else flags & _WRITING:
            _keep_out(path)
    elif event in _CHANGES:
        paths, folders = _CHANGES[event]
        if all(folder in (-1, None) for folder in args[folders]):  # else relative to a folder that was opened
            for path in args[:paths]:
                _keep_out(path)


def _keep_out(path: object) -> None:
    """Refuse a path in the tree; hidden folders (caches, environments) and bytecode are no part of it."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return  # a file that is already open
    full = Path(os.path.abspath(os.fsdecode(path)))
    if full.is_relative_to(_tree) and not any(
        part.startswith(".") or part == "__pycache__" for part in full.relative_to(_tree).parts
    ):
        refuse(f"writes {full.relative_to(_tree).as_posix()} into the tree; what is to be kept is written by a command")
