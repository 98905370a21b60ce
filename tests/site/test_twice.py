"""Code of pages that prints another thing at each run is found on its line; that of the real pages never does."""

from __future__ import annotations

import textwrap

import pytest

from blocklib.check import main
from blocklib.problems import BlocklibError
from blocklib.site import twice
from tests.conftest import ROOT

CHANGING = {  # source, the line on which it is found
    "random.py": ("import random\n\nprint('a')\nprint(random.random())\n", 4),
    "generator.py": ("import numpy\n\nprint(numpy.random.default_rng().random())\n", 3),
    "legacy.py": ("import numpy\n\nprint(numpy.random.rand(2))\n", 3),
    "torch.py": ("import torch\n\n\ndef f():\n    print(torch.rand(2))\n\n\nf()\n", 5),
    "clock.py": ("import time\n\nprint('took', time.perf_counter())\n", 3),
    "hashes.py": ("print({f'name {i}' for i in range(40)})\n", 1),
    "table.py": ("import time\n\nfrom blocklib import show\n\nshow.table(['t'], [[time.time_ns()]])\n", 5),
    "markdown.py": ("import time\n\nfrom blocklib import show\n\nshow.markdown(f'at {time.time_ns()}')\n", 5),
    "longer.py": ("import random\n\nfor _ in range(random.Random().randrange(10**6) % 977):\n    print('x')\n", 4),
    "uuid.py": ("import uuid\n\nprint(uuid.uuid4())\n", 3),
    "order.py": ("import sys\n\nprint('blocklib.theory.paths' in sys.modules)\nimport blocklib.theory.paths\n", 3),
}
STEADY = {
    "a_first.py": "import sys\n\nprint(1)\nimport blocklib.theory.paths\n",
    "seeded.py": "import random\n\nrandom.seed(3)\nprint(random.random())\n",
    "sorted.py": "print(sorted({f'name {i}' for i in range(40)}))\n",
    "fails.py": "1 / 0\n",
}
PAGE = "---\ntitle: A\ndescription: A.\n---\n\n# A {{ #a }}\n\n{}"
LESSON = """\
# ---
# title.zh: 课
# title.en: Lesson
# description.zh: 课。
# description.en: Lesson.
# ---

# %% [markdown] lang="zh"
# # 课 { #l }

# %% [markdown] lang="en"
# # Lesson { #l }

# %%
import random

x = random.Random(1)
print(x.random())

# %%
print(random.getrandbits(64))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    root = tmp_path_factory.mktemp("twice")
    files = {f"snippets/p/{name}": text for name, (text, _) in CHANGING.items()}
    files |= {f"snippets/p/{name}": text for name, text in STEADY.items()}
    fences = "".join(f'```python exec="on"\n--8<-- "p/{path.rsplit("/")[-1]}"\n```\n\n' for path in files)
    files |= {f"docs/p.{lang}.md": PAGE.format(fences) for lang in ("zh", "en")} | {"docs/lab/l.py": LESSON}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root, twice.check(root)


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_is_found_at_the_fence_and_names_its_own_line(found, name):
    root, problems = found
    for lang in ("zh", "en"):
        lines = (root / f"docs/p.{lang}.md").read_text("utf-8").splitlines()
        fence = lines.index(f'--8<-- "p/{name}"')
        said = [p.message for p in problems if (p.path, p.line) == (f"docs/p.{lang}.md", fence)]
        assert len(said) == 1 and said[0].startswith(f"block snippets/p/{name}:{CHANGING[name][1]}: prints "), said
        assert said[0].endswith(f"run; {twice.REMEDY}") or "runs; " in said[0]


def test_both_outputs_are_quoted(found):
    said = next(p.message for p in found[1] if "order.py" in p.message)
    assert "prints 'False', and 'True' at a second run" in said or "prints 'True', and 'False' at a second run" in said


def test_a_lesson_s_cell_is_found_on_its_line(found):
    root, problems = found
    at = (root / "docs/lab/l.py").read_text("utf-8").splitlines().index("print(random.getrandbits(64))") + 1
    assert [(p.path, p.line) for p in problems if p.path.startswith("docs/lab")] == [("docs/lab/l.py", at)]


def test_control_what_does_not_change_is_not_found(found):
    assert not [p for p in found[1] for name in STEADY if f"/{name}" in p.message]
    assert len(found[1]) == 2 * len(CHANGING) + 1


def test_only_the_pages_named(found):
    root, problems = found
    assert [p for p in twice.check(root, ["docs/lab/l.zh.md"])] == [p for p in problems if p.path == "docs/lab/l.py"]
    assert twice.check(root, ["docs/none.zh.md"]) == []


def test_code_that_ends_the_process_is_one_line(tmp_path):
    for lang in ("zh", "en"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / f"docs/p.{lang}.md").write_text(PAGE.format('```python exec="on"\n--8<-- "x.py"\n```\n'), "utf-8")
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets/x.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    with pytest.raises(BlocklibError, match="running the pages' code a second time failed: exit code -9"):
        twice.check(tmp_path)


def test_the_command(tmp_path, capsys, monkeypatch):
    for lang in ("zh", "en"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / f"docs/p.{lang}.md").write_text(PAGE.format('```python exec="on"\n--8<-- "x.py"\n```\n'), "utf-8")
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets/x.py").write_text(textwrap.dedent("import time\nprint(time.time_ns())\n"))
    for options, told in ((["--twice"], True), ([], False)):
        main(["--root", str(tmp_path), *options])
        assert ("at a second run" in capsys.readouterr().out) == told


def test_the_pages_own_code_prints_the_same_at_every_run():
    assert twice.check(ROOT) == []
