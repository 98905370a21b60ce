"""Executed blocks: run a snippet file once, alone, and say loudly when it fails.

A block is one file under snippets/. It shares nothing with other blocks, pages or languages: fresh globals,
restored working directory, environment, paths and random state, one thread. It must print something; raising,
warning or exiting is a fault with the page's line and the block's own line.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from blocklib.facts import fingerprint
from blocklib.problems import BlocklibError, Problem
from blocklib.site import cache
from blocklib.site.display import Recorder

SNIPPETS = "snippets"
INCLUDE = re.compile(r'\s*--8<--\s+"([^"]+)"\s*')
# Set before any library starts its threads: the order of a sum, and so its last digit, depends on them.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Kinds of warnings that third-party modules raise about one another; only our own code answers for its own.
HOUSEKEEPING = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, FutureWarning)


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


def library_root(root: Path) -> Path:
    """Where the library stands that blocks import: under ``root``, else the one that is running."""
    return root if (root / "blocklib").is_dir() else fingerprint.ROOT


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


def run(path: str, source: str, lang: str, root: Path) -> Recorder:
    """Run one block now. Raises :class:`BlockError` when it raises, warns, prints nothing or exits."""
    filename = str(root / path)
    recorder = Recorder(lang)
    scope = {"__name__": "__main__", "__file__": filename}
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    try:
        with stage(root, source, recorder):
            exec(compile(source, filename, "exec", dont_inherit=True), scope)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BlockError(path, *failure(error, filename)) from None
    if not recorder.result():
        raise BlockError(path, 0, "prints nothing; use `show` or print its result")
    return recorder


@contextlib.contextmanager
def stage(root: Path, source: str, recorder: Recorder) -> Iterator[None]:
    """What code of a page runs on: alone, its prints recorded, warnings raised; ``source`` says what it imports."""
    _preload(source, root)
    with _alone(root), recorder, contextlib.redirect_stdout(recorder), _loud_warnings(root):
        yield


def failure(error: BaseException, filename: str) -> tuple[int, str]:
    """The line of ``filename`` on which its code failed (0 where there is none), and what to say."""
    if isinstance(error, SystemExit):
        return _line(error, filename), f"calls exit ({error.code!r}); a block runs to its end"
    if isinstance(error, SyntaxError):
        line = error.lineno if error.filename == filename else _line(error, filename)
        return line or 0, f"SyntaxError: {error.msg}"
    name, text = type(error).__name__, " ".join(str(error).split())
    return _line(error, filename), f"{name}: {text}" if text else name


def keep_to_one_thread() -> None:
    """Let libraries that are yet to be imported compute with one thread, unless the environment says otherwise.

    What pages and exhibits compute is small: a second thread costs more than it gives, and on a busy machine many times more.
    """
    os.environ.update({k: os.environ.get(k, v) for k, v in ONE_THREAD.items()})


def _preload(source: str, root: Path) -> None:
    """Import the numerical libraries the block will use, so that their random state is ours from the start.

    Otherwise a block that never sets a seed would print one thing as the first to import the library and
    another later. It also keeps the libraries' own import-time warnings out of the block.
    """
    wanted = [name for name in ("numpy", "torch") if name not in sys.modules]
    if not wanted:
        return
    with contextlib.suppress(BlocklibError):
        texts = [
            source,
            *(p.read_text("utf-8") for p in fingerprint.closure(source, library_root(root)) if p.suffix == ".py"),
        ]
        for name in wanted:
            if any(re.search(rf"^\s*(?:import|from) {name}\b", text, re.M) for text in texts):
                keep_to_one_thread()
                with contextlib.suppress(ImportError):
                    import_module(name)


def _line(error: BaseException, filename: str) -> int:
    """The innermost line of the block's own file in the traceback, 0 where there is none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
    return lines[-1] or 0 if lines else 0


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Give the block a known process state and take back what it changed."""
    before = os.getcwd(), dict(os.environ), sys.path[:], sys.argv[:], random.getstate()
    us, leave = os.getpid(), os._exit
    os._exit = lambda code: sys.exit(code) if os.getpid() == us else leave(code)  # or the build would end, and pass
    os.environ.update(ONE_THREAD)
    os.chdir(root)
    sys.argv[:] = [""]
    random.seed(0)
    restore = [_torch_state(), _numpy_state()]
    try:
        yield
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])
        sys.path[:], sys.argv[:] = before[2], before[3]
        os._exit = leave
        random.setstate(before[4])
        for undo in restore:
            undo()
        # A block that was the first to import torch leaves it with one thread for whatever runs next.
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)


def _torch_state():
    torch = sys.modules.get("torch")
    if torch is None:
        return lambda: None
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    options = vars(torch._tensor_str.PRINT_OPTS).copy()

    def undo() -> None:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        vars(torch._tensor_str.PRINT_OPTS).update(options)

    return undo


def _numpy_state():
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return lambda: None
    options = numpy.get_printoptions()
    numpy.random.seed(0)

    def undo() -> None:
        numpy.set_printoptions(**options)

    return undo


@contextlib.contextmanager
def _loud_warnings(root: Path) -> Iterator[None]:
    """Turn warnings into errors at the line that caused them, housekeeping between third parties excepted."""
    ours = str(root) + os.sep

    def raise_warning(message, category, filename, lineno, file=None, line=None):
        first_party = str(filename).startswith(ours) and "site-packages" not in str(filename)
        if issubclass(category, HOUSEKEEPING) and not first_party:
            return
        raise category(message) if not isinstance(message, Warning) else message

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = raise_warning
        yield
