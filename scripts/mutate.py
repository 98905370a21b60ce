"""Mutation testing of the exact rooms: ``make mutate``, or ``python scripts/mutate.py [MODULE …] [--jobs N]``.

One small fault at a time (mutmut's operators, those that ``[tool.mutate]`` in pyproject.toml names) is put into one
module, and the tests that run its line must notice. Nothing is written into the tree: a forked process imports the
mutated source from memory, so tests that read the repository's files see what stands there, and constants at the top of
a module, defaults and tables are mutated like any other line.

Tests run file by file, first the one that mirrors the module; the first failure ends it. A fault that makes them take
many times as long counts as noticed. Verdicts stay in ``.cache/mutate`` until the module changes or, for a kill, the file
of the test that noticed, for a survivor, any test. (A change elsewhere in the library is not seen: ``make clean`` first.)

Exit code 1: a survivor that ``tests/mutants/survivors.toml`` does not list with a reason, an entry there that survives no
more, or a share of killed mutants below the least. Else the totals go to ``tests/mutants/totals.toml``.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import json
import os
import pickle
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutants import ROOT, SETTINGS, STORE, modules, record, trial
from mutants.faults import Fault, faults

sys.path.insert(0, str(ROOT))


def digest(paths: list[Path], more: str = "") -> str:
    """Hash of files, and of a text."""
    return hashlib.sha256(b"\0".join([more.encode(), *(path.read_bytes() for path in paths)])).hexdigest()[:16]


def code(source: bytes) -> str:
    """What a module computes: its syntax tree without places, comments and texts that stand alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.dump(tree)


@cache
def test_hash(file: str) -> str:
    """Hash of a test file and of the helpers beside it."""
    path = ROOT / file
    return digest([path, *sorted(p for p in path.parent.glob("*.py") if not p.name.startswith("test_"))])


@cache
def tests_hash() -> str:
    """Hash of all tests that judge."""
    files = {f for name in SETTINGS["tests"] for f in [ROOT / name, *(ROOT / name).rglob("*.py")] if f.is_file()}
    return digest(sorted(files))


def measured() -> trial.Measure:
    """What the tests do without a fault, kept until the library or the tests change."""
    STORE.mkdir(parents=True, exist_ok=True)
    files = [path for folder in (trial.PACKAGE, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    path = STORE / f"measure-{digest(files, repr(SETTINGS))}"
    if not path.is_file():
        print("running the tests once without a fault …", flush=True)
        log = STORE / "measure.log"
        _, status = os.waitpid(trial.fork(log, trial.measure, path), 0)
        if status:
            raise SystemExit(log.with_suffix(".said").read_text("utf-8"))
        for old in set(STORE.glob("measure-*")) - {path}:
            old.unlink()
    return pickle.loads(path.read_bytes())


class Module:
    """The verdicts on one module's faults, kept in a file."""

    def __init__(self, name: str):
        self.name, self.began = name, time.time()
        self.source = (ROOT / name).read_bytes()
        self.path = STORE / (name.replace("/", "-") + ".json")
        self.verdicts: dict[str, dict] = {}
        self.keys: dict[str, record.Key] = {}
        self.todo = self.left = 0  # faults to judge in this run, and those of them not yet judged
        self.hash = digest([], code(self.source))
        known = json.loads(self.path.read_text("utf-8")) if self.path.is_file() else {}
        self.known = known.get("verdicts", {}) if known.get("source") == self.hash else {}

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """The faults that no verdict is known for, each with its id."""
        seen: Counter[record.Key] = Counter()
        todo = []
        for fault in faults(self.source):
            key = (self.name, fault.function, fault.line, fault.mutant)
            seen[key] += 1
            name = json.dumps([*key[1:], seen[key]], ensure_ascii=False)
            self.keys[name] = key
            old = self.known.get(name)
            if old and old["tests"] == (test_hash(old["by"].partition("::")[0]) if old["by"] else tests_hash()):
                self.verdicts[name] = old
            else:
                todo.append((name, fault))
        self.todo = self.left = len(todo)
        yield from todo

    def judge(self, name: str, by: str, survived: bool) -> None:
        """Note a verdict: the test that noticed, or none."""
        file = by.partition("::")[0]
        self.verdicts[name] = {"by": by, "survived": survived, "tests": test_hash(file) if file else tests_hash()}
        self.left -= 1
        if self.left % 10 == 0:
            self.path.write_text(json.dumps({"source": self.hash, "verdicts": self.known | self.verdicts}), "utf-8")

    def survivors(self) -> Counter[record.Key]:
        return Counter(self.keys[name] for name, verdict in self.verdicts.items() if verdict["survived"])

    def row(self) -> dict[str, int]:
        return {"mutants": len(self.keys), "killed": len(self.keys) - self.survivors().total()}


def try_all(chosen: list[Module], measure: trial.Measure, jobs: int) -> None:
    """Judge every fault of the modules, ``jobs`` at a time."""
    running: dict[int, tuple[Module, str, Path]] = {}

    def wait() -> None:
        pid, status = os.wait()
        trial.end(pid)
        module, name, log = running.pop(pid)
        code, said = os.waitstatus_to_exitcode(status), log.with_suffix(".said")
        if code == trial.BROKEN:
            raise SystemExit(f"cannot try {name} of {module.name}: {said.read_text('utf-8')}\n{log.read_text('utf-8')}")
        by = said.read_text("utf-8") if code == trial.KILLED else ""
        module.judge(name, by or (trial.mirror(module.name) or "" if code < 0 else ""), code == trial.SURVIVED)
        log.unlink(), said.unlink(missing_ok=True)
        if not module.left:
            say(module)

    def say(module: Module) -> None:
        row = module.row()
        print(
            f"{module.name}: {row['killed']} of {row['mutants']} killed ({time.time() - module.began:.0f} s)",
            flush=True,
        )

    with tempfile.TemporaryDirectory() as folder:
        try:
            for module in chosen:
                module.began = time.time()
                for number, (name, fault) in enumerate(module.faults()):
                    while len(running) >= jobs:
                        wait()
                    log = Path(folder) / f"{module.name.replace('/', '-').removesuffix('.py')}-{number}.log"
                    steps = trial.plan(measure, module.name, fault.lines)
                    pid = trial.fork(log, trial.attempt, module.name, fault.source, steps, measure.seconds)
                    running[pid] = (module, name, log)
                if not module.todo:
                    say(module)
            while running:
                wait()
        finally:
            for pid in running:
                trial.end(pid)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Mutation testing; see the head of this file.")
    parser.add_argument("modules", nargs="*", help="only these, for example blocklib/ledger/flops.py")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(argv)
    if unknown := set(asked.modules) - set(modules()):
        parser.error(f"not among the modules of [tool.mutate]: {', '.join(sorted(unknown))}")
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    measure = measured()
    for name in measure.heavy:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # no collection in a forked process goes through all that again
    if trial.PACKAGE in sys.modules:
        raise SystemExit(f"{trial.PACKAGE} is imported before there is a fault")
    chosen = [Module(name) for name in asked.modules or modules()]
    try_all(chosen, measure, asked.jobs)
    rows = {module.name: module.row() for module in chosen}
    found = sum((module.survivors() for module in chosen), Counter())
    fresh, stale = record.faults_of(found, set(rows), record.survivors())
    for key in fresh:
        print("\nsurvives and is not listed; kill it with a test, or list it with a reason:\n" + record.entry(key))
    for key in stale:
        print("\nlisted, but survives no more; take it out of survivors.toml:\n" + record.entry(key))
    every = {name: row for name, row in (record.totals() | rows).items() if name in modules()}
    print(f"\n{record.share(rows):.1%} of {sum(row['mutants'] for row in rows.values()):,} mutants killed", end="")
    print(f"; with the modules not tried {record.share(every):.1%}" if asked.modules else "")
    enough = record.share(every) >= SETTINGS["least"]
    if not enough:
        print(f"at least {SETTINGS['least']:.0%} must be")
    if fresh or stale or not enough:
        return 1
    record.write_totals(every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
