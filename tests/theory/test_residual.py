"""Chains of gradients against layer-by-layer products, and against automatic expectations at special values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.theory import residual

GAINS = st.fractions(-1, 2, max_denominator=30)
FACTORS = st.fractions(Fraction(1, 30), 2, max_denominator=30)
LAYERS = st.integers(0, 30)


def through(layers: int, per_layer: Fraction) -> Fraction:
    """A gradient of one sent back through ``layers`` layers, one at a time."""
    gradient = Fraction(1)
    for _ in range(layers):
        gradient = gradient * per_layer
    return gradient


@given(GAINS, LAYERS)
def test_chains_match_layer_by_layer_products(gain, layers):
    assert residual.bare_gradient(gain, layers) == through(layers, gain)
    assert residual.residual_gradient(gain, layers) == through(layers, 1 + gain)


@given(FACTORS, GAINS, LAYERS)
def test_norm_chains_match_layer_by_layer_products(factor, gain, layers):
    assert residual.post_norm_gradient(factor, gain, layers) == through(layers, factor + factor * gain)
    assert residual.pre_norm_gradient(factor, gain, layers) == through(layers, 1 + factor * gain)


@given(FACTORS, LAYERS)
def test_identity_shares(factor, layers):
    """With a dead branch only the identity path is left."""
    assert residual.post_norm_gradient(factor, 0, layers) == residual.post_norm_identity(factor, layers)
    assert residual.pre_norm_gradient(factor, 0, layers) == 1
    assert residual.layernorm_gain(factor) * factor == 1


@given(GAINS, LAYERS)
def test_a_scaled_skip_is_a_knob(gain, layers):
    assert residual.scaled_skip_gradient(0, gain, layers) == residual.bare_gradient(gain, layers)
    assert residual.scaled_skip_gradient(1, gain, layers) == residual.residual_gradient(gain, layers)
    assert residual.scaled_skip_gradient(Fraction(1, 2), gain, layers) == through(layers, Fraction(1, 2) + gain)


@given(GAINS, LAYERS)
def test_norm_places_agree_when_the_norm_does_nothing(gain, layers):
    assert residual.post_norm_gradient(1, gain, layers) == residual.pre_norm_gradient(1, gain, layers)


@given(FACTORS, LAYERS)
def test_cancelling_gain_keeps_the_product_at_one(factor, layers):
    assert residual.post_norm_gradient(factor, residual.cancelling_gain(factor), layers) == 1


@pytest.mark.parametrize("layers", [1, 2, 12, 24, 96])
def test_half_gain_leaves_one_half(layers):
    gain = residual.bare_half_gain(layers)
    assert float(residual.bare_gradient(gain, layers)) == pytest.approx(0.5, rel=1e-25)
    assert residual.bare_gradient(gain * Decimal("0.99"), layers) < Fraction(1, 2)


def test_norm_factor_of_unit_writes():
    factor = residual.unit_write_norm_factor()
    assert float(factor) == pytest.approx(0.5**0.5, rel=1e-15)
    for blocks in (0, 1, 12, 24):
        two_norms_each = residual.post_norm_identity(factor, 2 * blocks)
        assert float(two_norms_each) == pytest.approx(float(residual.post_norm_identity_blocks(blocks)), rel=1e-12)


@pytest.mark.parametrize(("gain", "shown"), [(0.5, 2.44e-4), (0.7, 0.0138), (0.9, 0.282), (0.95, 0.54)])
def test_bare_chain_at_twelve_layers(gain, shown):
    assert float(residual.bare_gradient(gain, 12)) == pytest.approx(shown, rel=5e-3)


def test_known_values():
    assert float(residual.residual_gradient(0.3, 24)) == pytest.approx(542.8, abs=0.05)
    assert float(residual.residual_gradient(0.7, 24)) == pytest.approx(3.4e5, rel=1e-2)
    assert float(residual.post_norm_identity(0.5, 24)) == pytest.approx(5.96e-8, rel=1e-3)
    assert float(residual.post_norm_identity(0.7071, 24)) == pytest.approx(2.44e-4, rel=1e-3)
    assert residual.residual_gradient(-1, 5) == 0
    assert round(float(residual.bare_half_gain(12)), 3) == 0.944


@pytest.mark.parametrize("call", [
    lambda: residual.bare_gradient(0.5, -1), lambda: residual.bare_half_gain(0), lambda: residual.cancelling_gain(0),
    lambda: residual.layernorm_gain(0), lambda: residual.post_norm_identity_blocks(-1),
])  # fmt: skip
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
