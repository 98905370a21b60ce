"""Evidence for the page on normalisation."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward
from blocklib.nn.norm import BatchNorm, LayerNorm, RMSNorm
from blocklib.theory.growth import compound_factor
from blocklib.theory.norm_ops import norm_core_gap, norm_core_ops, norm_gap_share, norm_ops, rmsnorm_output_mean
from tests.claims_evidence.support import Case, cases, fails, gap, holds, orthogonal, over
from tests.theory import counting


@pytest.mark.claim("growth-compounds")
@pytest.mark.parametrize("factor", [0.6, 0.9, 1.0, 1.1, 1.4])
def test_growth_compounds(factor):
    """A vector sent through layers that each scale it by the factor, in a random direction."""
    for layers in (1, 12, 24):
        x = torch.randn(16, dtype=torch.float64)
        size = x.norm()
        for _ in range(layers):
            x = orthogonal(16, factor) @ x
        assert (x.norm() / size).item() == pytest.approx(float(compound_factor(factor, layers)), rel=1e-10)


def moved_by_others(case: Case, norm_of) -> float:
    """How much one token's output moves when the rest of the sequence and of the batch is replaced, and when
    the sequence is made longer."""
    norm = norm_of(case.d).double()
    own = norm(case.x)[0, 0]
    others = torch.randn_like(case.x) * 3
    others[0, 0] = case.x[0, 0]
    longer = torch.cat([case.x, torch.randn_like(case.x)], dim=1)
    return max(gap(norm(others)[0, 0], own), gap(norm(longer)[0, 0], own))


@pytest.mark.claim("layernorm-is-per-token")
def test_layernorm_is_per_token():
    for norm in (LayerNorm, RMSNorm):
        holds(over(cases(), moved_by_others, norm))


@pytest.mark.claim("layernorm-is-per-token", control=True)
def test_layernorm_is_per_token_control():
    fails(over(cases(), moved_by_others, BatchNorm))


def batch_not_centred(case: Case, training: bool) -> float:
    """How far the mean over the batch is from the bias, for a batch and for a batch of a single row."""
    norm = BatchNorm(case.d).double().train(training)
    nn.init.normal_(norm.bias)
    several = gap(norm(case.x).flatten(0, 1).mean(0), norm.bias)
    single = gap(norm(case.x[:1, :1])[0, 0], norm.bias)
    return max(several, single) if training else min(several, single)


@pytest.mark.claim("batchnorm-needs-batch")
def test_batchnorm_needs_batch():
    holds(over(cases(), batch_not_centred, True))
    fails(over(cases(), moved_by_others, BatchNorm))  # in training mode the batch-mates matter


@pytest.mark.claim("batchnorm-needs-batch", control=True)
def test_batchnorm_needs_batch_control():
    """In evaluation mode the statistics are stored ones: neither centred on the batch nor moved by it."""
    fails(over(cases(), batch_not_centred, False))
    holds(over(cases(), moved_by_others, lambda d: BatchNorm(d).eval()))


def not_layernorm(case: Case, centre: bool) -> float:
    """How far RMSNorm, after subtracting the mean or not, is from LayerNorm, with one epsilon for both."""
    x = case.x - case.x.mean(-1, keepdim=True) if centre else case.x
    rms, ln = RMSNorm(case.d, eps=1e-5).double(), LayerNorm(case.d, eps=1e-5).double()
    return gap(rms(x), ln(case.x))


@pytest.mark.claim("rmsnorm-is-uncentred")
def test_rmsnorm_is_uncentred():
    holds(over(cases(), not_layernorm, True))


@pytest.mark.claim("rmsnorm-is-uncentred", control=True)
def test_rmsnorm_is_uncentred_control():
    fails(over(cases(), not_layernorm, False))


def off_predicted_mean(case: Case, gain: bool) -> float:
    """How far the output's mean is from the input's mean over its root mean square."""
    norm = RMSNorm(case.d, eps=0.0).double()
    if gain:
        nn.init.normal_(norm.gain, 3.0, 0.5)
    vectors = case.x.flatten(0, 1)
    predicted = [
        float(rmsnorm_output_mean(v.mean().item(), v.std(correction=0).item())) for v in vectors
    ]  # fmt: skip
    return gap(norm(vectors).mean(-1), torch.tensor(predicted, dtype=torch.float64))


@pytest.mark.claim("rmsnorm-mean")
def test_rmsnorm_mean():
    holds(over(cases(), off_predicted_mean, False))


@pytest.mark.claim("rmsnorm-mean", control=True)
def test_rmsnorm_mean_control():
    """A learned gain away from one moves the mean, and the mean that went in is not what comes out."""
    fails(over(cases(), off_predicted_mean, True))
    kept = [gap(RMSNorm(c.d, eps=0.0).double()(c.x).mean(-1), c.x.mean(-1)) for c in cases()]
    fails(kept)


@pytest.mark.claim("norm-op-count")
def test_norm_op_count():
    rng = random.Random(0)
    for width in (2, 3, 8, 64, 100):
        x, gain, bias = ([rng.gauss(1, 1) for _ in range(width)] for _ in range(3))
        for affine, closed_form in ((True, norm_ops), (False, norm_core_ops)):
            assert counting.layernorm(x, gain, bias, affine)[1] == closed_form("layernorm", width)
            assert counting.rmsnorm(x, gain, affine)[1] == closed_form("rmsnorm", width)
        assert Fraction(norm_core_ops("rmsnorm", width), norm_core_ops("layernorm", width)) == Fraction(3, 5)


@pytest.mark.claim("op-count-is-not-speed")
@pytest.mark.parametrize("d_model", [16, 64, 256])
def test_op_count_is_not_speed(d_model):
    """Operations counted one by one against the FLOPs that torch's counter finds in a block that runs."""
    x = [1.0 + i for i in range(d_model)]
    saved = 2 * (counting.layernorm(x, x, x, affine=False)[1] - counting.rmsnorm(x, x, affine=False)[1])
    attention, ffn = MultiHeadAttention(d_model, 4), FeedForward(d_model)
    tokens = 8
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        ffn(attention(torch.zeros(1, tokens, d_model)))
    per_token = Fraction(counter.get_total_flops(), tokens)
    scores = 4 * tokens * d_model
    assert saved == 2 * norm_core_gap(d_model)
    assert saved / (per_token - scores) == norm_gap_share(d_model) == Fraction(1, 6 * d_model)
    assert saved / per_token < Fraction(1, 6 * d_model)
    assert norm_gap_share(768) < Fraction(1, 4000)
