"""Depth and width against matrices counted one by one, and equal budgets against a search."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.theory import scaling


def counted(blocks: int, width: int) -> int:
    """Weights of the matrices, shape by shape."""
    shapes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
    return blocks * sum(rows * columns for rows, columns in shapes)


@given(st.integers(1, 60), st.integers(1, 300), st.integers(1, 9))
def test_scaling_matches_counted_matrices(blocks, width, factor):
    base = counted(blocks, width)
    assert scaling.matrix_params(blocks, width) == base
    assert counted(factor * blocks, width) == scaling.depth_scaling(factor) * base
    assert counted(blocks, factor * width) == scaling.width_scaling(factor) * base


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 400))
def test_equal_budget_width_is_the_nearest(blocks, base_blocks, base_width):
    target = counted(base_blocks, base_width)
    best = min(abs(counted(blocks, w) - target) for w in range(1, 4100))
    width = scaling.equal_budget_width(blocks, base_blocks, base_width)
    assert abs(counted(blocks, width) - target) == best


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 400))
def test_residual_is_the_difference(blocks, base_blocks, base_width):
    width = scaling.equal_budget_width(blocks, base_blocks, base_width)
    missed = counted(blocks, width) - counted(base_blocks, base_width)
    assert scaling.equal_budget_residual(blocks, base_blocks, base_width) == missed
    deviation = scaling.equal_budget_deviation(blocks, base_blocks, base_width)
    assert deviation == Fraction(missed, counted(base_blocks, base_width))


@pytest.mark.parametrize(("blocks", "width"), [(96, 12288), (24, 24576), (6, 49152), (192, 8689), (384, 6144)])
def test_known_equal_budgets(blocks, width):
    assert scaling.equal_budget_width(blocks, 96, 12288) == width
    exact = scaling.equal_budget_residual(blocks, 96, 12288) == 0
    assert exact == (blocks != 192)


@given(st.integers(1, 500), st.integers(1, 100), st.integers(1, 500))
def test_equal_budget_blocks(width, base_blocks, base_width):
    blocks = scaling.equal_budget_blocks(width, base_blocks, base_width)
    assert blocks * width**2 == base_blocks * base_width**2


def test_exact_width_squares_back():
    exact = scaling.equal_budget_width_exact(192, 96, 12288)
    assert float(exact) == pytest.approx(8688.93, abs=5e-3)
    assert 192 * float(exact) ** 2 == pytest.approx(96 * 12288**2, rel=1e-14)


@pytest.mark.parametrize("call", [
    lambda: scaling.depth_scaling(-1), lambda: scaling.width_scaling(-1), lambda: scaling.matrix_params(-1, 4),
    lambda: scaling.matrix_params(1, 0), lambda: scaling.equal_budget_width(0, 1, 1),
    lambda: scaling.equal_budget_width(1, 0, 1), lambda: scaling.equal_budget_width(1, 1, 0),
    lambda: scaling.equal_budget_blocks(0, 1, 1),
])  # fmt: skip
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
