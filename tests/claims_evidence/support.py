"""Random cases in float64 and the two verdicts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward

ROUNDS = 8
ABOUT_ZERO = 1e-9
CLEARLY = 1e-2


class Case(NamedTuple):
    """A random shape and a random input ``x (B, T, d)`` of it."""

    d: int
    heads: int
    tokens: int
    x: Tensor


def cases(rounds: int = ROUNDS, batch: int = 2) -> Iterator[Case]:
    """``rounds`` random cases, from seeds 0, 1, …; widths from 4 to 16, two to seven tokens."""
    for seed in range(rounds):
        g = torch.Generator().manual_seed(seed)
        heads = int(torch.randint(1, 4, (), generator=g))
        d = heads * int(torch.randint(4, 6, (), generator=g))
        tokens = int(torch.randint(2, 8, (), generator=g))
        torch.manual_seed(seed)
        yield Case(d, heads, tokens, torch.randn(batch, tokens, d, dtype=torch.float64) * 1.5 + 0.5)


def holds(discrepancies: list[float], tolerance: float = ABOUT_ZERO) -> None:
    """Assert that the property held in every case."""
    assert discrepancies and max(discrepancies) <= tolerance, discrepancies


def fails(discrepancies: list[float], clearly: float = CLEARLY) -> None:
    """Assert that the property failed, and not by rounding, in every case."""
    assert discrepancies and min(discrepancies) > clearly, discrepancies


def gap(a: Tensor, b: Tensor) -> float:
    """Largest difference of two tensors."""
    return (a - b).abs().max().item()


def over(cases_: Iterator[Case], discrepancy: Callable[..., float], *more) -> list[float]:
    """``discrepancy(case, …)`` of every case."""
    return [discrepancy(case, *more) for case in cases_]


def block(case: Case, kind: type = PreNormBlock, causal: bool = False, **options) -> nn.Module:
    """A block of the case's shape with random weights, biases and gains, in float64."""
    made = kind(
        case.d,
        MultiHeadAttention(case.d, case.heads, bias=True, causal=causal),
        FeedForward(case.d, bias=True),
        **options,
    ).double()
    for weight in made.parameters():
        nn.init.normal_(weight, 0.0, 0.5)
    return made


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Derivative of ``function`` at ``x``, output shape then input shape."""
    return torch.autograd.functional.jacobian(function, x)


def influence(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Boolean ``(T, T)``: whether output row i has a derivative with respect to input row j; ``x (T, d)``."""
    by_entry = jacobian(lambda rows: function(rows[None])[0], x)  # (T, d, T, d)
    return by_entry.abs().amax((1, 3)) > 0


class Map(nn.Module):
    """A function as a module, so that it can stand where a sublayer or a norm does."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def orthogonal(d: int, gain: float = 1.0) -> Tensor:
    """A random orthogonal matrix times ``gain``: every singular value is ``gain``."""
    q, r = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))
    # Signs fixed by R, or the matrices lean to one side and their writes correlate with the stream.
    return q * r.diagonal().sign() * gain
