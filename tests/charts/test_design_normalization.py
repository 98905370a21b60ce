"""Exhibits of the essay's chapter on normalisation, against torch and values worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from blocklib.charts.design import normalization
from blocklib.charts.primer.growth import VECTOR
from tests.charts.test_primer_exhibits import rows, said
from tests.charts.words import collisions

F = Fraction


@pytest.mark.parametrize("scale", normalization.SCALES)
@pytest.mark.parametrize("shift", normalization.SHIFTS)
def test_norm_invariances_against_torch(scale, shift):
    x = torch.tensor([float(scale * v + shift) for v in VECTOR], dtype=torch.float64)
    out = normalization.outputs(scale, shift)
    for kind, expected in (
        ("layernorm", torch.nn.functional.layer_norm(x, (8,), eps=0.0)),
        ("rmsnorm", torch.nn.functional.rms_norm(x, (8,), eps=0.0)),
    ):
        assert torch.allclose(torch.tensor(out[kind], dtype=torch.float64), expected, atol=1e-12)
    words = said("norm-invariances", scale=scale, shift=shift)
    layer, root = words.split("RMSNorm gives")
    assert ("exactly what it gives for x" in layer) == (scale > 0)
    assert ("every sign flipped" in layer) == (scale < 0)
    assert ("exactly what it gives for x" in root) == (scale > 0 and shift == 0)
    assert ("every sign flipped" in root) == (scale < 0 and shift == 0)


def test_norm_invariances_of_a_vector_that_can_be_checked_by_hand():
    # x has mean 3 and deviation 4, so 2x + 3 has 9 and 8, and LayerNorm of either is (x - 3) / 4
    words = said("norm-invariances", scale=F(2), shift=3)
    assert "2 · x + 3 has mean 9 and standard deviation 8." in words
    assert "LayerNorm gives (0.75, −1.25, 1.75, −0.5, −1, 1, −0.75, 0), exactly" in words
    # RMSNorm divides 15 by √(81 + 64) where it divided 6 by 5; the first component moves from 1.2 to 1.2457
    assert rows("norm-invariances", scale=F(2), shift=3)["component 1"][-2:] == ["1.2", "1.25"]


@pytest.mark.parametrize("id", ["norm-invariances", "block-flow", "qk-norm"])
def test_words_keep_apart(id):
    assert collisions(id) == []


@pytest.mark.parametrize("place", [place for place, _ in normalization.PLACES])
def test_block_flow_fixes_what_the_norm_follows(place):
    """RMS is one right behind every norm whatever goes in; and the sum adds, where the write is not related to x."""
    for size in normalization.SIZES:
        for weight in normalization.WEIGHTS:
            at = dict(enumerate(normalization.flow(place, size, weight)))
            stations = normalization.STATIONS[place]
            assert all(at[i] == pytest.approx(1, abs=1e-9) for i, s in enumerate(stations) if s == "N")
            assert at[0] == pytest.approx(float(size), rel=1e-9)
            if place in ("output", "sandwich"):  # a unit write on top of the stream, not far from uncorrelated
                assert at[len(at) - 1] == pytest.approx((float(size) ** 2 + 1) ** 0.5, rel=0.12)
    lean, fat = (normalization.flow(place, F(2), w) for w in (F(1), F(9)))
    branch = normalization.STATIONS[place].index("f")
    assert fat[branch] == pytest.approx(9 * lean[branch])
    assert (fat[-1] == pytest.approx(lean[-1], rel=1e-9)) == (place != "pre")


@pytest.mark.parametrize("head_dim", normalization.HEAD_DIMS)
@pytest.mark.parametrize("gain", normalization.GAINS)
def test_qk_norm_ignores_the_growth_of_the_weights(head_dim, gain):
    small = normalization.scores(1, head_dim, gain)
    for growth in normalization.GROWTHS:
        bare, normed = normalization.scores(growth, head_dim, gain)
        assert bare == pytest.approx([growth**2 * v for v in small[0]])
        assert normed == pytest.approx(small[1])
        assert max(abs(v) for v in normed) <= float(gain) ** 2 * head_dim**0.5
        words = said("qk-norm", growth=growth, head_dim=head_dim, gain=gain)
        exps = [math.exp(v - max(bare)) for v in bare]
        share = 100 * max(exps) / sum(exps)
        assert ("largest weight over 99.9%" if share >= 99.95 else f"largest weight {share:#.3g}%") in words


def test_qk_norm_states_the_bound():
    assert "no logit can pass 8." in said("qk-norm", head_dim=64, gain=F(1))
    assert "no logit can pass 16.29." in said("qk-norm", head_dim=128, gain=F("1.2"))  # 1.44 · √128
