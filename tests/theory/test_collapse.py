"""The exponent against repeated cubing, and against the stack of the exhibit."""

from __future__ import annotations

from math import log

import pytest

from blocklib.charts.design.one_token import spreads
from blocklib.exact import DomainError
from blocklib.theory.collapse import cubic_exponent


def test_exponent_by_cubing():
    for layers in range(6):
        value = 2
        for _ in range(layers):
            value = value**3
        assert value == 2 ** cubic_exponent(layers)


def test_decay_of_a_random_stack_approaches_it():
    """Logarithms of what is left grow threefold a layer once the differences are small."""
    left = spreads("bare", 0.1)
    for layer in (2, 3, 4):
        assert log(left[layer]) / log(left[layer - 1]) == pytest.approx(3, abs=0.15)


def test_refuses_negative_depth():
    with pytest.raises(DomainError):
        cubic_exponent(-1)
