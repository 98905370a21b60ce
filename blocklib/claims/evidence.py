"""The tests as evidence: which test functions exist and which claims they are marked with, read by ``ast``.

Nothing is imported or run, so the question costs milliseconds and needs neither torch nor pytest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from blocklib.problems import Problem


@dataclass(frozen=True)
class Marker:
    """``@pytest.mark.claim(claim, control=…)`` as it stands at ``path:line``."""

    claim: str
    control: bool
    path: str
    line: int


@dataclass(frozen=True)
class Test:
    """One collected test function; ``idle`` names the decorator that keeps it from being evidence."""

    __test__ = False  # a data class, not something for pytest to collect

    name: str
    path: str
    line: int
    markers: tuple[Marker, ...]
    idle: str = ""


@dataclass(frozen=True)
class Evidence:
    """All tests by name (``tests/room/test_x.py::Class::test_y``) and what is wrong with the markers."""

    tests: dict[str, Test]
    problems: tuple[Problem, ...]


def collect(root: Path, listed: set[str] = frozenset()) -> Evidence:
    """Read every test file that holds a claim marker or is named in ``listed`` (test names or paths)."""
    wanted = {name.split("::")[0] for name in listed}
    tests: dict[str, Test] = {}
    problems: list[Problem] = []
    for file in sorted((root / "tests").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        source = file.read_text(encoding="utf-8", errors="replace")
        if path not in wanted and "mark.claim" not in source:
            continue
        found = _read(source, path)
        tests.update(found.tests)
        problems += found.problems
    return Evidence(tests, tuple(problems))


@lru_cache(maxsize=1024)
def _read(source: str, path: str) -> Evidence:
    """The tests of one file, read once for each content."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        return Evidence({}, (Problem(path, line, f"not valid Python: {getattr(error, 'msg', error)}"),))
    reader = _Reader(path, [])
    reader.read(tree)
    return Evidence(reader.tests, tuple(reader.problems))


class _Reader:
    def __init__(self, path: str, problems: list[Problem]):
        self.path, self.problems = path, problems
        self.collected = Path(path).name.startswith("test_") or Path(path).name.endswith("_test.py")
        self.tests: dict[str, Test] = {}

    def read(self, tree: ast.Module) -> None:
        markers: tuple[Marker, ...] = ()
        idle = ""
        for node in tree.body:
            values = _pytestmark(node)
            markers += tuple(self.markers(values))
            idle = idle or _idle(values)
        self.walk(tree.body, self.path, markers, idle)

    def walk(self, body: list[ast.stmt], prefix: str, markers: tuple[Marker, ...], idle: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                inner = [value for child in node.body for value in _pytestmark(child)]
                own = tuple(self.markers([*node.decorator_list, *inner]))
                if own and not (self.collected and node.name.startswith("Test")):
                    self.uncollected(own)
                elif node.name.startswith("Test"):
                    halted = idle or _idle([*node.decorator_list, *inner])
                    self.walk(node.body, f"{prefix}::{node.name}", markers + own, halted)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = tuple(self.markers(node.decorator_list))
                if self.collected and node.name.startswith("test"):
                    name = f"{prefix}::{node.name}"
                    halted = idle or _idle(node.decorator_list)
                    if name in self.tests:
                        self.problems.append(
                            Problem(
                                self.path,
                                node.lineno,
                                f"{node.name} hides the test of the same name in line {self.tests[name].line}",
                            )
                        )
                    self.tests[name] = Test(name, self.path, node.lineno, markers + own, halted)
                elif own:
                    self.uncollected(own)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                self.walk([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)], prefix, markers, idle)

    def uncollected(self, markers: tuple[Marker, ...]) -> None:
        for marker in markers:
            self.problems.append(
                Problem(
                    marker.path,
                    marker.line,
                    f"marker for claim {marker.claim!r} stands on something pytest does not collect",
                )
            )

    def markers(self, values: list[ast.expr]) -> Iterator[Marker]:
        for call in (node for value in values for node in ast.walk(value)):
            if not (isinstance(call, ast.Call) and _is_mark(call.func, "claim")):
                continue
            words = {word.arg: word.value for word in call.keywords}
            ident = call.args[0] if call.args else words.get("id")
            control = words.get("control", ast.Constant(False))
            if not (isinstance(ident, ast.Constant) and isinstance(ident.value, str)):
                self.problems.append(
                    Problem(self.path, call.lineno, "a claim marker takes the claim's id as a literal string")
                )
            elif not (isinstance(control, ast.Constant) and isinstance(control.value, bool)):
                self.problems.append(
                    Problem(self.path, call.lineno, "control= of a claim marker is True or False, written out")
                )
            else:
                yield Marker(ident.value, control.value, self.path, call.lineno)


def _pytestmark(node: ast.stmt) -> list[ast.expr]:
    """The markers of ``pytestmark = …`` (one or a list), if ``node`` is that assignment."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets):
        return []
    value = getattr(node, "value", None)
    return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value] if value else []


def _is_mark(node: ast.expr, name: str) -> bool:
    """Whether ``node`` reads ``pytest.mark.NAME`` or ``mark.NAME``."""
    if not (isinstance(node, ast.Attribute) and node.attr == name):
        return False
    owner = node.value
    return getattr(owner, "attr", None) == "mark" or getattr(owner, "id", None) == "mark"


def _idle(values: list[ast.expr]) -> str:
    """``"skip"`` or ``"xfail"`` where such a marker stands without a condition."""
    for value in values:
        call = value.func if isinstance(value, ast.Call) else value
        for name in ("skip", "xfail"):
            conditional = name == "xfail" and isinstance(value, ast.Call) and value.args
            if _is_mark(call, name) and not conditional:
                return name
    return ""
