"""Evidence for the lesson on gates."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn

from blocklib.atlas import load
from blocklib.atlas.where_facts import output_gate_total, output_gate_weights, query_matrix_width
from blocklib.ledger.params import ffn_params
from blocklib.nn.attention import GatedAttention, MultiHeadAttention
from blocklib.nn.ffn import FeedForward, Gated, GatedFeedForward, SwiGLU
from blocklib.theory.gate_range import LARGEST, gate_overflow
from blocklib.theory.gated_width import gated_ffn_excess, gated_ffn_weights, rounded_width
from blocklib.theory.gates import swiglu, swiglu_clamped
from tests.claims_evidence.support import Case, cases, fails, gap, holds, over


def linears(module: nn.Module) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of each of a layer's matrices."""
    return {name: tuple(m.weight.shape) for name, m in module.named_children() if isinstance(m, nn.Linear)}


@pytest.mark.claim("output-gate-doubles-query")
def test_output_gate_doubles_query():
    c = load("qwen3.8-27b").config
    with torch.device("meta"):
        shapes = linears(GatedAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim))
    (queries, width), gate = shapes["q"], shapes["gate"]
    assert gate == (queries, width) and query_matrix_width("qwen3.8-27b") == queries + gate[0] == 2 * queries
    assert output_gate_weights("qwen3.8-27b") == gate[0] * gate[1] == 31_457_280
    assert output_gate_total("qwen3.8-27b") == 16 * gate[0] * gate[1] == 503_316_480


def beyond_the_corner(case: Case, clamped: bool, limit: float) -> float:
    """Over random inputs, how far a channel's output exceeds what it makes of the limit itself, in units of that."""
    gate, up = (torch.randn(2, 4000, dtype=torch.float64) * 8).unbind()
    if clamped:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    corner = float(swiglu(Fraction(limit), Fraction(limit)))
    return max(0.0, (Gated("swiglu")(gate, up).abs().max().item() - corner) / corner)


@pytest.mark.claim("clamp-sets-the-corner")
@pytest.mark.parametrize("limit", [1.0, 7.0, 10.0])
def test_clamp_sets_the_corner(limit):
    holds(over(cases(), beyond_the_corner, True, limit))
    corner = float(swiglu(Fraction(limit), Fraction(limit)))
    for g, u in ((12, 12), (50, -50), (-1, 90)):
        assert abs(float(swiglu_clamped(Fraction(g), Fraction(u), Fraction(limit)))) <= corner


@pytest.mark.claim("clamp-sets-the-corner", control=True)
@pytest.mark.parametrize("limit", [1.0, 7.0, 10.0])
def test_clamp_sets_the_corner_control(limit):
    fails(over(cases(), beyond_the_corner, False, limit))


@pytest.mark.claim("overflow-needs-both-halves")
def test_overflow_needs_both_halves():
    """Half precision itself overflows where the closed form says, and one large half alone does not do it."""
    edge = float(gate_overflow("fp16"))
    for factor, finite in ((0.99, True), (1.01, False)):
        both = torch.tensor(edge * factor, dtype=torch.float16)
        assert torch.isfinite(Gated("swiglu")(both, both)).item() is finite
    assert torch.isfinite(Gated("swiglu")(torch.tensor(60_000.0).half(), torch.tensor(1.0).half()))
    corner = swiglu(Fraction(10), Fraction(10))
    assert all(corner < largest for largest in LARGEST.values())


@pytest.mark.claim("same-width-is-no-match")
@pytest.mark.parametrize("d_model", [48, 96, 256])
def test_same_width_is_no_match(d_model):
    with torch.device("meta"):
        plain, gated = FeedForward(d_model), SwiGLU(d_model, 4 * d_model)
        matched = SwiGLU(d_model, rounded_width(d_model, 16))
    weights = [sum(p.numel() for p in m.parameters()) for m in (plain, gated, matched)]
    assert weights[0] == ffn_params(d_model) and weights[1] == gated_ffn_weights(d_model, 4 * d_model)
    assert Fraction(weights[1], weights[0]) - 1 == gated_ffn_excess(d_model, 4 * d_model) == Fraction(1, 2)
    assert abs(Fraction(weights[2], weights[0]) - 1) <= Fraction(3 * 16 * d_model, 8 * d_model**2)
    if d_model == 256:
        assert weights[0] == 524_288 and weights[2] == 528_384


def written(case: Case, kind: type) -> float:
    """How far what the heads write is from the one value that all positions hold; scores are random."""
    attention = kind(case.d, case.heads, causal=False).double()
    nn.init.eye_(attention.o.weight)
    x = torch.randn_like(case.x)
    value = torch.randn(case.d, dtype=torch.float64)
    nn.init.zeros_(attention.v.weight)
    attention.v.bias = nn.Parameter(value)
    return gap(attention(x), value.expand_as(x))


@pytest.mark.claim("softmax-hands-out-everything")
def test_softmax_hands_out_everything():
    holds(over(cases(), written, MultiHeadAttention))


@pytest.mark.claim("softmax-hands-out-everything", control=True)
def test_softmax_hands_out_everything_control():
    """With a gate the same scores write something else, and a closed gate writes as good as nothing."""
    fails(over(cases(), written, GatedAttention))
    for case in cases():
        attention = GatedAttention(case.d, case.heads, causal=False, bias=True).double()
        nn.init.zeros_(attention.gate.weight)
        nn.init.constant_(attention.gate.bias, -40.0)
        nn.init.zeros_(attention.o.bias)
        assert attention(case.x).abs().max() < 1e-12


def gradients(kind: str, seed: int) -> tuple[Tensor, Tensor]:
    """Norms of the gradients of a channel's gate row and value row, ``(channels,)`` each, for one token whose gate
    inputs are all negative; the loss reads the output at random."""
    torch.manual_seed(seed)
    d, channels = 8, 6
    ffn = GatedFeedForward(d, channels, join=Gated(kind)).double()
    x = torch.randn(d, dtype=torch.float64)
    inputs = -2.5 * torch.rand(channels, dtype=torch.float64) - 0.05
    with torch.no_grad():
        ffn.gate.weight += (inputs - ffn.gate(x))[:, None] * x / x.square().sum()
    (ffn(x) * torch.randn(d, dtype=torch.float64)).sum().backward()
    return ffn.gate.weight.grad.norm(dim=1), ffn.up.weight.grad.norm(dim=1)


@pytest.mark.claim("silu-gates-can-reopen")
def test_silu_gates_can_reopen():
    """Below zero a SwiGLU channel still learns, in both of its halves."""
    for seed in range(8):
        gate, up = gradients("swiglu", seed)
        assert (gate > 1e-5).all() and (up > 1e-5).all()


@pytest.mark.claim("silu-gates-can-reopen", control=True)
def test_silu_gates_can_reopen_control():
    """Below zero a channel gated by ReLU learns nothing, in neither half."""
    for seed in range(8):
        gate, up = gradients("reglu", seed)
        assert (gate == 0).all() and (up == 0).all()
