"""FFNs against the same formula written with explicit matrices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from blocklib.nn.ffn import FeedForward, SwiGLU


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
