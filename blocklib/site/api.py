"""The public names of the library, read from its source by griffe: nothing is imported, so torch is not needed.

A name is public where no part of its path begins with an underscore and, in a module that has ``__all__``, where that
names it. What a module took over from another is listed there and described where it is defined.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import griffe

from blocklib.text import Text

ROOMS = {
    "nn": Text("用 torch 写的构件：归一化、位置、attention、缓存、FFN、模型", "Building blocks in torch: norms, positions, attention, caches, FFNs, models"),
    "theory": Text("小的闭式，只用标准库", "Small closed forms, standard library only"),
    "ledger": Text("由配置算出的精确账目：参数、FLOP、字节", "Exact accounts from a configuration: parameters, FLOPs, bytes"),
    "atlas": Text("真实的模型与芯片，逐项注明出处", "Real models and chips, each value with its source"),
    "lab": Text("训练实验室：分组、运行、判定", "The training lab: arms, runs, verdicts"),
    "charts": Text("图表即数据，以及由它们组成的展品", "Charts as data, and the exhibits made of them"),
    "facts": Text("绑定数字：事实、读数、比对", "Bound numbers: facts, reading, comparing"),
    "claims": Text("分级断言，及其与测试、出处的闭合", "Graded claims and their closure with tests and sources"),
}  # fmt: skip
SHARED = ("exact", "problems", "text")  # modules that stand above the rooms
SHARED_ROOM = Text("各处共用的类型与报错", "Types and errors that all of them share")
PROPERTY, CLASS_METHOD, STATIC = "property", "classmethod", "staticmethod"

logging.getLogger("griffe").setLevel(logging.CRITICAL)  # what it would like annotated is no fault of a page


class Library:
    """The package ``blocklib`` under ``root``: its public modules and what each of them defines."""

    def __init__(self, root: Path):
        self.root = root
        loader = griffe.GriffeLoader(search_paths=[str(root)], allow_inspection=False)
        self.package = loader.load("blocklib", try_relative_path=False)

    @cached_property
    def modules(self) -> dict[str, griffe.Module]:
        """Public modules by dotted path, room by room, a package before its modules."""
        found = [module for room in ROOMS if room in self.package.modules for module in _walk(self.package[room])]
        shared = (self.package.modules[name] for name in SHARED if name in self.package.modules)
        return {module.path: module for module in (*found, *shared)}

    @cached_property
    def places(self) -> dict[str, str]:
        """Path of every module and public name → the module on whose page it stands."""
        found = {path: path for path in self.modules}
        for path, module in self.modules.items():
            for item in members(module):
                found[item.path] = path
                if isinstance(item, griffe.Class):
                    found |= {inner.path: path for inner in members(item)}
        return found


def _walk(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for inner in sorted(module.modules.values(), key=lambda one: one.name):
        if not inner.is_alias and not inner.name.startswith("_"):
            yield from _walk(inner)


def slug(path: str) -> str:
    """What the address of a module's page ends in: ``blocklib.nn.norm`` is ``nn-norm`` (a folder x.html would pass for
    a page)."""
    return path.removeprefix("blocklib.").replace(".", "-")


def room_of(path: str) -> str:
    """``blocklib.nn.norm`` stands in room ``nn``; modules above the rooms in "" ."""
    name = path.split(".")[1]
    return name if name in ROOMS else ""


def exported(module: griffe.Module) -> set[str] | None:
    """The names in a module's ``__all__``; None where it has none."""
    return None if module.exports is None else {str(name) for name in module.exports}


def members(owner: griffe.Module | griffe.Class) -> list[griffe.Object]:
    """The public functions, classes and attributes that ``owner`` itself defines, in the order of the source."""
    names = exported(owner) if isinstance(owner, griffe.Module) else None
    found = [
        item
        for item in owner.members.values()
        if not item.is_alias
        and not item.name.startswith("_")
        and not isinstance(item, griffe.Module)
        and (names is None or item.name in names)
    ]
    if isinstance(owner, griffe.Class):
        made = owner.members.get("__init__")
        body = range(made.lineno, made.endlineno + 1) if made is not None and not made.is_alias and made.lineno else ()
        found = [item for item in found if not isinstance(item, griffe.Attribute) or item.lineno not in body]
    return sorted(found, key=lambda item: item.lineno or 0)


def taken_over(module: griffe.Module) -> list[str]:
    """Paths of what a module's ``__all__`` names but another module defines."""
    names = exported(module) or set()
    aliases = (item for item in module.members.values() if item.is_alias and item.name in names)
    return sorted(alias.target_path for alias in aliases)


def label(item: griffe.Object, name: str) -> bool:
    """Whether griffe labels ``item`` so, e.g. :data:`PROPERTY`."""
    return name in item.labels


def is_described(item: griffe.Object) -> bool:
    """Whether a docstring is owed: constants and fields show their value and the comment beside it instead."""
    return not isinstance(item, griffe.Attribute) or label(item, PROPERTY)


def source_lines(item: griffe.Object) -> list[str]:
    """The lines of the file in which ``item`` stands."""
    return item.lines_collection[item.filepath]


def comment(item: griffe.Attribute) -> str:
    """What stands beside or above an attribute in comments; "" where there are none."""
    lines = source_lines(item)
    beside = _after_code(lines[item.lineno - 1]) or _after_code(lines[item.endlineno - 1])
    if beside:
        return beside
    above: list[str] = []
    for line in reversed(lines[: item.lineno - 1]):
        text = line.strip()
        if not text.startswith("#") or text.startswith("# ----"):
            break
        above.insert(0, text.lstrip("# "))
    return " ".join(above)


def _after_code(line: str) -> str:
    _, mark, text = line.rpartition("  # ")
    return "" if not mark or text.startswith(("fmt:", "noqa", "type:")) else text.strip()
