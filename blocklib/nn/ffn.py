"""Feed-forward networks: two matrices with an activation between, or three with a gate."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """``W2 · activation(W1 x)``, the same for every position. Input and output ``(…, d)``.

    Args:
        d_model: width d.
        d_ff: inner width; default 4d.
        activation: ``"relu"`` or ``"gelu"`` (the exact one, by the error function).
        bias: whether both matrices carry biases.

    Raises:
        KeyError: the activation is unknown.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        activation: Literal["relu", "gelu"] = "gelu",
        bias: bool = False,
    ):
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class SwiGLU(nn.Module):
    """``W2 (SiLU(W_gate x) · W1 x)``, the same for every position. Input and output ``(…, d)``. Shazeer 2020, Eq. 6.

    Args:
        d_model: width d.
        d_ff: inner width.
        bias: whether the three matrices carry biases.
    """

    def __init__(self, d_model: int, d_ff: int, bias: bool = False):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=bias)
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))
