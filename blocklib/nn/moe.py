"""Mixture of experts: a router picks a few FFNs for every token, and their outputs are added by weight."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocklib.nn.ffn import Gated

Routing = Callable[[Tensor], tuple[Tensor, Tensor]]


class SoftmaxThenTopK:
    """Probabilities over all experts, then the k largest. Shazeer et al. 2017; renormalised as in Mixtral.

    Renormalised, it equals :class:`TopKThenSoftmax`; not renormalised, a token's weights add up to less than one,
    by what went to the experts left out.

    Args:
        k: experts per token.
        renormalise: whether the k weights are divided by their sum.
    """

    def __init__(self, k: int, renormalise: bool = True):
        self.k, self.renormalise = k, renormalise

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """``(N, E)`` to weights and expert numbers, both ``(N, k)``, largest first."""
        weights, experts = logits.softmax(-1).topk(self.k, -1)
        if self.renormalise:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights, experts


class TopKThenSoftmax:
    """The k largest logits, then a softmax over these alone: weights add up to one. As in gpt-oss.

    Args:
        k: experts per token.
    """

    def __init__(self, k: int):
        self.k = k

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """``(N, E)`` to weights and expert numbers, both ``(N, k)``, largest first."""
        chosen, experts = logits.topk(self.k, -1)
        return chosen.softmax(-1), experts


class Experts(nn.Module):
    """E gated FFNs of one shape, their matrices stacked: gate and up ``(E, f, d)``, down ``(E, d, f)``.

    Args:
        n_experts: number E.
        d_model: width d.
        d_ff: inner width f of each.
        join: how gate and value are joined; default SwiGLU.
        bias: whether the three matrices carry biases: ``(E, f)``, ``(E, f)``, ``(E, d)``.
    """

    def __init__(
        self,
        n_experts: int,
        d_model: int,
        d_ff: int,
        join: Callable[[Tensor, Tensor], Tensor] | None = None,
        bias: bool = False,
    ):
        super().__init__()
        self.n_experts = n_experts
        self.join = Gated() if join is None else join
        self.gate, self.gate_bias = _stack(n_experts, d_ff, d_model, bias)
        self.up, self.up_bias = _stack(n_experts, d_ff, d_model, bias)
        self.down, self.down_bias = _stack(n_experts, d_model, d_ff, bias)

    def forward(self, x: Tensor, expert: int) -> Tensor:
        """``x (n, d)`` through one expert, ``(n, d)``."""

        def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
            return F.linear(inputs, weight[expert], None if bias is None else bias[expert])

        inner = self.join(linear(x, self.gate, self.gate_bias), linear(x, self.up, self.up_bias))
        return linear(inner, self.down, self.down_bias)


def _stack(n: int, rows: int, columns: int, bias: bool) -> tuple[nn.Parameter, nn.Parameter | None]:
    """n matrices and, or not, their biases, each with the start that ``nn.Linear`` has."""
    bound = columns**-0.5
    weight = nn.Parameter(torch.empty(n, rows, columns).uniform_(-bound, bound))
    return weight, nn.Parameter(torch.empty(n, rows).uniform_(-bound, bound)) if bias else None


class MoE(nn.Module):
    """Routed experts, and optionally one FFN that every token passes. Input and output ``(…, d)``.

    Args:
        d_model: width d.
        experts: the routed ones.
        routing: logits to weights and expert numbers: :class:`SoftmaxThenTopK` or :class:`TopKThenSoftmax`.
        shared: an FFN ``(…, d)`` to the same shape, added for every token. Dai et al. 2024 (DeepSeekMoE).
        capacity: factor on the even share ``N·k/E`` of a call's N tokens that an expert takes at most, rounded up;
            what comes beyond is dropped, first choices before second ones, earlier tokens before later ones
            (Lepikhin et al. 2020, GShard). With it, a token's output depends on the others' routes. None drops nothing.
        router_bias: whether the router carries a bias.
    """

    def __init__(
        self,
        d_model: int,
        experts: Experts,
        routing: Routing,
        shared: nn.Module | None = None,
        capacity: float | None = None,
        router_bias: bool = False,
    ):
        super().__init__()
        self.router = nn.Linear(d_model, experts.n_experts, bias=router_bias)
        self.experts, self.routing, self.shared, self.capacity = experts, routing, shared, capacity

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape."""
        tokens = x.flatten(0, -2)
        weights, chosen = self.route(tokens)
        out = torch.zeros_like(tokens)
        for expert in chosen.unique().tolist():
            token, choice = torch.where((chosen == expert) & (weights > 0))
            if len(token):
                written = self.experts(tokens[token], expert) * weights[token, choice, None]
                out.index_add_(0, token, written.to(out.dtype))
        if self.shared is not None:
            out = out + self.shared(tokens)
        return out.view_as(x)

    def route(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """``tokens (N, d)`` to weights and expert numbers, both ``(N, k)``; a dropped choice has weight zero."""
        weights, chosen = self.routing(self.router(tokens))
        if self.capacity is not None:
            weights = weights * self._places(chosen)
        return weights, chosen

    def _places(self, chosen: Tensor) -> Tensor:
        """Which choices ``(N, k)`` find a place with their expert."""
        n, k = chosen.shape
        most = ceil(self.capacity * n * k / self.experts.n_experts)
        queue = F.one_hot(chosen.T.flatten(), self.experts.n_experts)  # all first choices, then all second ones
        rank = (queue.cumsum(0) * queue).sum(-1)  # 1 for the first in an expert's queue
        return (rank <= most).view(k, n).T
