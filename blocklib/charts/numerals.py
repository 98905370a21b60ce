"""Numbers as exhibits print them: short, with separators, in the page's language."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MAGNITUDES = {
    "zh": ((12, " 万亿"), (8, " 亿"), (4, " 万")),
    "en": ((12, "T"), (9, "B"), (6, "M")),
}


def _plain(value: Decimal) -> str:
    words = f"{value:,f}"
    return words.replace("-", "−")


Number = int | float | Fraction | Decimal


def _decimal(value: Number) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _rounded(value: Number, digits: int) -> Decimal:
    """``value`` to ``digits`` significant digits, half away from zero; integers stay whole."""
    exact = _decimal(value)
    if exact == 0:
        return Decimal(0)
    for value in (exact, exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)):
        place = value.adjusted() - digits + 1  # twice: 0.99999 rounds up into the next decade
    return exact.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)


def _whole(value: Decimal) -> Decimal:
    """``value`` without an exponent above zero, so that ``1E+2`` prints as ``100``."""
    return value.quantize(Decimal(1)) if value.as_tuple().exponent > 0 else value


def num(value: Number, digits: int = 4) -> str:
    """``value`` for a reader: integers in full with separators, floats to ``digits`` significant digits (an
    exact 0.9 stays 0.9), very small or large ones as ``4.738 × 10⁻⁶``. Both languages print the same."""
    if isinstance(value, int):
        return _plain(Decimal(value))
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value!r}")
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 10**digits:
        return _plain(Decimal(int(value)))
    rounded = _rounded(value, digits)
    if not -4 < rounded.adjusted() < 9:
        return power(value, digits)
    if rounded == _decimal(value):  # nothing was rounded away: no zeros that claim precision
        rounded = rounded.normalize()
    return _plain(_whole(rounded))


def power(value: Number, digits: int = 4) -> str:
    """``4.738 × 10⁻⁶``; a mantissa of exactly 1 is left out: ``10⁻⁶``."""
    rounded = _rounded(value, digits)
    exponent = rounded.adjusted()
    mantissa = rounded.scaleb(-exponent)
    if rounded == _decimal(value):
        mantissa = _whole(mantissa.normalize())
    ten = f"10{str(exponent).translate(_SUPER)}"
    return ten if mantissa == 1 else f"{_plain(mantissa)} × {ten}"


def short(value: Number, lang: str, digits: int = 3) -> str:
    """``value`` with a magnitude where it is long: ``1.68 亿`` in Chinese, ``168M`` in English.

    The magnitude is chosen after rounding, so 999,960,000 is 1B and not 1000M. For ticks and tight labels.
    """
    if value == 0:
        return "0"
    rounded = _rounded(value, digits)
    for exponent, word in _MAGNITUDES[lang]:
        if rounded.adjusted() >= max(exponent, 5):
            scaled = rounded.scaleb(-exponent).normalize()
            return _plain(_whole(scaled)) + word
    if abs(value) < 10**6 and (isinstance(value, int) or float(value).is_integer()):
        return _plain(Decimal(int(value)))
    if not -4 < rounded.adjusted() < 6:
        return power(value, digits)
    return _plain(_whole(rounded.normalize()))


def percent(share: Number, digits: int = 3) -> str:
    """A share (0.4286) as ``42.9%``: ``digits`` significant digits, never scientific."""
    return _plain(_whole(_rounded(_decimal(share) * 100, digits))) + "%"


def signed(value: Number, digits: int = 3) -> str:
    """``num`` with a plus sign where the value is positive."""
    return ("+" if value > 0 else "") + num(value, digits=digits)
