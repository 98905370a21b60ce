"""Attention with fewer projections than four, for experiments on which of them are needed.

One shared key and value head for all query heads is multi-query attention: ``MultiHeadAttention(d, H, n_kv_heads=1)``.
All arguments are those of :class:`~blocklib.nn.attention.MultiHeadAttention`.
"""

from __future__ import annotations

from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention


class TiedQueryKey(MultiHeadAttention):
    """Keys are the queries: before the mask, scores are symmetric and no vector scores higher than itself allows.

    Raises:
        ValueError: also where ``n_kv_heads`` differs from ``n_heads``.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        if self.n_kv_heads != self.n_heads:
            raise ValueError(
                f"keys that are the queries need as many heads, found {self.n_heads} and {self.n_kv_heads}"
            )
        self.k = self.q


class TiedKeyValue(MultiHeadAttention):
    """Values are the keys, before these are normed or turned: half the cache would do."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.v = self.k


class SharedQuery(MultiHeadAttention):
    """One query head for all: heads differ in what they look at by their keys only."""

    def __init__(self, d_model: int, *args, **options):
        super().__init__(d_model, *args, **options)
        self.q = _Repeated(nn.Linear(d_model, self.head_dim, bias=self.k.bias is not None), self.n_heads)


class _Repeated(nn.Module):
    """A projection whose output ``(…, D)`` stands ``times`` times in a row, ``(…, times · D)``."""

    def __init__(self, projection: nn.Linear, times: int):
        super().__init__()
        self.projection, self.times = projection, times

    def forward(self, x: Tensor) -> Tensor:
        once = self.projection(x)
        return once.unsqueeze(-2).expand(*once.shape[:-1], self.times, once.shape[-1]).flatten(-2)
