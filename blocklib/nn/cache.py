"""Key/value caches: the contract, one that keeps everything, one that keeps a window, and one kind per layer.

A cache is for inference: it stores detached tensors and writes in place. Keys and values may differ in width, so
MLA passes its latent as the keys and its rotated part as the values of a single head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


class KVCache(Protocol):
    """What attention and models ask of a cache."""

    @property
    def length(self) -> int:
        """Tokens seen so far; the next token's position. A model reads it once, before its first layer."""

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Take the keys ``(B, Hkv, T, D)`` and values of T new tokens; return all that the layer may read.

        The returned ``(B, Hkv, S, D)`` are in order of position and end with the new tokens: with n tokens seen
        in all, entry j stands at position n − S + j.
        """


class RewindableCache(KVCache, Protocol):
    """A cache that can forget its newest tokens, as speculative decoding needs."""

    def truncate(self, length: int) -> None:
        """Forget every token from position ``length`` on."""


class Cache:
    """What the kinds share: a count of tokens per layer, and checks of what is handed in."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._shape: dict[int, tuple] = {}

    @property
    def length(self) -> int:
        """Tokens seen so far, by the layer that has seen most."""
        return max(self._seen.values(), default=0)

    def seen(self, layer: int) -> int:
        """Tokens that ``layer`` has seen: inside a forward pass, later layers are behind earlier ones."""
        return self._seen.get(layer, 0)

    def truncate(self, length: int) -> None:
        """Forget every token from position ``length`` on, in all layers.

        Raises:
            ValueError: ``length`` is negative or above what was seen, or the layers differ in length.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache has seen {self.length} tokens")
        self._level()
        self._seen = dict.fromkeys(self._seen, length)

    def _level(self) -> None:
        if len(set(self._seen.values())) > 1:
            raise ValueError(f"layers differ in length, {self._seen}: not inside a forward pass")

    def _check(self, layer: int, k: Tensor, v: Tensor) -> None:
        keys, values = k.shape, v.shape
        if len(keys) != 4 or len(values) != 4 or keys[:3] != values[:3]:
            raise ValueError(f"keys {tuple(keys)} and values {tuple(values)} should both be (B, Hkv, T, D)")
        found = (keys[0], keys[1], keys[3], values[3], k.dtype, v.dtype)
        expected = self._shape.setdefault(layer, found)
        if found != expected:
            raise ValueError(f"layer {layer} caches {expected} (B, Hkv, two widths, two dtypes), but was given {found}")


def reserve(like: Tensor, *shape: int) -> Tensor:
    """Storage of that shape, e.g. ``(B, Hkv, S, D)``, with dtype and device of ``like``, contents undefined.

    An ordinary tensor even under ``torch.inference_mode``, so that the cache can be used outside it afterwards.
    """
    with torch.inference_mode(False):
        return torch.empty(shape, dtype=like.dtype, device=like.device)


class ContiguousCache(Cache):
    """Every token of every layer, in one tensor a layer that is filled from the front.

    Promises equality: attention over it equals attention over the whole sequence. ``update`` returns views that
    later updates do not change.

    Args:
        capacity: tokens to reserve at the first update; None grows, doubling when full.

    Raises:
        ValueError: the capacity is not positive.
    """

    def __init__(self, capacity: int | None = None):
        super().__init__()
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity must be positive, found {capacity}")
        self.capacity = capacity
        self._store: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`KVCache.update`; ``(B, Hkv, T, D)`` in, ``(B, Hkv, S, D)`` out, S all tokens seen.

        Raises:
            ValueError: the capacity does not suffice, or shape or dtype differ from the layer's earlier ones.
        """
        self._check(layer, k, v)
        start = self.seen(layer)
        stop = start + k.shape[2]
        if self.capacity is not None and stop > self.capacity:
            raise ValueError(f"{stop} tokens exceed the cache's capacity of {self.capacity}")
        keys, values = self._room(layer, k, v, stop)
        keys.narrow(2, start, stop - start).copy_(k.detach())
        values.narrow(2, start, stop - start).copy_(v.detach())
        self._seen[layer] = stop
        return keys.narrow(2, 0, stop), values.narrow(2, 0, stop)

    def read(self, layer: int) -> tuple[Tensor, Tensor]:
        """What the layer holds, keys and values ``(B, Hkv, S, D)``, without adding to it.

        Raises:
            KeyError: the layer has seen nothing.
        """
        keys, values = self._store[layer]
        return keys[:, :, : self.seen(layer)], values[:, :, : self.seen(layer)]

    @property
    def nbytes(self) -> int:
        """Bytes reserved, used or not."""
        return sum(t.nbytes for pair in self._store.values() for t in pair)

    def _room(self, layer: int, k: Tensor, v: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
        old = self._store.get(layer)
        held = old[0].shape[2] if old else 0
        if old is None or held < tokens:
            size = self.capacity or max(tokens, 2 * held)
            new = tuple(reserve(t, *t.shape[:2], size, t.shape[3]) for t in (k, v))
            for source, target in zip(old or (), new, strict=False):
                target[:, :, :held] = source
            self._store[layer] = new
        return self._store[layer]


class SlidingCache(Cache):
    """The newest ``window`` tokens, in a ring: position p lies in slot p mod the ring's size.

    A query at position p reads p − window + 1 … p, so T new tokens are returned with the ``window − 1`` before
    them; within the chunk the attention's own window mask decides. Promises equality with attention of that
    window, and with unlimited attention as long as no more than ``window`` tokens were seen.

    Args:
        window: tokens a query reads, itself included.
        reserve: tokens that :meth:`truncate` can go back by, once the ring is full.

    Raises:
        ValueError: the window is not positive, or the reserve is negative.
    """

    def __init__(self, window: int, reserve: int = 0):
        super().__init__()
        if window < 1 or reserve < 0:
            raise ValueError(f"window must be positive and reserve not negative, found {window} and {reserve}")
        self.window, self.reserve = window, reserve
        self._oldest: dict[int, int] = {}
        self._ring: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`KVCache.update`; S is ``min(n, window − 1) + T`` with n tokens seen before.

        Raises:
            ValueError: shape or dtype differ from the layer's earlier ones.
        """
        self._check(layer, k, v)
        start, fresh = self.seen(layer), k.shape[2]
        size = self.window + self.reserve
        if layer not in self._ring:
            self._ring[layer] = tuple(reserve(t, *t.shape[:2], size, t.shape[3]) for t in (k, v))
        rings = self._ring[layer]
        past = torch.arange(max(0, start - self.window + 1), start, device=k.device) % size
        kept = min(fresh, size)
        slots = torch.arange(start + fresh - kept, start + fresh, device=k.device) % size
        out = []
        for ring, new in zip(rings, (k.detach(), v.detach()), strict=True):
            out.append(torch.cat([ring[:, :, past], new], dim=2))
            ring[:, :, slots] = new[:, :, fresh - kept :]
        self._seen[layer] = start + fresh
        self._oldest[layer] = max(self._oldest.get(layer, 0), start + fresh - size)
        return out[0], out[1]

    def truncate(self, length: int) -> None:
        """As :meth:`Cache.truncate`: once the ring is full, to at most ``reserve + 1`` before the furthest it has been.

        Raises:
            ValueError: also when the ring has overwritten what the next query would read.
        """
        oldest, needed = max(self._oldest.values(), default=0), max(0, length - self.window + 1)
        if 0 <= length <= self.length and needed < min(length, oldest):
            raise ValueError(
                f"cannot truncate to {length}: position {needed} is overwritten, the ring holds {oldest} on; "
                f"give SlidingCache a larger reserve"
            )
        super().truncate(length)

    @property
    def nbytes(self) -> int:
        """Bytes reserved: they do not grow with the sequence."""
        return sum(t.nbytes for pair in self._ring.values() for t in pair)


class LayeredCache:
    """A cache of its own for every layer, as models need that alternate full and windowed attention.

    Args:
        layers: one cache per layer; layer i is the business of ``layers[i]`` alone.

    Raises:
        ValueError: one cache stands for two layers.
    """

    def __init__(self, layers: Sequence[Cache]):
        if len({id(cache) for cache in layers}) < len(layers):
            raise ValueError("two layers share a cache; give every layer its own")
        self.layers = list(layers)

    @property
    def length(self) -> int:
        """Tokens seen so far, by the layer that has seen most."""
        return max((cache.length for cache in self.layers), default=0)

    def seen(self, layer: int) -> int:
        """Tokens that ``layer`` has seen."""
        return self.layers[layer].seen(layer)

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`KVCache.update`, by the layer's own cache: ``(B, Hkv, T, D)`` in, ``(B, Hkv, S, D)`` out."""
        return self.layers[layer].update(layer, k, v)

    def truncate(self, length: int) -> None:
        """As :meth:`Cache.truncate`, in every cache that has seen anything.

        Raises:
            ValueError: the length is negative or above what was seen.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache has seen {self.length} tokens")
        for cache in self.layers:
            if cache.length:
                cache.truncate(length)

    @property
    def nbytes(self) -> int:
        """Bytes reserved by all layers."""
        return sum(cache.nbytes for cache in self.layers)
