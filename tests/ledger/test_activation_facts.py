"""Multiples of the width that an FFN keeps, against the tensors that autograd saves."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks

from blocklib.ledger.activation_facts import ffn_saved_excess, ffn_saved_widths
from blocklib.ledger.parts import ConfigError
from blocklib.nn.ffn import FeedForward, Gated, GatedFeedForward

D = 24
KINDS = ("relu", "gelu", "relu2", "reglu", "geglu", "swiglu")


def built(kind: str, width: str):
    if kind in ("relu", "gelu", "relu2"):
        return FeedForward(D, 4 * D, kind)
    return GatedFeedForward(D, 8 * D // 3 if width == "matched" else 4 * D, Gated(kind))


def kept(function, x, weights) -> int:
    """Elements that autograd saves while ``function`` runs, each storage once, without input and weights."""
    outside = {x.data_ptr(), *(w.data_ptr() for w in weights)}
    found = {}

    def pack(t):
        if t.data_ptr() not in outside:
            found[t.data_ptr()] = t.numel()
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        out = function(x)
    assert out.requires_grad
    return sum(found.values())


@pytest.mark.parametrize("width", ["matched", "same"])
@pytest.mark.parametrize("kind", KINDS)
def test_multiples_are_what_autograd_saves(kind, width):
    ffn, x = built(kind, width), torch.randn(1, D, requires_grad=True)
    assert Fraction(kept(ffn, x, ffn.parameters()), D) == ffn_saved_widths(kind, width, "all")


class Again(torch.autograd.Function):
    """Activation and second matrix, made again in the backward pass from what the first matrices made."""

    @staticmethod
    def forward(ctx, join, down, *made):
        ctx.join = join
        ctx.save_for_backward(down, *made)
        return F.linear(join(*made), down)

    @staticmethod
    def backward(ctx, grad):
        held = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            again = F.linear(ctx.join(*held[1:]), held[0])
        return None, *torch.autograd.grad(again, held, grad)


@pytest.mark.parametrize("kind", KINDS)
def test_recomputing_keeps_what_the_first_matrices_made(kind):
    """A pass that keeps no more than that has the gradients of the usual one."""
    ffn, x = built(kind, "matched"), torch.randn(1, D, requires_grad=True)
    gated = isinstance(ffn, GatedFeedForward)
    join = ffn.join if gated else ffn.activation

    def run(x):
        return Again.apply(join, ffn.down.weight, *([ffn.gate(x), ffn.up(x)] if gated else [ffn.up(x)]))

    assert Fraction(kept(run, x, ffn.parameters()), D) == ffn_saved_widths(kind, "matched", "recompute")
    inputs = [x, *ffn.parameters()]
    usual, spared = (torch.autograd.grad(f(x).sum(), inputs) for f in (ffn, run))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(usual, spared, strict=True))


def test_known_multiples():
    assert [ffn_saved_widths(kind, "matched", "all") for kind in KINDS] == [
        4,
        8,
        8,
        8,
        Fraction(32, 3),
        Fraction(32, 3),
    ]
    assert ffn_saved_widths("swiglu", "matched", "recompute") == Fraction(16, 3)
    assert ffn_saved_widths("relu", "matched", "recompute") == 4
    assert ffn_saved_excess("swiglu", "gelu", "all") == Fraction(1, 3)
    assert ffn_saved_excess("swiglu", "relu", "all") == Fraction(5, 3)
    with pytest.raises(ConfigError):
        ffn_saved_widths("gelu", "half", "all")
