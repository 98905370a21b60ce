"""The size of a norm's output against torch's own norms."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from blocklib.exact import DomainError
from blocklib.theory.norm_epsilon import norm_output_size


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.02, 1.0, 300.0])
@pytest.mark.parametrize("eps", [1e-6, 1e-5])
def test_output_size_against_torch(size, eps):
    x = torch.randn(64, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    by_rms = x * size / x.square().mean().sqrt()
    by_sd = (x - x.mean()) / x.std(correction=0) * size + 5
    expected = float(norm_output_size(size, eps))
    assert rms_norm(by_rms, (64,), eps=eps).square().mean().sqrt().item() == pytest.approx(expected, rel=1e-9)
    assert layer_norm(by_sd, (64,), eps=eps).std(correction=0).item() == pytest.approx(expected, rel=1e-6)


def test_without_epsilon_it_is_one_and_half_way_it_is_the_root_of_a_half():
    assert norm_output_size(7, 0) == 1 and float(norm_output_size("0.001", "1e-6")) == pytest.approx(0.5**0.5)
    for size, eps in ((0, 1), (-1, 1), (1, -1)):
        with pytest.raises(DomainError):
            norm_output_size(size, eps)
