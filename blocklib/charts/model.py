"""A chart as data: series, axes and labels in two languages, validated once and drawn by two renderers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from blocklib.problems import BlocklibError
from blocklib.text import Text

MARKS = ("bar", "hbar", "line", "step", "points", "cells", "links", "rule", "label")
ROLES = ("train", "run", "ghost", "c0", "c1", "c2", "c3", "ink", "ink-2", "line-2")
PLACES = ("inside", "end", "right", "left", "above", "below", "center")
MAX_TICKS = 4
NUMBERS = (int, float, Fraction, Decimal)

Label = Text | str


class ChartError(BlocklibError):
    """A chart that contradicts itself or the look; the message names the series and the field."""


def text_of(value: Any, what: str) -> Text:
    """``value`` as a :class:`Text`; a plain string stands for both languages. Raises ChartError otherwise."""
    if isinstance(value, Text):
        pair = value
    elif isinstance(value, str):
        pair = Text.same(value)
    else:
        raise ChartError(f"{what}: expected Text or str, found {type(value).__name__}")
    if not pair.zh.strip() or not pair.en.strip():
        raise ChartError(f"{what}: empty in {'Chinese' if not pair.zh.strip() else 'English'}")
    return pair


def _texts(values: Sequence[Label | None] | None, what: str) -> tuple[Text | None, ...] | None:
    if values is None:
        return None
    return tuple(None if v is None else text_of(v, f"{what}[{i}]") for i, v in enumerate(values))


def _numbers(values: Sequence[float | None], what: str, gaps: bool = False) -> tuple[float | None, ...]:
    out = []
    for i, v in enumerate(values):
        if v is None and gaps:
            out.append(None)
            continue
        if isinstance(v, bool) or not isinstance(v, NUMBERS) or not math.isfinite(v):
            raise ChartError(f"{what}[{i}]: expected a finite number, found {v!r}")
        out.append(v if isinstance(v, (int, float)) else float(v))
    return tuple(out)


def _set(self: object, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Axis:
    """One axis.

    label: what is measured, written once at the axis' end; unit: set after it, e.g. ``Text("次", "ops")``.
    log: decades instead of units (never under bars). range: (low, high), shared by all states when given.
    ticks: at most four numbers, or (number, label) pairs; chosen when None. categories: names of the
    positions 0, 1, 2, …; on y the first stands on top. hidden: draw neither ticks nor label.

    Raises:
        ChartError: a range or ticks that are no numbers, too many ticks, or categories with units of their own.
    """

    label: Label | None = None
    unit: Label | None = None
    log: bool = False
    range: tuple[float, float] | None = None
    ticks: Sequence[float | tuple[float, Label]] | None = None
    categories: Sequence[Label] | None = None
    hidden: bool = False

    def __post_init__(self) -> None:
        _set(
            self,
            label=None if self.label is None else text_of(self.label, "axis label"),
            unit=None if self.unit is None else text_of(self.unit, "axis unit"),
            categories=_texts(self.categories, "categories"),
        )
        if self.categories is not None and (self.log or self.ticks is not None):
            raise ChartError("axis: categories exclude log and ticks")
        if self.categories is not None and (not self.categories or None in self.categories):
            raise ChartError("axis: every category needs a name")
        if self.range is not None:
            low, high = _numbers(self.range, "axis range")
            if not low < high or (self.log and low <= 0):
                raise ChartError(f"axis range: {low!r} to {high!r} is none" + (" on a log axis" * self.log))
            _set(self, range=(low, high))
        if self.ticks is not None:
            ticks = tuple(t if isinstance(t, tuple) else (t, None) for t in self.ticks)
            _numbers([t[0] for t in ticks], "axis ticks")
            if len(ticks) > MAX_TICKS:
                raise ChartError(f"axis ticks: at most {MAX_TICKS}, found {len(ticks)}")
            _set(self, ticks=tuple((v, None if t is None else text_of(t, "tick label")) for v, t in ticks))


@dataclass(frozen=True)
class Series:
    """One set of marks of one role.

    x, y: equally long. ``bar``: x positions, y signed heights; ``hbar``: x signed lengths, y positions;
    ``links``: consecutive pairs (from, to); ``rule``: one number in x (vertical) or in y (horizontal), the
    other empty; ``line``/``step``: None in y is a gap. labels: one direct label (or None) per mark; place:
    where they stand (None: "inside" bars and cells, "right" of points, "center" for labels; "end" is past a
    bar's end). end: direct label at the end of a line or rule. stack: series with the same name pile up;
    without one, bars stand side by side. alpha: 0…1 per cell. notes: text per mark shown on hover only, so the
    table must have it too. thickness: of bars and cells, in axis units. bold: the labels. dash: None chooses
    (lines of the run-time ledger and rules are dashed).

    Raises:
        ChartError: unknown mark, role or place, or lists whose lengths do not agree.
    """

    name: Label
    x: Sequence[float]
    y: Sequence[float | None]
    mark: str = "bar"
    role: str = "ink"
    labels: Sequence[Label | None] | None = None
    place: str | None = None
    end: Label | None = None
    stack: str | None = None
    alpha: Sequence[float] | None = None
    notes: Sequence[Label | None] | None = None
    thickness: float | None = None
    bold: bool = False
    dash: bool | None = None

    def __post_init__(self) -> None:
        name = text_of(self.name, "series name")
        here = f"series {name.en!r}"
        if self.mark not in MARKS:
            raise ChartError(f"{here}: unknown mark {self.mark!r}; one of {', '.join(MARKS)}")
        if self.role not in ROLES:
            raise ChartError(f"{here}: unknown role {self.role!r}; one of {', '.join(ROLES)}")
        if self.place is not None and self.place not in PLACES:
            raise ChartError(f"{here}: unknown place {self.place!r}; one of {', '.join(PLACES)}")
        x, y = _numbers(self.x, f"{here} x"), _numbers(self.y, f"{here} y", self.mark in ("line", "step"))
        if self.mark == "rule":
            if sorted((len(x), len(y))) != [0, 1]:
                raise ChartError(f"{here}: a rule has one number in x or in y, and the other empty")
        elif len(x) != len(y) or not x:
            raise ChartError(f"{here}: x has {len(x)} values and y has {len(y)}; equally many expected")
        if self.mark == "links" and len(x) % 2:
            raise ChartError(f"{here}: links are pairs of points, found {len(x)} points")
        if self.mark == "label" and self.labels is None:
            raise ChartError(f"{here}: a label series needs labels")
        for what in ("labels", "notes", "alpha"):
            values = getattr(self, what)
            if values is not None and len(values) != len(x):
                raise ChartError(f"{here}: {len(values)} {what} for {len(x)} marks")
        if self.alpha is not None and not all(0 <= a <= 1 for a in _numbers(self.alpha, f"{here} alpha")):
            raise ChartError(f"{here}: alpha lies between 0 and 1")
        if self.stack is not None and self.mark not in ("bar", "hbar"):
            raise ChartError(f"{here}: only bars stack")
        if self.thickness is not None and self.thickness <= 0:
            raise ChartError(f"{here}: thickness must be positive")
        _set(
            self,
            name=name,
            x=x,
            y=y,
            labels=_texts(self.labels, f"{here} labels"),
            notes=_texts(self.notes, f"{here} notes"),
            end=None if self.end is None else text_of(self.end, f"{here} end"),
            alpha=None if self.alpha is None else tuple(self.alpha),
        )


@dataclass(frozen=True)
class Chart:
    """Series over two axes. summary says what is seen (the picture's text alternative).

    totals: printed bold past the end of each category's bar. height: plot height in px at full width;
    narrow_height: below 460 px (chosen when None). square: cells keep their shape.

    Raises:
        ChartError: no series, bars in both directions or on a logarithmic axis, or values outside the categories.
    """

    series: Sequence[Series]
    summary: Text
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    totals: Sequence[Label | None] | None = None
    height: int = 240
    narrow_height: int | None = None
    square: bool = False

    def __post_init__(self) -> None:
        _set(
            self,
            series=tuple(self.series),
            summary=text_of(self.summary, "chart summary"),
            totals=_texts(self.totals, "totals"),
        )
        if not self.series:
            raise ChartError("chart: no series")
        for h in (self.height, self.narrow_height):
            if h is not None and not 60 <= h <= 640:
                raise ChartError(f"chart height: {h} px; 60 to 640 expected")
        marks = {s.mark for s in self.series}
        if {"bar", "hbar"} <= marks:
            raise ChartError("chart: vertical and horizontal bars in one chart")
        if marks & {"bar", "hbar", "cells"} and (self.x.log or self.y.log):
            raise ChartError("chart: a bar's length on a logarithmic axis means nothing; use points or lines")
        for axis, name in ((self.x, "x"), (self.y, "y")):
            for s in self.series:
                values = [v for v in getattr(s, name) if v is not None]
                if axis.log and any(v <= 0 for v in values):
                    raise ChartError(f"series {s.name.en!r}: {name} has values ≤ 0 on a logarithmic axis")
                if axis.categories is not None and any(not -1 < v < len(axis.categories) for v in values):
                    known = len(axis.categories)
                    raise ChartError(f"series {s.name.en!r}: {name} lies outside the {known} categories")
        if self.totals is not None:
            bars = marks & {"bar", "hbar"}
            cats = self.y.categories if "hbar" in bars else self.x.categories
            if not bars or cats is None or len(cats) != len(self.totals):
                raise ChartError("chart totals: one per category of a bar chart expected")


@dataclass(frozen=True)
class Table:
    """The exhibit's data table: a head and rows of equal length; the first column names the row.

    Cells are Text or str; numbers are set in figures by :func:`blocklib.charts.num`. total: index of the row
    that sums the rows above it; it closes the account.

    Raises:
        ChartError: no rows, a row of another length than the head, or a cell that is neither text nor number.
    """

    head: Sequence[Label]
    rows: Sequence[Sequence[Label | int | float | Fraction | Decimal]]
    total: int | None = None

    def __post_init__(self) -> None:
        head = tuple(text_of(h, "table head") for h in self.head)
        rows = tuple(tuple(row) for row in self.rows)
        if len(head) < 2 or not rows:
            raise ChartError("table: at least two columns and one row expected")
        for i, row in enumerate(rows):
            if len(row) != len(head):
                raise ChartError(f"table row {i}: {len(row)} cells under {len(head)} heads")
            for cell in row:
                if not isinstance(cell, (Text, str, *NUMBERS)) or isinstance(cell, bool):
                    raise ChartError(f"table row {i}: {cell!r} is no text and no number")
        if self.total is not None and not 0 < self.total < len(rows):
            raise ChartError(f"table: there is no row {self.total} below others to be the total")
        _set(self, head=head, rows=rows)
