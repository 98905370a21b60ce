"""Evidence for the page on residuals."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.block import PostNormBlock, PreNormBlock
from blocklib.theory.residual import bare_gradient, residual_gradient, scaled_skip_gradient
from tests.claims_evidence.support import Case, block, cases, fails, gap, holds, jacobian, over


def moved_by_nothing(case: Case, kind: type) -> float:
    """How far a stack of three blocks with silent branches moves its input."""
    x = case.x
    for _ in range(3):
        made = block(case, kind)
        for writer in (made.attention.o, made.ffn.down):
            nn.init.zeros_(writer.weight)
            nn.init.zeros_(writer.bias)
        x = made(x)
    return gap(x, case.x)


@pytest.mark.claim("zero-branch-is-identity")
def test_zero_branch_is_identity():
    holds(over(cases(), moved_by_nothing, PreNormBlock), tolerance=0.0)


@pytest.mark.claim("zero-branch-is-identity", control=True)
def test_zero_branch_is_identity_control():
    fails(over(cases(), moved_by_nothing, PostNormBlock))


def off_identity_plus_branch(case: Case, skip: float) -> float:
    """How far the Jacobian of ``skip · x + f(x)`` is from that of f plus the identity, f a random small network."""
    f = nn.Sequential(nn.Linear(case.d, 7), nn.Tanh(), nn.Linear(7, case.d)).double()
    x = case.x[0, 0]
    whole = jacobian(lambda v: skip * v + f(v), x)
    return gap(whole, jacobian(f, x) + torch.eye(case.d, dtype=torch.float64))


@pytest.mark.claim("residual-jacobian")
def test_residual_jacobian():
    holds(over(cases(), off_identity_plus_branch, 1.0))


@pytest.mark.claim("residual-jacobian", control=True)
def test_residual_jacobian_control():
    for skip in (0.0, 0.5):
        fails(over(cases(), off_identity_plus_branch, skip))


def derivative(layer, layers: int) -> float:
    """d output / d input of a scalar chain, by automatic differentiation."""
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(layers):
        y = layer(y)
    return torch.autograd.grad(y, x)[0].item()


GAINS = (0.1, 0.5, 0.7, 0.9, 0.95)


@pytest.mark.claim("bare-chain-shrinks")
@pytest.mark.parametrize("gain", GAINS)
def test_bare_chain_shrinks(gain):
    left = [derivative(lambda y: gain * y, layers) for layers in range(1, 25)]
    assert left == pytest.approx([float(bare_gradient(gain, layers)) for layers in range(1, 25)], rel=1e-12)
    assert all(deeper < shallower for shallower, deeper in zip(left, left[1:], strict=False))
    assert (left[11] < 0.5) == (gain < 0.944)  # by layer twelve most is lost, but only below this gain


@pytest.mark.claim("whole-product-grows")
@pytest.mark.parametrize("gain", [*GAINS, -0.5, -1.0])
def test_whole_product_grows(gain):
    for layers in (1, 12, 24):
        whole = derivative(lambda y: y + gain * y, layers)
        assert whole == pytest.approx(float(residual_gradient(gain, layers)), rel=1e-12)
        assert whole > 1 if gain > 0 else whole < 1
    assert residual_gradient(-1, 24) == 0


def chain(branches: list[Tensor], skip: float) -> Tensor:
    """Jacobian of the chain ``x → skip · x + f(x)`` over linear branches, by automatic differentiation."""

    def network(x: Tensor) -> Tensor:
        for branch in branches:
            x = skip * x + branch @ x
        return x

    return jacobian(network, torch.zeros(branches[0].shape[0], dtype=torch.float64))


def branches_of(case: Case) -> list[Tensor]:
    return [torch.randn(case.d, case.d, dtype=torch.float64) / case.d**0.5 for _ in range(4)]


def off_bare_chain(case: Case, skip: float) -> float:
    """How far the first layer's gradient is from that of the bare chain with the same branches."""
    branches = branches_of(case)
    return gap(chain(branches, skip), torch.linalg.multi_dot(branches[::-1]))


@pytest.mark.claim("skip-is-a-path")
def test_skip_is_a_path():
    holds(over(cases(), off_bare_chain, 0.0))
    holds(over(cases(), off_sum_with_identity))
    assert scaled_skip_gradient(0, 0.7, 12) == bare_gradient(0.7, 12)


def off_sum_with_identity(case: Case) -> float:
    """With the skip at one: how far the gradient is from the identity plus the sum over all other paths."""
    branches = branches_of(case)
    identity = torch.eye(case.d, dtype=torch.float64)
    others = torch.zeros_like(identity)
    for choice in product((False, True), repeat=len(branches)):
        if any(choice):
            term = identity
            for taken, branch in zip(choice, branches, strict=True):
                term = branch @ term if taken else term
            others += term
    return gap(chain(branches, 1.0), identity + others)


@pytest.mark.claim("skip-is-a-path", control=True)
def test_skip_is_a_path_control():
    for skip in (0.5, 1.0):
        fails(over(cases(), off_bare_chain, skip))
