"""Roofline bounds: the least time that a model's arithmetic and its bytes leave a machine, never a prediction.

A pass takes at least the time of its FLOPs at the machine's dense peak, and at least the time of its bytes at full
memory bandwidth; the bound is the larger of the two (Williams, Waterman and Patterson 2009), with perfect overlap and
nothing lost. A decoding step reads the weights once for the whole batch, and for every sequence its cache; it reads and
writes each recurrent state. Numbers are exact fractions of seconds, bytes and FLOPs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Literal

from blocklib.exact import at_least
from blocklib.ledger import bytes as sizes
from blocklib.ledger import cache, flops, params
from blocklib.ledger.config import Config
from blocklib.ledger.parts import ConfigError
from blocklib.ledger.passes import Form

Weights = Literal["read", "all"]


@dataclass(frozen=True)
class Machine:
    """What a roofline needs of a chip.

    Attributes:
        name: for display.
        peak: dense FLOP/s at the precision of the products.
        bandwidth: bytes/s of the memory.
        memory: bytes.
        link: bytes/s that leave the chip for its neighbours, one way; None where unknown.

    Raises:
        DomainError: a number is not positive.
    """

    name: str
    peak: int
    bandwidth: int
    memory: int
    link: int | None = None

    def __post_init__(self) -> None:
        for name in ("peak", "bandwidth", "memory"):
            at_least(name, getattr(self, name), 1)

    @property
    def ridge(self) -> Fraction:
        """FLOP per byte at which both limits meet."""
        return Fraction(self.peak, self.bandwidth)


@dataclass(frozen=True)
class Bound:
    """A lower bound on a time, in seconds, by what limits it."""

    compute: Fraction
    memory: Fraction

    @property
    def seconds(self) -> Fraction:
        """The larger of the two."""
        return max(self.compute, self.memory)

    @property
    def limit(self) -> str:
        """``"compute"`` or ``"memory"``."""
        return "compute" if self.compute >= self.memory else "memory"


@dataclass(frozen=True)
class Roofline:
    """One model on one machine.

    Attributes:
        config, machine: the two.
        dtype: format of the weights, of :data:`blocklib.ledger.bytes.FORMATS`.
        kv_dtype, state_dtype: of the cache and of recurrent states.
        form: of latent attention at decoding.

    Raises:
        ConfigError: a dtype is unknown, or the model is an encoder, which does not decode.
    """

    config: Config
    machine: Machine
    dtype: str = "bf16"
    kv_dtype: str = "bf16"
    state_dtype: str = "fp32"
    form: Form = "absorbed"

    def __post_init__(self) -> None:
        sizes.format_of(self.dtype)
        cache.dtype_bytes(self.kv_dtype), cache.dtype_bytes(self.state_dtype)
        if self.config.kind == "encoder":
            raise ConfigError("an encoder does not decode: it has no decoding bound")

    @cached_property
    def weight_bytes(self) -> int:
        """Bytes of all parameters."""
        return sizes.weight_bytes(self.config, self.dtype)

    @cached_property
    def _cache(self) -> cache.KVCache:
        return cache.describe(self.config)

    @cached_property
    def _per_token(self) -> flops.Flops:
        return flops.decode(self.config, 0, source=0)

    def weights_read(self, batch: int, weights: Weights = "read") -> Fraction:
        """Bytes of weights in one step of ``batch`` tokens: those that some token is multiplied by (no embedding;
        experts as far as uniform independent routing visits them on average), or ``"all"`` that are stored.

        Raises:
            DomainError: ``batch`` is below 1.
        """
        at_least("batch", batch, 1)
        if weights == "all":
            return Fraction(self.weight_bytes)
        met = flops.matmul_params(self.config) + Fraction(sizes.further_expert_params(self.config, batch))
        return met * sizes.format_of(self.dtype).bits_per_weight / 8

    def sequence_bytes(self, context: int | Fraction) -> Fraction:
        """Bytes that one sequence of ``context`` tokens moves in a decoding step: cache read, states read and written
        (an encoder–decoder's source taken as long as the context)."""
        at_least("context", context, 0)
        windows = sum(elements * min(context, window) for window, elements in self._cache.sliding)
        elements = Fraction((self._cache.growing_per_token + self._cache.cross) * context + windows)
        state = 2 * self._cache.state * cache.dtype_bytes(self.state_dtype)
        return elements * cache.dtype_bytes(self.kv_dtype) + state

    def sequence_flops(self, context: int | Fraction) -> Fraction:
        """FLOPs of one decoded token that attends to ``context`` positions, fractions of a position included."""
        at_least("context", context, 0)
        pieces = flops.attention_pieces(self.config, self.form)
        read = sum(slope * (context if window is None else min(context, window)) for window, slope in pieces)
        cross = sum(n * 4 * layer.cross.query_width for layer, n in self.config.groups.items() if layer.cross)
        return Fraction(self._per_token.total + read + cross * context)

    def decode(self, batch: int, context: int, weights: Weights = "read") -> Bound:
        """One decoding step of ``batch`` sequences of ``context`` tokens each.

        Raises:
            DomainError: ``batch`` is below 1 or ``context`` negative.
        """
        moved = self.weights_read(batch, weights) + batch * self.sequence_bytes(context)
        return Bound(batch * self.sequence_flops(context) / self.machine.peak, moved / self.machine.bandwidth)

    def prefill(self, tokens: int, batch: int = 1, logits: Literal["all", "last"] = "all") -> Bound:
        """One pass over ``batch`` prompts of ``tokens`` tokens: weights read once, the cache written.

        Raises:
            DomainError: ``batch`` or ``tokens`` is below 1.
        """
        at_least("tokens", tokens, 1)
        work = batch * flops.forward(self.config, tokens, logits=logits).total
        written = batch * self._cache.elements(tokens) * cache.dtype_bytes(self.kv_dtype)
        moved = self.weights_read(batch * tokens) + written
        return Bound(Fraction(work, self.machine.peak), moved / self.machine.bandwidth)

    def compute_bound_batch(self, context: int) -> Fraction | None:
        """Batch B* from which decoding at this context is compute-bound, all stored weights read once a step.

        ``B* = (W / bandwidth) / (FLOPs / peak − bytes of a sequence / bandwidth)``. None: each further sequence brings
        more memory time than compute time, so no batch suffices.
        """
        gain = self._surplus(Fraction(context))
        return Fraction(self.weight_bytes, self.machine.bandwidth) / gain if gain > 0 else None

    def _surplus(self, context: Fraction) -> Fraction:
        """Compute time minus memory time that one more sequence brings to a step."""
        return self.sequence_flops(context) / self.machine.peak - self.sequence_bytes(context) / self.machine.bandwidth

    @cached_property
    def last_compute_bound_context(self) -> Fraction | float:
        """T∞: the context beyond which no batch makes decoding compute-bound.

        0: not even at the shortest context; infinite: some batch suffices however long the context grows.
        """
        pieces = flops.attention_pieces(self.config, self.form)
        windows = {w for w, _ in pieces if w is not None}  # those of the cache are among them
        corners = [Fraction(0), *map(Fraction, sorted(windows))]
        far = corners[-1] + 1
        slope = self._surplus(far) - self._surplus(corners[-1])  # linear from the last corner on
        if slope > 0 or (slope == 0 and self._surplus(far) > 0):
            return inf
        if self._surplus(corners[-1]) > 0:
            return corners[-1] - self._surplus(corners[-1]) / slope
        for low, high in reversed(list(zip(corners, corners[1:], strict=False))):
            start, end = self._surplus(low), self._surplus(high)
            if start > 0:
                return low + (high - low) * start / (start - end)
        return Fraction(0)

    def tokens_where_cache_reaches(self, size: int | None = None) -> Fraction | None:
        """Tokens of one sequence whose cache weighs ``size`` bytes (default: as much as all weights); None where
        windows or states keep it below. Where every layer grows it is batch times context."""
        goal = Fraction(self.weight_bytes if size is None else size, cache.dtype_bytes(self.kv_dtype))
        pieces = [(None, Fraction(self._cache.growing_per_token))]
        pieces += [(window, Fraction(elements)) for window, elements in self._cache.sliding]
        return flops.solve(tuple(pieces), goal)

    @property
    def cache_intensity(self) -> Fraction | None:
        """FLOP per byte of cache read, at decoding, whatever batch and context: query heads over key/value heads at
        two bytes. None where no layer's cache grows."""
        grows = dict(flops.attention_pieces(self.config, self.form)).get(None)
        per_token = Fraction(self._cache.growing_per_token) * cache.dtype_bytes(self.kv_dtype)
        return grows / per_token if grows else None

    def weights_intensity(self, batch: int) -> Fraction:
        """FLOP per byte of weights read, in a step of ``batch`` tokens: the batch itself, for a dense model at two
        bytes a weight."""
        return batch * 2 * flops.matmul_params(self.config) / self.weights_read(batch)

    def tokens_that_fit(self, share: Fraction = Fraction(9, 10)) -> Fraction | None:
        """Cached tokens, over all sequences, that ``share`` of the memory holds beside the weights, counted as if all
        windows still filled and without recurrent states (paid once a sequence). None: the weights do not fit."""
        room = self.machine.memory * share - self.weight_bytes
        per_token = Fraction(self._cache.per_token) * cache.dtype_bytes(self.kv_dtype)
        return room / per_token if room > 0 and per_token else None

    def sequences_that_fit(self, context: int, share: Fraction = Fraction(9, 10)) -> int:
        """Sequences of ``context`` tokens, cache and states, that ``share`` of the memory holds beside the weights."""
        state = self._cache.state * cache.dtype_bytes(self.state_dtype)
        one = self.sequence_bytes(context) - state  # read and written, stored once
        room = self.machine.memory * share - self.weight_bytes
        return max(0, room // one) if one else 0


def transfer_time(sent: int | Fraction, machine: Machine) -> Fraction:
    """Seconds that ``sent`` bytes take over the machine's link, one way, at its full rate.

    Raises:
        ConfigError: the machine's link is unknown.
    """
    if machine.link is None:
        raise ConfigError(f"{machine.name} has no link rate")
    return Fraction(sent) / machine.link


def attention_weight_bytes(config: Config, dtype: str) -> int:
    """Bytes of all attention weights, biases included. Raises :class:`ConfigError` for an unknown dtype."""
    return sizes.bytes_of(params.count(config).attention, dtype)


def ffn_weight_bytes(config: Config, dtype: str) -> int:
    """Bytes of all FFN weights, routers and every expert included. Raises as :func:`attention_weight_bytes`."""
    return sizes.bytes_of(params.count(config).ffn, dtype)
