"""Softmax attention in one pass over blocks of keys: exact, with memory for one block of scores.

Milakov and Gimelshein 2018 (online softmax); Dao et al. 2022 (FlashAttention) puts the blocks into fast memory. Per
query three things are carried: the largest score so far, the sum of exponentials relative to it, and the weighted
sum of values. When a block brings a larger score, the other two are rescaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

EMPTY = float("-inf")


def online_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    block: int = 128,
    scale: float | None = None,
) -> Tensor:
    """``softmax(scale · q kᵀ) v`` of shape ``(…, T, Dv)``, equal to the two-pass form up to rounding.

    A query that may read nothing gets zeros, where the two-pass form divides zero by zero.

    Args:
        q: queries ``(…, T, D)``.
        k, v: keys ``(…, S, D)`` and values ``(…, S, Dv)``; leading axes broadcast against the queries'.
        mask: boolean, true where a query may read a key, or numbers added to the scores; broadcasts to ``(…, T, S)``.
        causal: also hide the future; the last query is the newest position (aligned to the bottom right).
        block: keys a step.
        scale: factor on the scores; default 1/√D.

    Raises:
        ValueError: a block below one, or causal with fewer keys than queries.
    """
    return online_attention_lse(q, k, v, mask, causal=causal, block=block, scale=scale)[0]


def online_attention_lse(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    block: int = 128,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """As :func:`online_attention`, with the log of each query's sum of exponentials ``(…, T)``; −∞ for no keys.

    Raises:
        ValueError: the block is not positive, or a causal call has fewer keys than queries.
    """
    queries, keys = q.shape[-2], k.shape[-2]
    if block < 1:
        raise ValueError(f"block must be positive, found {block}")
    if causal and keys < queries:
        raise ValueError(f"{queries} queries need at least as many keys, found {keys}")
    scale = 1 / sqrt(q.shape[-1]) if scale is None else scale
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], *([] if mask is None else [mask.shape[:-2]]))
    largest = torch.full((*lead, queries, 1), EMPTY, dtype=wide, device=q.device)
    total = torch.zeros_like(largest)
    mixed = torch.zeros(*lead, queries, v.shape[-1], dtype=wide, device=q.device)
    newest = torch.arange(keys - queries, keys, device=q.device).unsqueeze(1)  # the last key each query may read
    for start in range(0, keys, block):
        part = slice(start, start + block)
        scores = (q @ k[..., part, :].transpose(-2, -1)).to(wide) * scale  # (…, T, block)
        if mask is not None:
            here = mask.expand(*mask.shape[:-1], keys)[..., part]
            scores = scores.masked_fill(~here, EMPTY) if here.dtype == torch.bool else scores + here
        if causal:
            positions = torch.arange(start, min(start + block, keys), device=q.device)
            scores = scores.masked_fill(positions > newest, EMPTY)
        larger = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights = (scores - finite(larger)).exp()
        factor = rescale(largest, larger)
        total = total * factor + weights.sum(-1, keepdim=True)
        mixed = mixed * factor + weights @ v[..., part, :].to(wide)
        largest = larger
    out = mixed / total.where(total != 0, 1)
    return out.to(v.dtype), (largest + total.log()).squeeze(-1)


def rescale(old: Tensor, new: Tensor) -> Tensor:
    """What a sum relative to the maximum ``old`` is worth relative to ``new``: exp(old − new), 0 for an empty sum.

    ``(…, T, 1)`` each.
    """
    return (old - finite(new)).exp()


def finite(largest: Tensor) -> Tensor:
    """A maximum that can be subtracted: where every score is −∞ it is 0, for −∞ − (−∞) is no number. ``(…, T, 1)``."""
    return largest.masked_fill(largest == EMPTY, 0.0)


def merge(outputs: Sequence[Tensor], lse: Sequence[Tensor]) -> Tensor:
    """Attention over the union of disjoint sets of keys, from each set's output ``(…, T, Dv)`` and lse ``(…, T)``.

    So the keys can be split among workers (Flash-Decoding), or prefix and continuation attended to apart.
    """
    logs = torch.stack(list(lse)).unsqueeze(-1)
    weights = (logs - finite(logs.amax(0))).exp()
    total = weights.sum(0)
    mixed = (weights * torch.stack(list(outputs))).sum(0) / total.where(total != 0, 1)
    return mixed.to(outputs[0].dtype)
