"""Norms against torch's own, and the variants that are commonly got wrong."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from blocklib.nn.norm import BatchNorm, FullQKNorm, LayerNorm, PerHeadQKNorm, RMSNorm, ZeroCentredRMSNorm

SHAPES = [(1,), (8,), (3, 16), (2, 5, 32), (2, 1, 7)]


def randomised(module: nn.Module) -> nn.Module:
    for weight in module.parameters():
        nn.init.normal_(weight, 0.5)
    return module


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_layernorm_equals_torch(shape, eps):
    x = torch.randn(*shape, dtype=torch.float64) * 3 + 2
    ours = randomised(LayerNorm(shape[-1], eps)).double()
    theirs = F.layer_norm(x, shape[-1:], ours.gain, ours.bias, eps)
    torch.testing.assert_close(ours(x), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-6, 1e-2])
def test_rmsnorm_equals_torch(shape, eps):
    x = torch.randn(*shape, dtype=torch.float64) * 3 + 2
    ours = randomised(RMSNorm(shape[-1], eps)).double()
    torch.testing.assert_close(ours(x), F.rms_norm(x, shape[-1:], ours.gain, eps), rtol=1e-12, atol=1e-12)


def test_population_variance_and_eps_inside_the_root():
    spike = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert LayerNorm(4, eps=0, affine=False)(spike)[0].item() == pytest.approx(3**0.5)
    small = torch.tensor([-1e-4, 1e-4], dtype=torch.float64)
    inside = LayerNorm(2, eps=1e-5, affine=False)(small)[1].item()
    assert inside == pytest.approx(1e-4 / (1e-8 + 1e-5) ** 0.5) and inside < 0.04


def test_without_affine_there_is_nothing_to_learn():
    for norm in (LayerNorm(8, affine=False), RMSNorm(8, affine=False)):
        assert list(norm.parameters()) == []
    assert [n for n, _ in LayerNorm(8).named_parameters()] == ["gain", "bias"]
    assert [n for n, _ in RMSNorm(8).named_parameters()] == ["gain"]


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_wide(norm, dtype):
    x = torch.full((4, 64), 300.0, dtype=dtype)
    x[:, ::2] = -300.0  # squares overflow float16
    out = norm(64)(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), x.float() / 300, rtol=1e-2, atol=1e-2)


def test_batchnorm_equals_torch_in_both_modes():
    ours, theirs = randomised(BatchNorm(6)).double(), nn.BatchNorm1d(6).double()
    theirs.weight.data, theirs.bias.data = ours.gain.data, ours.bias.data
    for _ in range(3):
        x = torch.randn(4, 5, 6, dtype=torch.float64) * 2 + 1
        torch.testing.assert_close(ours(x), theirs(x.flatten(0, 1)).view(4, 5, 6))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x.flatten(0, 1)).view(2, 3, 6))


@pytest.mark.parametrize("shape", SHAPES)
def test_zero_centred_gain_is_one_plus_weight(shape):
    x = torch.randn(*shape, dtype=torch.float64) * 3 + 2
    ours = ZeroCentredRMSNorm(shape[-1], 1e-3).double()
    torch.testing.assert_close(ours(x), F.rms_norm(x, shape[-1:], None, 1e-3))  # a weight of zero is the identity
    randomised(ours)
    torch.testing.assert_close(ours(x), F.rms_norm(x, shape[-1:], 1 + ours.weight, 1e-3), rtol=1e-12, atol=1e-12)


def test_zero_centred_gain_is_summed_wide():
    """In bfloat16, 1 + 15.8125 rounds to 16.75."""
    norm = ZeroCentredRMSNorm(2, eps=0).bfloat16()
    nn.init.constant_(norm.weight, 15.8125)
    assert norm(torch.ones(2)).tolist() == pytest.approx([16.8125] * 2, rel=1e-6)
    assert (1 + norm.weight)[0].item() == 16.75


@pytest.mark.parametrize("made", [LayerNorm, RMSNorm, ZeroCentredRMSNorm])
def test_eps_is_the_one_that_stands_there_now(made):
    norm, tiny = made(4), torch.tensor([1e-3, -1e-3, 1e-3, -1e-3], dtype=torch.float64)
    for eps in (1e-6, 3e-6, 0.0):
        norm.eps, expected = eps, tiny / (1e-6 + eps) ** 0.5
        torch.testing.assert_close(norm.float()(tiny.float()), expected.float(), rtol=1e-5, atol=0)
        torch.testing.assert_close(norm.double()(tiny), expected, rtol=1e-12, atol=0)


def test_norms_of_single_heads():
    norm = randomised(PerHeadQKNorm(6)).double()
    q, k = torch.randn(2, 4, 5, 6, dtype=torch.float64), torch.randn(2, 2, 5, 6, dtype=torch.float64)
    new_q, new_k = norm(q, k)
    for head in range(4):
        torch.testing.assert_close(new_q[:, head], F.rms_norm(q[:, head], (6,), norm.q.gain, 1e-6))
    torch.testing.assert_close(new_k, F.rms_norm(k, (6,), norm.k.gain, 1e-6))
    scaled = q.clone()
    scaled[:, 1] *= 100
    torch.testing.assert_close(norm(scaled, k)[0], new_q, rtol=1e-4, atol=1e-4)


def test_a_full_norm_ties_the_heads():
    norm = randomised(FullQKNorm(4, 2, 6)).double()
    q, k = torch.randn(2, 4, 5, 6, dtype=torch.float64), torch.randn(2, 2, 5, 6, dtype=torch.float64)
    new_q, new_k = norm(q, k)
    for new, old, gain in ((new_q, q, norm.q.gain), (new_k, k, norm.k.gain)):
        together, expected = (t.transpose(1, 2).flatten(2) for t in (new, old))
        torch.testing.assert_close(together, F.rms_norm(expected, gain.shape, gain, 1e-6))
    scaled = q.clone()
    scaled[:, 1] *= 100
    assert (norm(scaled, k)[0][:, 0] - new_q[:, 0]).abs().max() > 0.1  # head 0 shrinks with it


@pytest.mark.parametrize("d", [3, 8, 64])
def test_invariances(d):
    """LayerNorm ignores scale and shift, RMSNorm and its zero-centred kind scale alone; eps aside."""
    x = torch.randn(4, d, dtype=torch.float64) + 0.5
    layer, rms, centred = LayerNorm(d, 0).double(), RMSNorm(d, 0).double(), ZeroCentredRMSNorm(d, 0).double()
    for norm in (layer, rms, centred):
        torch.testing.assert_close(norm(7.3 * x), norm(x), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(layer(x + 5), layer(x), rtol=1e-10, atol=1e-10)
    # Controls: a shift moves RMSNorm, a reflection moves all, eps ends the invariance for small vectors.
    assert (rms(x + 5) - rms(x)).abs().max() > 0.1
    assert (layer(-x) - layer(x)).abs().max() > 0.1
    assert (RMSNorm(d, 1e-2).double()(1e-3 * x) - rms(x)).abs().max() > 0.1


def test_layernorm_is_rmsnorm_of_the_centred_vector():
    x = torch.randn(3, 9, dtype=torch.float64) + 2
    centred = x - x.mean(-1, keepdim=True)
    torch.testing.assert_close(LayerNorm(9).double()(x), RMSNorm(9, 1e-5).double()(centred), rtol=1e-12, atol=1e-12)
    assert (LayerNorm(9).double()(x) - RMSNorm(9, 1e-5).double()(x)).abs().max() > 0.1
