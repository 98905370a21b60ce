"""Folds, shallow layers and fixed budgets against networks that are run and stacks that are counted."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.theory import depth_width as theory
from blocklib.theory.scaling import equal_budget_width_exact, matrix_params


def slopes_of(y: torch.Tensor, x: torch.Tensor) -> int:
    """Straight pieces of a curve sampled finely: runs of equal slope."""
    slope = (y.diff() / x.diff()).round(decimals=6)
    return 1 + int((slope.diff().abs() > 1e-5).sum())


@pytest.mark.parametrize("layers", range(1, 8))
def test_pieces_by_counting_slopes(layers):
    x = torch.linspace(0, 1, 2**10 + 1, dtype=torch.float64)
    y, neurons = x, 0
    for _ in range(layers):
        parts = (torch.relu(y), torch.relu(y - 0.5))
        y, neurons = 2 * parts[0] - 4 * parts[1], neurons + len(parts)
    assert slopes_of(y, x) == theory.folded_pieces(layers) and neurons == theory.folded_neurons(layers)
    exact = [float(theory.folds(Fraction(k, 2**10), layers)) for k in range(2**10 + 1)]
    assert torch.equal(y, torch.tensor(exact, dtype=torch.float64))


@pytest.mark.parametrize("neurons", [1, 2, 5, 12])
def test_one_layer_has_a_piece_more_than_neurons(neurons):
    """Knots at different grid points give one piece more than neurons; coinciding ones give fewer, never more."""
    x = torch.linspace(0, 1, 2**10 + 1, dtype=torch.float64)
    for seed in range(6):
        torch.manual_seed(seed)
        knots = x[torch.randperm(len(x) - 2)[:neurons] + 1]
        weights = torch.randn(neurons, dtype=torch.float64) + torch.tensor(2.0)
        y = (torch.relu(x[:, None] - knots) * weights).sum(1)
        assert slopes_of(y, x) == theory.shallow_pieces(neurons)
        doubled = torch.cat((knots, knots))
        y = (torch.relu(x[:, None] - doubled) * torch.cat((weights, weights))).sum(1)
        assert slopes_of(y, x) <= theory.shallow_pieces(2 * neurons)


@given(st.fractions(Fraction(1, 40), 40, max_denominator=40))
def test_factors_of_a_fixed_budget(factor):
    factors = {
        what: float(theory.fixed_budget_factor(what, factor))
        for what in ("weights", "width", "cache", "scores", "steps")
    }
    base_blocks, base_width = 40, 4096
    blocks = float(base_blocks * factor)
    width = factors["width"] * base_width
    assert blocks * width**2 == pytest.approx(base_blocks * base_width**2, rel=1e-12)
    assert (
        factors["cache"] == factors["scores"] == pytest.approx(blocks * width / (base_blocks * base_width), rel=1e-12)
    )
    assert factors["steps"] == pytest.approx(blocks / base_blocks) and factors["weights"] == 1


def test_the_width_is_the_one_of_the_primer():
    for blocks in (6, 24, 192):
        exact = float(equal_budget_width_exact(blocks, 96, 12_288))
        assert exact == pytest.approx(
            12_288 * float(theory.fixed_budget_factor("width", Fraction(blocks, 96))), rel=1e-12
        )
        assert 12 * blocks * exact**2 == pytest.approx(matrix_params(96, 12_288), rel=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.folded_pieces(-1),
        lambda: theory.folded_pieces(65),
        lambda: theory.folds(2, 1),
        lambda: theory.window_reach(2, 0),
        lambda: theory.fixed_budget_factor("cache", 0),
        lambda: theory.fixed_budget_factor("depth", 1),
    ],
)
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
