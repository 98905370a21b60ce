"""Executed code twice: what pages show must not depend on chance, time, the order of hashes or places in memory.

Every block and lesson runs in two processes that differ in all of these: in the seeds with which code begins that sets
none, in the hash seed, in the order of the blocks. ``python -m blocklib check --twice`` and a test ask for it; a build,
which runs a block once, does not. What both runs get wrong alike, such as today's date, is not found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from blocklib.claims.pages import pages
from blocklib.facts import lessons
from blocklib.facts.files import read_text
from blocklib.problems import BlocklibError, Problem
from blocklib.site import blocks, notebooks_run, stage
from blocklib.site.display import Recorder
from blocklib.text import LANGS

LANG = LANGS[-1]  # labels apart, the other says the same
REMEDY = "set seeds, sort what has no order, leave out times and addresses"


class Traced(Recorder):
    """A recorder that notes on which line of the page's own code each text was printed."""

    def __init__(self, lang: str, filename: str):
        super().__init__(lang)
        self.filename = filename
        self.log: list[tuple[int, str]] = []

    def take(self, *texts: str) -> None:
        """Note the texts with the line, then as any recorder."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back
        self.log += [(frame.f_lineno if frame else 0, text) for text in texts]
        super().take(*texts)


def check(root: Path, paths: Iterable[str] | None = None) -> list[Problem]:
    """Blocks and cells that print one thing at one run and another at the next, sorted; of ``paths``, where given.

    Code that fails at both runs is the build's to report. Raises :class:`BlocklibError` where code ends a process.
    """
    chosen = None if paths is None else set(paths)
    shown: dict[str, list[tuple[str, int]]] = {}  # file of code → where it is shown
    for _, page in pages(root):
        for block in page.blocks:
            if block.kind == "snippet" and block.executed and (chosen is None or page.path in chosen):
                shown.setdefault(f"{blocks.SNIPPETS}/{block.id}", []).append((page.path, block.line))
    for lesson in lessons.lesson_paths(root):
        if chosen is None or chosen & {lesson, *lessons.pages_of(lesson)}:
            shown[lesson] = []
    if not shown:
        return []
    first, second = _both(root, sorted(shown))
    problems = []
    for path, places in shown.items():
        line, message = _difference(first[path], second[path])
        if message and places:
            block = f"block {path}:{line}" if line else f"block {path}"
            problems += [Problem(page, at, f"{block}: {message}") for page, at in places]
        elif message:
            problems.append(Problem(path, line, message))
    return sorted(problems)


def _difference(first: dict, second: dict) -> tuple[int, str]:
    """The line on which two runs part, and what to say; nothing where they agree."""
    for (line, one), (_, other) in zip(first["log"], second["log"], strict=False):
        if one != other:
            pair = [next(filter(None, _apart(a, b)), "") for a, b in ((one, other), (other, one))]
            return line, f"prints {pair[0]!r}, and {pair[1]!r} at a second run; {REMEDY}"
    if first["faults"] != second["faults"]:
        fault = next(iter({*first["faults"]} ^ {*second["faults"]}))
        return 0, f"fails at one of two runs: {fault}; {REMEDY}"
    if len(first["log"]) != len(second["log"]):
        longer = max(first["log"], second["log"], key=len)
        line, text = longer[min(len(first["log"]), len(second["log"]))]
        return line, f"prints {text.strip()[:80]!r} at one of two runs; {REMEDY}"
    return (0, "") if first["parts"] == second["parts"] else (0, f"draws another picture at a second run; {REMEDY}")


def _apart(text: str, other: str) -> Iterable[str]:
    """The lines of ``text`` that ``other`` has otherwise, shortened."""
    lines, others = text.split("\n"), other.split("\n")
    return (line.strip()[:80] for i, line in enumerate(lines) if i >= len(others) or line != others[i])


def _both(root: Path, files: list[str]) -> list[dict[str, dict]]:
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for number in (0, 1):
            asked = {"files": files[:: -1 if number else 1], "seed": number, "out": f"{folder}/{number}.json"}
            children.append(
                subprocess.Popen(
                    [sys.executable, "-m", "blocklib.site.twice", json.dumps(asked)],
                    cwd=root,
                    env={**os.environ, "PYTHONHASHSEED": str(number + 1)},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )  # fmt: skip
            )
        said = [child.communicate()[1] for child in children]
        for child, text in zip(children, said, strict=True):
            if child.returncode:
                last = text.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
                raise BlocklibError(
                    f"running the pages' code a second time failed: {last[0]}", remedy="python -m mkdocs build"
                )
        return [json.loads(Path(folder, f"{number}.json").read_text("utf-8")) for number in (0, 1)]


def _run(root: Path, path: str) -> dict:
    """What one block or lesson printed, line by line, and the faults it ended with."""
    recorder = Traced(LANG, str(root / path))
    faults, parts = [], []
    if path.startswith(f"{blocks.SNIPPETS}/"):
        try:
            source = blocks.read_snippet(root, path.removeprefix(f"{blocks.SNIPPETS}/"))
            parts = blocks.run(path, source, LANG, root, recorder).result()
        except BlocklibError as error:
            faults.append(str(error))
    else:
        found, _ = notebooks_run.run(root, path, lessons.read(read_text(root, path)[0]), LANG, recorder)
        faults = [outcome.fault for outcome in found if outcome.fault]
        parts = [outcome.parts for outcome in found]
    return {"log": recorder.log, "faults": faults, "parts": sha256(json.dumps(parts).encode()).hexdigest()}


def main(argv: list[str]) -> int:
    """One of the two processes: runs the files it is asked for, writes what they printed to a file."""
    asked, root = json.loads(argv[0]), Path.cwd()
    stage.SEED = asked["seed"]
    found = {path: _run(root, path) for path in asked["files"]}
    Path(asked["out"]).write_text(json.dumps(found), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
