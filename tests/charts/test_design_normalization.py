"""Exhibits of the essay's chapter on normalisation, against torch and values worked out by hand."""

from __future__ import annotations

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


@pytest.mark.parametrize("id", ["norm-invariances"])
def test_words_keep_apart(id):
    assert collisions(id) == []
