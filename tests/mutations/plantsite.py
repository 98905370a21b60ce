"""A small but whole copy of the project for planting faults: its configuration, hooks, theme and library, tiny pages.

Every place in which a number can stand, every kind of bound number, claims with evidence, a term and executed
blocks are there once, each on a line of its own, so that many plants can stand side by side in one build.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.claims import sources
from blocklib.facts.files import has_page
from blocklib.facts.registry import Registry
from blocklib.site import twins
from tests.conftest import ROOT
from tests.mutations import lessonfiles
from tests.mutations.plantfiles import FILES, NAV
from tests.site.conftest import Project, make_project


@dataclass(frozen=True)
class Edit:
    """``old``, which stands once in the file, becomes ``new``. Without ``old`` the file is made, without either deleted."""

    path: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Fault:
    """Where a fault must be reported, and part of what is said: on the line of the planted file that first holds
    ``text`` (line one if there is none), ``above`` lines higher; or on no line, where the ``whole`` file is wrong."""

    path: str
    text: str = ""
    says: str = ""
    above: int = 0
    whole: bool = False


@dataclass(frozen=True)
class Plant:
    """One mistake: its edits and every fault that must be reported for it, no more and no less.

    ``run``: a block has to run before it shows. ``sign``: a person signed the pairs after the edit, so that the
    plant is found for what it is and not because its page is stale.
    """

    name: str
    edits: tuple[Edit, ...]
    faults: tuple[Fault, ...]
    run: bool = False
    sign: bool = True


class PlantSite(Project):
    """The copy; :meth:`planted` puts plants in and takes them out again."""

    def __init__(self, root: Path):
        super().__init__(make_project(root).root)
        # With its bytecode, whose stamps the copy keeps: only planted modules are compiled again.
        shutil.copytree(ROOT / "blocklib", self.root / "blocklib")
        for path, text in (FILES | lessonfiles.FILES).items():
            self.write(path, text)
        self.write("mkdocs.yml", (self.root / "mkdocs.yml").read_text("utf-8") + NAV)
        self.write_tests_of_facts()
        library = sources.load(ROOT).entries
        cited = dict.fromkeys(cite.key for cite in sources.citations(self.root))
        self.write("docs/sources.bib", "\n".join(library[key].bibtex() for key in cited))
        self.sign()

    def write_tests_of_facts(self) -> None:
        """The tests that facts name, as stubs: that they exist is checked here, what they say elsewhere."""
        registry = Registry(self.root)
        named = {test for name in registry.sites for test in registry.lookup(name).tests}
        for path in {test.split("::")[0] for test in named}:
            names = sorted(test.split("::")[-1] for test in named if test.startswith(f"{path}::"))
            if not (self.root / path).exists():
                self.write(path, "".join(f"def {name}():\n    pass\n\n\n" for name in names))

    def env(self, **more: str) -> dict[str, str]:
        return super().env(PYTHONPATH=str(self.root), **more)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.root, env=self.env(), capture_output=True, text=True, timeout=120)

    def line(self, path: str, text: str) -> int:
        """The line of a file on which ``text`` first stands."""
        lines = (self.root / path).read_text("utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def expected(self, plants: Iterable[Plant]) -> list[tuple[tuple[str, int], str]]:
        """File and line of every fault that the plants, now standing, must raise, and part of its message."""
        return [((fault.path, self._line_of(fault)), fault.says) for plant in plants for fault in plant.faults]

    def _line_of(self, fault: Fault) -> int:
        if fault.whole:
            return 0
        return self.line(fault.path, fault.text) - fault.above if fault.text else 1

    @contextlib.contextmanager
    def planted(self, *plants: Plant) -> Iterator[None]:
        paths = {edit.path for plant in plants for edit in plant.edits} | {twins.SIGNATURES}
        before = {path: file.read_bytes() if (file := self.root / path).exists() else None for path in paths}
        try:
            for edit in (edit for plant in plants for edit in plant.edits):
                self._edit(edit)
            unsigned = {twins.page_name(edit.path) for plant in plants if not plant.sign for edit in plant.edits}
            self._sign_all_but(unsigned)
            yield
        finally:
            for path, data in before.items():
                (self.root / path).unlink() if data is None else (self.root / path).write_bytes(data)

    def _edit(self, edit: Edit) -> None:
        file = self.root / edit.path
        if not edit.old:
            file.write_text(edit.new, "utf-8") if edit.new else file.unlink()
            return
        text = file.read_text("utf-8")
        assert text.count(edit.old) == 1, f"{edit.old!r} stands {text.count(edit.old)} times in {edit.path}"
        file.write_text(text.replace(edit.old, edit.new), "utf-8")

    def _sign_all_but(self, unsigned: set[str]) -> None:
        """Sign by hand: ``sign`` itself refuses pairs that differ."""
        signed = tomllib.loads((self.root / twins.SIGNATURES).read_text("utf-8"))
        for page, lang in ((page, lang) for page in signed.keys() - unsigned for lang in ("zh", "en")):
            if has_page(self.root, f"docs/{page}"):
                signed[page][lang] = twins.side_hash(self.root, f"docs/{page}.{lang}.md")
        rows = (f'"{page}" = {{ zh = "{entry["zh"]}", en = "{entry["en"]}" }}\n' for page, entry in signed.items())
        self.write(twins.SIGNATURES, "".join(rows))


_LINE = re.compile(r"(?P<path>[\w./-]+?)(?::(?P<line>[0-9]+))?: (?P<message>.+)")


def reported(text: str) -> list[tuple[str, int, str]]:
    """(file, line, message) of each fault in what a build or a check has printed."""
    lines = text.splitlines()
    start = next((i + 1 for i, line in enumerate(lines) if line.endswith("fault(s):")), None)
    if start is not None:
        lines = lines[start : start + int(re.search(r"(\d+) fault", lines[start - 1])[1])]
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    return [(match["path"], int(match["line"] or 0), match["message"]) for match in found]


class WarmCheck:
    """``python -m blocklib check`` in a process that stays: nothing but the start of Python is saved."""

    PROGRAM = """\
import contextlib, io, json, sys
from blocklib.cli import main
for _ in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(["check"])
    print(json.dumps([code, out.getvalue()]), flush=True)
"""

    def __init__(self, site: PlantSite):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], cwd=site.root, env=site.env(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self) -> tuple[int, str]:
        """Exit code and output of one check of the copy as it now is."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
