"""Evidence for the page on pre- and post-norm."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.block import PostNormBlock, PreNormBlock
from blocklib.nn.norm import LayerNorm, RMSNorm
from blocklib.theory.residual import cancelling_gain, layernorm_gain, post_norm_gradient, post_norm_identity
from blocklib.theory.stream import stream_rms
from tests.claims_evidence.support import Case, Map, block, cases, fails, gap, holds, jacobian, orthogonal, over


def off_unit_size(case: Case, kind: type) -> float:
    """How far the root mean square of a block's output is from one; norms with gain one and no epsilon."""
    made = block(case, kind, norm=lambda d: LayerNorm(d, eps=0.0, affine=False))
    return (made(case.x).square().mean(-1).sqrt() - 1).abs().max().item()


@pytest.mark.claim("post-norm-output-normalised")
def test_post_norm_output_normalised():
    holds(over(cases(), off_unit_size, PostNormBlock))


@pytest.mark.claim("post-norm-output-normalised", control=True)
def test_post_norm_output_normalised_control():
    fails(over(cases(), off_unit_size, PreNormBlock))


def silent(case: Case, kind: type, norm, blocks: int) -> Tensor:
    """Jacobian of a stack whose branches write nothing: what is left is the identity path."""
    stack = []
    for _ in range(blocks):
        made = block(case, kind, norm=norm)
        made.attention = made.ffn = Map(torch.zeros_like)
        stack.append(made)
    return jacobian(nn.Sequential(*stack), case.x[0, 0][None, None]).view(case.d, case.d)


def off_identity(case: Case, kind: type) -> float:
    """How far the identity path of three blocks with random LayerNorms is from the identity."""
    eye = torch.eye(case.d, dtype=torch.float64)
    return gap(silent(case, kind, LayerNorm, 3), eye)


@pytest.mark.claim("pre-norm-identity-path")
def test_pre_norm_identity_path():
    holds(over(cases(), off_identity, PreNormBlock), tolerance=0.0)


@pytest.mark.claim("pre-norm-identity-path", control=True)
def test_pre_norm_identity_path_control():
    fails(over(cases(), off_identity, PostNormBlock))


def off_power_of_factor(case: Case, kind: type, factor: float) -> float:
    """How far the identity path is from the norm's factor once per sublayer, with norms that just scale."""
    blocks = 3
    path = silent(case, kind, lambda _d: Map(lambda x: factor * x), blocks)
    expected = float(post_norm_identity(factor, 2 * blocks))
    return gap(path, expected * torch.eye(case.d, dtype=torch.float64))


FACTORS = (0.5, 0.7, 0.9, 1.2)


@pytest.mark.claim("post-norm-scales-skip")
@pytest.mark.parametrize("factor", FACTORS)
def test_post_norm_scales_skip(factor):
    holds(over(cases(), off_power_of_factor, PostNormBlock, factor))


@pytest.mark.claim("post-norm-scales-skip", control=True)
@pytest.mark.parametrize("factor", FACTORS)
def test_post_norm_scales_skip_control(factor):
    fails(over(cases(), off_power_of_factor, PreNormBlock, factor))


SUBLAYERS = 24


def gradient_decay(seed: int, branch_passes_gradient: bool) -> float:
    """|log| of the ratio of the gradient's size at the two ends of 24 post-norm sublayers with linear branches.

    Each branch writes as much as the stream holds. Where it passes no gradient it writes a random vector of the
    same size instead, and nothing makes up for the norm.
    """
    torch.manual_seed(seed)
    d, norm = 64, LayerNorm(64, eps=0.0, affine=False)
    first = norm(torch.randn(8, d, dtype=torch.float64)).requires_grad_()
    x = first
    for _ in range(SUBLAYERS):
        noise = norm(torch.randn(8, d, dtype=torch.float64))
        x = norm(x + (x @ orthogonal(d) if branch_passes_gradient else noise))
    at_output = torch.randn(8, d, dtype=torch.float64)
    at_input = torch.autograd.grad(x, first, at_output)[0]
    return abs(math.log((at_input.norm() / at_output.norm()).item()))


@pytest.mark.claim("post-norm-need-not-vanish")
def test_post_norm_need_not_vanish():
    holds([gradient_decay(seed, True) for seed in range(8)], tolerance=0.5)
    for factor in FACTORS:
        assert post_norm_gradient(factor, cancelling_gain(factor), SUBLAYERS) == 1


@pytest.mark.claim("post-norm-need-not-vanish", control=True)
def test_post_norm_need_not_vanish_control():
    """Without gradient through the branches every norm takes its 1/√2: 2^-12 after 24 sublayers."""
    decays = [gradient_decay(seed, False) for seed in range(8)]
    fails(decays, clearly=5.0)
    assert decays == pytest.approx([12 * math.log(2)] * 8, rel=0.1)


def off_formula(case: Case, norm_of) -> float:
    """How far a norm's Jacobian is from (1/σ)(I − 11ᵀ/d − x̂x̂ᵀ/d), and its singular values from d−2 times 1/σ
    and twice zero."""
    x, d = case.x[0, 0], case.d
    sd = x.std(correction=0)
    unit, ones = (x - x.mean()) / sd, torch.ones(d, dtype=torch.float64)
    formula = (torch.eye(d, dtype=torch.float64) - torch.outer(ones, ones) / d - torch.outer(unit, unit) / d) / sd
    found = jacobian(norm_of(d).double(), x)
    expected = torch.tensor([float(layernorm_gain(sd.item()))] * (d - 2) + [0.0, 0.0], dtype=torch.float64)
    return max(gap(found, formula), gap(torch.linalg.svdvals(found), expected))


@pytest.mark.claim("layernorm-jacobian")
def test_layernorm_jacobian():
    holds(over(cases(), off_formula, lambda d: LayerNorm(d, eps=0.0)))


@pytest.mark.claim("layernorm-jacobian", control=True)
def test_layernorm_jacobian_control():
    """Another norm, or an epsilon as large as the variance, has another Jacobian."""
    fails(over(cases(), off_formula, lambda d: RMSNorm(d, eps=0.0)))
    fails(over(cases(), off_formula, lambda d: LayerNorm(d, eps=1.0)))


def off_square_root(seed: int, correlated: bool) -> float:
    """Relative distance of the stream's size from √(1 + 2L), the largest over the depths 1 … 24.

    Each sublayer writes a unit vector made from the normalised stream: turned at random, or as it is.
    """
    torch.manual_seed(seed)
    d, norm = 256, RMSNorm(256, eps=0.0, affine=False)
    x, worst = norm(torch.randn(16, d, dtype=torch.float64)), 0.0
    for blocks in range(1, 25):
        for _ in range(2):
            x = x + (norm(x) if correlated else norm(x) @ orthogonal(d))
        size = x.square().mean().sqrt().item()
        worst = max(worst, abs(size / float(stream_rms(blocks)) - 1))
    return worst


@pytest.mark.claim("stream-grows")
def test_stream_grows():
    holds([off_square_root(seed, False) for seed in range(4)], tolerance=0.06)


@pytest.mark.claim("stream-grows", control=True)
def test_stream_grows_control():
    fails([off_square_root(seed, True) for seed in range(4)], clearly=0.5)
