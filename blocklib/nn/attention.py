"""Multi-head attention with shared key/value heads, written out."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Boolean ``(T, S)``, true where a query may read a key.

    Aligned to the bottom right: the last query is the newest position and sees every key, so one query over a
    cache sees all of it.

    Raises:
        ValueError: fewer keys than queries.
    """
    if keys < queries:
        raise ValueError(f"{queries} queries need at least as many keys, found {keys}")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax of the scaled scores: ``q (…, T, D)`` and ``k (…, S, D)`` give ``(…, T, S)``; rows sum to one.

    ``mask`` is boolean and broadcastable to the scores; false positions get weight zero.
    """
    scores = q @ k.transpose(-2, -1) / sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1)


class MultiHeadAttention(nn.Module):
    """Attention of the stream over itself, or over a longer ``memory`` that ends with it.

    ``n_kv_heads`` below ``n_heads`` shares keys and values: query heads are grouped in order, so with four query
    and two key/value heads the mapping is 0, 0, 1, 1. Input and output ``(B, T, d)``.

    Args:
        d_model: width d of the stream.
        n_heads: query heads H.
        n_kv_heads: key/value heads; default ``n_heads``.
        head_dim: width D of a head; default ``d_model // n_heads``. H·D need not equal d.
        bias: whether the four projections carry biases.
        causal: whether position i reads positions 0 … i only.

    Raises:
        ValueError: heads do not divide evenly.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        causal: bool = True,
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if head_dim is None and d_model % n_heads:
            raise ValueError(f"d_model {d_model} does not divide into {n_heads} heads; give head_dim")
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads {n_heads} is not a multiple of n_kv_heads {n_kv_heads}")
        self.n_heads, self.n_kv_heads, self.causal = n_heads, n_kv_heads, causal
        self.head_dim = d_model // n_heads if head_dim is None else head_dim
        self.q = nn.Linear(d_model, n_heads * self.head_dim, bias=bias)
        self.k = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.v = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.o = nn.Linear(n_heads * self.head_dim, d_model, bias=bias)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """``x (B, T, d)`` reads ``memory (B, S, d)``, whose last T positions are ``x``; default ``x`` itself."""
        memory = x if memory is None else memory
        weights = self.weights(x, memory)  # (B, H, T, S)
        values = self._shared(self._heads(self.v(memory), self.n_kv_heads))  # (B, H, S, D)
        mixed = weights @ values  # (B, H, T, D)
        return self.o(mixed.transpose(1, 2).flatten(2))

    def weights(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """The attention pattern ``(B, H, T, S)``: how much each position reads of each other."""
        memory = x if memory is None else memory
        q = self._heads(self.q(x), self.n_heads)
        k = self._shared(self._heads(self.k(memory), self.n_kv_heads))
        mask = causal_mask(x.shape[1], memory.shape[1], x.device) if self.causal else None
        return attention_weights(q, k, mask)

    def _heads(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, self.head_dim)).transpose(1, 2)

    def _shared(self, x: Tensor) -> Tensor:
        # Repeat, not tile: neighbouring query heads share a key/value head.
        return x.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
