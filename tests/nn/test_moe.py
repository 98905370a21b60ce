"""Experts against a sum over all of them, the two orders of routing against each other, and what capacity drops."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from blocklib.nn.ffn import ClampedSwiGLU, Gated, SwiGLU
from blocklib.nn.moe import Experts, MoE, SoftmaxThenTopK, TopKThenSoftmax

D, D_FF, E = 6, 10, 5


def experts(**options) -> Experts:
    made = Experts(E, D, D_FF, **options).double()
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def densely(moe: MoE, x: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """Every expert on every token, weighed by ``gates (N, E)``."""
    e, tokens, outputs = moe.experts, x.flatten(0, -2), []
    for i in range(E):
        gate, up = tokens @ e.gate[i].T, tokens @ e.up[i].T
        if e.gate_bias is not None:
            gate, up = gate + e.gate_bias[i], up + e.up_bias[i]
        out = e.join(gate, up) @ e.down[i].T
        outputs.append(out if e.down_bias is None else out + e.down_bias[i])
    return torch.einsum("end,ne->nd", torch.stack(outputs), gates).view_as(x)


def gates_of(moe: MoE, x: torch.Tensor, k: int, renormalised: bool = True) -> torch.Tensor:
    probabilities = F.linear(x.flatten(0, -2), moe.router.weight, moe.router.bias).softmax(-1)
    kept = torch.where(probabilities >= probabilities.topk(k).values[:, -1:], probabilities, 0)
    return kept / kept.sum(-1, keepdim=True) if renormalised else kept


@pytest.mark.parametrize("k", [1, 2, E])
@pytest.mark.parametrize("join", [Gated(), Gated("geglu"), ClampedSwiGLU(limit=1.0)])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_dense_sum(k, join, bias):
    moe = MoE(D, experts(join=join, bias=bias), TopKThenSoftmax(k), router_bias=bias).double()
    x = torch.randn(2, 7, D, dtype=torch.float64)
    torch.testing.assert_close(moe(x), densely(moe, x, gates_of(moe, x, k)), rtol=1e-10, atol=1e-10)


def test_both_orders_agree_if_renormalised():
    logits = torch.randn(50, E, dtype=torch.float64)
    first, then = SoftmaxThenTopK(2)(logits), TopKThenSoftmax(2)(logits)
    assert torch.equal(first[1], then[1])
    torch.testing.assert_close(first[0], then[0])
    bare, _ = SoftmaxThenTopK(2, renormalise=False)(logits)  # control
    assert (bare.sum(-1) < 0.999).any() and (bare - then[0]).abs().max() > 0.1
    torch.testing.assert_close(SoftmaxThenTopK(E, renormalise=False)(logits)[0].sum(-1), torch.ones(50).double())


def test_without_renormalising_the_rest_is_lost():
    moe = MoE(D, experts(), SoftmaxThenTopK(2, renormalise=False)).double()
    x = torch.randn(3, 4, D, dtype=torch.float64)
    torch.testing.assert_close(moe(x), densely(moe, x, gates_of(moe, x, 2, False)), rtol=1e-10, atol=1e-10)


def test_a_shared_expert_is_added():
    shared = SwiGLU(D, 4).double()
    moe = MoE(D, experts(), TopKThenSoftmax(2), shared).double()
    x = torch.randn(2, 3, D, dtype=torch.float64)
    routed = densely(moe, x, gates_of(moe, x, 2))
    torch.testing.assert_close(moe(x), routed + shared(x), rtol=1e-10, atol=1e-10)


def test_one_token_at_a_time_is_the_same():
    moe = MoE(D, experts(), TopKThenSoftmax(2)).double()
    x = torch.randn(1, 9, D, dtype=torch.float64)
    alone = torch.cat([moe(x[:, i : i + 1]) for i in range(9)], 1)
    torch.testing.assert_close(moe(x), alone, rtol=1e-10, atol=1e-10)
    assert moe(x[:, :0]).shape == (1, 0, D)


def test_capacity_drops_by_priority():
    """Four tokens of width two; the router's rows make the choices readable."""
    moe = MoE(2, Experts(2, 2, 3), TopKThenSoftmax(2), capacity=0.75)
    with torch.no_grad():
        moe.router.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tokens = torch.tensor([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 1.0]])
    # Three places each. Expert 0: first choice of tokens 0, 2, 3, then second of 1. Expert 1: of 1, then 0, 2, 3.
    weights, chosen = moe.route(tokens)
    assert chosen.tolist() == [[0, 1], [1, 0], [0, 1], [0, 1]]
    assert (weights > 0).tolist() == [[True, True], [True, False], [True, True], [True, False]]
    kept = torch.tensor([2.0, 1.0]).softmax(-1)
    torch.testing.assert_close(weights[0], kept)  # what stays keeps its weight
    wide = MoE(2, moe.experts, TopKThenSoftmax(2), capacity=1.0)
    wide.router = moe.router
    assert (wide.route(tokens)[0] > 0).all()  # an even load fits exactly


def test_capacity_ties_tokens_together():
    x = torch.randn(1, 12, D, dtype=torch.float64)
    for capacity, alone in ((None, True), (0.5, False)):
        moe = MoE(D, experts(), TopKThenSoftmax(2), capacity=capacity).double()
        assert torch.allclose(moe(x)[:, 6:], moe(x[:, 6:])) == alone


def test_gradients_reach_router_and_chosen_experts():
    moe = MoE(D, experts(), TopKThenSoftmax(2)).double()
    token = torch.randn(1, D, dtype=torch.float64)
    _, chosen = moe.route(token)
    moe(token).square().sum().backward()
    moved = moe.experts.down.grad.abs().amax((1, 2)) > 0
    assert moved.nonzero().flatten().tolist() == sorted(chosen.flatten().tolist())
    assert moe.router.weight.grad.abs().max() > 0
