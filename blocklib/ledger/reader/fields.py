"""What a family reads from its ``config.json``: typed fields with defaults, inert fields with reasons, and nothing else.

A family is a table. ``read`` names each field that a shape depends on, with its type and the default of the Hugging
Face class; ``inert`` names each field that no count depends on, with the reason; ``fixed`` names fields that must hold
one value, because another would change the shape in a way this reader does not follow. A field in none of the three is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from blocklib.ledger.config import MAX_LAYERS, Config
from blocklib.ledger.parts import ConfigError, is_size, shown

REQUIRED = object()


@dataclass(frozen=True)
class Field:
    """One field: its type, default, other names, and whether null may stand for "not set" (read as None)."""

    kind: str
    default: Any = REQUIRED
    names: tuple[str, ...] = ()
    null: bool = False
    choices: Mapping[str, str] | None = None


def size(default: Any = REQUIRED, *names: str, null: bool = False) -> Field:
    """A positive integer; ``names`` are other spellings that the class accepts. A default of None allows null."""
    return Field("size", default, names, null or default is None)


def count(default: Any = REQUIRED, *, null: bool = False) -> Field:
    """An integer from 0 up."""
    return Field("count", default, null=null)


def flag(default: Any = REQUIRED, *names: str) -> Field:
    """True or false."""
    return Field("flag", default, names)


def choice(choices: Mapping[str, str], default: Any = REQUIRED) -> Field:
    """A name, read as what it stands for; the default is such a name too."""
    return Field("choice", default if default is REQUIRED else choices[default], choices=choices)


def names(known: Mapping[str, str], default: Any = None) -> Field:
    """A list of names, one for each layer; null allowed where there is a default rule (None)."""
    return Field("names", default, null=True, choices=known)


def integers(default: Any = None) -> Field:
    """A list of integers from 0 up, or null."""
    return Field("integers", default, null=True)


def sizes(default: Any = None) -> Field:
    """An object of positive integers, or null."""
    return Field("sizes", default, null=True)


@dataclass(frozen=True)
class Family:
    """How to read one family.

    Attributes:
        name: its ``model_type``.
        classes: class in ``architectures`` -> kind of head, passed on as ``head``; the first is the default.
        read, inert, fixed: see the module.
        build: makes the :class:`Config` from the fields read (attributes of one namespace).
        text: this family wraps a text model of that ``model_type`` under ``text_config``.
    """

    name: str
    classes: Mapping[str, str]
    read: Mapping[str, Field]
    build: Callable[[SimpleNamespace], Config] | None
    inert: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    text: str | None = None

    @cached_property
    def known(self) -> frozenset[str]:
        """Every field that may stand in a config of this family."""
        read = {name for key, spec in self.read.items() for name in (key, *spec.names)}
        return frozenset({"model_type", "architectures", *self.inert, *self.fixed, *read})


def head_of(family: Family, raw: Mapping[str, Any]) -> str:
    """Kind of head that ``architectures`` asks for. Raises :class:`ConfigError`."""
    found = raw.get("architectures")
    if found is None:
        return next(iter(family.classes.values()))
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], str):
        raise ConfigError(f"architectures must be a list of one class name, found {shown(found)}")
    if found[0] not in family.classes:
        raise ConfigError(f"class {shown(found[0])} is not supported for {family.name}",
                          remedy=f"supported: {', '.join(family.classes)}")  # fmt: skip
    return family.classes[found[0]]


def values_of(family: Family, raw: Mapping[str, Any]) -> SimpleNamespace:
    """All fields that the family reads, checked and with defaults filled in; every other field accounted for.

    Raises:
        ConfigError: a field is missing, of the wrong type, contradicts another, or is unknown.
    """
    read = {key: _read(key, spec, raw, family.known) for key, spec in family.read.items()}
    account(family, raw, family.known)
    return SimpleNamespace(head=head_of(family, raw), **read)


def account(family: Family, raw: Mapping[str, Any], known: Set[str]) -> None:
    """Refuse fields outside ``known`` and fixed fields of another value. Raises :class:`ConfigError`."""
    for name in raw:
        if name not in known:
            raise ConfigError(f"field {shown(name)} is unknown for {family.name}: neither read nor known not to matter",
                              remedy=nearest(name, known))  # fmt: skip
    for name, allowed in family.fixed.items():
        if name in raw and not any(same(raw[name], value) for value in allowed):
            raise ConfigError(f"{name} must be {' or '.join(map(json.dumps, allowed))} for {family.name}, found "
                              f"{shown(raw[name])}")  # fmt: skip


def nearest(name: str, known: Mapping | set | tuple) -> str | None:
    """The remedy for a name that is not known, if one looks like it."""
    close = get_close_matches(name[:80].casefold(), sorted(known))
    return f"did you mean {close[0]}?" if close else None


def _read(key: str, spec: Field, raw: Mapping[str, Any], known: frozenset[str]) -> Any:
    if key in raw and not spec.names:
        return _typed(key, spec, raw[key])
    present = [name for name in (key, *spec.names) if name in raw]
    if not present:
        if spec.default is REQUIRED:
            spare = {name for name in raw if name not in known}
            close = get_close_matches(key, sorted(spare))
            raise ConfigError(f"{key} is missing", remedy=f"the nearest field is {shown(close[0])}" if close else None)
        return spec.default
    first, *others = present
    value = _typed(first, spec, raw[first])
    for name in others:
        if not same(_typed(name, spec, raw[name]), value):
            raise ConfigError(f"{' and '.join(present)} say the same thing and must agree, found "
                              f"{' and '.join(shown(raw[name]) for name in present)}")  # fmt: skip
    return value


def _typed(name: str, spec: Field, value: Any) -> Any:
    if value is None and spec.null:
        return spec.default if spec.kind in ("names", "integers", "sizes") else None
    return TYPES[spec.kind](name, spec, value)


def _size(name: str, spec: Field, value: Any) -> int:
    if not is_size(value):
        raise ConfigError(f"{name} must be a positive integer, found {shown(value)}")
    return value


def _count(name: str, spec: Field, value: Any) -> int:
    if not is_size(value, 0):
        raise ConfigError(f"{name} must be an integer from 0 up, found {shown(value)}")
    return value


def _flag(name: str, spec: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, found {shown(value)}")
    return value


def _choice(name: str, spec: Field, value: Any) -> str:
    if not isinstance(value, str) or value not in spec.choices:
        raise ConfigError(f"{name} {shown(value)} is not supported; known: {', '.join(spec.choices)}")
    return spec.choices[value]


def _names(name: str, spec: Field, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or len(value) > MAX_LAYERS:
        raise ConfigError(f"{name} must be a list of one name for each layer, found {shown(value)}")
    try:
        return tuple([spec.choices[item] for item in value])
    except (KeyError, TypeError):  # an unknown name, or none at all: said of the first
        return tuple(_choice(name, spec, item) for item in value)


def _integers(name: str, spec: Field, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_LAYERS:
        raise ConfigError(f"{name} must be a list of integers, found {shown(value)}")
    return tuple(_count(name, spec, item) for item in value)


def _sizes(name: str, spec: Field, value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be an object of positive integers, found {shown(value)}")
    return {key: _size(f"{name}.{key[:40]}", spec, item) for key, item in value.items()}


TYPES = {
    "size": _size, "count": _count, "flag": _flag, "choice": _choice, "names": _names, "integers": _integers,
    "sizes": _sizes,
}  # fmt: skip


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type (true is not 1)."""
    return type(left) is type(right) and left == right
