"""Find exhibits by reading the library's source, without importing it; load one when it is asked for."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from blocklib.charts.exhibit import REGISTRY, Exhibit, place, said
from blocklib.charts.model import ChartError
from blocklib.problems import BlocklibError, nearest

PACKAGE = Path(__file__).resolve().parent
_READS = re.compile(r"^READS = \(([^)]*)\)", re.MULTILINE)  # files outside the library that a module's exhibits read
_DECORATOR = re.compile(r'^@exhibit\(\s*"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True)
class ExhibitRef:
    """Where an exhibit is defined: dotted module, file, line of its decorator."""

    module: str
    path: Path
    line: int


def discover(folder: Path = PACKAGE, package: str = "blocklib.charts") -> dict[str, ExhibitRef]:
    """All exhibits under ``folder``, by id, sorted by file and line. Raises ChartError for an id used twice."""
    found: dict[str, ExhibitRef] = {}
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for match in _DECORATOR.finditer(source):
            parts = path.relative_to(folder).with_suffix("").parts
            module = ".".join((package, *(p for p in parts if p != "__init__")))
            ref = ExhibitRef(module, path, source.count("\n", 0, match.start()) + 1)
            if match[1] in found:
                first = found[match[1]]
                raise ChartError(
                    f"exhibit {match[1]!r} is defined twice",
                    where=f"{path.name}:{ref.line}",
                    remedy=f"first in {first.path.name}:{first.line}",
                )
            found[match[1]] = ref
    return found


@cache
def _refs() -> dict[str, ExhibitRef]:
    return discover()


def load(id: str) -> Exhibit:
    """The exhibit ``id``, importing its module if need be. Raises ChartError naming the nearest known id."""
    if id not in REGISTRY:
        refs = _refs() if id in _refs() else discover()
        if id not in refs:
            near = nearest(id, refs)
            raise ChartError(f"no exhibit {id!r}", remedy=f"did you mean {near[0]!r}?" if near else None)
        try:
            importlib.import_module(refs[id].module)
        except BlocklibError:
            raise
        except Exception as error:
            message = f"{refs[id].module} cannot be imported: {said(error)}"
            raise ChartError(message, where=place(error, refs[id].module)) from error
        if id not in REGISTRY:
            raise ChartError(f"{refs[id].module} does not register the exhibit {id!r}")
    return REGISTRY[id]


def fingerprint(id: str) -> str:
    """Hash of everything the exhibit's markup and payload depend on: its module's closure and the renderers'.

    Files outside the library count where the module names them: ``READS = ("docs/sources.bib",)``, patterns allowed.

    Raises:
        ChartError: there is no such exhibit.
    """
    from hashlib import sha256

    from blocklib.facts.fingerprint import closure_hash

    ref = _refs().get(id) or discover().get(id)
    if ref is None:
        raise ChartError(f"no exhibit {id!r}")
    code = closure_hash(f"import {ref.module}\nimport blocklib.charts.html\nimport blocklib.charts.payload\n")
    files = reads(ref.path)
    return sha256(b"".join([code.encode(), *(file.read_bytes() for file in files)])).hexdigest() if files else code


def reads(module: Path, root: Path = PACKAGE.parents[1]) -> list[Path]:
    """The files under ``root`` that the literal ``READS`` of a module names, sorted."""
    named = _READS.search(module.read_text(encoding="utf-8"))
    patterns = re.findall(r'"([^"]+)"', named[1]) if named else []
    return sorted({file for pattern in patterns for file in root.glob(pattern)})
