"""Mistakes for which a block is watched while it runs: each is one fault at the block's own line, and leaves no trace."""

from __future__ import annotations

import signal
import sys
import textwrap
import threading
import time
import warnings

import numpy
import pytest
import torch

from blocklib.facts import lessons
from blocklib.site import guards, notebooks_run
from blocklib.site.blocks import BlockError, run

PRINT = "print(1)\n"


def execute(tmp_path, source: str) -> list[list]:
    return run("snippets/t.py", textwrap.dedent(source), "en", tmp_path).result()


def refused(tmp_path, source: str) -> str:
    with pytest.raises(BlockError) as caught:
        execute(tmp_path, source)
    return str(caught.value)


# ---- time ---------------------------------------------------------------------------------------------

SLOW = ("while True:\n    pass", "import time\ntime.sleep(30)", "import threading\nthreading.Event().wait()",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        break")  # fmt: skip


@pytest.mark.parametrize("source", SLOW)
def test_a_block_that_does_not_end_is_stopped_at_its_line(tmp_path, monkeypatch, source):
    monkeypatch.setattr(guards, "SECONDS", 0.2)
    began = time.monotonic()
    said = refused(tmp_path, PRINT + source)
    assert "takes longer than 0.2 seconds" in said and said.startswith("block snippets/t.py:"), said
    assert 2 <= int(said.split(":")[1]) <= 5 and time.monotonic() - began < 10


def test_a_quick_block_is_not_stopped_later(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "SECONDS", 0.2)
    assert execute(tmp_path, PRINT) == [["text", "1\n"]]
    time.sleep(0.4)  # an alarm left behind would ring here


def test_a_clock_that_was_running_goes_on(tmp_path):
    """That of pytest, for example."""
    rung = []
    before, left = signal.signal(signal.SIGALRM, lambda *_: rung.append(1)), signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        execute(tmp_path, PRINT)
        time.sleep(0.5)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)
    assert rung == [1]


def test_the_limits_are_generous():
    assert guards.SECONDS >= 60 and guards.CHARACTERS >= 200_000


# ---- output -------------------------------------------------------------------------------------------


def test_too_much_output(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "CHARACTERS", 1000)
    said = refused(tmp_path, "for i in range(10**9):\n    print('x' * 99)")
    assert said == "block snippets/t.py:2: prints more than 1,000 characters"
    assert "more than 1,000" in refused(tmp_path, "from blocklib import show\nshow.table(['a'], [['x' * 500]] * 3)")
    assert "more than 1,000" in refused(tmp_path, "from blocklib import show\nshow.markdown('x' * 1001)")
    assert execute(tmp_path, "print('x' * 999)") == [["text", "x" * 999 + "\n"]]


@pytest.mark.parametrize(
    ("call", "char"),
    [("print('a\\x1b[31mb')", r"\x1b"), ("print('50%', end='\\r')", r"\r"), ("print('\\x00')", r"\x00"), ("print('\\x08')", r"\x08"),
     ("print('\\x7f')", r"\x7f"), ("print('\\x9b')", r"\x9b"), ("print('\\ud800')", r"\ud800"),
     ("show.table(['a'], [['b\\x1b']])", r"\x1b"), ("show.markdown('\\x07')", r"\x07")],
)  # fmt: skip
def test_control_characters(tmp_path, call, char):
    said = refused(tmp_path, f"from blocklib import show\n{call}")
    assert said == f"block snippets/t.py:2: prints the control character '{char}'"


def test_tabs_and_ends_of_lines_are_text(tmp_path):
    assert execute(tmp_path, r"print('a\tb\n\n残差流 — é')") == [["text", "a\tb\n\n残差流 — é\n"]]


@pytest.mark.parametrize(
    "call",
    ["print(object())", "print('kept:', print)\nprint(lambda: 1)", "print([object()])", "print(hex(id([])), end='')",
     "from blocklib import show\nshow.table(['a'], [[object()]])", "from blocklib import show\nshow.markdown(f'`{object()}`')"],
)  # fmt: skip
def test_addresses_in_memory(tmp_path, call):
    said = refused(tmp_path, call)
    assert said.startswith(f"block snippets/t.py:{call.count(chr(10)) + 1}: prints an address in memory"), said


def test_hexadecimal_numbers_are_no_addresses(tmp_path):
    source = (
        "print(hex(2**32), '0xdeadbeef', 'look at 0x1f', float(1).hex(), hex(0x3FF0000000000000), '0x7ff0000000000000')"
    )
    assert execute(tmp_path, source)


def test_what_a_block_swallows_is_refused_all_the_same(tmp_path):
    assert "control character" in refused(tmp_path, "try:\n    print('\\x1b')\nexcept BaseException:\n    print(1)")


# ---- files --------------------------------------------------------------------------------------------

WRITES = {
    "open('x.txt', 'w')": "x.txt",
    "open('snippets/t.py', 'a')": "snippets/t.py",
    "open('kept.txt', 'r+')": "kept.txt",
    "from pathlib import Path; Path('a/x.txt').write_text('x')": "a/x.txt",
    "import os; os.open('x', os.O_CREAT | os.O_WRONLY)": "x",
    "import os; os.mkdir('new')": "new",
    "import os; os.makedirs('a/b', exist_ok=True)": "a/b",
    "import os; os.remove('kept.txt')": "kept.txt",
    "import os; os.replace('kept.txt', '/tmp/never')": "kept.txt",
    "import shutil; shutil.copy('kept.txt', 'other.txt')": "other.txt",
    "import numpy; numpy.save('x.npy', numpy.zeros(2))": "x.npy",
    "import torch; torch.save(torch.zeros(2), 'x.pt')": "x.pt",
    "import json; json.dump({}, open('x.json', 'w'))": "x.json",
}


@pytest.mark.parametrize("source", WRITES)
def test_writing_into_the_tree(tmp_path, source):
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "a").mkdir()
    before = sorted(tmp_path.rglob("*"))
    said = refused(tmp_path, PRINT + source)
    assert said.startswith(f"block snippets/t.py:2: writes {WRITES[source]} into the tree"), said
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "kept.txt").read_text() == "kept"


def test_reading_and_temporary_files_are_free(tmp_path, tmp_path_factory):
    (tmp_path / "kept.txt").write_text("kept")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    source = f"""
        import os, tempfile
        from pathlib import Path
        with tempfile.TemporaryDirectory(dir={str(elsewhere)!r}) as folder:
            Path(folder, "deep").mkdir()
            Path(folder, "deep", "x").write_text("y")
        with tempfile.TemporaryFile() as file:
            file.write(b"z")
        open(os.devnull, "w").close()
        print(Path("kept.txt").read_text())
    """
    assert execute(tmp_path, source) == [["text", "kept\n"]]


def test_imports_may_leave_bytecode(tmp_path, monkeypatch):
    (tmp_path / "helper_of_t.py").write_text("X = 3\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    source = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport helper_of_t\nprint(helper_of_t.X)"
    assert execute(tmp_path, source) == [["text", "3\n"]]
    sys.modules.pop("helper_of_t")


def test_afterwards_files_are_written_as_before(tmp_path):
    refused(tmp_path, "open('x.txt', 'w')")
    (tmp_path / "x.txt").write_text("x")
    torch.save(torch.zeros(1), tmp_path / "x.pt")
    assert (tmp_path / "x.pt").exists()


# ---- threads ------------------------------------------------------------------------------------------

THREAD = """\
import threading


def work():
    {}


thread = threading.Thread(target=work, daemon={})
thread.start()
print(1)
"""


@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.parametrize("join", ["", "thread.join()\n"])
def test_an_exception_in_a_thread_is_the_block_s(tmp_path, daemon, join):
    said = refused(tmp_path, THREAD.format("raise ValueError('lost')", daemon) + join)
    assert said == "block snippets/t.py:5: ValueError: lost"


def test_the_block_s_own_exception_comes_first(tmp_path):
    assert "ZeroDivisionError" in refused(tmp_path, THREAD.format("raise ValueError('lost')", False) + "1 / 0\n")


def test_a_thread_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "PATIENCE", 0.1)
    said = refused(tmp_path, THREAD.format("import time; time.sleep(1)", True))
    assert said == "block snippets/t.py: leaves the thread 'Thread-1 (work)' running; wait for it" or (
        "leaves the thread 'Thread-" in said and "(work)' running; wait for it" in said
    )


def test_threads_that_end_are_free(tmp_path):
    source = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        import threading
        with ThreadPoolExecutor(2) as pool:
            print(list(pool.map(abs, [-1, -2])))
        late = threading.Timer(0.1, lambda: print("late"))
        late.start()
        threading.Thread(target=sys.exit).start()
    """
    assert execute(tmp_path, source) == [["text", "[1, 2]\nlate\n"]]
    assert threading.excepthook is not None and threading.excepthook.__module__ != guards.__name__


# ---- state --------------------------------------------------------------------------------------------

SEE = {
    "torch's type": ("import torch; torch.set_default_dtype(torch.float64)", "import torch; print(torch.ones(1).dtype)"),
    "torch's threads": ("import torch; torch.set_num_threads(2)", "import torch; print(torch.get_num_threads())"),
    "torch's seed": ("import torch; torch.manual_seed(7); torch.rand(3)", "import torch; print(torch.rand(2))"),
    "torch's gradients": ("import torch; torch.set_grad_enabled(False)", "import torch; print(torch.is_grad_enabled())"),
    "torch's device": ("import torch; torch.set_default_device('meta')", "import torch; print(torch.ones(1).device)"),
    "torch's determinism": ("import torch; torch.use_deterministic_algorithms(True)",
                            "import torch; print(torch.are_deterministic_algorithms_enabled())"),
    "torch's printing": ("import torch; torch.set_printoptions(precision=1)", "import torch; print(torch.ones(1) / 3)"),
    "numpy's printing": ("import numpy; numpy.set_printoptions(precision=1)", "import numpy; print(numpy.ones(1) / 3)"),
    "numpy's seed": ("import numpy; numpy.random.seed(7)", "import numpy; print(numpy.random.rand())"),
    "numpy's errors": ("import numpy; numpy.seterr(all='ignore')", "import numpy; print(numpy.geterr())"),
    "Python's seed": ("import random; random.seed(7)", "import random; print(random.random())"),
    "decimal places": ("import decimal; decimal.getcontext().prec = 3", "import decimal; print(decimal.Decimal(1) / 3)"),
    "the depth of recursion": ("import sys; sys.setrecursionlimit(5000)", "import sys; print(sys.getrecursionlimit() == 5000)"),
    "filters of warnings": ("import warnings; warnings.simplefilter('ignore')",
                            "import warnings; print(warnings.filters[0][0])"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEE)
def test_no_setting_of_a_library_passes_to_the_next_block(tmp_path, name):
    change, look = SEE[name]
    first = execute(tmp_path, look)
    changed = execute(tmp_path, f"{change}\n{look}")
    assert execute(tmp_path, look) == first
    assert changed != first or name == "Python's seed", "the control: the block itself sees what it set"


def test_the_build_s_own_state_is_left_alone(tmp_path):
    def state():
        return (
            torch.get_rng_state().tolist(), numpy.random.get_state()[1].tolist(), numpy.get_printoptions(), numpy.geterr(),
            torch.get_default_dtype(), torch.get_default_device(), warnings.filters[:], warnings.showwarning, torch.save,
            threading.excepthook, signal.getsignal(signal.SIGALRM), sys.getrecursionlimit(),
        )  # fmt: skip

    execute(tmp_path, "import torch, numpy\nprint(1)")
    before = state()
    for change, _ in SEE.values():
        execute(tmp_path, f"{change}\nprint(1)")
    refused(tmp_path, "print('\\x1b')")
    assert state() == before


# ---- cells --------------------------------------------------------------------------------------------


def cells(tmp_path, *sources: str) -> list[notebooks_run.Outcome]:
    (tmp_path / "docs").mkdir()
    text = "".join(f"\n# %%\n{source}\n" for source in sources)
    return notebooks_run.run(tmp_path, "docs/t.py", lessons.read(text), "en")[0]


def test_cells_are_watched_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "SECONDS", 0.3)
    monkeypatch.setattr(guards, "CHARACTERS", 100)
    found = cells(
        tmp_path, "print('x' * 90)", "print('y' * 90)", "while True: pass", "print('z' * 101)", "print('\\x1b')",
        "open('x', 'w')", THREAD.format("raise ValueError('lost')", False).strip(), "print(2)",
    )  # fmt: skip
    said = [
        "",
        "",
        "takes longer",
        "prints more than 100",
        "control character",
        "writes x into",
        "ValueError: lost",
        "",
    ]
    assert [(text in out.fault, bool(out.fault)) for text, out in zip(said, found, strict=True)] == [
        (True, bool(text)) for text in said
    ]
    assert [out.line for out in found if out.fault] == [9, 12, 15, 18, 25]
    assert found[-1].parts == [["text", "2\n"]]
