"""Norms against torch's own, and the variants that are commonly got wrong."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from blocklib.nn.norm import BatchNorm, LayerNorm, RMSNorm

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
