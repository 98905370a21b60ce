"""Bounds on logits and weights behind QK-norm, by constructing the vectors that reach them."""

from __future__ import annotations

from decimal import Decimal

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.nn.norm import RMSNorm
from blocklib.theory.qk_norm import qk_logit_bound, sharpest_weight


@pytest.mark.parametrize("head_dim", [2, 64, 128])
@pytest.mark.parametrize("gain", [0.5, 1.0, 1.2])
def test_the_bound_is_reached_and_not_passed(head_dim, gain):
    torch.manual_seed(head_dim)
    norm = RMSNorm(head_dim, eps=0.0, affine=False)
    q, k = (gain * norm(torch.randn(2000, head_dim, dtype=torch.float64)) for _ in range(2))
    logits = (q @ k.T) / head_dim**0.5
    bound = float(qk_logit_bound(head_dim, gain))
    assert logits.abs().max().item() <= bound + 1e-9
    assert (q * q).sum(-1).max().item() / head_dim**0.5 == pytest.approx(bound, rel=1e-9)  # a query as its own key


def test_known_values():
    assert round(qk_logit_bound(128, 1), 2) == Decimal("11.31")
    assert round(qk_logit_bound(128, 1.2) / qk_logit_bound(128, 1), 6) == Decimal("1.44")
    assert (qk_logit_bound(64, 1), qk_logit_bound(64, 0)) == (8, 0)


@pytest.mark.parametrize("bound", [0.0, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("keys", [1, 2, 1000])
def test_the_sharpest_softmax_by_construction(bound, keys):
    """One key at the upper bound and the others at the lower one; any other logits within it give less."""
    best = torch.full((keys,), -bound, dtype=torch.float64)
    best[0] = bound
    reached = best.softmax(0).max().item()
    assert reached == pytest.approx(float(sharpest_weight(bound, keys)), rel=1e-12)
    torch.manual_seed(keys)
    others = (torch.rand(500, keys, dtype=torch.float64) * 2 - 1) * bound
    assert others.softmax(1).max().item() <= reached + 1e-12


@pytest.mark.parametrize("call", [
    lambda: qk_logit_bound(0, 1), lambda: qk_logit_bound(4, -1), lambda: sharpest_weight(-1, 2), lambda: sharpest_weight(1, 0)])  # fmt: skip
def test_values_outside_the_domain_are_refused(call):
    with pytest.raises(DomainError):
        call()
