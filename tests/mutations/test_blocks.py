"""Faults planted in the blocks of a real page: the build fails with the page's line and the block's own line.

Also a constant of the library: every block that depends on it runs again, and no other.
"""

from __future__ import annotations

import re
import shutil

import pytest

from tests.conftest import ROOT
from tests.site.conftest import Project, faults, make_project

PAGE = "primer/normalization"
SNIPPETS = ("primer/normalization/two_norms.py", "primer/normalization/ops.py")


def fence_line(project: Project, snippet: str, lang: str) -> int:
    lines = (project.root / f"docs/{PAGE}.{lang}.md").read_text("utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip() == f'--8<-- "{snippet}"') - 1


@pytest.fixture
def project(tmp_path):
    """The page with its snippets, claims and sources, beside the library that is running."""
    made = make_project(tmp_path)
    for suffix in ("zh.md", "en.md", "facts"):
        made.write(f"docs/{PAGE}.{suffix}", (ROOT / f"docs/{PAGE}.{suffix}").read_text("utf-8"))
    for name in ("claims.toml", "terms.toml", "sources.bib"):
        shutil.copy2(ROOT / "docs" / name, made.root / "docs" / name)
    shutil.copytree(ROOT / "snippets", made.root / "snippets", dirs_exist_ok=True)
    made.both("index", "words")
    return made


# What is added to a snippet (None: the file is removed; a leading "=": it replaces the source), and what is said;
# {n} is the first line added.
RAISES = ("raise ValueError('planted')\n", "block snippets/{name}:{n}: ValueError: planted")
WARNS = ("import warnings; warnings.warn('planted')\n", "block snippets/{name}:{n}: UserWarning: planted")
EXITS = ("raise SystemExit(0)\n", "block snippets/{name}:{n}: calls exit")
BROKEN = ("if True print(1)\n", "block snippets/{name}:{n}: SyntaxError")
SILENT = ("=x = 1\n", "block snippets/{name}: prints nothing")
ABSENT = (None, "missing snippet snippets/{name}")


@pytest.mark.parametrize("plants", [(RAISES, SILENT), (EXITS, WARNS), (ABSENT, BROKEN)])
def test_blocks_that_fail_are_named_with_both_lines_in_one_build(project, plants):
    wanted = []
    for name, (added, message) in zip(SNIPPETS, plants, strict=True):
        path = project.root / "snippets" / name
        source = path.read_text("utf-8")
        if added is None:
            path.unlink()
        else:
            path.write_text(added[1:] if added.startswith("=") else source + added, "utf-8")
        for lang in ("zh", "en"):
            line = fence_line(project, name, lang)
            wanted.append(f"docs/{PAGE}.{lang}.md:{line}: " + message.format(name=name, n=source.count("\n") + 1))
    done = project.build("--quiet")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    found = faults(done)
    assert [w for w in wanted if not any(f.startswith(w) for f in found)] == [], found


def test_control_the_page_without_a_plant_has_no_such_fault(project):
    done = project.build("--quiet")
    assert not [f for f in faults(done) if "block snippets" in f or "missing snippet" in f], done.stderr
    assert project.html("primer/normalization").count("tl-run-block") >= 2


def test_a_changed_constant_of_the_library_runs_its_blocks_again(tmp_path):
    project = make_project(tmp_path)
    package = project.root / "blocklib"
    shutil.copytree(ROOT / "blocklib", package, ignore=shutil.ignore_patterns("__pycache__"))
    project.write("blocklib/planted.py", "WIDTH = 4096\n")
    project.write(
        "blocklib/planted_user.py", "from blocklib.planted import WIDTH\n\ndef doubled():\n    return 2 * WIDTH\n"
    )
    project.snippet("a.py", "from blocklib.planted_user import doubled\nprint('doubled', doubled())\n")
    project.snippet("b.py", "import time\nprint('stamp', time.time_ns())\n")
    fences = "\n\n".join(f'```python exec="on"\n--8<-- "{name}.py"\n```' for name in "ab")
    project.both("index", fences)
    env = {"PYTHONPATH": str(project.root)}

    def shown() -> tuple[str, str]:
        project.build("--quiet", **env)
        html = project.html("en")
        return re.search(r"doubled (\d+)", html)[1], re.search(r"stamp (\d+)", html)[1]

    before = shown()
    assert before[0] == "8192" and shown() == before
    project.write("blocklib/planted.py", "WIDTH = 8192\n")
    after = shown()
    assert after[0] == "16384" and after[1] == before[1]
