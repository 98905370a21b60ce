"""Every lesson's notebook, as readers download it, in a fresh kernel: it runs, and prints what the page shows.

The kernel is the oracle: the build runs the cells itself, without one. It has the packages that the notebook's first
cell tells readers to install, and no other.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from blocklib.claims import registry
from blocklib.facts import lessons
from blocklib.facts.files import read_text
from blocklib.site import notebooks_file, notebooks_run
from blocklib.site.display import plain_table
from blocklib.text import LANGS
from tests.conftest import ROOT

LESSONS = lessons.lesson_paths(ROOT)


def printed(cell) -> str:
    """What a cell of the executed notebook printed or showed, as text."""
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            assert output.name == "stdout", output.text
            found.append(output.text)
        elif output.output_type == "execute_result":
            found.append(output.data["text/plain"] + "\n")
        else:
            assert "<svg" in output.data["text/html"] and "var(--" not in output.data["text/html"]
    return "".join(found)


def words(markup: str) -> str:
    """The text of a chart's title, sentence and table, without blanks."""
    kept = re.sub(
        r"<svg.*?</svg>|<summary>.*?</summary>|<span class=\"tl-exhibit__no\">.*?</span>", "", markup, flags=re.S
    )
    return "".join(html.unescape(re.sub(r"<[^>]+>", "", kept)).split())


def agree(shown: str, parts: list[list]) -> None:
    """The kernel printed the parts of the page, in their order."""
    for part in parts:
        if part[0] == "chart":
            own, shown = words(part[1]), re.sub(r"(?m)^[- ]+$", "", shown)  # the rule under a plain table's head
            assert "".join(shown.split()) == own
            return  # a chart ends its cell
        text = plain_table(part[1], part[2]) + "\n" if part[0] == "table" else part[1]
        assert shown.startswith(text.rstrip()), (shown, text)
        shown = shown[len(text.rstrip()) :].lstrip("\n")
    assert not shown.strip()


def brought(*requirements: str) -> set[str]:
    """Distributions that these requirements bring along, in this environment."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    found, asked = set(), [Requirement(each) for each in requirements]
    while asked:
        wanted = asked.pop()
        name, extras = canonicalize_name(wanted.name), {"", *wanted.extras}
        if (name, *sorted(extras)) in found:
            continue
        found.add((name, *sorted(extras)))
        if name == "blocklib":
            asked += [Requirement(each) for extra in wanted.extras for each in own[extra]]
            continue
        for each in map(Requirement, metadata.requires(name) or ()):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                asked.append(each)
    return {name for name, *_ in found}


def shut_out(folder: Path) -> None:
    """A ``sitecustomize`` under which only what readers have installed, and the kernel, can be imported."""
    extras = re.search(r'"\.(\[[\w,]+\])"', notebooks_file.NEEDS.en)[1]
    allowed = brought(f"blocklib{extras}", "ipykernel")
    others = {
        module
        for module, names in metadata.packages_distributions().items()
        if not allowed & set(map(canonicalize_name, names))
    }
    (folder / "sitecustomize.py").write_text(SHUT.format(others=sorted(others)), "utf-8")


SHUT = """\
import sys

class Shut:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {others!r}:
            return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Shut, sys.meta_path)
"""


async def run(notebook, folder: Path) -> None:
    shut_out(folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith("BLOCKLIB")} | {"PYTHONPATH": str(folder)}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    await client.async_execute(env=env)


async def executed(lang: str, path: str, folder: Path):
    lesson, claims = lessons.read(read_text(ROOT, path)[0]), registry.load(ROOT).claims
    notebook = nbformat.reads(notebooks_file.notebook(lesson, lang, claims), as_version=4)
    folder /= lang
    folder.mkdir()
    await run(notebook, folder)
    return notebook


@pytest.mark.parametrize("module", ["mkdocs", "transformers", "pytest"])
def test_what_readers_have_not_installed_cannot_be_imported(module, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(f"import scipy, plotly, {module}")])
    with pytest.raises(CellExecutionError, match=f"No module named .*{module}"):
        asyncio.run(run(notebook, tmp_path))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: Path(path).stem)
def test_each_notebook_runs_in_a_fresh_kernel_and_prints_what_the_page_shows(path, tmp_path):
    async def both():
        return await asyncio.gather(*(executed(lang, path, tmp_path) for lang in LANGS))

    lesson = lessons.read(read_text(ROOT, path)[0])
    for lang, notebook in zip(LANGS, asyncio.run(both()), strict=True):
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        outcomes, _ = notebooks_run.run(ROOT, path, lesson, lang)
        assert len(cells) == len(outcomes) + 1 and printed(cells[0]) == ""
        for cell, outcome in zip(cells[1:], outcomes, strict=True):
            assert not outcome.fault
            agree(printed(cell), outcome.parts)


def test_the_comparison_sees_a_difference():
    with pytest.raises(AssertionError):
        agree("1\n", [["text", "2\n"]])
    with pytest.raises(AssertionError):
        agree("1\n2\n", [["text", "1\n"]])
    agree("a  b\n-  -\n1  2\n3\n", [["table", ["a", "b"], [["1", "2"]]], ["text", "3\n"]])


@pytest.mark.parametrize("lang", LANGS)
def test_the_first_cell_says_what_is_missing(lang):
    code = notebooks_file.NEEDS[lang].replace("{version}", "9.9")
    for before, says in (("import sys; sys.modules['blocklib'] = None\n", "blocklib"), ("", "9.9")):
        done = subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode == 1) == bool(before)
        assert says in (done.stderr.splitlines()[-1] if before else done.stdout)
        assert not before or done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")
