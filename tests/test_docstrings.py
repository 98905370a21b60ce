"""Every public name of the library says what it is: shapes where there are tensors, errors where it raises.

Read from the source, so nothing is imported. A constant or a field shows its value, and the comment beside it if there
is one; a docstring is owed by modules, classes, functions, methods and properties. The test names what each lacks.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe
import pytest

from blocklib.site import api
from tests.conftest import ROOT

ROOMS = ("nn", "theory", "ledger", "atlas", "facts", "claims", "charts")
# A shape stands in a code span: ``(B, T, D)``, ``(…, d)``, ``(d,)``; a scalar is ``()``; or the words say which.
SHAPE = re.compile(r"``[^`]*\((?:[^()`]+,[^()`]*|)\)[^`]*``|\bsame shape\b|\bshapes? as\b|\bscalars?\b")
RAISES = re.compile(r"\b[Rr]aises?\b|\b[Rr]efuse[sd]?\b")


@cache
def library(root: Path = ROOT) -> api.Library:
    return api.Library(root)


def public(module: griffe.Module) -> Iterator[griffe.Object]:
    """The module, what it defines and the members of its classes, where a docstring is owed."""
    yield module
    for item in filter(api.is_described, api.members(module)):
        yield item
        if isinstance(item, griffe.Class):
            yield from filter(api.is_described, api.members(item))


def text_of(item: griffe.Object) -> str:
    return item.docstring.value if item.docstring else ""


def annotations(item: griffe.Object) -> str:
    """What the annotations of a function, property or constructor say, as written."""
    if isinstance(item, griffe.Module):
        return ""
    if isinstance(item, griffe.Attribute):
        return str(item.annotation)
    returns = str(item.returns) if isinstance(item, griffe.Function) else ""
    return " ".join([returns, *(str(parameter.annotation) for parameter in item.parameters)])


def raises(item: griffe.Object) -> bool:
    """Whether a function raises in its own body, or a class in its constructor.

    Passing an error on is not raising, and NotImplementedError marks a method that others define.
    """
    if isinstance(item, griffe.Class):
        made = (item.members.get(name) for name in ("__init__", "__post_init__", "__new__"))
        return any(raises(one) for one in made if isinstance(one, griffe.Function) and one.lineno)
    if isinstance(item, griffe.Module):
        return False
    source = "\n".join(api.source_lines(item)[item.lineno - 1 : item.endlineno])
    body = ast.parse(textwrap.dedent(source)).body[0]
    return any(
        isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" not in ast.unparse(node)
        for node in _own(body)
    )


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)


def lacks(item: griffe.Object) -> Iterator[str]:
    """What the docstring of ``item`` should say and does not."""
    text = text_of(item)
    if not text.strip():
        yield "no docstring"
        return
    if re.search(r"\bTensor\b", annotations(item)) and not SHAPE.search(text):
        yield "takes or returns tensors and names no shape"
    if raises(item) and not RAISES.search(text) and not text.startswith("usage:"):  # the help of a command
        yield "raises and does not say what"


def faults(room: str, root: Path = ROOT) -> list[str]:
    found = library(root)
    modules = [module for path, module in found.modules.items() if path.split(".")[1] == room]
    return [f"{item.path}: {what}" for module in modules for item in public(module) for what in lacks(item)]


@pytest.mark.parametrize("room", [*ROOMS, *api.SHARED])
def test_every_public_name_says_what_it_is(room):
    assert faults(room) == []


PLANTED = '''\
"""A module."""

from torch import Tensor


def good(x: Tensor) -> Tensor:
    """``(B, T, D)`` to ``(B, T)``. Raises ValueError for an empty one."""
    if not len(x):
        raise ValueError
    return x


def bare(x):
    return x


def shapeless(x: Tensor) -> int:
    """Counts ``x``."""
    return len(x)


def thrower(n: int) -> int:
    """Halves ``n``."""
    if n % 2:
        raise ValueError(n)
    return n // 2


def passes_on(n: int) -> int:
    """Halves ``n``; the raise of an inner function is its own."""
    def inner():
        raise ValueError
    try:
        return n // 2
    except TypeError:
        raise


class Holder:
    """Holds."""

    def __init__(self, x: Tensor):
        if x is None:
            raise TypeError
        self.x = x

    @property
    def size(self) -> int:
        return len(self.x)

    def _private(self):
        raise ValueError


def _hidden():
    return 0
'''


def test_control_what_is_missing_is_found(tmp_path):
    folder = tmp_path / "blocklib" / "nn"
    folder.mkdir(parents=True)
    (tmp_path / "blocklib" / "__init__.py").write_text("")
    (folder / "__init__.py").write_text('"""A room."""\n')
    (folder / "planted.py").write_text(PLANTED)
    (folder / "silent.py").write_text("X = 1\n")
    at = "blocklib.nn.planted."
    assert faults("nn", tmp_path) == [
        f"{at}bare: no docstring",
        f"{at}shapeless: takes or returns tensors and names no shape",
        f"{at}thrower: raises and does not say what",
        f"{at}Holder: takes or returns tensors and names no shape",
        f"{at}Holder: raises and does not say what",
        f"{at}Holder.size: no docstring",
        "blocklib.nn.silent: no docstring",
    ]
