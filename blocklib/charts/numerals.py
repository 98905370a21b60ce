"""Numbers as exhibits print them: short, with separators, in the page's language.

The rounding and the figures are those of :mod:`blocklib.facts.format`; what differs is the aim. A label has little
room and a sentence beside it, so here a long number is rounded left of its point too: 16,777,216 is ``16.8M``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from blocklib.facts.format import LETTERS, WORDS, fixed, ten_to
from blocklib.facts.values import Number, decimal_text, exact, exponent, significant

# (name, exponent) from large to small. English has no K here: four and five figures are as short.
_MAGNITUDES = {
    lang: [(name, exponent(Fraction(scale))) for name, scale in reversed(rungs)]
    for lang, rungs in (("zh", WORDS["zh"][1:]), ("en", LETTERS[2:]))
}


# The states of an exhibit print the same few values over and over. By type, since 123456 prints in full and 123456.0 not.
_remembered = lru_cache(maxsize=4096, typed=True)


def _trimmed(value: Fraction) -> str:
    """A decimal in full, without zeros at its end that would claim precision."""
    return fixed(value, len(decimal_text(value).partition(".")[2]))


@_remembered
def num(value: Number, digits: int = 4) -> str:
    """``value`` for a reader: integers in full with separators, others to ``digits`` significant digits (an exact
    0.9 stays 0.9), very small or large ones as ``4.738 × 10⁻⁶``. Both languages print the same.

    Raises:
        FactError: ``value`` is no finite number.
    """
    number = exact(value)
    if isinstance(value, int) or (number.denominator == 1 and abs(number) < 10**digits):
        return fixed(number, 0)
    rounded, last = significant(number, digits)
    if not -4 < exponent(rounded) < 9:
        return power(value, digits)
    return _trimmed(rounded) if rounded == number else fixed(rounded, max(0, -last))


@_remembered
def power(value: Number, digits: int = 4) -> str:
    """``4.738 × 10⁻⁶``; a mantissa of exactly 1 is left out: ``10⁻⁶``. ``value`` must not be zero."""
    number = exact(value)
    rounded, _ = significant(number, digits)
    tens = exponent(rounded)
    mantissa = rounded / Fraction(10) ** tens
    if mantissa == 1:
        return ten_to(tens)
    return f"{_trimmed(mantissa) if rounded == number else fixed(mantissa, digits - 1)} × {ten_to(tens)}"


@_remembered
def short(value: Number, lang: str, digits: int = 3) -> str:
    """``value`` with a magnitude where it is long: ``1.68 亿`` in Chinese, ``168M`` in English.

    The magnitude is chosen after rounding, so 999,960,000 is 1B and not 1000M. For ticks and tight labels.
    """
    number = exact(value)
    if not number:
        return "0"
    rounded, _ = significant(number, digits)
    tens = exponent(rounded)
    for name, least in _MAGNITUDES[lang]:
        if tens >= max(least, 5):
            return _trimmed(rounded / 10**least) + name
    if number.denominator == 1 and abs(number) < 10**6:
        return fixed(number, 0)
    return _trimmed(rounded) if -4 < tens < 6 else power(value, digits)


@_remembered
def percent(share: Number, digits: int = 3) -> str:
    """A share (0.4286) as ``42.9%``: ``digits`` significant digits, never scientific."""
    rounded, last = significant(exact(share) * 100, digits)
    return fixed(rounded, max(0, -last)) + "%"


def signed(value: Number, digits: int = 3) -> str:
    """``num`` with a plus sign where the value is positive."""
    return ("+" if value > 0 else "") + num(value, digits=digits)
