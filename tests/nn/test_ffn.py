"""FFNs against the same formula written with explicit matrices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from blocklib.nn.ffn import (
    ACTIVATIONS,
    ClampedSwiGLU,
    FeedForward,
    Gated,
    GatedFeedForward,
    SwiGLU,
    gated_width,
)


@pytest.mark.parametrize(("activation", "function"), [
    ("relu", lambda x: x.clamp(min=0)),
    ("gelu", lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5))),
])  # fmt: skip
def test_two_matrices(activation, function):
    ffn = FeedForward(6, 10, activation, bias=True).double()
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    inner = function(torch.einsum("btd,fd->btf", x, ffn.up.weight) + ffn.up.bias)
    expected = torch.einsum("btf,df->btd", inner, ffn.down.weight) + ffn.down.bias
    torch.testing.assert_close(ffn(x), expected, rtol=1e-12, atol=1e-12)


def test_swiglu():
    ffn = SwiGLU(6, 10, bias=True).double()
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    gate = x @ ffn.gate.weight.T + ffn.gate.bias
    inner = gate / (1 + torch.exp(-gate)) * (x @ ffn.up.weight.T + ffn.up.bias)
    torch.testing.assert_close(ffn(x), inner @ ffn.down.weight.T + ffn.down.bias, rtol=1e-12, atol=1e-12)


def test_default_width_and_biases():
    def numel(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    assert numel(FeedForward(8)) == 8 * 8 * 8
    assert numel(FeedForward(8, bias=True)) == 8 * 8 * 8 + 32 + 8
    assert numel(SwiGLU(8, 20)) == 3 * 8 * 20
    with pytest.raises(KeyError):
        FeedForward(8, activation="tanh")


@pytest.mark.parametrize(("activation", "function"), [
    ("gelu_tanh", lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))),
    ("relu2", lambda x: x.clamp(min=0) ** 2),
    ("silu", lambda x: x / (1 + torch.exp(-x))),
])  # fmt: skip
def test_other_activations(activation, function):
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[activation](x), function(x), rtol=1e-12, atol=1e-12)
    x = torch.linspace(-5, 5, 101)
    assert (ACTIVATIONS["gelu_tanh"](x) - ACTIVATIONS["gelu"](x)).abs().max() > 1e-4  # two different functions


@pytest.mark.parametrize(("kind", "function"), [
    ("glu", lambda g: 1 / (1 + torch.exp(-g))),
    ("bilinear", lambda g: g),
    ("reglu", lambda g: g.clamp(min=0)),
    ("geglu", lambda g: g * 0.5 * (1 + torch.erf(g / 2**0.5))),
    ("geglu_tanh", lambda g: 0.5 * g * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (g + 0.044715 * g**3)))),
    ("swiglu", lambda g: g / (1 + torch.exp(-g))),
])  # fmt: skip
def test_gated_family(kind, function):
    ffn = GatedFeedForward(6, 10, Gated(kind), bias=True).double()
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    gate, up = (x @ p.weight.T + p.bias for p in (ffn.gate, ffn.up))
    expected = (function(gate) * up) @ ffn.down.weight.T + ffn.down.bias
    torch.testing.assert_close(ffn(x), expected, rtol=1e-12, atol=1e-12)


def test_clamped_swiglu():
    join = ClampedSwiGLU(alpha=1.7, limit=2.0)
    gate = torch.tensor([-9.0, -1.0, 0.0, 1.0, 9.0], dtype=torch.float64)
    for up, clamped in ((0.5, 0.5), (9.0, 2.0), (-9.0, -2.0)):
        below = gate.clamp(max=2.0)  # from above only
        expected = below / (1 + torch.exp(-1.7 * below)) * (clamped + 1)
        torch.testing.assert_close(join(gate, torch.full_like(gate, up)), expected)
    assert join(gate, torch.zeros_like(gate))[0] != join(torch.tensor([-2.0]).double(), torch.zeros(1).double())[0]


@pytest.mark.parametrize(("d", "multiple", "multiplier", "width"), [
    (4096, 256, 1.0, 11008),  # LLaMA 7B
    (5120, 256, 1.0, 13824),  # LLaMA 13B
    (8192, 256, 1.0, 22016),  # LLaMA 65B
    (8192, 4096, 1.3, 28672),  # Llama 2 70B
    (4096, 1024, 1.3, 14336),  # Llama 3 8B
    (16384, 4096, 1.2, 53248),  # Llama 3.1 405B
    (3, 1, 1.0, 8),
    (4, 1, 1.0, 10),
    (4, 1, 1.5, 15),  # rounded down twice
    (6, 16, 1.0, 16),
    (7, 16, 1.0, 32),
])  # fmt: skip
def test_widths_of_published_models(d, multiple, multiplier, width):
    assert gated_width(d, multiple, multiplier) == width


def test_the_rule_keeps_the_parameters():
    assert 3 * gated_width(3 * 2**20) == 2 * 4 * 3 * 2**20
    with pytest.raises(ValueError, match="must be positive"):
        gated_width(0)
