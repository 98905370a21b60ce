"""Compound growth against repeated multiplication and against floating point."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.theory.growth import compound_curve, compound_factor


@given(st.fractions(-3, 3, max_denominator=50), st.integers(0, 40))
def test_compound_factor_matches_repeated_multiplication(factor, layers):
    value = Fraction(1)
    for _ in range(layers):
        value = value * factor
    assert compound_factor(factor, layers) == value
    assert compound_curve(factor, layers)[-1] == value


@pytest.mark.parametrize(
    ("factor", "shown"),
    [(0.6, 4.738e-6), (0.8, 4.722e-3), (0.9, 0.0798), (0.95, 0.292), (1.05, 3.225), (1.1, 9.850), (1.4, 3214.2)],
)
def test_known_values_at_24_layers(factor, shown):
    assert float(compound_factor(factor, 24)) == pytest.approx(shown, rel=1e-3)
    assert float(compound_factor(factor, 24)) == pytest.approx(math.exp(24 * math.log(factor)), rel=1e-12)


def test_a_decimal_is_the_decimal_its_writer_meant():
    assert compound_factor(0.6, 2) == Fraction(9, 25) == compound_factor(Fraction(3, 5), 2)


def test_curve_starts_at_one_and_has_a_point_per_layer():
    assert compound_curve(2, 3) == (1, 2, 4, 8)


@pytest.mark.parametrize(("factor", "layers"), [(1.1, -1), (float("nan"), 2), (float("inf"), 2)])
def test_outside_the_domain(factor, layers):
    with pytest.raises(DomainError):
        compound_factor(factor, layers)
