"""A cache in 8 or 4 bits: groups of neighbouring channels share a scale and an offset.

The error is bounded, not zero: cached attention is close to full attention, never equal to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blocklib.nn.cache import Cache, ContiguousCache


@dataclass(frozen=True)
class Quantiser:
    """Round to the nearest of 2^bits evenly spaced levels between each group's minimum and maximum.

    Args:
        bits: 8 or 4; two 4-bit codes share a byte.
        group: channels that share a scale and an offset; it divides the last axis.

    Raises:
        ValueError: other bits, or a group below 2 or odd.
    """

    bits: int = 8
    group: int = 32

    def __post_init__(self) -> None:
        if self.bits not in (4, 8):
            raise ValueError(f"bits must be 4 or 8, found {self.bits}")
        if self.group < 2 or self.group % 2:
            raise ValueError(f"group must be even and at least 2, found {self.group}")

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``(…, D)`` to codes ``(…, D · bits / 8)`` in bytes, scale and offset ``(…, D / group)``, float32 at least.

        Raises:
            ValueError: D is no multiple of the group, or ``x`` or a group's range is not finite.
        """
        grouped = self._grouped(x)
        low, high = grouped.amin(-1, keepdim=True), grouped.amax(-1, keepdim=True)
        scale = (high - low) / (2**self.bits - 1)
        if not torch.isfinite(scale).all():
            raise ValueError("only finite keys and values of finite range can be quantised")
        codes = ((grouped - low) / scale.where(scale > 0, 1)).round_().clamp_(0, 2**self.bits - 1)
        codes = codes.to(torch.uint8).flatten(-2)
        if self.bits == 4:
            codes = codes[..., ::2] | codes[..., 1::2] << 4
        return codes, scale.squeeze(-1), low.squeeze(-1)

    def decode(self, codes: Tensor, scale: Tensor, low: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """The numbers that the codes stand for, ``(…, D)``."""
        if self.bits == 4:
            codes = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(-2)
        grouped = codes.unflatten(-1, (-1, self.group)).to(scale.dtype)
        return torch.addcmul(low.unsqueeze(-1), grouped, scale.unsqueeze(-1)).flatten(-2).to(dtype)

    def error_bound(self, x: Tensor) -> Tensor:
        """The largest error of each element of ``x``, ``(…, D)``: half a step, (max − min) / (2 (2^bits − 1)).

        Rounding of the arithmetic is included: eight units in the last place of the group's largest element, in
        ``x``'s own type if that is the coarser one.
        """
        grouped = self._grouped(x)
        spread = grouped.amax(-1, keepdim=True) - grouped.amin(-1, keepdim=True)
        rounding = 8 * max(torch.finfo(x.dtype).eps, torch.finfo(grouped.dtype).eps) * grouped.abs().amax(-1, True)
        return (spread / (2 * (2**self.bits - 1)) + rounding).expand_as(grouped).flatten(-2)

    def bytes_per_element(self, scale_bytes: int = 4) -> float:
        """Storage of one element with its share of scale and offset: int8 in groups of 32 take 1.25 bytes."""
        return self.bits / 8 + 2 * scale_bytes / self.group

    def _grouped(self, x: Tensor) -> Tensor:
        if x.shape[-1] % self.group:
            raise ValueError(f"groups of {self.group} do not divide the width {x.shape[-1]}")
        wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
        return wide.unflatten(-1, (-1, self.group))


class QuantisedCache(Cache):
    """Every token, keys and values in codes; reading decodes all of them.

    Promises closeness: each key and value within :meth:`Quantiser.error_bound`, the attention output within
    :func:`attention_error_bound`. The tokens being added are returned decoded as well, so the result does not
    depend on how a prompt was cut into chunks.

    Args:
        bits: 8 or 4.
        group: channels that share a scale; it divides both the keys' and the values' width.
        capacity: tokens to reserve at the first update; None grows.
    """

    def __init__(self, bits: int = 8, group: int = 32, capacity: int | None = None):
        super().__init__()
        self.quantiser = Quantiser(bits, group)
        self._parts = [ContiguousCache(capacity) for _ in range(3)]  # codes, scales, offsets

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`~blocklib.nn.cache.KVCache.update`, decoded: ``(B, Hkv, T, D)`` in, ``(B, Hkv, S, D)`` out.

        Raises:
            ValueError: not finite, widths that the group does not divide, or a full cache.
        """
        self._check(layer, k, v)
        encoded = zip(self.quantiser.encode(k.detach()), self.quantiser.encode(v.detach()), strict=True)
        parts = [part.update(layer, *pair) for part, pair in zip(self._parts, encoded, strict=True)]
        self._seen[layer] = self._parts[0].seen(layer)
        keys, values = zip(*parts, strict=True)
        return self.quantiser.decode(*keys, dtype=k.dtype), self.quantiser.decode(*values, dtype=v.dtype)

    def truncate(self, length: int) -> None:
        """As :meth:`Cache.truncate`."""
        super().truncate(length)
        for part in self._parts:
            part.truncate(length)

    @property
    def nbytes(self) -> int:
        """Bytes reserved for codes, scales and offsets."""
        return sum(part.nbytes for part in self._parts)


def attention_error_bound(q: Tensor, v: Tensor, key_error: Tensor, value_error: Tensor, scale: float) -> Tensor:
    """How far one head's attention output can move when keys and values do: ``(…, T)``, for every output channel.

    A score moves by at most δ = scale · Σ_d |q_d| · e_d, e being the largest key error of each channel. Then the odds
    of any set of keys change by the factor e^{2δ} at most, their weight by tanh(δ/2) at most (at even odds), and the
    output by tanh(δ/2) · (max v − min v) + the largest error of v. Two keys and two values attain it.

    Args:
        q: queries ``(…, T, D)``.
        v: exact values ``(…, S, D)``.
        key_error, value_error: bounds per element, as the keys and values ``(…, S, D)``.
        scale: factor on the scores, usually 1/√D.
    """
    delta = scale * (q.abs() * key_error.amax(-2, keepdim=True)).sum(-1)
    spread = (v.amax(-2) - v.amin(-2)).amax(-1, keepdim=True)
    return (delta / 2).tanh() * spread + value_error.amax((-2, -1)).unsqueeze(-1)
