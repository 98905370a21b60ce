"""Feed-forward networks: two matrices with an activation between, or three with a gate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Activation = Literal["relu", "gelu", "gelu_tanh", "relu2", "silu"]
Gate = Literal["glu", "bilinear", "reglu", "geglu", "geglu_tanh", "swiglu"]


def squared_relu(x: Tensor) -> Tensor:
    """``max(x, 0)²``. So et al. 2021 (Primer)."""
    return F.relu(x).square()


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu2": squared_relu,
    "silu": F.silu,
}
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "glu": torch.sigmoid,
    "bilinear": lambda gate: gate,
    "reglu": F.relu,
    "geglu": F.gelu,
    "geglu_tanh": ACTIVATIONS["gelu_tanh"],
    "swiglu": F.silu,
}


class FeedForward(nn.Module):
    """``W2 · activation(W1 x)``, the same for every position. Input and output ``(…, d)``.

    Args:
        d_model: width d.
        d_ff: inner width; default 4d.
        activation: ``"relu"``, ``"gelu"`` (the exact one, by the error function), ``"gelu_tanh"`` (its approximation,
            GPT-2's), ``"relu2"`` (squared ReLU) or ``"silu"``.
        bias: whether both matrices carry biases.

    Raises:
        KeyError: the activation is unknown.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        activation: Activation = "gelu",
        bias: bool = False,
    ):
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape."""
        return self.down(self.activation(self.up(x)))


class Gated:
    """How gate and value are joined: ``activation(gate) · up``. Shazeer 2020, §2.

    Args:
        kind: ``"glu"`` (sigmoid), ``"bilinear"`` (none), ``"reglu"``, ``"geglu"`` (exact), ``"geglu_tanh"`` or
            ``"swiglu"``.

    Raises:
        KeyError: the kind is unknown.
    """

    def __init__(self, kind: Gate = "swiglu"):
        self.activation = GATES[kind]

    def __call__(self, gate: Tensor, up: Tensor) -> Tensor:
        """``(…, d_ff)`` twice to the same shape."""
        return self.activation(gate) * up


class ClampedSwiGLU:
    """SwiGLU with both halves clamped, a steeper sigmoid, and one added to the value. As in gpt-oss (OpenAI 2025).

    ``g · σ(alpha · g) · (u + 1)`` with g the gate clamped from above and u the value clamped on both sides.

    Args:
        alpha: steepness of the sigmoid; 1.702 makes ``g · σ(alpha · g)`` close to GELU.
        limit: clamp.
    """

    def __init__(self, alpha: float = 1.702, limit: float = 7.0):
        self.alpha, self.limit = alpha, limit

    def __call__(self, gate: Tensor, up: Tensor) -> Tensor:
        """``(…, d_ff)`` twice to the same shape."""
        gate, up = gate.clamp(max=self.limit), up.clamp(-self.limit, self.limit)
        return gate * torch.sigmoid(self.alpha * gate) * (up + 1)


class GatedFeedForward(nn.Module):
    """``W2 · join(W_gate x, W1 x)``, the same for every position. Input and output ``(…, d)``.

    Args:
        d_model: width d.
        d_ff: inner width.
        join: how gate and value are joined: a :class:`Gated` or a :class:`ClampedSwiGLU`; default SwiGLU.
        bias: whether the three matrices carry biases.
    """

    def __init__(
        self, d_model: int, d_ff: int, join: Callable[[Tensor, Tensor], Tensor] | None = None, bias: bool = False
    ):
        super().__init__()
        self.join = Gated() if join is None else join
        self.gate = nn.Linear(d_model, d_ff, bias=bias)
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape."""
        return self.down(self.join(self.gate(x), self.up(x)))


class SwiGLU(GatedFeedForward):
    """``W2 (SiLU(W_gate x) · W1 x)``, the same for every position. Input and output ``(…, d)``. Shazeer 2020, Eq. 6.

    Args:
        d_model: width d.
        d_ff: inner width.
        bias: whether the three matrices carry biases.
    """

    def __init__(self, d_model: int, d_ff: int, bias: bool = False):
        super().__init__(d_model, d_ff, bias=bias)


def gated_width(d_model: int, multiple_of: int = 1, multiplier: float = 1.0) -> int:
    """Inner width of a gated FFN with about the parameters of an ungated one of 4d: 8d/3, rounded up to a multiple.

    Llama's rule (Touvron et al. 2023, and its code): 8d/3 and then its ``multiplier`` are rounded down to integers,
    the result up to the next multiple. 4,096 and 256 give 11,008.

    Raises:
        ValueError: an argument is not positive.
    """
    if d_model < 1 or multiple_of < 1 or not multiplier > 0:
        raise ValueError(f"all must be positive, found {d_model}, {multiple_of}, {multiplier}")
    return multiple_of * ceil(int(multiplier * (8 * d_model // 3)) / multiple_of)
