"""Facts: named values that vouch for printed numbers.

    @fact(unit="B", formula="2 · layers · KV heads · head_dim · bytes", tests=("tests/…::test_x",))
    def kv_bytes_per_token(model: Model, dtype: Literal["fp32", "bf16"]) -> int:
        '''Key-value cache of one token, in bytes.

        中文：一个 token 的 KV 缓存字节数。
        '''

The decorator only marks: declarations are found in the sources (:mod:`blocklib.facts.discover`) and a module
is imported only when one of its facts is evaluated. Names are unique over the library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NewType

from blocklib.facts.discover import FactError, FactSpec, Site, describe, find_sites
from blocklib.facts.fingerprint import ROOT
from blocklib.facts.params import GivenValue, canonical_expr, convert, nearest, number_text, parse_expr
from blocklib.facts.values import Measured, Range, exact, json_number
from blocklib.problems import BlocklibError, UsageError
from blocklib.text import Text

__all__ = [
    "Chip", "Evaluated", "FactError", "FactSpec", "GivenValue", "Model", "Registry", "canonical_expr", "convert",
    "default", "evaluate", "fact", "fact_main", "json_value", "lookup", "nearest", "number_text", "parse_expr", "slug",
]  # fmt: skip

Model = NewType("Model", str)  # the id of a model in the atlas
Chip = NewType("Chip", str)  # the id of a chip in the atlas


def fact(function: Callable | None = None, *, unit: str | None = None, grade: str = "computed",
         origin: str | None = None, formula: str | None = None, tests: Iterable[str] = (),
         slow: bool = False) -> Callable:  # fmt: skip
    """Mark a function as a fact; the function itself is unchanged.

    ``unit`` is a base unit ("B", "FLOP", "s", "token" …) or None; ``grade`` one of the five; ``origin`` defaults
    to the function's dotted name; ``formula`` is what the reader sees; ``tests`` are pytest node ids;
    ``slow`` facts (torch, the lab, seconds) are read from the lock file. All arguments are literals.
    """
    return function if function is not None else (lambda marked: marked)


@dataclass(frozen=True)
class Evaluated:
    """One fact with its parameters and its value. ``expr`` is canonical: typed values in the order declared."""

    expr: str
    value: Any
    spec: FactSpec
    params: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the fact."""
        return self.spec.name

    @property
    def unit(self) -> str | None:
        """Unit of the value; None for a pure number."""
        return self.spec.unit

    @property
    def grade(self) -> str:
        """How the value is known."""
        return self.spec.grade

    @property
    def origin(self) -> str:
        """Dotted name of the function, or source and place."""
        return self.spec.origin

    @property
    def formula(self) -> str | None:
        """The formula as the reader sees it; None where there is none."""
        return self.spec.formula

    @property
    def about(self) -> Text:
        """What the value is, in both languages."""
        return self.spec.about

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests that vouch for it."""
        return self.spec.tests

    @property
    def key(self) -> str:
        """ASCII, readable, the same in both languages; the row's anchor is ``n-`` + key."""
        return slug(self.expr)


def slug(expr: str) -> str:
    """``norm_ops?kind=rmsnorm&d_model=4096`` → ``norm_ops-kind-rmsnorm-d_model-4096``."""
    key = re.sub(r"[?&=]", "-", expr)
    if re.fullmatch(r"[A-Za-z0-9_.-]+", key):
        return key
    from hashlib import sha256  # two values that differ in other characters must not meet

    return re.sub(r"[^A-Za-z0-9_.]+", "-", key).strip("-") + "-" + sha256(expr.encode()).hexdigest()[:6]


class Registry:
    """The facts of one package under ``root``, with those of its ``facts/cited.toml``.

    Declarations, values and imports are kept for the life of the object.
    ``live=True`` evaluates slow facts instead of reading the lock file.
    """

    def __init__(self, root: Path | str = ROOT, package: str = "blocklib", live: bool = False):
        self.root, self.package, self.live = Path(root), package, live
        self._sites: dict[str, Site] | None = None
        self._cited: dict | None = None
        self._specs: dict[str, FactSpec] = {}
        self._memo: dict[str, Evaluated | BlocklibError] = {}

    @property
    def folder(self) -> Path:
        """Where ``cited.toml`` and ``lock.json`` stand."""
        return self.root / self.package / "facts"

    @property
    def sites(self) -> dict[str, Site]:
        """Functions marked as facts, by name."""
        if self._sites is None:
            self._sites = find_sites(self.root, self.package)
        return self._sites

    @property
    def cited(self) -> dict:
        """Figures from the literature, by name (:class:`blocklib.facts.cited.Cited`).

        Raises:
            FactError: ``cited.toml`` is broken, or names a fact that a function is too.
        """
        if self._cited is None:
            from blocklib.facts.cited import load

            self._cited = load(self.folder / "cited.toml", self.root)
            if both := sorted(self._cited.keys() & self.sites.keys()):
                place = self._cited[both[0]].spec
                raise FactError(f"two facts are named {both[0]!r}", where=f"{place.path}:{place.line}",
                                remedy=f"see {self.sites[both[0]]}")  # fmt: skip
        return self._cited

    def names(self) -> list[str]:
        """Names of all facts, sorted. Raises :class:`FactError` as :attr:`cited` does."""
        return sorted([*self.sites, *self.cited])

    def lookup(self, name: str) -> FactSpec:
        """The declaration of a fact. Raises :class:`FactError` naming the nearest where there is none."""
        if name not in self._specs:
            if name in self.cited:
                self._specs[name] = self.cited[name].spec
            elif name in self.sites:
                self._specs[name] = describe(name, self.sites[name], self.root)
            else:
                raise FactError(f"unknown fact {name!r}", remedy=nearest(name, self.names()))
        return self._specs[name]

    def bind(self, expr: str, givens: Mapping[str, Any] | None) -> tuple[FactSpec, dict[str, Any]]:
        """Declaration and typed parameters of an expression; ``givens=None`` leaves open what a given fills.

        Raises :class:`FactError`: unknown fact or parameter (naming the nearest), missing parameter, wrong type,
        a parameter without a value whose given does not stand in the section.
        """
        name, raw = parse_expr(expr)
        spec = self.lookup(name)
        for key in raw:
            if spec.param(key) is None:
                names = [p.name for p in spec.params]
                raise FactError(f"{name} has no parameter {key!r}", remedy=nearest(key, names))
        bound: dict[str, Any] = {}
        for param in spec.params:
            if param.name not in raw:
                if param.required:
                    raise FactError(f"{name} needs the parameter {param}", remedy=f"{param.name}=…, or {param.name} "
                                    "alone to take the section's given")  # fmt: skip
                continue
            value: Any = raw[param.name]
            if value is None:
                if givens is None:
                    continue
                if param.name not in givens:
                    raise FactError(
                        f"{name} takes {param.name!r} from the section, and no [..](given:{param.name}) stands there",
                        remedy=nearest(param.name, givens) if givens else f"write the given or {param.name}=…",
                    )
                value = givens[param.name]
            bound[param.name] = convert(name, param, value)
        return spec, bound

    def evaluate(self, expr: str, givens: Mapping[str, Any] | None = None) -> Evaluated:
        """The value of ``NAME?param=value&param``; bare parameters are taken from ``givens``.

        ``givens`` maps names to :class:`GivenValue`, str, int or Fraction. Raises :class:`FactError` as
        :meth:`bind` does, and where the function raises or returns what is not a finite number.
        """
        spec, bound = self.bind(expr, givens or {})
        canonical = canonical_expr(spec, bound)
        if canonical not in self._memo:
            try:
                self._memo[canonical] = self._value(canonical, spec, bound)
            except BlocklibError as error:
                self._memo[canonical] = error
        known = self._memo[canonical]
        if isinstance(known, BlocklibError):
            raise known
        return known

    def _value(self, canonical: str, spec: FactSpec, bound: dict[str, Any]) -> Evaluated:
        if spec.name in self.cited:
            value, spec = self.cited[spec.name].at(bound)
        elif spec.slow and not self.live:
            from blocklib.facts.lock import locked_value

            value = locked_value(self, spec, canonical)
        else:
            value = self._call(canonical, spec, bound)
        return Evaluated(canonical, value, spec, bound)

    def _call(self, canonical: str, spec: FactSpec, bound: dict[str, Any]) -> Any:
        where = f"{spec.path}:{spec.line}"
        try:
            function = getattr(import_module(spec.module), spec.name)
            value = function(**{key: _argument(spec, key, given) for key, given in bound.items()})
        except BlocklibError as error:
            raise FactError(f"{canonical}: {error}") from error
        except Exception as error:
            raise FactError(f"{canonical}: {type(error).__name__}: {error}", where=where) from error
        if reason := not_a_value(value) or _without_noise(spec.grade, value):
            raise FactError(f"{canonical}: {reason}", where=where)
        return value


def not_a_value(value: Any) -> str | None:
    """Why ``value`` cannot vouch for a printed number, else None."""
    if isinstance(value, Range | Measured):
        return None
    try:
        exact(value)
    except FactError as error:
        return f"the function returned {error}"
    return None


def _without_noise(grade: str, value: Any) -> str | None:
    """Why a measured ``value`` cannot say how many of its digits count, else None; counts are whole."""
    if grade != "measured" or isinstance(value, int) or (isinstance(value, Measured) and value.noise > 0):
        return None
    return f"measured, but the function returned {value!r} without its noise; return Measured(value, noise)"


def _argument(spec: FactSpec, name: str, value: Any) -> Any:
    """Exact until the call: a ``float`` parameter becomes a float only here."""
    return float(value) if spec.param(name).kind == "float" and value is not None else value


def json_value(value: Any) -> Any:
    """A fact's value for JSON, exact: int; float where its repr is the exact decimal; else a string.

    A range is ``[low, high]``; a measured value ``{"value": …, "noise": …}``.
    """
    if isinstance(value, Range):
        return [json_number(value.low), json_number(value.high)]
    if isinstance(value, Measured):
        return {"value": json_number(value.value), "noise": json_number(value.noise)}
    return json_number(value)


@cache
def default() -> Registry:
    """The registry of blocklib, one a process (the live preview loads the module anew when a source changed)."""
    return Registry()


def lookup(name: str) -> FactSpec:
    """The declaration of a fact of blocklib; see :meth:`Registry.lookup`."""
    return default().lookup(name)


def evaluate(expr: str, givens: Mapping[str, Any] | None = None) -> Evaluated:
    """The value of a fact of blocklib; see :meth:`Registry.evaluate`."""
    return default().evaluate(expr, givens)


def fact_main(argv: list[str]) -> int:
    """usage: python -m blocklib fact 'NAME?param=value&param=value'

    Evaluates one fact and prints value, unit, grade and origin as one line of JSON.
    """
    if len(argv) != 1:
        raise UsageError(f"one expression expected, found {len(argv)}")
    found = evaluate(argv[0])
    row = {"value": json_value(found.value), "unit": found.unit, "grade": found.grade, "origin": found.origin}
    print(json.dumps(row, ensure_ascii=False))
    return 0
