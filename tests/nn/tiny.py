"""A small language model of this folder's own, in float64: rotary positions, shared key heads, any mask, the contract.

It uses nothing of ``blocklib.nn``, so that caches and generation are tested apart from the library's modules.
"""

from __future__ import annotations

import torch
from torch import nn


def turn(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """RoPE as multiplication of complex numbers; ``positions (B, T)``."""
    rates = 100.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions.double()[:, None, :, None] * rates
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


class TinyLM(nn.Module):
    """``model(ids, cache=…, attention_mask=…)`` to logits. ``windows``: what each layer's queries read, None for all."""

    def __init__(self, vocab=23, d=16, heads=4, kv_heads=2, windows=(None, None), causal=True, seed=0):
        super().__init__()
        self.heads, self.kv_heads, self.windows, self.causal = heads, kv_heads, windows, causal
        generator = torch.Generator().manual_seed(seed)
        kv = d // heads * kv_heads

        def weight(*shape):
            return nn.Parameter(torch.randn(*shape, generator=generator, dtype=torch.float64) / shape[0] ** 0.5)

        self.embed, self.out = weight(vocab, d), weight(d, vocab)
        self.embed.data *= vocab**0.5
        self.layers = nn.ParameterList([weight(d, d + 2 * kv + d) for _ in windows])
        self.calls = 0

    def forward(self, ids, cache=None, attention_mask=None):
        self.calls += 1
        seen = 0 if cache is None else cache.length
        tokens = ids.shape[1]
        positions = torch.arange(seen, seen + tokens).expand(len(ids), -1)
        if attention_mask is not None:
            positions = (attention_mask.long().cumsum(1) - 1).clamp(min=0)[:, seen:]
        x = self.embed[ids]
        for layer, (weight, window) in enumerate(zip(self.layers, self.windows, strict=True)):
            d = x.shape[-1]
            kv = (weight.shape[1] - 2 * d) // 2
            q, k, v, o = (x / x.norm(dim=-1, keepdim=True) * d**0.5 @ weight).split([d, kv, kv, d], dim=-1)
            q, k, v = (
                t.unflatten(-1, (n, -1)).transpose(1, 2)
                for t, n in ((q, self.heads), (k, self.kv_heads), (v, self.kv_heads))
            )
            q, k = turn(q, positions), turn(k, positions)
            if cache is not None:
                k, v = cache.update(layer, k, v)
            keys = k.shape[2]
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
            back = torch.arange(keys - tokens, keys)[:, None] - torch.arange(keys)
            visible = (back >= 0) | (not self.causal)
            if window is not None:
                visible = visible & (back < window)
            if attention_mask is not None:
                real = attention_mask[:, -keys:].bool()[:, None, None, :]
                # A padded query reads itself, so that its row is a distribution; nobody reads it.
                visible = visible & real | (back == 0)
            scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(~visible, float("-inf"))
            mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
            x = x + mixed * torch.tanh(o)
        return x @ self.out


def in_chunks(model, ids, cache, cuts, **options):
    """Logits of all positions, the sequence cut at ``cuts`` and run through ``cache``."""
    edges = [0, *sorted(set(cuts)), ids.shape[1]]
    with torch.no_grad():
        parts = [model(ids[:, a:b], cache=cache, **options) for a, b in zip(edges, edges[1:], strict=False) if b > a]
    return torch.cat(parts, dim=1)


def token_ids(batch, tokens, seed=1, vocab=23):
    return torch.randint(vocab, (batch, tokens), generator=torch.Generator().manual_seed(seed))


def close(a, b, tolerance=1e-10):
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance)
