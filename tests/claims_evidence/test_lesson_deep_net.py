"""Evidence for the lesson on the deep seeded net."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention, attention_weights
from blocklib.nn.block import PostNormBlock, PreNormBlock
from blocklib.nn.norm import RMSNorm
from blocklib.nn.position import RoPE
from blocklib.theory.initialisation import residual_init_std
from blocklib.theory.mixing import row_similarity, shared_square
from tests.claims_evidence.support import Case, Map, block, cases, fails, gap, holds, over


def spread(rows: Tensor) -> float:
    """Largest distance of two rows; ``rows (T, d)``."""
    return torch.cdist(rows, rows).max().item()


def widening(case: Case, convex: bool) -> float:
    """How much farther apart two rows stand after mixing than the farthest two before: rows of weights that are
    convex, or that sum to one and are not."""
    rows = case.x[0]
    q, k = torch.randn(2, case.tokens, case.d, dtype=torch.float64)
    weights = attention_weights(q, k)
    if not convex:
        weights = 4 * (weights - weights.mean(1, keepdim=True)) + weights.mean(1, keepdim=True)
    assert torch.allclose(weights.sum(1), torch.ones(case.tokens, dtype=torch.float64))
    return spread(weights @ rows) / spread(rows) - 1


@pytest.mark.claim("mixing-draws-rows-together")
def test_mixing_draws_rows_together():
    holds([max(0.0, excess) for excess in over(cases(), widening, True)])
    for case in cases():  # and by at least the coefficient that the weights themselves give
        rows, (q, k) = case.x[0], torch.randn(2, case.tokens, case.d, dtype=torch.float64)
        weights = attention_weights(q, k)
        overlap = torch.minimum(weights[:, None], weights[None]).sum(-1).min().item()
        assert spread(weights @ rows) <= (1 - overlap) * spread(rows) + 1e-12


@pytest.mark.claim("mixing-draws-rows-together", control=True)
def test_mixing_draws_rows_together_control():
    """Weights that sum to one but are partly negative can push rows apart."""
    excess = over(cases(), widening, False)
    assert max(excess) > 0.1


def equal_rows(case: Case) -> Tensor:
    """An input ``(1, T, d)`` whose rows are all the same; at least three of them, so that a mask leaves a choice."""
    return case.x[:1, :1].expand(1, max(3, case.tokens), case.d)


def told_apart(case: Case, causal: bool, skip: float, places: bool, rope: bool = False) -> float:
    """How far apart two rows of the output are when all rows of the input are the same."""
    x = equal_rows(case)
    for _ in range(3):
        made = block(case, PreNormBlock, causal=causal, skip=skip)
        if rope:
            width = made.attention.head_dim
            made.attention.rope = RoPE(10_000.0 ** (-torch.arange(width // 2).double() / (width // 2)))
        x = made(x)
        if places:
            x = x + torch.randn(x.shape[1], case.d, dtype=torch.float64)
    return spread(x[0].detach())


@pytest.mark.claim("equal-rows-stay-equal")
@pytest.mark.parametrize("rope", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_equal_rows_stay_equal(causal, skip, rope):
    holds(over(cases(), told_apart, causal, skip, False, rope))


@pytest.mark.claim("equal-rows-stay-equal", control=True)
@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_equal_rows_stay_equal_control(skip):
    """A vector for each place, added between blocks, tells them apart at once."""
    fails(over(cases(), told_apart, True, skip, True))


def query_key_gradient(case: Case, equal: bool) -> float:
    """Size of the gradient of the query and key matrices beside that of value and output matrices, for equal rows or
    for rows that differ; the loss reads every row differently."""
    attention = MultiHeadAttention(case.d, case.heads, causal=False).double()
    x = equal_rows(case) if equal else torch.randn(1, max(3, case.tokens), case.d, dtype=torch.float64)
    (attention(x) * torch.randn_like(x)).sum().backward()
    q, k, v, o = (m.weight.grad.norm().item() for m in (attention.q, attention.k, attention.v, attention.o))
    assert min(v, o) > 0.1
    return math.hypot(q, k) / math.hypot(v, o)


@pytest.mark.claim("equal-rows-silence-queries")
def test_equal_rows_silence_queries():
    holds(over(cases(), query_key_gradient, True), tolerance=1e-12)


@pytest.mark.claim("equal-rows-silence-queries", control=True)
def test_equal_rows_silence_queries_control():
    fails(over(cases(), query_key_gradient, False), clearly=1e-3)


def differences_moved(case: Case, kind: type, sharp: bool = False) -> float:
    """How much the differences between rows change where attention weighs every row alike and there is no FFN."""
    made = block(case, kind, norm=lambda d: RMSNorm(d, affine=False))
    if not sharp:
        nn.init.zeros_(made.attention.q.weight)
        nn.init.zeros_(made.attention.q.bias)
    made.ffn = Map(torch.zeros_like)
    after = made(case.x)
    return gap(after - after[:, :1], case.x - case.x[:, :1])


@pytest.mark.claim("residual-keeps-differences")
def test_residual_keeps_differences():
    holds(over(cases(), differences_moved, PreNormBlock))


@pytest.mark.claim("residual-keeps-differences", control=True)
def test_residual_keeps_differences_control():
    """A norm on the path, sharp attention, or no residual: the differences change."""
    fails(over(cases(), differences_moved, PostNormBlock))
    fails(over(cases(), differences_moved, PreNormBlock, True))
    fails(over(cases(), differences_moved, lambda *args, **options: PreNormBlock(*args, skip=0.0, **options)))


@pytest.mark.claim("residual-slows-mixing")
@pytest.mark.parametrize("tokens", [8, 16])
def test_residual_slows_mixing(tokens):
    """Uniform mixing through random orthogonal matrices, with and without the residual, against the closed form."""
    torch.manual_seed(0)
    d, rows = 768, torch.linalg.qr(torch.randn(768, tokens))[0].T * 768**0.5
    kept, bare = rows.clone(), rows.clone()
    for layer in range(1, 9):
        matrix = torch.linalg.qr(torch.randn(d, d))[0]
        kept = kept + (kept / kept.square().mean(1, keepdim=True).sqrt()).mean(0) @ matrix
        bare = bare.mean(0, keepdim=True).expand(tokens, d) @ matrix
        assert torch.cosine_similarity(bare[0], bare[1], 0).item() == pytest.approx(1, abs=1e-5)
        cosines = torch.cosine_similarity(kept[:, None], kept[None], -1)
        mean = ((cosines.sum() - tokens) / (tokens * (tokens - 1))).item()
        assert mean == pytest.approx(float(row_similarity(tokens, layer)), abs=0.03)
    assert float(1 / (1 + shared_square(tokens, 8))) == pytest.approx(float(1 - row_similarity(tokens, 8)), rel=1e-12)


@pytest.mark.claim("scaled-writes-keep-the-stream")
@pytest.mark.parametrize("blocks", [2, 8, 32])
def test_scaled_writes_keep_the_stream(blocks):
    """Pre-norm blocks whose branches are random matrices, initialised at the scaled or at the usual deviation."""
    sizes = {}
    for scaled in (True, False):
        torch.manual_seed(0)
        d, usual = 256, 1 / 16  # the deviation at which a matrix of this width keeps sizes
        deviation = float(residual_init_std(str(usual), blocks)) if scaled else usual
        x = torch.randn(32, d, dtype=torch.float64)
        for _ in range(2 * blocks):
            unit = x / x.square().mean(1, keepdim=True).sqrt()
            x = x + unit @ (torch.randn(d, d, dtype=torch.float64) * deviation)
        sizes[scaled] = x.square().mean().sqrt().item()
    assert sizes[True] == pytest.approx(math.sqrt(2), rel=0.06)
    assert sizes[False] == pytest.approx(math.sqrt(1 + 2 * blocks), rel=0.06)
