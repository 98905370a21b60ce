"""Exact numbers: roots against squares, division against multiplication, refusals by name."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DEEPEST, DIGITS, DomainError, at_least, depth, fraction, plain, quotient, root

WIDE = Context(prec=80)


@given(st.fractions(0, 10**6, max_denominator=10**6))
def test_root_squares_back(value):
    found = root(value)
    if isinstance(found, Decimal):
        assert len(found.as_tuple().digits) <= DIGITS
        error = abs(Fraction(WIDE.multiply(found, found)) - value)
        assert error <= value * Fraction(11, 10**DIGITS)
    else:
        assert found * found == value


@given(st.integers(0, 10**20))
def test_root_of_a_square_is_an_integer(value):
    found = root(value * value)
    assert found == value and isinstance(found, int)


@pytest.mark.parametrize(
    ("value", "digits"), [(2, "1.41421356237309504880168872421"), (3, "1.73205080756887729352744634151")]
)
def test_root_has_thirty_right_digits(value, digits):
    assert root(value) == Decimal(digits)


@given(st.fractions(Fraction(1, 100), 100, max_denominator=1000), st.integers(3, 30))
def test_higher_root_powers_back(value, degree):
    back = Fraction(root(value, degree)) ** degree
    assert abs(back / value - 1) < Fraction(degree * 10, 10**DIGITS)


@given(st.fractions(max_denominator=99), st.fractions(max_denominator=99).filter(bool))
def test_quotient_of_rationals_is_exact(top, bottom):
    assert quotient(top, bottom) * bottom == top


def test_quotient_by_a_root():
    third_root = root(3)
    assert quotient(3, third_root) == pytest.approx(third_root, rel=Decimal("1e-28"))


def test_a_fraction_over_a_root_has_thirty_right_digits():
    exact = Fraction(1, 3) / Fraction(root(7))
    wide = WIDE.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    assert quotient(Fraction(1, 3), root(7)) == Context(prec=DIGITS).plus(wide)


def test_roots_of_fractions_and_of_degree_one():
    half = root(Fraction(9, 4))
    assert half == Fraction(3, 2) and isinstance(half, Fraction)
    assert root(Fraction(7, 2), 1) == Decimal("3.5") and root(0) == 0


def test_depth_takes_its_own_ends():
    for value in (0, 1, DEEPEST):
        depth("blocks", value)
    depth("blocks", 2, 2)
    for value, lowest in ((-1, 0), (1, 2), (DEEPEST + 1, 0)):
        with pytest.raises(DomainError, match="blocks must be at"):
            depth("blocks", value, lowest)
    assert DEEPEST == 4096


def test_plain_keeps_fractions_and_unwraps_integers():
    assert isinstance(plain(Fraction(6, 3)), int) and plain(Fraction(1, 3)) == Fraction(1, 3)


def test_a_float_is_its_shortest_decimal():
    assert (
        fraction(0.1) == Fraction(1, 10) and fraction("0.1") == Fraction(1, 10) and fraction(1e-5) == Fraction(1, 10**5)
    )


@pytest.mark.parametrize("call", [
    lambda: root(-1), lambda: root(2, 0), lambda: fraction(float("nan")), lambda: fraction("five"),
    lambda: quotient(1, 0), lambda: at_least("layers", 0, 1),
])  # fmt: skip
def test_refused(call):
    with pytest.raises(DomainError):
        call()


def test_refusal_names_the_parameter():
    with pytest.raises(DomainError, match="layers must be at least 1, found 0"):
        at_least("layers", 0, 1)
    at_least("layers", 1, 1)
