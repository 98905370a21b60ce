"""Ranges, positions and ticks of axes."""

from __future__ import annotations

import math

from blocklib.charts.model import Axis
from blocklib.charts.numerals import power, short


def span(axis: Axis, values: list[float], edges: list[float]) -> tuple[float, float]:
    """(low, high) of an axis: as given, or what holds all values and the edges of all boxes."""
    if axis.range is not None:
        return axis.range
    if axis.categories is not None:
        return -0.5, len(axis.categories) - 0.5
    every = [*values, *edges]
    low, high = min(every), max(every)
    if axis.log:
        low, high = (low, high) if low < high else (low / 2, high * 2)
        pad = (high / low) ** 0.03
        return low / pad, high * pad
    if low == high:
        low, high = (low - 1, high + 1) if not edges else (min(low, 0), max(high, 1))
    pad = (high - low) * (0.004 if edges else 0.03)
    return (low if low == 0 else low - pad), (high if high == 0 else high + pad)


def fraction(value: float, ends: tuple[float, float], log: bool) -> float:
    """Where ``value`` lies between the ends, 0 to 1."""
    low, high = ends
    if log:
        value, low, high = math.log10(value), math.log10(low), math.log10(high)
    return (value - low) / (high - low)


def linear_ticks(low: float, high: float, limit: int) -> list[float]:
    """As many round numbers (1, 2, 2.5, 5 times a power of ten apart) in [low, high] as fit under ``limit``."""
    best: list[float] = []
    power = math.floor(math.log10(high - low)) - 1
    for exponent in (power, power + 1, power + 2):
        for factor in (1, 2, 2.5, 5):
            step = factor * 10.0**exponent
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if len(best) < last - first + 1 <= limit:
                best = [float(f"{k * step:.12g}") for k in range(first, last + 1)]
    return best or [low, high]


def log_ticks(low: float, high: float, limit: int) -> list[float]:
    """Decades in [low, high], evenly thinned to ``limit``; within one decade, round numbers."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = list(range(first, last + 1))
    if len(decades) < 2:
        return [t for t in linear_ticks(low, high, limit) if t > 0]
    step = 1
    while len(range(first, last + 1, step)) > limit:
        step += 1
    kept = [d for d in decades if d % step == 0] or decades[:1]  # multiples of the step, so 10⁰ stays
    return [10.0**d if d < 0 else 10**d for d in kept[:limit]]


def ticks(axis: Axis, ends: tuple[float, float], lang: str, limit: int) -> list[tuple[float, str]]:
    """(value, text) of each tick of an axis over ``ends``."""
    if axis.hidden:
        return []
    if axis.categories is not None:
        return [(i, c[lang]) for i, c in enumerate(axis.categories)]
    low, high = min(ends), max(ends)
    if axis.ticks is not None:
        given = [(v, t) for v, t in axis.ticks if low <= v <= high]
        return [(v, short(v, lang) if t is None else t[lang]) for v, t in given]
    values = (log_ticks if axis.log else linear_ticks)(low, high, limit)
    if axis.log and (min(values) < 1e-3 or max(values) >= 1e6):  # one way of writing along one axis
        return [(v, str(v) if v in (1, 10) else power(v)) for v in values]
    return [(v, short(v, lang)) for v in values]
