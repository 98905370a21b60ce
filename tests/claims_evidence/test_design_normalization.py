"""Evidence for the essay's chapter on normalisation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from blocklib.facts.registry import evaluate
from blocklib.nn.block import OutputNormBlock, PreNormBlock, SandwichBlock
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.norm import LayerNorm, PerHeadQKNorm, RMSNorm
from blocklib.nn.position import RoPE
from blocklib.theory.norm_place import embedding_variance_share, post_norm_total, unnormed_stream_rms
from blocklib.theory.qk_norm import qk_logit_bound
from blocklib.theory.stream import stream_rms
from tests.claims_evidence.support import Case, block, cases, fails, gap, holds, jacobian, orthogonal, over


def plain_norm(d: int) -> nn.Module:
    return RMSNorm(d, eps=0.0, affine=False)


# -- the stream only adds ----------------------------------------------------------------------------------


def size_after(seed: int, blocks: int, normed: bool) -> float:
    """Root mean square after this many blocks whose branches keep the size of what they read, from a unit stream."""
    torch.manual_seed(seed)
    d, norm = 256, plain_norm(256)
    x = norm(torch.randn(16, d, dtype=torch.float64))
    for _ in range(2 * blocks):
        x = x + (norm(x) if normed else x) @ orthogonal(d)
    return x.square().mean().sqrt().item()


@pytest.mark.claim("norms-turn-growth-additive")
@pytest.mark.parametrize("blocks", [2, 6, 12])
def test_norms_turn_growth_additive(blocks):
    holds([abs(size_after(seed, blocks, True) / float(stream_rms(blocks)) - 1) for seed in range(4)], 0.06)
    holds([abs(size_after(seed, blocks, False) / unnormed_stream_rms(blocks) - 1) for seed in range(4)], 0.15)


@pytest.mark.claim("norms-turn-growth-additive", control=True)
@pytest.mark.parametrize("blocks", [2, 6, 12])
def test_norms_turn_growth_additive_control(blocks):
    """Take the norms away and the root law no longer describes the stack."""
    fails([abs(size_after(seed, blocks, False) / float(stream_rms(blocks)) - 1) for seed in range(4)], 0.7)


def off_embedding_share(seed: int, blocks: int, reinjected: float) -> float:
    """Relative distance of the embedding's share of the variance from 1 / (1 + 2L); it may be added again each time."""
    torch.manual_seed(seed)
    d, norm = 512, plain_norm(512)
    x = start = norm(torch.randn(64, d, dtype=torch.float64))
    for _ in range(2 * blocks):
        x = x + norm(x) @ orthogonal(d) + reinjected * start
    share = torch.corrcoef(torch.stack([start.flatten(), x.flatten()]))[0, 1].square().item()
    return abs(share / float(embedding_variance_share(blocks)) - 1)


@pytest.mark.claim("embedding-fades-in-stream")
@pytest.mark.parametrize("blocks", [2, 6, 12])
def test_embedding_fades_in_stream(blocks):
    holds([off_embedding_share(seed, blocks, 0.0) for seed in range(4)], 0.15)


@pytest.mark.claim("embedding-fades-in-stream", control=True)
@pytest.mark.parametrize("blocks", [2, 6, 12])
def test_embedding_fades_in_stream_control(blocks):
    """Adding the embedding again at every sublayer, as some models do, keeps its share up."""
    fails([off_embedding_share(seed, blocks, 0.5) for seed in range(4)], 0.5)


# -- where the norm stands ---------------------------------------------------------------------------------


def change_of_write(case: Case, kind: type) -> float:
    """How much the size of attention's write changes when its output matrix is made a hundred times larger."""
    made = block(case, kind, norm=plain_norm)
    before = written(made, case.x)
    made.attention.o.weight.data *= 100
    if made.attention.o.bias is not None:
        made.attention.o.bias.data *= 100
    return gap(written(made, case.x), before)


def written(made: nn.Module, x: Tensor) -> Tensor:
    """Root mean square of what the first sublayer adds to the stream."""
    return (made.stages(x)["add_attention"] - x).square().mean(-1).sqrt()


@pytest.mark.claim("output-norm-bounds-writes")
def test_output_norm_bounds_writes():
    for kind in (OutputNormBlock, SandwichBlock):
        holds(over(cases(), change_of_write, kind), 1e-8)
        for case in cases():
            assert gap(written(block(case, kind, norm=plain_norm), case.x), torch.ones(2, case.tokens)) < 1e-8


@pytest.mark.claim("output-norm-bounds-writes", control=True)
def test_output_norm_bounds_writes_control():
    fails(over(cases(), change_of_write, PreNormBlock), 1.0)


# -- the derivative ----------------------------------------------------------------------------------------


def off_inverse(case: Case, function, scale: float) -> float:
    """How far the derivative at a scaled vector, times the scale, is from that at the vector itself."""
    x = case.x[0, 0]
    here, there = jacobian(function, x), jacobian(function, scale * x)
    return gap(there * scale, here)


@pytest.mark.claim("norm-derivative-inverse")
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])
def test_norm_derivative_inverse(scale):
    for norm in (LayerNorm, RMSNorm):
        holds(over(cases(), lambda case, s, n=norm: off_inverse(case, n(case.d, eps=0.0).double(), s), scale))


@pytest.mark.claim("norm-derivative-inverse", control=True)
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])
def test_norm_derivative_inverse_control(scale):
    """A bounded function that is no norm, and a norm whose epsilon outweighs its input."""
    fails(over(cases(), off_inverse, torch.tanh, scale), 1e-3)
    fails(over(cases(), lambda case, s: off_inverse(case, LayerNorm(case.d, eps=10.0).double(), s), scale), 1e-3)


def post_norm_log_ratio(seed: int, write: float, handed_back: float) -> float:
    """Log of the gradient's size at the first of 24 post-norm sublayers over that at the last.

    A branch writes a vector of size ``write``; a share of it is a linear image of its input, so that the branch hands
    back ``handed_back`` of a gradient, and the rest does not depend on the input at all.
    """
    torch.manual_seed(seed)
    d, norm = 128, LayerNorm(128, eps=0.0, affine=False)
    fixed = math.sqrt(write**2 - handed_back**2)
    x = first = norm(torch.randn(16, d, dtype=torch.float64)).requires_grad_()
    for _ in range(24):
        constant = norm(torch.randn(1, d, dtype=torch.float64))
        x = norm(x + x @ orthogonal(d, handed_back) + fixed * constant)
    last = torch.randn(16, d, dtype=torch.float64)
    return math.log((torch.autograd.grad(x, first, last)[0].norm() / last.norm()).item())


@pytest.mark.claim("post-norm-balances-when-gains-agree")
@pytest.mark.parametrize("write", [0.5, 1.0, 2.0])
def test_post_norm_balances_when_gains_agree(write):
    holds([abs(post_norm_log_ratio(seed, write, write)) for seed in range(6)], 0.5)
    assert post_norm_total(write, write, 24) == 1


@pytest.mark.claim("post-norm-balances-when-gains-agree", control=True)
@pytest.mark.parametrize("write", [0.5, 1.0, 2.0])
def test_post_norm_balances_when_gains_agree_control(write):
    """Let half of the write's variance be a constant: the same size goes out, less comes back, and it tells."""
    back = write * math.sqrt(0.5)
    fails([abs(post_norm_log_ratio(seed, write, back)) for seed in range(6)], 1.0)
    assert post_norm_total(write, back, 24) < 0.3


@pytest.mark.claim("post-norm-balances-when-gains-agree")
@pytest.mark.parametrize("steepness", [2.0, 4.0, 8.0])
def test_post_norm_follows_the_branch(steepness):
    """Branches that hand back more than they write: the factor predicted from sizes measured at every sublayer."""
    torch.manual_seed(int(steepness))
    d, norm = 256, LayerNorm(256, eps=0.0, affine=False)
    x = first = norm(torch.randn(16, d, dtype=torch.float64)).requires_grad_()
    predicted = 0.0
    for _ in range(24):
        w = orthogonal(d)
        write = torch.tanh(steepness * x @ w)
        back = torch.randn_like(x)
        gain = torch.autograd.grad(write, x, back, retain_graph=True)[0].norm() / back.norm()
        predicted += math.log((1 + gain.item() ** 2) / (1 + write.square().mean().item())) / 2
        x = norm(x + write)
    last = torch.randn(16, d, dtype=torch.float64)
    measured = math.log((torch.autograd.grad(x, first, last)[0].norm() / last.norm()).item())
    assert measured > 1 and measured == pytest.approx(predicted, rel=0.15)


# -- the final norm ----------------------------------------------------------------------------------------


def change_of_logits(case: Case, final: nn.Module) -> float:
    """How far the logits move when the whole stream is three times as large."""
    head = torch.randn(30, case.d, dtype=torch.float64)
    return gap(final(3 * case.x) @ head.T, final(case.x) @ head.T)


@pytest.mark.claim("final-norm-fixes-logit-scale")
def test_final_norm_fixes_logit_scale():
    for norm in (LayerNorm, RMSNorm):
        holds(over(cases(), lambda case, n=norm: change_of_logits(case, n(case.d, eps=0.0).double())))


@pytest.mark.claim("final-norm-fixes-logit-scale", control=True)
def test_final_norm_fixes_logit_scale_control():
    fails(over(cases(), change_of_logits, nn.Identity()), 1.0)


# -- RMSNorm -----------------------------------------------------------------------------------------------


def moved(case: Case, norm, scale: float, shift: float) -> float:
    """How far a norm's output moves under ``scale · x + shift``, a flip of all signs for a negative scale aside."""
    made = norm(case.d, eps=0.0, affine=False)
    return gap(made(scale * case.x + shift), math.copysign(1, scale) * made(case.x))


SCALES = (0.3, 7.0, -1.0, -2.5)


@pytest.mark.claim("norm-invariances")
@pytest.mark.parametrize("scale", SCALES)
def test_norm_invariances(scale):
    for shift in (0.0, 2.0, -5.0):
        holds(over(cases(), moved, LayerNorm, scale, shift))
    holds(over(cases(), moved, RMSNorm, scale, 0.0))


@pytest.mark.claim("norm-invariances", control=True)
@pytest.mark.parametrize("scale", SCALES)
def test_norm_invariances_control(scale):
    """RMSNorm notices a shift; LayerNorm one that differs between components; and no flip means no equality."""
    for shift in (2.0, -5.0):
        fails(over(cases(), moved, RMSNorm, scale, shift))
    made = LayerNorm(8, eps=0.0, affine=False)
    x, uneven = torch.randn(20, 8, dtype=torch.float64), torch.arange(8.0, dtype=torch.float64)
    fails([gap(made(scale * row + uneven), math.copysign(1, scale) * made(row)) for row in x])


def off_folded(case: Case, after: bool) -> float:
    """How far a normed vector with its gain lies from a gainless norm with the gain folded into the matrix that
    stands after it, or before it."""
    torch.manual_seed(case.d)
    gained, bare = RMSNorm(case.d, eps=0.0).double(), plain_norm(case.d)
    nn.init.normal_(gained.gain, 1.0, 0.5)
    w = torch.randn(case.d, case.d, dtype=torch.float64)
    if after:
        return gap(gained(case.x) @ w.T, bare(case.x) @ (w * gained.gain).T)
    return gap(gained(case.x @ w.T), bare(case.x @ (gained.gain[:, None] * w).T))


@pytest.mark.claim("gain-folds-forward")
def test_gain_folds_forward():
    holds(over(cases(), off_folded, True))


@pytest.mark.claim("gain-folds-forward", control=True)
def test_gain_folds_forward_control():
    fails(over(cases(), off_folded, False))


# -- QK-norm -----------------------------------------------------------------------------------------------


def projected(x: Tensor, wq: Tensor, wk: Tensor, norm: PerHeadQKNorm | None) -> tuple[Tensor, Tensor]:
    """Queries and keys ``(B, T, 1, D)`` of one head, normed or not."""
    q, k = (x @ wq.T)[:, :, None], (x @ wk.T)[:, :, None]
    return norm(q, k) if norm else (q, k)


def over_bound(case: Case, normed: bool) -> float:
    """By how much the largest logit of a head with enormous weights passes √D · max|g_q| · max|g_k|; below zero it
    does not. Rotary positions are applied behind the norm."""
    torch.manual_seed(case.tokens)
    head_dim = 8
    norm = PerHeadQKNorm(head_dim).double()
    for made in (norm.q, norm.k):
        nn.init.normal_(made.gain, 1.0, 0.5)
    wq, wk = (100 * torch.randn(head_dim, case.d, dtype=torch.float64) for _ in range(2))
    q, k = projected(case.x, wq, wk, norm if normed else None)
    rope = RoPE(rope_frequencies(head_dim))
    q, k = (rope(v.transpose(1, 2), range(case.tokens)) for v in (q, k))
    largest = (q @ k.transpose(-2, -1)).abs().max().item() / head_dim**0.5
    bound = head_dim**0.5 * (norm.q.gain.abs().max() * norm.k.gain.abs().max()).item()
    return largest - bound


@pytest.mark.claim("qk-norm-bounds-logits")
def test_qk_norm_bounds_logits():
    assert max(over(cases(), over_bound, True)) <= 1e-9
    for head_dim in (16, 64, 128):
        norm = PerHeadQKNorm(head_dim).double()
        q, k = norm(*(50 * torch.randn(2, 6, 1, head_dim, dtype=torch.float64)))
        logits = (q[:, 0] @ k[:, 0].T).abs() / head_dim**0.5
        assert logits.max().item() <= float(qk_logit_bound(head_dim, 1))


@pytest.mark.claim("qk-norm-bounds-logits", control=True)
def test_qk_norm_bounds_logits_control():
    fails(over(cases(), over_bound, False), 1.0)


def off_symmetry(case: Case, tied: bool, rope: bool, shared_gains: bool) -> float:
    """Largest difference between the score of (i, j) and that of (j, i), behind a QK-norm, turned by position or not."""
    torch.manual_seed(case.tokens)
    wq, wk = torch.randn(2, 6, case.d, dtype=torch.float64)
    norm = PerHeadQKNorm(6).double()
    for made in (norm.q, norm.k):
        nn.init.normal_(made.gain, 1.0, 0.5)
    if shared_gains:
        norm.k = norm.q
    q, k = (v.transpose(1, 2) for v in projected(case.x, wq, wq if tied else wk, norm))
    if rope:
        turn = RoPE(rope_frequencies(6))
        q, k = turn(q, range(case.tokens)), turn(k, range(case.tokens))
    scores = q @ k.transpose(-2, -1)
    return gap(scores, scores.transpose(-2, -1))


@pytest.mark.claim("qk-norm-keeps-asymmetry")
def test_qk_norm_keeps_asymmetry():
    holds(over(cases(), off_symmetry, True, False, False))
    for rope in (False, True):
        holds(over(cases(), off_symmetry, True, rope, True))


@pytest.mark.claim("qk-norm-keeps-asymmetry", control=True)
def test_qk_norm_keeps_asymmetry_control():
    """Two projections; or one, with gains of their own on either side and a rotation behind them."""
    for rope in (False, True):
        fails(over(cases(), off_symmetry, False, rope, True))
    fails(over(cases(), off_symmetry, False, False, False))
    fails(over(cases(), off_symmetry, True, True, False))


# -- figures -----------------------------------------------------------------------------------------------


def test_cited_figures_of_the_chapter():
    assert evaluate("warm_up_steps").value == 100 * evaluate("nanochat_warm_up_steps").value == 4000
    scale = evaluate("nanochat_qk_scale").value
    assert float(qk_logit_bound(128, scale)) == pytest.approx(1.44 * math.sqrt(128))
