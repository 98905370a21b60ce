"""Tests against faults: which test runs which line, and whether any of them notices one fault.

Every run is a forked process in which the package is imported for the first time, so the process that forks must not have
imported it; what the tests import from elsewhere it imports once for all.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import pickle
import resource
import signal
import sys
import traceback
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis

from mutants import ROOT, SETTINGS, modules

PACKAGE = "blocklib"
HEAVY = ("torch", "transformers", "hypothesis", "numpy")
KILLED, SURVIVED, BROKEN = 10, 11, 12  # exit codes of a trial
MEMORY = 4 << 30  # bytes that a fault may take beyond what is loaded
WALL = 900  # seconds after which even a sleeping process ends


@dataclass
class Measure:
    """What the tests do without a fault.

    Attributes:
        seconds: test -> usual time.
        lines: module -> line -> tests that run it. Line 0: tests that run any line of the module.
        heavy: modules from elsewhere that the tests import.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)
    heavy: list[str] = field(default_factory=list)


def run_pytest(paths: list[str], *plugins: object) -> int:
    """One pytest session in this process, without the plugins that are installed; the exit code."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plain = ["-p", "no:cacheprovider", "-k", f"not ({' or '.join(SETTINGS['leave'])})"]
    return int(pytest.main([*paths, "-x", "-q", *plain], plugins=list(plugins)))


class Watch:
    """Notes which test runs which line.

    What one test leaves in a cache would hide lines from the next, so caches are emptied before each; the lines of a
    fixture that several tests share belong to each of them.
    """

    def __init__(self, coverage):
        self.coverage, self.now = coverage, ""
        self.seconds: dict[str, float] = defaultdict(float)
        self.uses: dict[str, set[str]] = defaultdict(set)  # context of a shared fixture -> tests
        self.failed = ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            for thing in list(vars(sys.modules[name]).values()):
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()
        self.now = nodeid
        self.coverage.switch_context(nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        self.coverage.switch_context(f"{fixturedef.baseid}::fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self.coverage.switch_context(self.now)

    def pytest_collection_modifyitems(self, items: list) -> None:
        for item in items:
            for name, found in item._fixtureinfo.name2fixturedefs.items():
                self.uses[f"{found[-1].baseid}::fixture {name}"].add(item.nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed = f"{report.nodeid}\n{report.longreprtext}"


def measure(path: Path) -> None:
    """Run all tests once, without a fault, and write a :class:`Measure` to ``path``; for a forked process."""
    from coverage import Coverage

    coverage = Coverage(data_file=None, include=[str(ROOT / module) for module in modules()], config_file=False)
    watch = Watch(coverage)
    coverage.start()
    code = run_pytest(SETTINGS["tests"], watch)
    coverage.stop()
    if code:
        raise SystemExit(f"the tests must pass before there is a fault: {watch.failed or f'pytest exit code {code}'}")
    data, result = coverage.get_data(), Measure(dict(watch.seconds))
    for module in modules():
        lines = {}
        for line, contexts in data.contexts_by_lineno(str(ROOT / module)).items():
            lines[line] = frozenset().union(*(watch.uses.get(c, {c}) for c in contexts if c))
        lines[0] = frozenset().union(*lines.values())
        result.lines[module] = lines
    result.heavy = sorted(name for name in sys.modules if name.partition(".")[0] in HEAVY)
    path.write_bytes(pickle.dumps(result))


def mirror(module: str) -> str | None:
    """The test file named after the module, else after its folder."""
    path = Path(module).relative_to(PACKAGE)
    for name in (path.stem, path.parent.name):
        for room in path.parents:
            file = "tests" / room / f"test_{name}.py"
            if (ROOT / file).is_file():
                return file.as_posix()
    return None


def plan(measured: Measure, module: str, lines: range) -> list[tuple[str, list[str]]]:
    """Test files and their tests in the order to run them: the mirror first, then files whose tests take least.

    Chosen are the tests that run one of ``lines``; for a line that runs on import, all that run the module. The rest of
    the mirror, for a line that runs on import of all those files, comes at the end, because a test can depend on a line
    that ran before it, while tests were collected.
    """
    at = measured.lines[module]
    run = frozenset().union(*(at.get(line, frozenset()) for line in lines))
    names = run or at[0]
    files: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=measured.seconds.__getitem__):
        files[name.partition("::")[0]].append(name)
    own = mirror(module)
    cost = {file: sum(map(measured.seconds.__getitem__, tests)) for file, tests in files.items()}
    steps = sorted(files.items(), key=lambda step: (step[0] != own, cost[step[0]]))
    for file in [own] if run else dict.fromkeys([own, *(file for file, _ in steps)]):
        rest = [name for name in measured.seconds if name.startswith(f"{file}::") and name not in names]
        steps += [(file, rest)] if rest else []
    return steps


class Mutated(importlib.machinery.SourceFileLoader):
    """Loads a module from mutated source in place of its file."""

    source = b""

    def get_code(self, fullname: str):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module before its file is found."""

    def __init__(self, module: str, source: bytes):
        self.name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.path, self.source = str(ROOT / module), source

    def find_spec(self, fullname: str, path=None, target=None):
        if fullname != self.name:
            return None
        loader = Mutated(fullname, self.path)
        loader.source = self.source
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def allow(seconds: float) -> None:
    """Let this process compute for so long from now on, whatever else the machine does; then it dies."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


class Chosen:
    """Runs the tests named, in their order; the whole file when the fault has changed which tests there are."""

    def __init__(self, names: list[str], seconds: dict[str, float]):
        self.rank = {name: i for i, name in enumerate(names)}
        self.seconds, self.failed = seconds, ""

    def pytest_sessionstart(self) -> None:
        """One counter-example is enough: it is not made smaller."""
        phases = (Phase.explicit, Phase.generate)
        hypothesis.register_profile(
            "judge", hypothesis.get_profile(hypothesis.get_current_profile_name()), phases=phases
        )
        hypothesis.load_profile("judge")

    def pytest_collection_modifyitems(self, items: list) -> None:
        if self.rank.keys() <= {item.nodeid for item in items}:
            items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        allow(8 + 10 * self.seconds.get(nodeid, 1))

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def attempt(
    module: str, source: bytes, steps: list[tuple[str, list[str]]], seconds: dict[str, float]
) -> tuple[int, str]:
    """Import the package with ``source`` in place of ``module`` and run the steps; for a forked process.

    Returns:
        ``KILLED`` and the test that failed (its file, where collecting it failed), ``SURVIVED``, or ``BROKEN`` and why.
    """
    if sys.platform == "linux":
        space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    sys.meta_path.insert(0, Finder(module, source))
    for file, names in steps:
        allow(20)
        chosen = Chosen(names, seconds)
        code = run_pytest([file], chosen)
        if code == pytest.ExitCode.USAGE_ERROR:
            return BROKEN, f"pytest does not take {file}"
        if code != pytest.ExitCode.OK:
            return KILLED, chosen.failed or file
    return SURVIVED, ""


def fork(log: Path, work, *args) -> int:
    """Run ``work(*args)``, which returns an exit code and a text or None, in a forked process; its id.

    The process leads a group of its own, prints to ``log`` and leaves the text in ``log`` with suffix ``.said``.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = BROKEN
    try:
        os.setsid()
        os.chdir(ROOT)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(WALL)
        code, said = work(*args) or (0, "")
        log.with_suffix(".said").write_text(said, "utf-8")
    except SystemExit as error:
        log.with_suffix(".said").write_text(str(error), "utf-8")
    except BaseException:
        log.with_suffix(".said").write_text(traceback.format_exc(), "utf-8")
    finally:
        sys.stdout.flush()
        os._exit(code)


def end(pid: int) -> None:
    """End what a trial has left running."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
