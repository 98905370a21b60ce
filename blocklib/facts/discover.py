"""Find facts without importing anything: names by one regular expression, the rest from the syntax tree.

A fact stands at the top level of a module as ``@fact(…)`` over ``def NAME(…)``; the decorator's arguments are
literals and the parameters are annotated, so all that a reader sees is known before the module is loaded.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.facts.fingerprint import module_path
from blocklib.problems import BlocklibError
from blocklib.text import Text

GRADES = ("proved", "computed", "measured", "cited", "convention")
_FACT = re.compile(r"^@(?:\w+\.)*fact\b[^\n]*\n(?:(?!def |async |class |@fact)[^\n]*\n)*?def\s+(\w+)", re.M)
_OPTIONS = {"unit", "grade", "origin", "formula", "tests", "slow"}
_KINDS = {"int": "int", "float": "float", "Fraction": "fraction", "bool": "bool", "str": "str",
          "Model": "model", "Chip": "chip"}  # fmt: skip


class FactError(BlocklibError):
    """A fact that does not exist, is declared wrongly, is called wrongly, or cannot be evaluated."""


REQUIRED = object()


@dataclass(frozen=True)
class Param:
    """A parameter: ``kind`` is int, float, fraction, bool, str, literal, model or chip."""

    name: str
    kind: str
    choices: tuple = ()
    default: object = REQUIRED

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        kind = " | ".join(map(str, self.choices)) if self.kind == "literal" else self.kind
        return f"{self.name}: {kind}" + ("" if self.required else f" = {self.default}")


@dataclass(frozen=True)
class FactSpec:
    """A fact as declared: everything but its value.

    ``origin`` is the dotted name of the function, or ``source, place`` for a figure from the literature.
    ``about`` is the docstring's first paragraph (English) and its line that begins ``中文：``.
    """

    name: str
    module: str
    path: str
    line: int
    params: tuple[Param, ...]
    about: Text
    unit: str | None = None
    grade: str = "computed"
    origin: str = ""
    formula: str | None = None
    tests: tuple[str, ...] = ()
    slow: bool = False

    def param(self, name: str) -> Param | None:
        """The parameter of that name; None where there is none."""
        return next((p for p in self.params if p.name == name), None)


@dataclass(frozen=True)
class Site:
    """Where a fact is defined: dotted module, path relative to the root, line of ``def``."""

    module: str
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def modules(root: Path, package: str) -> Iterator[tuple[str, str]]:
    """(relative path, source) of every module of ``package`` under ``root``, sorted by path."""
    for folder, folders, files in os.walk(os.path.join(root, package)):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield Path(os.path.relpath(path, root)).as_posix(), file.read()


def find_sites(root: Path, package: str) -> dict[str, Site]:
    """Every fact of ``package`` by name. Raises :class:`FactError` where two facts share one."""
    sites: dict[str, Site] = {}
    for path, source in modules(root, package):
        if "fact" not in source:
            continue
        for found in _FACT.finditer(source):
            site = Site(dotted(path), path, source.count("\n", 0, found.end()) + 1)
            if found[1] in sites:
                raise FactError(f"two facts are named {found[1]!r}", where=str(site), remedy=f"see {sites[found[1]]}")
            sites[found[1]] = site
    return sites


def dotted(path: str) -> str:
    """``a/b.py`` → ``a.b``; ``a/__init__.py`` → ``a``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


_trees: dict[Path, tuple[int, ast.Module]] = {}


def _tree(path: Path, shown: str) -> ast.Module:
    stamp = os.stat(path).st_mtime_ns
    if path not in _trees or _trees[path][0] != stamp:
        try:
            _trees[path] = (stamp, ast.parse(path.read_text(encoding="utf-8")))
        except (SyntaxError, ValueError) as error:
            raise FactError(f"not valid Python: {error}", where=shown) from None
    return _trees[path][1]


def describe(name: str, site: Site, root: Path) -> FactSpec:
    """The declaration of one fact, read from its module's syntax tree.

    Raises :class:`FactError` with the fact's place where the declaration is not complete and literal.
    """
    tree = _tree(Path(root) / site.path, site.path)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and (mark := _decorator(node)) is not None:
            return _spec(node, mark, tree, site, root)
    raise FactError(f"no function {name!r} with @fact at the top level of the module", where=str(site))


def _decorator(node: ast.FunctionDef) -> ast.expr | None:
    for mark in node.decorator_list:
        target = mark.func if isinstance(mark, ast.Call) else mark
        if getattr(target, "id", getattr(target, "attr", "")) == "fact":
            return mark
    return None


def _spec(node: ast.FunctionDef, mark: ast.expr, tree: ast.Module, site: Site, root: Path) -> FactSpec:
    where = f"{site.path}:{node.lineno}"
    options: dict = {}
    if isinstance(mark, ast.Call):
        if mark.args:
            raise FactError("@fact takes keyword arguments only", where=where)
        for item in mark.keywords:
            if item.arg not in _OPTIONS:
                raise FactError(f"@fact has no argument {item.arg!r}", where=where, remedy=", ".join(sorted(_OPTIONS)))
            try:
                options[item.arg] = _literal(item.value, tree)
            except (ValueError, TypeError):
                message = f"@fact({item.arg}=…) must be a literal or a constant of the module"
                raise FactError(message, where=where) from None
    if isinstance(options.get("tests"), str):
        options["tests"] = (options["tests"],)
    if options.setdefault("grade", "computed") not in GRADES:
        raise FactError(f"unknown grade {options['grade']!r}", where=where, remedy="one of " + ", ".join(GRADES))
    options["tests"] = tuple(options.get("tests", ()))
    options["origin"] = options.get("origin") or f"{site.module}.{node.name}"
    params = _params(node, tree, root, where)
    return FactSpec(node.name, site.module, site.path, node.lineno, params, _about(node, where), **options)


def _literal(node: ast.expr, tree: ast.Module, depth: int = 0) -> object:
    """The value of a literal in which names stand for constants of the module; ``+`` joins texts and tuples."""
    if isinstance(node, ast.Name) and depth < 8:
        for item in tree.body:
            targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
            if isinstance(item, ast.Assign | ast.AnnAssign) and any(getattr(t, "id", "") == node.id for t in targets):
                return _literal(item.value, tree, depth + 1)
        raise ValueError(node.id)
    if isinstance(node, ast.Tuple | ast.List):
        items: list = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                items += _literal(item.value, tree, depth)
            else:
                items.append(_literal(item, tree, depth))
        return tuple(items)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left, tree, depth) + _literal(node.right, tree, depth)
    return ast.literal_eval(node)


def _about(node: ast.FunctionDef, where: str) -> Text:
    doc = (ast.get_docstring(node) or "").strip()
    english = " ".join(doc.split("\n\n")[0].split())
    paragraphs = (p.strip() for p in re.split(r"\n\s*\n|\n(?=中文：)", doc))
    chinese = next((p[3:] for p in paragraphs if p.startswith("中文：")), "")
    if not english or not chinese or english.startswith("中文："):
        raise FactError(
            f"the docstring of {node.name!r} is what the reader sees: it needs a first paragraph in English "
            "and a line that begins 中文：",
            where=where,
        )
    # A Chinese sentence wrapped over lines joins without blanks, except between two Latin words.
    chinese = re.sub(r"(?<=[!-~])\s*\n\s*(?=[!-~])", " ", chinese.strip())
    return Text(re.sub(r"\s*\n\s*", "", chinese), english)


def _params(node: ast.FunctionDef, tree: ast.Module, root: Path, where: str) -> tuple[Param, ...]:
    args = node.args
    if args.vararg or args.kwarg or args.posonlyargs:
        raise FactError("a fact's parameters are named ones: no *args, **kwargs or /", where=where)
    plain = args.args
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    params = []
    for arg, default in [*zip(plain, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]:
        try:
            value = REQUIRED if default is None else ast.literal_eval(default)
        except ValueError:
            raise FactError(f"the default of {arg.arg!r} must be a literal", where=where) from None
        kind, choices = _kind(arg.annotation, tree, root, 0) or (None, ())
        if kind is None:
            found = ast.unparse(arg.annotation) if arg.annotation else "no annotation"
            raise FactError(
                f"parameter {arg.arg!r} has {found}", where=where,
                remedy="annotate it as int, float, Fraction, bool, str, Literal[…], Model or Chip",
            )  # fmt: skip
        params.append(Param(arg.arg, kind, choices, value))
    return tuple(params)


def _kind(node: ast.expr | None, tree: ast.Module, root: Path, depth: int) -> tuple[str, tuple] | None:
    """Kind and choices of an annotation; aliases are followed within the module and through imports."""
    if node is None or depth > 4:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _kind(ast.parse(node.value, mode="eval").body, tree, root, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
        return _kind(node.left, tree, root, depth + 1)
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", getattr(node.value, "attr", "")) == "Literal":
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        try:
            return "literal", tuple(ast.literal_eval(item) for item in items)
        except ValueError:
            return None
    name = getattr(node, "id", getattr(node, "attr", None))
    if name in _KINDS:
        return _KINDS[name], ()
    for item in tree.body:
        if isinstance(item, ast.Assign) and any(getattr(t, "id", "") == name for t in item.targets):
            return _kind(item.value, tree, root, depth + 1)
        if isinstance(item, ast.AnnAssign) and getattr(item.target, "id", "") == name:
            return _kind(item.value, tree, root, depth + 1)
        if isinstance(item, ast.ImportFrom) and not item.level and item.module:
            for alias in item.names:
                path = module_path(item.module, root) if (alias.asname or alias.name) == name else None
                if path:
                    target = ast.parse(path.read_text(encoding="utf-8"))
                    return _kind(ast.Name(alias.name), target, root, depth + 1)
    return None
