"""Figures from the literature as facts; the format stands at the head of ``cited.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blocklib.facts.discover import FactError, FactSpec, Param
from blocklib.text import Text

_KEYS = {"about", "source", "place", "unit", "value", "values", "parameter", "grade"}


@dataclass(frozen=True)
class Cited:
    """One figure, or one column of figures by one parameter.

    ``rows`` maps the parameter's choice (None: no parameter) to the value as the source prints it and its place.
    """

    spec: FactSpec
    rows: Mapping[str | None, tuple[str, str]]

    def at(self, bound: Mapping[str, Any]) -> tuple[Any, FactSpec]:
        """Value and declaration, with this row's own place. Raises :class:`FactError` where it cannot be read."""
        choice = bound[self.spec.params[0].name] if self.spec.params else None
        text, place = self.rows[choice]
        source = self.spec.origin.split(", ")[0]
        return read_value(text, self.spec), replace(self.spec, origin=f"{source}, {place}")


def read_value(text: str, spec: FactSpec) -> Any:
    """The value of a printed figure; its unit must be the fact's, and it may carry no relation.

    Raises:
        FactError: the figure cannot be read, carries a relation, or has another unit than declared.
    """
    from blocklib.facts.reading import read
    from blocklib.problems import BlocklibError

    where = f"{spec.path}:{spec.line}"
    try:
        reading = read(text)
    except BlocklibError as error:
        raise FactError(f"{spec.name}: {error}", where=where) from None
    if reading.relation != "=":
        raise FactError(f"{spec.name}: {text!r} carries a relation; give the figure alone", where=where)
    if reading.unit != spec.unit:
        raise FactError(f"{spec.name}: {text!r} has the unit {reading.unit}, declared is {spec.unit}", where=where)
    return reading.value


def load(path: Path, root: Path) -> dict[str, Cited]:
    """The figures of ``cited.toml`` by name; none where the file does not exist.

    Raises :class:`FactError` with file and line for broken TOML and for an entry that is not complete.
    """
    if not path.exists():
        return {}
    shown = path.relative_to(root).as_posix()
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        data = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise FactError(f"not UTF-8 text: {error.reason}", where=shown) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise FactError(f"not valid TOML: {error}", where=f"{shown}:{line[1]}" if line else shown) from None
    return {name: _entry(name, table, shown, _line(text, name)) for name, table in data.items()}


def _line(text: str, name: str) -> int:
    found = re.search(rf"^\s*\[\s*[\"']?{re.escape(name)}[\"']?\s*[\].]", text, re.M)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _entry(name: str, table: Any, path: str, line: int) -> Cited:
    where = f"{path}:{line}"

    def refuse(what: str) -> FactError:
        return FactError(f"{name}: {what}", where=where, remedy="the format stands at the head of the file")

    if not re.fullmatch(r"[a-z]\w*", name, re.ASCII) or not isinstance(table, dict):
        raise refuse("an entry is a table named like a function")
    if unknown := sorted(table.keys() - _KEYS):
        raise refuse(f"unknown key {unknown[0]!r}")
    about = table.get("about")
    if not isinstance(about, dict) or not all(isinstance(about.get(k), str) and about[k] for k in ("zh", "en")):
        raise refuse("about.zh and about.en say what the figure is")
    place, parameter = table.get("place"), table.get("parameter")
    rows: dict[str | None, tuple[str, str]] = {}
    if ("value" in table) == ("values" in table) or (parameter is None) == ("values" in table):
        raise refuse("give value, or parameter with [NAME.values]")
    for choice, row in (table["values"] if parameter else {None: table["value"]}).items():
        row = row if isinstance(row, dict) else {"value": row}
        figure, at = row.get("value"), row.get("place", place)
        if not isinstance(figure, str) or not isinstance(at, str) or not at:
            raise refuse(f"{choice or 'value'} needs the figure as printed (a string) and a place (table, section)")
        rows[choice] = (figure, at)
    if not isinstance(table.get("source"), str) or not rows:
        raise refuse("source (a BibTeX key) and a figure are needed")
    params = (Param(parameter, "literal", tuple(rows)),) if parameter else ()
    spec = FactSpec(
        name, path.removesuffix(".toml").replace("/", "."), path, line, params, Text(about["zh"], about["en"]),
        unit=table.get("unit"), grade=table.get("grade", "cited"),
        origin=f"{table['source']}, {place or next(iter(rows.values()))[1]}",
    )  # fmt: skip
    if spec.grade not in ("cited", "convention"):
        raise refuse(f"a figure from a source has the grade cited or convention, not {spec.grade!r}")
    return Cited(spec, rows)
