"""Expressions ``NAME?param=value&param``: taken apart, typed by the fact's declaration, and put in canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import unquote

from blocklib import problems
from blocklib.facts.discover import FactError, FactSpec, Param
from blocklib.facts.values import decimal_text
from blocklib.problems import BlocklibError


@dataclass(frozen=True)
class GivenValue:
    """A number or name that the author chose: as printed, its value where it is a number, its base unit."""

    text: str
    number: Fraction | None = None
    unit: str | None = None


def nearest(name: str, options: Iterable[str], brackets: str = "{}") -> str:
    """The remedy for an unknown name: the closest one that exists, however far."""
    found = problems.nearest(name, options, cutoff=0)
    return f"did you mean {brackets.format(found[0])}?" if found else "there is none"


def parse_expr(expr: str) -> tuple[str, dict[str, str | None]]:
    """Name and parameters of ``NAME?param=value&param``; None marks a parameter filled by the section's given.

    Raises:
        FactError: no name, a parameter that cannot be read, or one that stands twice.
    """
    name, mark, query = expr.removeprefix("fact:").partition("?")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise FactError(f"{expr!r} is no fact expression", remedy="NAME?param=value&param")
    params: dict[str, str | None] = {}
    for part in query.split("&") if mark else ():
        key, equals, value = part.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) or (equals and not value):
            raise FactError(f"cannot read {part!r} in {expr!r}", remedy="NAME?param=value&param")
        if key in params:
            raise FactError(f"{key!r} stands twice in {expr!r}")
        params[key] = unquote(value) if equals else None
    return name, params


def number_text(value: Fraction) -> str:
    """An exact number as text: an integer, a terminating decimal, else ``p/q``."""
    return decimal_text(value) or f"{value.numerator}/{value.denominator}"


def canonical_expr(spec: FactSpec, bound: Mapping[str, Any]) -> str:
    """``NAME?param=value&…`` with typed values in the order declared; a value equal to the default is left out."""
    shown = []
    for param in spec.params:
        if param.name in bound and (param.required or bound[param.name] != param.default):
            value = bound[param.name]
            if isinstance(value, Fraction):
                value = number_text(value)
            shown.append(f"{param.name}={str(value).lower() if isinstance(value, bool) else value}")
    return spec.name + ("?" + "&".join(shown) if shown else "")


LARGEST = 10**30  # no width, depth or count is


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"


def convert(fact_name: str, param: Param, value: Any) -> Any:
    """``value`` (text of the expression, or a given) as the parameter's type. Raises :class:`FactError`."""
    given = value if isinstance(value, GivenValue) else None
    text = given.text if given else str(value)
    try:
        if param.kind in ("model", "chip"):
            return _atlas_id(param.kind, text)
        if param.kind == "str":
            return text
        if param.kind == "bool":
            return {"true": True, "false": False}[text.casefold()]
        if param.kind == "literal":
            return _choice(param, text, given)
        number = given.number if given else _number(text)
        if number is not None and abs(number) > LARGEST:
            raise FactError(f"{_short(text)} is too large")
        if number is None or (param.kind == "int" and number.denominator != 1):
            raise ValueError(text)
        return number.numerator if param.kind == "int" else number
    except (ValueError, KeyError):
        raise FactError(f"{fact_name}: {_short(text)!r} does not fit the parameter {param}") from None
    except BlocklibError as error:
        raise FactError(f"{fact_name}: parameter {param}: {error}") from None


def _number(text: str) -> Fraction:
    """A number of an expression: ``4096``, ``4,096``, ``0.5``, ``1e-5``, ``1/8``, ``-3``; exact."""
    if len(text) > 200:
        raise ValueError(text)
    plain = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    if not re.fullmatch(r"[+-]?(\d+/[1-9]\d*|\d+(\.\d+)?([eE][+-]?\d{1,3})?)", plain, re.ASCII):
        raise ValueError(text)
    return Fraction(plain)


def _choice(param: Param, text: str, given: GivenValue | None) -> Any:
    for choice in param.choices:
        if isinstance(choice, str) and choice.casefold() == text.casefold():
            return choice
    number = given.number if given else None
    if number is None:
        try:
            number = _number(text)
        except ValueError:
            number = None
    for choice in param.choices:
        plain = _number(choice) if isinstance(choice, str) and re.fullmatch(r"\d+", choice, re.ASCII) else choice
        if number is not None and plain == number and not isinstance(plain, bool):
            return choice
    raise ValueError(text)


def _atlas_id(kind: str, name: str) -> str:
    from blocklib import atlas

    find = getattr(atlas, "find" if kind == "model" else "find_chip", None)
    if find is None:
        raise FactError(f"the atlas cannot look up a {kind}")
    return find(name)
