"""From bytes on disk to a JSON object, with every way to fail said as one :class:`ConfigError`.

A ``config.json`` is untrusted: text of limited size, parsed as JSON and nothing else, without duplicate names,
NaN or endless nesting.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, NoReturn

from blocklib.ledger.parts import ConfigError, shown

MAX_BYTES = 1_000_000
MAX_DEPTH = 20


def read_object(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file; a folder stands for the ``config.json`` in it.

    Raises:
        ConfigError: there is no such regular file, it cannot be read, or it holds no such object.
    """
    path = Path(path)
    try:
        if path.is_dir():
            path = path / "config.json"
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise ConfigError("is no regular file", where=_name(path))
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot be read: {reason}", where=_name(path)) from error
    try:
        return parse_object(raw)
    except ConfigError as error:
        raise ConfigError(error.message, where=_name(path), remedy=error.remedy) from error


def parse_object(raw: bytes | str) -> dict[str, Any]:
    """The JSON object in this text.

    Raises:
        ConfigError: the text is too long, no UTF-8, no JSON, nested too deep, names a field twice, or is no object.
    """
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES} bytes, which no model's config.json is")
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text: byte {error.start} cannot be decoded") from error
    try:
        found = json.loads(text, parse_constant=_constant, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ConfigError(f"is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise ConfigError("is nested too deep") from error
    except ValueError as error:  # an integer of thousands of digits
        raise ConfigError(f"is not usable JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"must hold one JSON object, found {shown(found)}")
    check_depth(found)
    return found


def check_depth(value: object) -> None:
    """Refuse lists and objects nested beyond :data:`MAX_DEPTH`. Raises :class:`ConfigError`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level if isinstance(outer, (dict, list))
                 for inner in (outer.values() if isinstance(outer, dict) else outer)]  # fmt: skip
        if not level:
            return
    raise ConfigError(f"is nested deeper than {MAX_DEPTH} levels")


def _name(path: Path) -> str:
    return ascii(str(path))[1:-1] if not str(path).isprintable() else str(path)


def _constant(name: str) -> NoReturn:
    raise ConfigError(f"holds {name}, which is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"names {shown(twice)} twice")
    return found
