"""From queries, keys and values to the mixed values: scores, their mask, softmax, and its variants.

Every class here can be the ``core`` of an attention layer. ``q (B, H, T, D)``, ``k`` and ``v (B, Hkv, S, D)``; each
key/value head serves ``H / Hkv`` neighbouring query heads.
"""

from __future__ import annotations

from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocklib.nn.masks import Pattern, causal_mask, visible


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax of the scaled scores: ``q (…, T, D)`` and ``k (…, S, D)`` give ``(…, T, S)``; rows sum to one.

    ``mask`` is boolean and broadcastable to the scores; false positions get weight zero.
    """
    return masked_softmax(q @ k.transpose(-2, -1) / sqrt(q.shape[-1]), mask)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis, in float32 at least; false positions of ``mask`` get weight zero.

    ``(…, T, S)`` and a mask that broadcasts to it; the weights have the shape of the scores.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    wide = scores if scores.dtype == torch.float64 else scores.float()
    return wide.softmax(-1).to(scores.dtype)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """``(B, T, H·D)`` to ``(B, H, T, D)``, a view."""
    batch, tokens, width = x.shape
    if tokens == 1:  # nothing to transpose
        return x.view(batch, heads, 1, width // heads)
    return x.view(batch, tokens, heads, width // heads).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """``(B, H, T, D)`` to ``(B, T, H·D)``: undoes :func:`split_heads`."""
    return x.flatten(1).unsqueeze(1) if x.shape[2] == 1 else x.transpose(1, 2).flatten(2)


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """``(B, Hkv, S, D)`` to ``(B, H, S, D)``: repeated, not tiled, so with 4 over 2 the mapping is 0, 0, 1, 1."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], dim=1)


class DotProduct(nn.Module):
    """Softmax of ``scale · q·k``, written out. Vaswani et al. 2017, Eq. 1.

    Args:
        scale: factor on the products; default ``1/√D``.
    """

    def __init__(self, scale: float | None = None):
        super().__init__()
        self.scale = scale

    def forward(self, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern | None, padding: Tensor | None) -> Tensor:
        """Mixed values ``(B, H, T, D)``."""
        return self.weights(q, k, pattern, padding) @ repeat_heads(v, q.shape[1])

    def weights(self, q: Tensor, k: Tensor, pattern: Pattern | None, padding: Tensor | None) -> Tensor:
        """How much each query reads of each key, ``(B, H, T, S)``."""
        mask = visible(pattern, padding, q.shape[-2], k.shape[-2], q.device)
        return self.normalise(self.scores(q, repeat_heads(k, q.shape[1])), mask)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scaled products ``(B, H, T, S)``."""
        products = q @ k.transpose(-2, -1)
        return products / sqrt(q.shape[-1]) if self.scale is None else products * self.scale

    def normalise(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Scores ``(B, H, T, S)`` to weights of the same shape; rows sum to one."""
        return masked_softmax(scores, mask)


class FusedDotProduct(DotProduct):
    """The same through torch's fused kernel: the weights are never stored. Made for speed, not for looking inside."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern | None, padding: Tensor | None) -> Tensor:
        """Mixed values ``(B, H, T, D)``."""
        batch, heads, queries, width = q.shape
        shared, keys = k.shape[1:3]
        square = pattern is causal_mask and padding is None and queries == keys > 1
        mask = None if square else visible(pattern, padding, queries, keys, q.device)
        if queries == 1 and heads > shared and (mask is None or mask.dim() < 3 or mask.shape[-3] == 1):
            # One new token: the heads of a group are as many queries to one key/value head, which is never copied.
            grouped = q.reshape(batch, shared, -1, width)
            mixed = F.scaled_dot_product_attention(grouped, k, v, attn_mask=mask, scale=self.scale)
            return mixed.reshape(batch, heads, 1, -1)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=square, scale=self.scale, enable_gqa=heads > shared
        )


class SoftCapped(DotProduct):
    """Scores pressed into ±cap by ``cap · tanh(score / cap)``, before the mask. Gemma Team 2024 (Gemma 2), §2.

    Args:
        cap: bound of the scores.
        scale: factor on the products; default ``1/√D``.
    """

    def __init__(self, cap: float, scale: float | None = None):
        super().__init__(scale)
        self.cap = cap

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Capped scores ``(B, H, T, S)``."""
        return soft_cap(super().scores(q, k), self.cap)


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """``cap · tanh(x / cap)``: nearly x while small, never beyond ±cap; any shape, the same shape back."""
    return cap * torch.tanh(x / cap)


class Biased(DotProduct):
    """Scores plus a bias that depends on positions: :class:`~blocklib.nn.position.ALiBi` or ``T5Bias``.

    Args:
        bias: ``(queries, keys, like)`` to ``(H, T, S)``; may be shared by all layers.
        scale: factor on the products; default ``1/√D`` (T5 itself uses 1).
    """

    def __init__(self, bias: nn.Module, scale: float | None = None):
        super().__init__(scale)
        self.bias = bias

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores with the bias added, ``(B, H, T, S)``."""
        products = super().scores(q, k)
        return products + self.bias(*products.shape[-2:], like=products)


class WithSinks(DotProduct):
    """A learned score per head that takes part in the softmax and mixes nothing: rows sum to less than one.

    A head that wants to read nothing can put its weight there. As in gpt-oss (OpenAI 2025).

    Args:
        n_heads: heads H.
        scale: factor on the products; default ``1/√D``.
    """

    def __init__(self, n_heads: int, scale: float | None = None):
        super().__init__(scale)
        self.sinks = nn.Parameter(torch.zeros(n_heads))

    def normalise(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Scores ``(B, H, T, S)`` to weights of the same shape; rows sum to one minus the sink's share."""
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        sink = self.sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        return masked_softmax(torch.cat([scores, sink], -1))[..., :-1]
