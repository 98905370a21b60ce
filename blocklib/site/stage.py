"""What the code of a page runs on: alone, in a known state that is taken back afterwards, with warnings raised."""

from __future__ import annotations

import contextlib
import decimal
import os
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from blocklib.facts import fingerprint
from blocklib.problems import BlocklibError
from blocklib.site.display import Recorder

# Set before any library starts its threads: the order of a sum, and so its last digit, depends on them.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SEED = 0  # with which code begins that sets none; another one tells whether that matters, see twice.py
# Kinds of warnings that third-party modules raise about one another; only our own code answers for its own.
HOUSEKEEPING = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, FutureWarning)


@contextlib.contextmanager
def stage(root: Path, source: str, recorder: Recorder) -> Iterator[None]:
    """What code of a page runs on: alone, its prints recorded, warnings raised; ``source`` says what it imports."""
    _preload(source, root)
    with _alone(root), recorder, contextlib.redirect_stdout(recorder), _loud_warnings(root):
        yield


def library_root(root: Path) -> Path:
    """Where the library stands that blocks import: under ``root``, else the one that is running."""
    return root if (root / "blocklib").is_dir() else fingerprint.ROOT


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


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Give the block a known process state and take back what it changed."""
    before = os.getcwd(), dict(os.environ), sys.path[:], sys.argv[:]
    us, leave = os.getpid(), os._exit
    os._exit = lambda code: sys.exit(code) if os.getpid() == us else leave(code)  # or the build would end, and pass
    os.environ.update(ONE_THREAD)
    os.chdir(root)
    sys.argv[:] = [""]
    restore = [_python_state(), _torch_state(), _numpy_state()]
    try:
        with decimal.localcontext():
            yield
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])
        sys.path[:], sys.argv[:] = before[2], before[3]
        os._exit = leave
        for undo in restore:
            undo()
        # A block that was the first to import torch leaves it with one thread for whatever runs next.
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)


def _python_state() -> Callable[[], None]:
    drawn, depth, digits = random.getstate(), sys.getrecursionlimit(), sys.get_int_max_str_digits()
    random.seed(SEED)

    def undo() -> None:
        random.setstate(drawn)
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)

    return undo


def _torch_state() -> Callable[[], None]:
    torch = sys.modules.get("torch")
    if torch is None:
        return lambda: None
    torch.set_num_threads(1)
    drawn = torch.get_rng_state()
    torch.manual_seed(SEED)
    dtype, grad, device = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device()
    exact, precision = torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()
    options = vars(torch._tensor_str.PRINT_OPTS).copy()
    save = torch.save

    def heard(obj: object, f: object, *rest: object, **named: object) -> None:
        """``torch.save`` opens files where Python does not hear of it."""
        if isinstance(f, (str, os.PathLike)):
            sys.audit("open", os.fspath(f), "wb", 0)
        save(obj, f, *rest, **named)

    torch.save = heard

    def undo() -> None:
        torch.save = save
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        if torch.get_default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        if torch.are_deterministic_algorithms_enabled() != exact:  # the setter imports the compiler, a second
            torch.use_deterministic_algorithms(exact)
        torch.set_float32_matmul_precision(precision)
        torch.set_rng_state(drawn)
        vars(torch._tensor_str.PRINT_OPTS).update(options)

    return undo


def _numpy_state() -> Callable[[], None]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return lambda: None
    options, errors, drawn = numpy.get_printoptions(), numpy.geterr(), numpy.random.get_state()
    numpy.random.seed(SEED)

    def undo() -> None:
        numpy.set_printoptions(**options)
        numpy.seterr(**errors)
        numpy.random.set_state(drawn)

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
