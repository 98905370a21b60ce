"""Exact numbers: decimals as fractions, roots with thirty digits, and one way to refuse a value."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt

from blocklib.problems import BlocklibError

DIGITS = 30
DEEPEST = 4096  # blocks or layers of a stack
Number = int | float | Fraction | Decimal
Exact = int | Fraction | Decimal


class DomainError(BlocklibError):
    """A closed form was asked for a value outside its domain (a negative depth, a gain below -1 …)."""


def fraction(value: Number | str) -> Fraction:
    """``value`` as the decimal number its writer meant: ``0.6`` is 3/5, not the nearest binary fraction.

    Raises:
        DomainError: for text that is no number, and for infinities and NaN.
    """
    try:
        return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError) as error:
        raise DomainError(f"{value!r} is not a finite number") from error


def root(value: Number, degree: int = 2) -> Exact:
    """The ``degree``-th root of ``value`` >= 0: exact where it is rational (squares only), else 30 digits.

    Raises:
        DomainError: ``value`` is negative or ``degree`` is below one.
    """
    exact = fraction(value)
    if exact < 0 or degree < 1:
        raise DomainError(f"no real root of degree {degree} of {value}")
    if degree == 2:
        top, bottom = isqrt(exact.numerator), isqrt(exact.denominator)
        if top * top == exact.numerator and bottom * bottom == exact.denominator:
            return plain(Fraction(top, bottom))
    # Ten guard digits: the last of the thirty is right after the final rounding.
    wide, narrow = Context(prec=DIGITS + 10), Context(prec=DIGITS)
    quotient = wide.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    result = wide.sqrt(quotient) if degree == 2 else wide.power(quotient, wide.divide(Decimal(1), Decimal(degree)))
    return narrow.plus(result)


def plain(value: Fraction) -> int | Fraction:
    """A fraction with denominator one as an ``int``, any other unchanged."""
    return value.numerator if value.denominator == 1 else value


def quotient(top: Exact, bottom: Exact) -> Exact:
    """``top / bottom``: exact for rationals, thirty digits as soon as one of them is a ``Decimal``.

    Raises:
        DomainError: ``bottom`` is zero.
    """
    if bottom == 0:
        raise DomainError(f"cannot divide {top} by zero")
    if not isinstance(top, Decimal) and not isinstance(bottom, Decimal):
        return plain(Fraction(top) / Fraction(bottom))
    return Context(prec=DIGITS).divide(_decimal(top), _decimal(bottom))


def _decimal(value: Exact) -> Decimal:
    if isinstance(value, Decimal):
        return value
    exact = Fraction(value)
    return Context(prec=DIGITS + 10).divide(Decimal(exact.numerator), Decimal(exact.denominator))


def at_least(name: str, value: Number, lowest: int) -> None:
    """Refuse ``value`` below ``lowest``, naming the parameter.

    Raises:
        DomainError: ``value < lowest``.
    """
    if value < lowest:
        raise DomainError(f"{name} must be at least {lowest}, found {value}")


def depth(name: str, value: int, lowest: int = 0) -> None:
    """Refuse a number of blocks or layers below ``lowest``, or so large that its powers would never be finished.

    Raises:
        DomainError: ``value`` is outside ``lowest`` … ``DEEPEST``.
    """
    at_least(name, value, lowest)
    if value > DEEPEST:
        raise DomainError(f"{name} must be at most {DEEPEST:,}, found {value:,}")
