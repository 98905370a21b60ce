"""TOML with places: the data of a file and the line on which each table and each key stands."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from blocklib.problems import Problem

_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""")
_SYNTAX = re.compile(r"\s*\(at line (\d+), column \d+\)")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True, eq=False)
class TomlFile:
    """Read once for each content, and shared: not to be changed. ``data`` is empty when the file cannot be read; ``problems`` then says why, with the line, and ``places``
    holds what looks like a table or key.

    ``places`` maps a table's name (``"term#3"`` for the third ``[[term]]``, counted from zero) or
    ``(table, key)`` to a line number; ``""`` is the table before the first header.
    """

    path: str
    data: dict[str, Any]
    places: dict[Any, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def line(self, table: str, key: str | None = None) -> int:
        """The line of a key, else of its table, else 1."""
        return self.places.get((table, key)) or self.places.get(table) or 1


def read_toml(root: Path, relative: str, *, required: bool = True) -> TomlFile:
    """The file ``relative`` under ``root``; a missing file is a problem only where it is ``required``."""
    path = root / relative
    if not path.exists():
        problems = (Problem(relative, 0, "the file is missing"),) if required else ()
        return TomlFile(relative, {}, {}, problems)
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        places = _places(path.read_text(encoding="utf-8-sig", errors="replace"))
        return TomlFile(relative, {}, places, (Problem(relative, 0, f"not UTF-8 text: {error.reason}"),))
    return _parsed(text, relative)


@lru_cache(maxsize=512)
def _parsed(text: str, relative: str) -> TomlFile:
    try:
        return TomlFile(relative, tomllib.loads(text), _places(text))
    except tomllib.TOMLDecodeError as error:
        found = _SYNTAX.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        message = f"not valid TOML: {_SYNTAX.sub('', str(error))}"
        return TomlFile(relative, {}, _places(text), (Problem(relative, line, message),))


def unquoted(name: str) -> str:
    """A TOML key as its value: quotes and the blanks round the dots taken off."""
    parts = re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', name)
    return ".".join(part.strip("\"'") for part in parts)


def _places(text: str) -> dict[Any, int]:
    places: dict[Any, int] = {}
    arrays: dict[str, int] = {}
    table, inside = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        # A multi-line string may hold anything, headers included: skip it whole.
        if inside:
            if inside in line:
                inside = ""
            continue
        if (header := _HEADER.match(line)) and "=" not in header[2].split('"')[0]:
            table = unquoted(header[2])
            if header[1] == "[[":
                index = arrays.get(table, -1) + 1
                arrays[table] = index
                table = f"{table}#{index}"
            places.setdefault(table, number)
        elif key := _KEY.match(line):
            places.setdefault((table, unquoted(key[1])), number)
            inside = next((mark for mark in _QUOTES if line.count(mark) % 2), "")
    return places
