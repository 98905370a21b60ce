"""Activations and their slopes against torch's."""

from __future__ import annotations

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.nn.ffn import ACTIVATIONS as IN_TORCH
from blocklib.theory.activations import ACTIVATIONS, activation_slope, activation_value

POINTS = (-30.0, -3.0, -1.278, -0.5, -1e-3, 0.0, 1e-3, 0.7, 2.0, 30.0)


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_values_match_torch(kind):
    x = torch.tensor(POINTS, dtype=torch.float64)
    for at, expected in zip(POINTS, IN_TORCH[kind](x).tolist(), strict=True):
        assert activation_value(kind, at) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_slopes_match_torch(kind):
    for at in POINTS:
        if kind == "relu" and at == 0:
            continue
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        IN_TORCH[kind](x).backward()
        assert activation_slope(kind, at) == pytest.approx(x.grad.item(), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("call", [lambda: activation_slope("relu", 0), lambda: activation_value("mish", 1),
                                  lambda: activation_slope("mish", 1)])  # fmt: skip
def test_values_outside_the_domain_are_refused(call):
    with pytest.raises(DomainError):
        call()
