"""Does a printed number say what the fact says? Printed = the exact value rounded to the digits printed.

* Rounding is half away from zero. Printed zeros count; under ``~`` the trailing zeros of the integer part do not, so
  约 1,680 万 and about 17 million hold for 16,777,216 and 1,680 万 does not. About a fraction is within a twentieth.
* An integer printed in full, a number in words and a fraction are exact: 3,214 does not vouch for 3,214.2.
* 4 GB does not hold for 4 GiB, though 4.29 rounds to 4: between GB and GiB the digits must fit the unit better.
* ``> < >= <=`` are checked as they stand; 三千多, nearly and just over also say how far the value may be.
* A measured value is never exact, and is printed with no more digits than its noise supports: down to the place of
  the noise's first digit, or one more where the noise itself is printed (±).
"""

from __future__ import annotations

import operator
import re
from fractions import Fraction

from blocklib.facts.format import fixed, format_value
from blocklib.facts.grammar import Printed
from blocklib.facts.reading import Reading
from blocklib.facts.units import BINARY, NAMES, parse_unit, unit_at
from blocklib.facts.values import FactValue, Measured, Range, decimal_text, exact, leading_place, round_half_away

__all__ = ["Measured", "Range", "compare"]

_RELATIONS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


def compare(reading: Reading, value: FactValue, unit: str | None = None) -> str | None:
    """None when ``reading`` is vouched for by ``value`` in ``unit``, else the reason as one sentence.

    ``unit`` may carry a prefix (``"GiB"``); ``value`` then counts those. Raises
    :class:`~blocklib.facts.values.ReadingError` for a unit nobody can print and
    :class:`~blocklib.facts.discover.FactError` for a value that is no number.
    """
    base, factor = parse_unit(unit) if unit else (None, Fraction(1))
    value = _scaled(value, factor)
    said = f"printed {reading.text}"
    if reading.unit != base:
        have = format_value(value, base)
        if base is None:
            return f"{said} but the value is {have}, without a unit: {_written_unit(reading)} stands outside the link"
        if reading.unit is None:
            return f"{said} without a unit but the value is {have} ({base})"
        return f"{said} in {reading.unit} but the value is {have} ({base})"
    if isinstance(value, Range) or isinstance(reading.value, Range):
        return _ranges(reading, value, said)
    if isinstance(value, Measured):
        return _measured(reading, value, said)
    if reading.noise is not None:
        return f"{said} with a tolerance but the value is {_like(reading, value)}, which carries none"
    fits = _holds(reading, reading.parts[0], value) and not _other_prefix_fits_better(reading, value)
    return None if fits else f"{said} but the value is {_like(reading, value)}"


def _scaled(value: FactValue, factor: Fraction) -> Fraction | Range | Measured:
    if isinstance(value, Range):
        return Range(exact(value.low) * factor, exact(value.high) * factor)
    if isinstance(value, Measured):
        return Measured(exact(value.value) * factor, exact(value.noise) * factor)
    return exact(value) * factor


def _holds(reading: Reading, part: Printed, value: Fraction, measured: bool = False) -> bool:
    if reading.relation in _RELATIONS:
        if not _RELATIONS[reading.relation](value, part.value):
            return False
        if reading.bound is None:
            return True
        return value < reading.bound if reading.relation == ">" else value > reading.bound
    if reading.relation == "~":
        if part.decimals is None and not part.resolution:
            return abs(value - part.value) <= part.rough / 2
        return part.value in (round_half_away(value, part.rough), round_half_away(value, part.resolution))
    if value == part.value:
        return True
    if part.strict and not (measured and part.resolution and part.decimals is not None):
        return False
    return bool(part.resolution) and round_half_away(value, part.resolution) == part.value


def _ranges(reading: Reading, value, said: str) -> str | None:
    if not isinstance(value, Range):
        have = format_value(value, reading.unit)
        return f"{said}, a range, but the value is {have}"
    low, high = exact(value.low), exact(value.high)
    if not isinstance(reading.value, Range):
        # "at least 7%" holds for a whole range; one plain number never does.
        if reading.relation in _RELATIONS and all(_holds(reading, reading.parts[0], end) for end in (low, high)):
            return None
        return f"{said} but the value is a range: {format_value(value, reading.unit, style=_style(reading))}"
    first, second = reading.parts
    if _holds(reading, first, low) and _holds(reading, second, high):
        return None
    return f"{said} but the value is {_pair(reading, (low, high))}"


def _measured(reading: Reading, value: Measured, said: str) -> str | None:
    number, noise, part = exact(value.value), exact(value.noise), reading.parts[0]
    if not _holds(reading, part, number, measured=True):
        exactly = " (a measured value is never exact)" if part.strict and part.decimals is None else ""
        return f"{said} but the value is {_like(reading, number)}{exactly}"
    if reading.noise is not None:
        shown = reading.parts[1]
        if (round_half_away(noise, shown.resolution) if shown.resolution else noise) != shown.value:
            return f"{said} but the noise is {_body(noise, shown)}"
    if noise and reading.relation in ("=", "~"):
        finest = leading_place(noise) / (10 if reading.noise is not None else 1)
        if part.resolution and _last_place(reading, part) < finest:
            supported = format_value(Measured(number, noise), reading.unit, style=_style(reading))
            return (
                f"{said}: more digits than the noise supports "
                f"(noise {format_value(noise, reading.unit, digits=2)}: {supported})"
            )
    return None


def _last_place(reading: Reading, part: Printed) -> Fraction:
    """The finest place the author vouches for: under ``~`` trailing zeros are not meant."""
    return part.rough if reading.relation == "~" else part.resolution


def _style(reading: Reading) -> str:
    return "percent" if "%" in reading.text else "auto"


def _written_unit(reading: Reading) -> str:
    for pos in range(len(reading.text)):
        found = unit_at(reading.text, pos)
        if found and found[0] >= len(reading.text.rstrip()):
            return reading.text[pos:]
    return str(reading.unit)


def _body(value: Fraction, part: Printed, more: int = 0) -> str:
    """``value`` with the digits of ``part``, ``more`` places further."""
    return fixed(value / part.factor, (part.decimals or 0) + more)


def _like(reading: Reading, value: Fraction) -> str:
    """``value`` the way the author printed it; with more digits where those printed would hide the difference."""
    part = reading.parts[0]
    if part.decimals is None or part.scientific:
        style = "scientific" if part.scientific else _style(reading)
        return format_value(value, reading.unit, _lang(reading), style=style)
    text, (start, end) = reading.text, part.digits
    tail = text[end:] if reading.noise is None else text[reading.parts[1].digits[1] :]
    if reading.bound is not None and reading.relation == ">":
        return format_value(value, reading.unit, _lang(reading))
    lead = text[:start].rstrip(" \u00a0")
    # The relation and the sign belong to the printed number, not to the value.
    lead = "×" if lead.endswith("×") else ""
    full = decimal_text(value / part.factor)
    for places in range(part.decimals, part.decimals + 13):
        body = fixed(value / part.factor, places)
        shows = round_half_away(value / part.factor, Fraction(1, 10**places)) != part.value / part.factor
        if shows or (full and len(full.partition(".")[2]) <= places):
            break
    return lead + body + _other_prefix(reading, value, tail)


def _other_prefix(reading: Reading, value: Fraction, tail: str) -> str:
    """``tail``, and where the author took GB for GiB (or back), what the value is in the other."""
    other = _sibling(tail)
    part = reading.parts[0]
    if other and _holds_in(part, value * other[1]):
        return f"{tail} ({reading.text[part.digits[0] : part.digits[1]]} {other[0]})"
    return tail


def _sibling(tail: str) -> tuple[str, Fraction] | None:
    """GiB for ``" GB"`` and back, with the factor by which a value of the one is read in the other; None for others."""
    found = NAMES.get(tail.strip(" \u00a0").partition("/")[0])
    if found is None or found[0] != "B":
        return None
    for prefix, power in BINARY.items():
        other = {1000**power: f"{prefix}B", 1024**power: f"{prefix[0]}B"}.get(found[1])
        if other:
            return other, found[1] / NAMES[other][1]
    return None


def _other_prefix_fits_better(reading: Reading, value: Fraction) -> bool:
    """4 GB has the right digit for 4 GiB (4.29 GB) and is the wrong unit all the same."""
    part = reading.parts[0]
    other = _sibling(reading.text[part.digits[1] :]) if reading.relation == "=" else None
    if other is None:
        return False
    there = value * other[1]
    return _holds_in(part, there) and abs(there - part.value) < abs(value - part.value)


def _holds_in(part: Printed, value: Fraction) -> bool:
    return bool(part.resolution) and round_half_away(value, part.resolution) == part.value


def _pair(reading: Reading, ends: tuple[Fraction, Fraction]) -> str:
    first, second = reading.parts
    if None in (first.decimals, second.decimals) or first.scientific or second.scientific:
        return format_value(Range(*ends), reading.unit, _lang(reading), style=_style(reading))
    text = reading.text
    between = text[first.digits[1] : second.digits[0]]
    bodies = [_body(end, part) for end, part in zip(ends, (first, second), strict=True)]
    if bodies == [text[part.digits[0] : part.digits[1]] for part in (first, second)]:
        bodies = [_body(end, part, 3) for end, part in zip(ends, (first, second), strict=True)]
    return bodies[0] + between + bodies[1] + text[second.digits[1] :]


def _lang(reading: Reading) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", reading.text) else "en"
