"""What a piece of code depends on, as one hash: the key of the lock file and of every build cache.

The hash covers the transitive first-party imports (read from the syntax tree, nothing is imported) and the
data files (``*.toml``, ``*.json``) that stand in the packages of those modules. A module is parsed once for each
content; between :func:`hold` and :func:`release` files are not even looked at twice.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any

from blocklib.problems import BlocklibError

ROOT = Path(__file__).resolve().parents[2]
DATA_SUFFIXES = (".toml", ".json", ".safetensors", ".xz")
DERIVED = {"lock.json"}  # written from the hash, so never part of it
# The decorator and the parameter types mark a function and cannot change what it returns; following them
# would tie every fact to the machinery that reads pages.
MARKERS = {"blocklib.facts.registry": {"fact", "Model", "Chip"}}
PINNED = ("torch", "numpy", "matplotlib", "plotly", "Markdown", "pymdown-extensions")

_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Import:
    """One import statement: the module, the names taken from it, and whether it is a lazy attribute."""

    __slots__ = ("lazy", "level", "module", "names")

    def __init__(self, module: str, names: tuple[str, ...] = (), level: int = 0, *, lazy: bool):
        self.module, self.names, self.level, self.lazy = module, names, level, lazy


class _Finder(ast.NodeVisitor):
    """Collect the imports of a module, skipping those only a type checker sees."""

    def __init__(self) -> None:
        self.found: list[Import] = []
        self.lazy = False

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [Import(alias.name, lazy=self.lazy) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        names = tuple(alias.name for alias in node.names)
        self.found.append(Import(node.module or "", names, node.level, lazy=self.lazy))

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        if getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING":
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # A module's __getattr__ imports on demand: what it loads counts only where the name is asked for.
        before, self.lazy = self.lazy, self.lazy or node.name == "__getattr__"
        self.generic_visit(node)
        self.lazy = before


def imports_of(source: str, filename: str = "<source>") -> list[Import]:
    """The import statements of ``source``. Raises :class:`BlocklibError` where it is not Python."""
    try:
        tree = ast.parse(source, filename)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise BlocklibError(f"not valid Python: {getattr(error, 'msg', error)}", where=f"{filename}:{line}") from None
    finder = _Finder()
    finder.visit(tree)
    return finder.found


_parsed: dict[str, list[Import]] = {}  # by digest of the module's bytes
_held: dict[tuple, Any] | None = None


def hold() -> None:
    """Look at each file and folder once from now on: to a build the library is as the build found it."""
    global _held
    _held = {}


def release() -> None:
    """Look at the files again at every call."""
    global _held
    _held = None


def _holdable(function: Callable) -> Callable:
    """Memoise ``function`` by its arguments while files are held, and else while the outermost call lasts."""

    @wraps(function)
    def once(*args):
        if _held is None:
            hold()
            try:
                return once(*args)
            finally:
                release()
        key = (function, *args)
        if key not in _held:
            _held[key] = function(*args)
        return _held[key]

    return once


@_holdable
def _read(path: Path) -> tuple[str, list[Import]]:
    """Digest of the file, and its imports where it is a module."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return digest, _imports(data, digest, path) if path.suffix == ".py" else []


def _imports(data: bytes, digest: str, path: Path) -> list[Import]:
    if digest not in _parsed:
        _parsed[digest] = imports_of(data.decode("utf-8"), str(path))
    return _parsed[digest]


def known_imports() -> dict[str, list]:
    """The imports of every module that was parsed, by digest of its bytes, as JSON: for :func:`recall`."""
    return {
        digest: [[item.module, item.names, item.level, item.lazy] for item in found]
        for digest, found in _parsed.items()
    }


def recall(known: dict[str, list]) -> None:
    """Take over what :func:`known_imports` gave: parsing every module is most of a fingerprint's time."""
    for digest, rows in known.items():
        _parsed[digest] = [Import(module, tuple(names), level, lazy=lazy) for module, names, level, lazy in rows]


@_holdable
def module_path(name: str, root: Path = ROOT) -> Path | None:
    """File of a first-party module (``a.b`` → ``a/b.py`` or ``a/b/__init__.py`` under ``root``), else None."""
    base = os.path.join(root, *name.split("."))
    for candidate in (base + ".py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None


def _absolute(item: Import, package: str) -> str:
    if not item.level:
        return item.module
    parts = package.split(".")
    base = parts[: len(parts) - item.level + 1]
    return ".".join([*base, item.module] if item.module else base)


@_holdable
def _leads_to(name: str, root: Path) -> frozenset[str]:
    """The first-party modules that a first-party module makes Python load: its package, and what it imports."""
    path = module_path(name, root)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = _followed([i for i in _read(path)[1] if not i.lazy], package, root)
    return frozenset(found | {name.rpartition(".")[0]} - {""})


def _followed(items: Iterable[Import], package: str, root: Path, asked: frozenset = frozenset()) -> set[str]:
    """The first-party modules that the import statements ``items`` of a module of ``package`` name."""
    found: set[str] = set()
    for item in items:
        module = _absolute(item, package)
        if not item.names:
            # `import a.b` where b is an attribute of a: the nearest real module counts.
            while module and module_path(module, root) is None:
                module = module.rpartition(".")[0]
            found.update({module} - {""})
            continue
        if module in MARKERS and set(item.names) <= MARKERS[module]:
            continue
        if not module or module_path(module, root) is None:
            continue
        found.add(module)
        for name in item.names:
            if module_path(f"{module}.{name}", root) is not None:
                found.add(f"{module}.{name}")
            elif (module, name) not in asked:
                found |= _lazy_attribute(module, name, root, asked | {(module, name)})
    return found


@_holdable
def _lazy_attribute(module: str, name: str, root: Path, asked: frozenset) -> set[str]:
    """The modules that ``module.name`` loads through the module's ``__getattr__``."""
    path = module_path(module, root)
    lazy = [i for i in _read(path)[1] if i.lazy and (name in i.names or name == "*")]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _followed(lazy, package, root, asked)


def _reached(start: Iterable[str], root: Path) -> dict[str, Path]:
    """The modules of ``start`` with all they lead to, dotted name → file."""
    modules: dict[str, Path] = {}
    ahead = set(start)
    while ahead:
        name = ahead.pop()
        modules[name] = module_path(name, root)
        ahead |= _leads_to(name, root) - modules.keys()
    return modules


@_holdable
def _data_files(package_dir: str) -> list[Path]:
    """Data files of one package, with those of its folders that are not packages themselves."""
    found: list[Path] = []
    with os.scandir(package_dir) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir():
                if entry.name != "__pycache__" and not os.path.exists(os.path.join(entry.path, "__init__.py")):
                    found += _data_files(entry.path)
            elif entry.name.endswith(DATA_SUFFIXES) and entry.name not in DERIVED:
                found.append(Path(entry.path))
    return found


@_holdable
def _line(path: Path, root: Path) -> bytes:
    return f"\n{path.relative_to(root).as_posix()} {_read(path)[0]}".encode()


def _digest(files: Iterable[Path], root: Path, head: str = "") -> str:
    total = hashlib.sha256(head.encode())
    for path in files:
        total.update(_line(path, root))
    return total.hexdigest()


@_holdable
def _closure(target: str, root: Path) -> list[Path]:
    if not _MODULE_NAME.fullmatch(target):
        start = _followed(imports_of(target), "", root)
    elif module_path(target, root) is not None:
        start = {target}
    else:
        raise BlocklibError(f"no module {target!r}", where=str(root))
    modules = set(_reached(start, root).values())
    data = {file for package in {str(path.parent) for path in modules} for file in _data_files(package)}
    return sorted(modules | data)


def closure(target: str, root: Path = ROOT) -> list[Path]:
    """Every file that a module (dotted name) or a source text depends on, sorted; modules and data files.

    The module's own file is included. Raises :class:`BlocklibError` for a module that does not exist.
    """
    return list(_closure(target, Path(root)))


def closure_hash(target: str, root: Path = ROOT) -> str:
    """SHA-256 (hex) of a module name's or a source text's closure.

    A source text counts itself too. A text that is a bare dotted name is taken as a module name.
    """
    head = "" if _MODULE_NAME.fullmatch(target) else target
    return _digest(closure(target, root), Path(root), head)


@cache
def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def versions(names: Iterable[str] = PINNED) -> dict[str, str]:
    """Installed versions of the packages that can change a result, without importing them; "absent" if missing."""
    return {name: _version(name) for name in names}
