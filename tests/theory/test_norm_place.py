"""Sizes and gradients without norms and behind post-norms, against stacks of random matrices."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.nn.norm import LayerNorm
from blocklib.theory.norm_place import (
    embedding_variance_share,
    post_norm_skip_share,
    post_norm_total,
    unnormed_stream_rms,
    write_norm_factor,
)


def turned(d: int) -> torch.Tensor:
    """A random orthogonal matrix."""
    q, r = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))
    return q * r.diagonal().sign()


@pytest.mark.parametrize("blocks", [1, 4, 12])
def test_streams_match_random_stacks(blocks):
    torch.manual_seed(blocks)
    x = torch.randn(16, 256, dtype=torch.float64)
    size = x.square().mean().sqrt()
    for _ in range(2 * blocks):
        x = x + x @ turned(256)
    assert (x.square().mean().sqrt() / size).item() == pytest.approx(unnormed_stream_rms(blocks), rel=0.1)


@pytest.mark.parametrize("blocks", [1, 12, 64])
def test_embedding_share_by_adding_writes(blocks):
    """Independent unit vectors added up: what the first one explains of the sum's variance."""
    torch.manual_seed(0)
    parts = torch.randn(1 + 2 * blocks, 200_000 // blocks, dtype=torch.float64)
    total = parts.sum(0)
    share = torch.corrcoef(torch.stack([parts[0], total]))[0, 1].square().item()
    assert share == pytest.approx(float(embedding_variance_share(blocks)), rel=0.25)


def test_known_values():
    assert embedding_variance_share(64) == Fraction(1, 129)
    assert (unnormed_stream_rms(0), unnormed_stream_rms(24)) == (1, 16_777_216)
    assert post_norm_total(2, 2, 24) == 1 and post_norm_total(1, 0, 24) == Fraction(1, 4096)
    assert float(write_norm_factor(1)) == pytest.approx(math.sqrt(0.5), rel=1e-15)


@pytest.mark.parametrize("write", [0.25, 1.0, 3.0])
def test_norm_factor_on_a_sum(write):
    """LayerNorm of stream plus write, and how much of the stream is left in it."""
    torch.manual_seed(1)
    norm = LayerNorm(4096, eps=0.0, affine=False)
    x = norm(torch.randn(4, 4096, dtype=torch.float64))
    out = norm(x + write * norm(torch.randn(4, 4096, dtype=torch.float64)))
    kept = (out * x).mean().item()
    assert kept == pytest.approx(float(write_norm_factor(write)), abs=0.03)


@pytest.mark.parametrize(("write", "gain"), [(0.5, 0.5), (2.0, 2.0), (1.0, 0.5), (1.0, 0.0)])
def test_post_norm_gradient_matches_random_stacks(write, gain):
    """Branches that are partly a linear map and partly a vector that does not depend on the input."""
    torch.manual_seed(2)
    d, layers, norm = 256, 24, LayerNorm(256, eps=0.0, affine=False)
    fixed = math.sqrt(write**2 - gain**2)
    x = first = norm(torch.randn(16, d, dtype=torch.float64)).requires_grad_()
    skip = torch.ones((), dtype=torch.float64)
    for _ in range(layers):
        added = gain * (x @ turned(d)) + fixed * norm(torch.randn(16, d, dtype=torch.float64))
        skip = skip / (x + added).square().mean().sqrt()
        x = norm(x + added)
    last = torch.randn(16, d, dtype=torch.float64)
    ratio = (torch.autograd.grad(x, first, last)[0].norm() / last.norm()).item()
    assert math.log(ratio) == pytest.approx(math.log(float(post_norm_total(write, gain, layers))), abs=0.5)
    assert math.log(skip.item()) == pytest.approx(math.log(float(post_norm_skip_share(write, layers))), abs=0.3)


@pytest.mark.parametrize("call", [
    lambda: unnormed_stream_rms(-1), lambda: embedding_variance_share(-1), lambda: write_norm_factor(-1),
    lambda: post_norm_total(1, -1, 2), lambda: post_norm_skip_share(1, -1)])  # fmt: skip
def test_values_outside_the_domain_are_refused(call):
    with pytest.raises(DomainError):
        call()
