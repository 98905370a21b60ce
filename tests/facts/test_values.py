"""Values: decimals against the decimal module, limits at their edge, and places of digits by counting."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.discover import FactError
from blocklib.facts.values import (
    LONGEST,
    Measured,
    Range,
    decimal_text,
    exact,
    exponent,
    json_number,
    leading_place,
    round_half_away,
    significant,
)

DECIMALS = st.builds(lambda n, p: Decimal(n).scaleb(-p), st.integers(-(10**12), 10**12), st.integers(0, 12))


@pytest.mark.parametrize(
    "value", [True, False, None, "5", 5j, [1], float("nan"), float("inf"), Decimal("nan"), Decimal("inf")]
)
def test_what_is_no_number(value):
    with pytest.raises(FactError):
        exact(value)


def test_numbers_come_out_exact():
    assert (
        exact(0.1) == Fraction(1, 10)
        and exact(Decimal("0.1")) == Fraction(1, 10)
        and exact(Fraction(1, 3)) == Fraction(1, 3)
    )
    assert exact(7) == 7 and exact(-2.5e-3) == Fraction(-25, 10**4)


def test_the_longest_numbers():
    """4,000 digits, taken as 13,280 bits; a decimal is refused before it is written out."""
    assert LONGEST == 1000
    for fits, too_long in (
        (2**13_280 - 1, 2**13_280), (Fraction(1, 2**13_280 - 1), Fraction(1, 2**13_280)), (Decimal("1e3990"), Decimal("1e4001")),
        (Decimal("1e-3990"), Decimal("1e-4001")),
    ):  # fmt: skip
        assert exact(fits) == Fraction(fits)
        with pytest.raises(FactError, match="more than 4,000 digits"):
            exact(too_long)
    assert Decimal("1e4000").adjusted() == 4000
    with pytest.raises(FactError, match="more than 4,000 digits"):
        exact(Decimal("1e999999999"))


def test_ranges_and_measurements():
    assert Range(1, 1).low == 1 and Measured(1, 0).noise == 0
    for make in (lambda: Range(2, 1), lambda: Measured(1, -1), lambda: Measured(True, 1), lambda: Measured("1", 1)):
        with pytest.raises(FactError):
            make()


@given(DECIMALS)
def test_decimal_text_is_the_decimal_modules(value):
    plain = f"{value.normalize():f}"
    assert decimal_text(Fraction(value)) == ("0" if Decimal(plain) == 0 else plain)


def test_decimals_that_do_not_end_or_are_too_long():
    assert [decimal_text(Fraction(*v)) for v in ((1, 3), (1, 7), (5, 6), (1, 15))] == [None] * 4
    assert decimal_text(Fraction(-1, 8)) == "-0.125" and decimal_text(Fraction(1, 40)) == "0.025"
    assert decimal_text(Fraction(1, 10**1000)) == "0." + "0" * 999 + "1" and decimal_text(Fraction(1, 10**1001)) is None
    assert decimal_text(Fraction(1, 5**1001)) is None and len(decimal_text(Fraction(1, 2**1000))) == 1002


@pytest.mark.parametrize(("value", "shown"), [
    (7, 7), (Fraction(4, 2), 2), (0.5, 0.5), (Fraction(1, 3), "1/3"), (Fraction("0.1234567890123456789"), "0.1234567890123456789"),
    (Fraction(10**400 * 2 + 1, 2), "1" + "0" * 400 + ".5"), (-0.25, -0.25), (0, 0),
])  # fmt: skip
def test_json_numbers(value, shown):
    found = json_number(value)
    assert found == shown and type(found) is type(shown)


@given(st.fractions(), st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_rounding_is_to_the_nearest_multiple_and_ties_go_away(value, unit):
    found = round_half_away(value, unit)
    assert (found / unit).denominator == 1 and abs(found - value) * 2 <= unit
    if abs(found - value) * 2 == unit:
        assert abs(found) > abs(value)


@given(DECIMALS.filter(bool))
def test_the_first_digit_is_where_the_decimal_module_puts_it(value):
    assert exponent(Fraction(value)) == value.adjusted()
    assert leading_place(Fraction(value)) == Fraction(Decimal(1).scaleb(value.adjusted()))


@given(st.fractions(min_value=Fraction(1, 10**30)))
def test_the_first_digit_by_logarithms(value):
    place = leading_place(value)
    assert place <= value < 10 * place and exponent(-value) == exponent(value)


@given(DECIMALS.filter(bool), st.integers(1, 6))
def test_significant_digits(value, digits):
    rounded, last = significant(Fraction(value), digits)
    assert (rounded / Fraction(10) ** last).denominator == 1 and abs(rounded - Fraction(value)) * 2 <= Fraction(
        10
    ) ** last
    assert exponent(rounded) - last == digits - 1


def test_significant_digits_of_nothing_and_of_what_rounds_up():
    assert significant(Fraction(0), 3) == (0, 0) and significant(Fraction("9.9996"), 3) == (10, -1)
    assert significant(Fraction("9.994"), 3) == (Fraction("9.99"), -2)
