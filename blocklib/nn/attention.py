"""Multi-head attention: one head written out for reading, and the layer that models are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from blocklib.nn.masks import Pattern, Prefix, SlidingWindow, causal_mask
from blocklib.nn.position import Positions, newest
from blocklib.nn.scores import DotProduct, attention_weights, join_heads, split_heads

if TYPE_CHECKING:
    from blocklib.nn.cache import KVCache

__all__ = [
    "GatedAttention",
    "MultiHeadAttention",
    "Prefix",
    "SingleHeadAttention",
    "SlidingWindow",
    "attention_weights",
    "causal_mask",
]


class SingleHeadAttention(nn.Module):
    """One head, every step in sight. Input and output ``(B, T, d)``.

    Args:
        d_model: width d of the stream.
        head_dim: width D of the head; default d.
        causal: whether position i reads positions 0 … i only.
    """

    def __init__(self, d_model: int, head_dim: int | None = None, causal: bool = True):
        super().__init__()
        head_dim = d_model if head_dim is None else head_dim
        self.causal = causal
        self.q = nn.Linear(d_model, head_dim, bias=False)
        self.k = nn.Linear(d_model, head_dim, bias=False)
        self.v = nn.Linear(d_model, head_dim, bias=False)
        self.o = nn.Linear(head_dim, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, T, d)`` to the same shape."""
        return self.stages(x)["output"]

    def stages(self, x: Tensor) -> dict[str, Tensor]:
        """q, k, v ``(B, T, D)``, scores and weights ``(B, T, T)``, mixed ``(B, T, D)``, output ``(B, T, d)``."""
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        mask = causal_mask(x.shape[1], x.shape[1], x.device)
        seen = scores.masked_fill(~mask, float("-inf")) if self.causal else scores
        weights = seen.softmax(-1)
        mixed = weights @ v
        return {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "mixed": mixed, "output": self.o(mixed)}


class MultiHeadAttention(nn.Module):
    """Attention of the stream over itself, over a cache, or over a longer ``memory`` that ends with it.

    ``n_kv_heads`` below ``n_heads`` shares keys and values (1 is multi-query, between is grouped-query attention):
    query heads are grouped in order, so with four query and two key/value heads the mapping is 0, 0, 1, 1. Input
    and output ``(B, T, d)``.

    Args:
        d_model: width d of the stream.
        n_heads: query heads H.
        n_kv_heads: key/value heads; default ``n_heads``.
        head_dim: width D of a head; default ``d_model // n_heads``. H·D need not equal d.
        bias: whether the four projections carry biases.
        causal: whether position i reads positions 0 … i only; False reads everything.
        pattern: who reads whom where that is neither of the two: :class:`SlidingWindow`, :class:`Prefix`.
        rope: turns queries and keys by position: :class:`~blocklib.nn.position.RoPE`.
        qk_norm: norms queries and keys before they are turned: :class:`~blocklib.nn.norm.PerHeadQKNorm`.
        core: makes mixed values of heads, of :mod:`blocklib.nn.scores`; default scaled dot products, written out.

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
        *,
        pattern: Pattern | None = None,
        rope: nn.Module | None = None,
        qk_norm: nn.Module | None = None,
        core: nn.Module | None = None,
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if head_dim is None and d_model % n_heads:
            raise ValueError(f"d_model {d_model} does not divide into {n_heads} heads; give head_dim")
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads {n_heads} is not a multiple of n_kv_heads {n_kv_heads}")
        self.n_heads, self.n_kv_heads, self.causal = n_heads, n_kv_heads, causal
        self.head_dim = d_model // n_heads if head_dim is None else head_dim
        self.pattern = pattern or (causal_mask if causal else None)
        self.rope, self.qk_norm = rope, qk_norm
        self.core = DotProduct() if core is None else core
        self.q = nn.Linear(d_model, n_heads * self.head_dim, bias=bias)
        self.k = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.v = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.o = nn.Linear(n_heads * self.head_dim, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
        positions: Positions | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """``x (B, T, d)`` reads ``memory (B, S, d)``, whose last T positions are ``x``; default ``x`` itself.

        Args:
            cache: keys and values of earlier tokens; the new ones are added, and all are read. Instead of memory.
            layer: number of this layer in the cache.
            positions: of x (of memory, where given), a range or ``(T,)`` or ``(B, T)``; default: they continue from
                the cache, or count from 0.
            mask: boolean, broadcastable to ``(B, H, T, S)``, true at what may be read besides the layer's own rule:
                padding. With longer rows than keys, the last count.

        Raises:
            ValueError: both memory and a cache.
        """
        q, k, v = self._projected(x, memory, cache, positions)
        if cache is not None:
            k, v = cache.update(layer, k, v)
        mixed = self.core(q, k, v, self.pattern, mask)  # (B, H, T, D)
        return self.output(join_heads(mixed), x)

    def weights(self, x: Tensor, memory: Tensor | None = None, *, positions: Positions | None = None) -> Tensor:
        """The attention pattern ``(B, H, T, S)``: how much each position reads of each other."""
        q, k, _ = self._projected(x, memory, None, positions)
        return self.core.weights(q, k, self.pattern, None)

    def output(self, mixed: Tensor, x: Tensor) -> Tensor:
        """What is written to the stream, of the heads' mixed values ``(B, T, H·D)`` and the layer's input."""
        return self.o(mixed)

    def _projected(
        self, x: Tensor, memory: Tensor | None, cache: KVCache | None, positions: Positions | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        if memory is not None and cache is not None:
            raise ValueError("give either memory or a cache: both say what is read besides x")
        source = x if memory is None else memory
        tokens, keys = x.shape[1], source.shape[1]
        q = split_heads(self.q(x), self.n_heads)
        k = split_heads(self.k(source), self.n_kv_heads)
        v = split_heads(self.v(source), self.n_kv_heads)
        if self.qk_norm is not None:
            q, k = self.qk_norm(q, k)
        rope = self.rope
        if rope is not None:
            if positions is None:
                start = 0 if cache is None else cache.length
                positions = range(start, start + keys)
            if tokens == keys == 1:  # one token costs by the number of operations, not by their size
                q, k = rope.pair(q, k, positions)
            else:
                q, k = rope(q, newest(positions, tokens)), rope(k, positions)
        return q, k, v


class GatedAttention(MultiHeadAttention):
    """Attention whose heads are multiplied by a gate of the layer's input, entry by entry, before the output matrix.

    ``o(mixed · σ(gate(x)))``; a head can write nothing without a sink. Qiu et al. 2025; as in Qwen3-Next.
    Arguments as for :class:`MultiHeadAttention`.
    """

    def __init__(self, d_model: int, *args, **options):
        super().__init__(d_model, *args, **options)
        self.gate = nn.Linear(d_model, self.n_heads * self.head_dim, bias=self.q.bias is not None)

    def output(self, mixed: Tensor, x: Tensor) -> Tensor:
        """As :meth:`MultiHeadAttention.output`, gated: ``(B, T, H·D)`` and ``(B, T, d)`` to ``(B, T, d)``."""
        return self.o(mixed * self.gate(x).sigmoid())
