"""The faults of a module: mutmut's operators at every place that computes something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
from mutmut.mutation.mutators import mutation_operators

from mutants import SETTINGS

MODULE = "<module>"


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        function: dotted name of the innermost function or class around it, or ``<module>``.
        line, mutant: the line as it stands and with the fault in it, without indentation.
        lines: numbers of the lines of its statement (of a compound statement, of the head).
        source: the whole mutated source.
    """

    function: str
    line: str
    mutant: str
    lines: range
    source: bytes


def functions(tree: ast.Module) -> list[tuple[range, str]]:
    """Lines and dotted name of every function and class, the outer before the inner."""
    found = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}".lstrip(".")
                found.append((range(child.lineno, child.end_lineno + 1), name))
            walk(child, name)

    walk(tree, "")
    return found


def statements(tree: ast.Module) -> list[range]:
    """Lines of every statement; of one that has a body, those before the body."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            found.append(range(node.lineno, max(body[0].lineno, node.lineno + 1) if body else node.end_lineno + 1))
    return sorted(found, key=len, reverse=True)


class Places(libcst.CSTVisitor):
    """Collects (node, node with the fault) at every place that computes.

    Annotations and decorators compute nothing. The settings leave out the text of messages (what f-strings hold inside
    ``raise`` and inside calls of the functions named there) and arguments that only assert.
    """

    def __init__(self) -> None:
        wanted = set(SETTINGS["operators"])
        self.operators = [(kind, op) for kind, op in mutation_operators if op.__name__ in wanted]
        if unknown := wanted - {op.__name__ for _, op in self.operators}:
            raise SystemExit(f"[tool.mutate] operators: mutmut has no {', '.join(sorted(unknown))}")
        self.found: list[tuple[libcst.CSTNode, libcst.CSTNode]] = []
        self.messages = 0

    def is_message(self, node: libcst.CSTNode) -> bool:
        called = isinstance(node, libcst.Call) and isinstance(node.func, libcst.Name)
        return isinstance(node, libcst.Raise) or (called and node.func.value in SETTINGS["messages"])

    def on_visit(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.Annotation | libcst.Decorator):
            return False
        if isinstance(node, libcst.FormattedString) and self.messages:
            return False
        if isinstance(node, libcst.Arg) and node.keyword and node.keyword.value in SETTINGS["assertions"]:
            return False
        self.messages += self.is_message(node)
        self.found += [(node, new) for kind, op in self.operators if isinstance(node, kind) for new in op(node)]
        return True

    def on_leave(self, node: libcst.CSTNode) -> None:
        self.messages -= self.is_message(node)


def replaced(module: libcst.Module, source: bytes, start: int, node: libcst.CSTNode, new: libcst.CSTNode) -> bytes:
    """The source with ``new`` in place of ``node``, whose code starts at byte ``start``."""
    was, now = (module.code_for_node(n).encode() for n in (node, new))
    if source[start:].startswith(was):
        return source[:start] + now + source[start + len(was) :]
    return module.deep_replace(node, new).bytes  # the slow way: parentheses around it, or more than one line


def faults(source: bytes) -> Iterator[Fault]:
    """Every fault of a module, from its top to its end."""
    wrapper, places = MetadataWrapper(libcst.parse_module(source), unsafe_skip_copy=True), Places()
    spans = wrapper.resolve(ByteSpanPositionProvider)
    wrapper.module.visit(places)
    tree, seen = ast.parse(source), set()
    around, heads, old = functions(tree), statements(tree), source.split(b"\n")
    for node, new in places.found:
        mutated = replaced(wrapper.module, source, spans[node].start, node, new)
        if mutated in seen:
            continue
        seen.add(mutated)
        at, now = next((i, b) for i, (a, b) in enumerate(zip(old, mutated.split(b"\n"), strict=False)) if a != b)
        name = next((name for lines, name in reversed(around) if at + 1 in lines), MODULE)
        lines = next((lines for lines in reversed(heads) if at + 1 in lines), range(at + 1, at + 2))
        yield Fault(name, old[at].decode().strip(), now.decode().strip(), lines, mutated)
