"""The model that an arm describes, put together from the parts of :mod:`blocklib.nn`."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from math import sqrt

import torch
from torch import Tensor, nn

from blocklib.lab.arms import Arm
from blocklib.nn.attention import GatedAttention, MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.masks import causal_mask
from blocklib.nn.norm import LayerNorm, PerHeadQKNorm, RMSNorm, ZeroCentredRMSNorm
from blocklib.nn.position import RoPE
from blocklib.nn.scores import FusedDotProduct
from blocklib.nn.tied import SharedQuery, TiedKeyValue, TiedQueryKey

ATTENTIONS = {
    "plain": MultiHeadAttention, "tied-qk": TiedQueryKey, "tied-kv": TiedKeyValue,
    "shared-q": SharedQuery, "gated": GatedAttention,
}  # fmt: skip
NORMS = {"rms": RMSNorm, "rms0": ZeroCentredRMSNorm, "layer": partial(LayerNorm, eps=1e-6)}
INIT_STD = 0.02


class Stack(nn.Module):
    """Embedding, the sublayers of a layout, final norm, tied head.

    Parameters are named by kind and count within the kind (``attention.0.q.weight``), whatever the layout, so that
    arms of different order share the draws of what they share.

    Args:
        arm: the configuration.
    """

    def __init__(self, arm: Arm):
        super().__init__()
        self.arm = arm
        rope = RoPE(rope_frequencies(arm.d_model // arm.n_heads))
        # Drawn by `build`: torch's own draw would be thrown away, and on the meta device takes a second.
        self.embed = nn.Embedding.from_pretrained(torch.empty(arm.vocab_size, arm.d_model), freeze=False)
        counts = {kind: sum(letter in kinds for letter in arm.layout) for kind, kinds in (("A", "AP"), ("F", "FP"))}
        made = {kind: min(count, 1) if arm.shared else count for kind, count in counts.items()}
        self.attention = nn.ModuleList(self._attention(rope) for _ in range(made["A"]))
        self.ffn = nn.ModuleList(self._ffn() for _ in range(made["F"]))
        norms = {kind: made[kind] if "P" not in arm.layout or kind == "A" else 0 for kind in "AF"}
        self.attention_norm = nn.ModuleList(self._norm() for _ in range(norms["A"]))
        self.ffn_norm = nn.ModuleList(self._norm() for _ in range(norms["F"]))
        self.final_norm = self._norm() if arm.place == "pre" else nn.Identity()

    def _norm(self) -> nn.Module:
        return nn.Identity() if self.arm.place == "none" else NORMS[self.arm.norm](self.arm.d_model)

    def _attention(self, rope: nn.Module) -> nn.Module:
        arm = self.arm
        qk_norm = PerHeadQKNorm(arm.d_model // arm.n_heads) if arm.qk_norm else None
        return ATTENTIONS[arm.attention](
            arm.d_model,
            arm.n_heads,
            arm.n_kv_heads,
            causal=arm.causal,
            rope=rope,
            qk_norm=qk_norm,
            core=FusedDotProduct(),
        )

    def _ffn(self) -> nn.Module:
        arm = self.arm
        if arm.ffn == "swiglu":
            return SwiGLU(arm.d_model, arm.d_ff)
        return FeedForward(arm.d_model, arm.d_ff, activation=arm.ffn)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids ``(B, T)`` to logits ``(B, T, V)``."""
        x = self.embed(ids)
        if self.arm.embed_scale != 1:
            x = x * self.arm.embed_scale
        seen = {"A": 0, "F": 0}
        for letter in self.arm.layout:
            x = self._sublayer(letter, x, seen)
            for kind in "AF" if letter == "P" else letter:
                seen[kind] += 1
        return nn.functional.linear(self.final_norm(x), self.embed.weight)

    def _sublayer(self, letter: str, x: Tensor, seen: dict[str, int]) -> Tensor:
        arm = self.arm
        attention, ffn = (0, 0) if arm.shared else (seen["A"], seen["F"])
        norm = self.ffn_norm[ffn] if letter == "F" else self.attention_norm[attention]
        read = norm(x) if arm.place == "pre" else x
        if letter == "F":
            write = self.ffn[ffn](read) * arm.ffn_write if arm.ffn_write != 1 else self.ffn[ffn](read)
        else:
            write = self.attention[attention](read)
            if letter == "P":
                write = write + self.ffn[ffn](read)
        total = write if arm.skip == 0 else x * arm.skip + write if arm.skip != 1 else x + write
        return norm(total) if arm.place == "post" else total

    def writes(self) -> int:
        """Number of additions to the stream, counting both halves of a parallel block."""
        return len(self.arm.layout) + self.arm.layout.count("P")

    def causal(self, masked: bool) -> None:
        """Switch the causal mask of every attention layer."""
        for layer in self.attention:
            layer.pattern = causal_mask if masked else None


def generator(*key: object) -> torch.Generator:
    """A generator for this key and no other, the same on every machine."""
    digest = sha256(":".join(map(str, key)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7]))


def build(arm: Arm, seed: int) -> Stack:
    """The arm's model, each matrix drawn from a generator keyed by seed and name: arms with a matrix of the same
    name and shape start with the same one. Matrices that write to the stream start smaller by the root of their number
    (Radford et al. 2019)."""
    model = Stack(arm)
    small = INIT_STD / sqrt(model.writes()) if arm.scaled_init else INIT_STD
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                std = small if name.endswith((".o.weight", ".down.weight")) else INIT_STD
                weight.normal_(0.0, std, generator=generator(seed, name))
    return model


def parameters(arm: Arm) -> int:
    """All parameters of the arm, the tied head once; nothing is allocated."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in Stack(arm).parameters())
