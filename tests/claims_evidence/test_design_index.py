"""Evidence for the essay's opening: parts can go, and what is left still runs and learns."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.norm import RMSNorm
from tests.claims_evidence.support import Case, cases, fails, holds, over

GONE = ("nothing", "projections", "heads", "norms", "ffn", "gate", "ratio")


def sublayers(case: Case, gone: str) -> list[nn.Module]:
    """Attention and FFN of the case's shape without the part ``gone``; with a further FFN for ``ratio``."""
    attention = MultiHeadAttention(case.d, 1 if gone == "heads" else case.heads, causal=False)
    if gone == "projections":
        attention.q = attention.k = attention.v = nn.Identity()
    ffn = FeedForward(case.d, 2 * case.d) if gone == "gate" else SwiGLU(case.d, 2 * case.d)
    more = [SwiGLU(case.d, 2 * case.d)] if gone == "ratio" else []
    return [attention] if gone == "ffn" else [attention, ffn, *more]


def missing(parts: list[nn.Module], norms: list[nn.Module], x: Tensor) -> float:
    """Share of the weights without a gradient; 1 where the output has another shape than the input."""
    first = x = x.clone().requires_grad_()
    for part, norm in zip(parts, norms, strict=True):
        written = part(norm(x))
        if written.shape != x.shape:
            return 1.0
        x = x + written
    (x * torch.randn_like(x)).sum().backward()
    weights = [first, *(w for module in (*parts, *norms) for w in module.parameters())]
    dead = [w for w in weights if w.grad is None or w.grad.abs().max() < 1e-12]
    return len(dead) / len(weights)


def worst(case: Case) -> float:
    """:func:`missing` with each of the parts gone in turn, the worst of them."""
    found = []
    for gone in GONE:
        parts = [part.double() for part in sublayers(case, gone)]
        norms = [nn.Identity() if gone == "norms" else RMSNorm(case.d).double() for _ in parts]
        found.append(missing(parts, norms, case.x))
    return max(found)


@pytest.mark.claim("any-part-can-go")
def test_any_part_can_go():
    holds(over(cases(), worst), 0)


@pytest.mark.claim("any-part-can-go", control=True)
def test_any_part_can_go_control():
    def narrow(case: Case) -> float:
        """The FFN without the matrix that brings the width back."""
        ffn = SwiGLU(case.d, 2 * case.d).double()
        ffn.down = nn.Identity()
        return missing([ffn], [nn.Identity()], case.x)

    fails(over(cases(), narrow))
    fails(over(cases(), lambda case: worst(case._replace(x=case.x[:, :1]))))  # queries and keys have nothing to choose
