"""Multi-head latent attention: keys and values of all heads from one small latent per token.

DeepSeek-V2 (2024), §2.1 and appendix C. A token leaves in the cache its latent c (512 numbers in DeepSeek-V2 and V3)
and one rotated key shared by all heads (64), because a rotation between W_UQ and W_UK could not be absorbed.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn

from blocklib.nn.cache import KVCache
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.masks import causal_mask, visible
from blocklib.nn.norm import RMSNorm
from blocklib.nn.position import InterleavedRoPE, Positions
from blocklib.nn.scores import join_heads, split_heads


class MultiHeadLatentAttention(nn.Module):
    """Attention over latents, in either of two forms of the same function.

    *Expanded* makes every head's keys and values from the latents, then attends as usual: fewer operations over many
    queries. *Absorbed* moves W_UK to the query and W_UV behind the mixing, so that all heads read the latents
    themselves: at decoding nothing larger than the cache is read. Parameters are named as in the paper.

    Args:
        d_model: width d of the stream.
        n_heads: heads H.
        kv_lora_rank: width of the latent c.
        q_lora_rank: width of the queries' own latent; None projects queries directly.
        qk_nope_head_dim: width of a head's unrotated query and key.
        qk_rope_head_dim: width of the rotated part, even; the key's is shared by all heads.
        v_head_dim: width of a head's value.
        rope: turns the rotated parts; default neighbouring pairs with base 10,000, DeepSeek's without long contexts.
        eps: of the norms on both latents.
        scale: factor on the scores; default 1/√(nope + rope).
        absorbed: the form used by :meth:`forward`; may be changed at any time.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        kv_lora_rank: int = 512,
        q_lora_rank: int | None = None,
        qk_nope_head_dim: int = 128,
        qk_rope_head_dim: int = 64,
        v_head_dim: int = 128,
        rope: nn.Module | None = None,
        eps: float = 1e-6,
        scale: float | None = None,
        absorbed: bool = False,
    ):
        super().__init__()
        self.n_heads, self.absorbed = n_heads, absorbed
        self.key_widths, self.kv_widths = (qk_nope_head_dim, qk_rope_head_dim), (kv_lora_rank, qk_rope_head_dim)
        self.rope = InterleavedRoPE(rope_frequencies(qk_rope_head_dim)) if rope is None else rope
        self.scale = 1 / sqrt(sum(self.key_widths)) if scale is None else scale
        width = n_heads * sum(self.key_widths)
        if q_lora_rank is None:
            self.q = nn.Linear(d_model, width, bias=False)
        else:
            self.q = nn.Sequential(
                nn.Linear(d_model, q_lora_rank, bias=False),  # W_DQ
                RMSNorm(q_lora_rank, eps),
                nn.Linear(q_lora_rank, width, bias=False),  # W_UQ and W_QR
            )
        self.kv_down = nn.Linear(d_model, sum(self.kv_widths), bias=False)  # W_DKV and W_KR
        self.kv_norm = RMSNorm(kv_lora_rank, eps)
        self.k_up = nn.Parameter(torch.empty(n_heads, qk_nope_head_dim, kv_lora_rank))  # W_UK, per head
        self.v_up = nn.Parameter(torch.empty(n_heads, v_head_dim, kv_lora_rank))  # W_UV, per head
        for weight in (self.k_up, self.v_up):
            nn.init.uniform_(weight, -1 / sqrt(kv_lora_rank), 1 / sqrt(kv_lora_rank))
        self.o = nn.Linear(n_heads * v_head_dim, d_model, bias=False)

    def forward(
        self,
        x: Tensor,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
        positions: Positions | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """``x (B, T, d)`` to the same shape, causal.

        Args:
            cache: takes the latents as keys ``(B, 1, T, c)`` and the rotated keys as values ``(B, 1, T, rope)``.
            layer: the layer's number in the cache.
            positions: of ``x``, a range, ``(T,)`` or ``(B, T)``; default: they continue the cache.
            mask: boolean, broadcastable to ``(B, H, T, S)``, true at what may be read besides causality: padding.
                With longer rows than keys, the last count; a query that would see nothing sees everything.
        """
        if positions is None:
            start = 0 if cache is None else cache.seen(layer) if hasattr(cache, "seen") else cache.length
            positions = range(start, start + x.shape[1])
        q_nope, q_rope = self.queries(x, positions)
        latent, k_rope = self.latents(x, positions)
        if cache is not None:
            latent, k_rope = (t.squeeze(1) for t in cache.update(layer, latent.unsqueeze(1), k_rope.unsqueeze(1)))
        seen = visible(causal_mask, mask, x.shape[1], latent.shape[1], x.device)
        attend = self.attend_absorbed if self.absorbed else self.attend_expanded
        return self.o(join_heads(attend(q_nope, q_rope, latent, k_rope, seen)))

    def queries(self, x: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Unrotated ``(B, H, T, nope)`` and rotated ``(B, H, T, rope)`` queries."""
        q = split_heads(self.q(x), self.n_heads)
        q_nope, q_rope = q.split(self.key_widths, dim=-1)
        return q_nope, self.rope(q_rope, positions)

    def latents(self, x: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """What the cache holds of each token: normed latent ``(B, T, c)`` and rotated key ``(B, T, rope)``."""
        latent, k_rope = self.kv_down(x).split(self.kv_widths, dim=-1)
        return self.kv_norm(latent), self.rope(k_rope.unsqueeze(1), positions).squeeze(1)

    def attend_expanded(
        self, q_nope: Tensor, q_rope: Tensor, latent: Tensor, k_rope: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Values mixed per head ``(B, H, T, v)``, over keys and values made from the latents ``(B, S, c)``."""
        k_nope = torch.einsum("bsc,hnc->bhsn", latent, self.k_up)
        values = torch.einsum("bsc,hvc->bhsv", latent, self.v_up)
        keys = torch.cat([k_nope, k_rope.unsqueeze(1).expand(*k_nope.shape[:3], -1)], dim=-1)
        scores = torch.cat([q_nope, q_rope], dim=-1) @ keys.transpose(-2, -1)
        return self._weights(scores, mask) @ values

    def attend_absorbed(
        self, q_nope: Tensor, q_rope: Tensor, latent: Tensor, k_rope: Tensor, mask: Tensor | None
    ) -> Tensor:
        """The same ``(B, H, T, v)``: heads score and mix the latents, as queries of one key/value head would."""
        scores = self.absorb(q_nope) @ latent.unsqueeze(1).transpose(-2, -1)
        scores = scores + q_rope @ k_rope.unsqueeze(1).transpose(-2, -1)
        mixed = self._weights(scores, mask) @ latent.unsqueeze(1)  # (B, H, T, c)
        return torch.einsum("bhtc,hvc->bhtv", mixed, self.v_up)

    def absorb(self, q_nope: Tensor) -> Tensor:
        """Each head's query through its own W_UK: ``(B, H, T, nope)`` to ``(B, H, T, c)``; q·(W c) = (Wᵀq)·c."""
        return torch.einsum("bhtn,hnc->bhtc", q_nope, self.k_up)

    def _weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores * self.scale
        return (scores if mask is None else scores.masked_fill(~mask, float("-inf"))).softmax(-1)
