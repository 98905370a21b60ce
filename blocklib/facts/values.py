"""What a fact may be worth: exact numbers, ranges and measurements. Floats enter by their shortest decimal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from blocklib.facts.discover import FactError
from blocklib.problems import BlocklibError


class ReadingError(BlocklibError):
    """A printed number that cannot be read; the message says which part and what to write instead."""


LONGEST = 1000  # decimals; digits of a value: four times as many
Number = int | float | Fraction | Decimal


def exact(value: Number) -> Fraction:
    """``value`` as a fraction. A float means the shortest decimal that prints it (0.1 is one tenth).

    Raises :class:`FactError` for anything that is not a finite number (``bool`` is not a number).
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise FactError(f"{value!r} is a {type(value).__name__}, not a number")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FactError(f"{value!r} is not a finite number")
        return Fraction(float.__repr__(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise FactError(f"{value!r} is not a finite number")
    if isinstance(value, Decimal) and abs(value.adjusted()) > 4 * LONGEST:
        raise FactError(f"a number of more than {4 * LONGEST:,} digits")
    found = Fraction(value)
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > 4 * LONGEST * 3.32:
        raise FactError(f"a number of more than {4 * LONGEST:,} digits")
    return found


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included (``7–64 %``).

    Raises:
        FactError: ``low`` is above ``high``.
    """

    low: Number
    high: Number

    def __post_init__(self):
        if exact(self.low) > exact(self.high):
            raise FactError(f"a range runs from low to high, not from {self.low} to {self.high}")


@dataclass(frozen=True)
class Measured:
    """A measured ``value`` and its ``noise``: the spread of repeated runs, in the unit of the value.

    Raises:
        FactError: the noise is negative.
    """

    value: Number
    noise: Number

    def __post_init__(self):
        if exact(self.noise) < 0:
            raise FactError(f"noise is a spread and cannot be negative: {self.noise}")
        exact(self.value)


FactValue = int | float | Fraction | Decimal | Range | Measured


def decimal_text(value: Fraction) -> str | None:
    """The finite decimal expansion of ``value`` without separators; None when there is none, or none worth reading."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    if places > LONGEST:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    body = digits[:-places] + "." + digits[-places:] if places else digits
    return ("-" if value < 0 else "") + body


def json_number(value: Number) -> int | float | str:
    """``value`` for JSON without loss: an int, a float whose shortest form is that decimal, else a string."""
    value = exact(value)
    if value.denominator == 1:
        return value.numerator
    text = decimal_text(value)
    if text is None:
        return str(value)
    try:
        near = float(value)
    except OverflowError:
        return text
    return near if Fraction(float.__repr__(near)) == value else text


def round_half_away(value: Fraction, unit: Fraction) -> Fraction:
    """``value`` rounded to a multiple of ``unit`` (> 0); a tie moves away from zero."""
    steps = (2 * abs(value) + unit) // (2 * unit)
    return steps * unit if value >= 0 else -steps * unit


def exponent(value: Fraction) -> int:
    """The power of ten of the first significant digit: -2 for 0.016. ``value`` must not be zero."""
    top, bottom = abs(value.numerator), value.denominator
    power = len(str(top)) - len(str(bottom))
    return power if Fraction(top, bottom) >= Fraction(10) ** power else power - 1


def leading_place(value: Fraction) -> Fraction:
    """The place of the first significant digit: 0.016 gives 0.01. ``value`` must not be zero."""
    return Fraction(10) ** exponent(value)


def significant(value: Fraction, digits: int) -> tuple[Fraction, int]:
    """``value`` rounded half away from zero to ``digits`` significant digits, and the power of ten of the last of them.

    9.9996 to three digits is 10.0: the last place is the tenth, not the hundredth that its leading digit promises.
    """
    if not value:
        return value, 0
    first = exponent(value)
    last = first - digits + 1
    rounded = round_half_away(value, Fraction(10) ** last)
    return rounded, last + (exponent(rounded) > first)
