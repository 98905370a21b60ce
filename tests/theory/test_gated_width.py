"""Widths of gated FFNs against counted tensors, a search over multiples, and the layer's own rule."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.nn.ffn import FeedForward, SwiGLU, gated_width
from blocklib.theory import gated_width as theory


def numel(module) -> int:
    return sum(p.numel() for p in module.parameters())


def built(kind, *sizes):
    with torch.device("meta"):
        return kind(*sizes)


@pytest.mark.parametrize("d_model", [3, 6, 12, 768, 1536, 5376])
def test_matched_width_by_counting(d_model):
    width = theory.matched_width(d_model)
    assert isinstance(width, int) and numel(built(SwiGLU, d_model, width)) == numel(built(FeedForward, d_model))


@pytest.mark.parametrize("d_model", [4, 256, 4096, 8192])
def test_no_whole_width_matches_where_three_does_not_divide(d_model):
    width = theory.matched_width(d_model)
    low, high = int(width), int(width) + 1
    assert width.denominator == 3
    assert numel(built(SwiGLU, d_model, low)) < numel(built(FeedForward, d_model)) < numel(built(SwiGLU, d_model, high))


@given(st.integers(1, 20_000), st.integers(1, 300))
def test_rounded_width_by_search_and_against_the_layer(d_model, multiple):
    found = theory.rounded_width(d_model, multiple)
    assert found == gated_width(d_model, multiple)
    if d_model > 1:
        down = 8 * d_model // 3
        assert found % multiple == 0 and found - multiple < down <= found


@pytest.mark.parametrize(
    ("d_model", "multiple", "width"), [(256, 16, 688), (4096, 256, 11_008), (8192, 256, 22_016), (768, 1, 2048)]
)
def test_known_widths(d_model, multiple, width):
    assert theory.rounded_width(d_model, multiple) == width


@given(st.integers(1, 64), st.integers(1, 256))
def test_weights_by_counting(d_model, d_ff):
    counted = numel(built(SwiGLU, d_model, d_ff))
    assert theory.gated_ffn_weights(d_model, d_ff) == counted
    assert theory.gated_ffn_excess(d_model, d_ff) == Fraction(counted, numel(built(FeedForward, d_model))) - 1


def test_excess_of_known_shapes():
    assert theory.gated_ffn_excess(4096, 11_008) == Fraction(1, 128)
    assert theory.gated_ffn_excess(4096, 14_336) == Fraction(5, 16)
    assert theory.gated_ffn_excess(5120, 17_408) == Fraction(11, 40)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.matched_width(0),
        lambda: theory.rounded_width(4, 0),
        lambda: theory.gated_ffn_weights(4, 0),
        lambda: theory.gated_ffn_flops(0, 4, "forward"),
    ],
)
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
