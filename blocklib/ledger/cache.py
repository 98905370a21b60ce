"""Bytes that one sequence keeps between tokens: key-value caches and the states of recurrent layers.

Full attention stores one key and one value per key/value head, layer and token, for good; sliding attention stops
growing at its window; latent attention stores one latent and one rotary key; compressed attention an entry per
group of tokens; recurrent layers keep a state of fixed size. Encoders keep nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blocklib.exact import at_least, plain
from blocklib.ledger.config import Attention, CompressedAttention, Config, ConfigError, LatentAttention

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}


@dataclass(frozen=True)
class KVCache:
    """What one sequence keeps, in elements, as rows that add up.

    Attributes:
        growing: elements that each token adds for good in attention with keys and values per head.
        latent: elements that each token adds for good in latent attention.
        compressed: elements that each token adds for good through compressed entries, on average; a fraction, since
            an entry stands for several tokens.
        sliding: (window, elements per token) of the layers that keep only their last ``window`` tokens, by window.
        state, conv: elements of fixed size: recurrent states, inputs that short convolutions still need.
        cross: elements that each token of the *source* adds (encoder–decoders), stored once.
    """

    growing: int = 0
    latent: int = 0
    compressed: int | Fraction = 0
    sliding: tuple[tuple[int, int], ...] = ()
    state: int = 0
    conv: int = 0
    cross: int = 0

    @property
    def per_token(self) -> int | Fraction:
        """Elements that a token adds while all windows still fill."""
        return plain(Fraction(self.growing_per_token + sum(elements for _, elements in self.sliding)))

    @property
    def growing_per_token(self) -> int | Fraction:
        """Elements that a token adds once all windows are full."""
        return plain(Fraction(self.growing + self.latent + self.compressed))

    @property
    def constant(self) -> int:
        """Elements of fixed size, states and convolution inputs."""
        return self.state + self.conv

    def elements(self, tokens: int) -> int | Fraction:
        """Elements after ``tokens`` tokens, those of fixed size not included.

        Raises:
            DomainError: ``tokens`` is negative.
        """
        at_least("tokens", tokens, 0)
        inside = sum(elements * min(tokens, window) for window, elements in self.sliding)
        return plain(Fraction(self.growing_per_token * tokens + inside))


def describe(config: Config) -> KVCache:
    """What one sequence of this model keeps between tokens."""
    if config.kind == "encoder":
        return KVCache()
    growing = latent = state = conv = cross = 0
    compressed: int | Fraction = 0
    sliding: dict[int, int] = {}
    for layer, times in config.groups.items():
        mixer = layer.mixer
        state, conv = state + times * mixer.state_elements, conv + times * mixer.conv_elements
        if layer.cross is not None:
            cross += times * layer.cross.cache_elements
        if mixer.window is not None:
            sliding[mixer.window] = sliding.get(mixer.window, 0) + times * mixer.cache_elements
        elif isinstance(mixer, Attention):
            growing += times * mixer.cache_elements
        elif isinstance(mixer, LatentAttention):
            latent += times * mixer.cache_elements
        if isinstance(mixer, CompressedAttention):
            compressed += times * mixer.compressed_elements
    windows = tuple(sorted(sliding.items()))
    return KVCache(growing, latent, plain(Fraction(compressed)), windows, state, conv, cross)


def dtype_bytes(dtype: str) -> int:
    """Bytes of one element of ``dtype``.

    Raises:
        ConfigError: the dtype is unknown.
    """
    try:
        return DTYPE_BYTES[dtype]
    except KeyError:
        raise ConfigError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPE_BYTES)}") from None


def kv_elements_per_token(config: Config) -> int | Fraction:
    """Cache elements that one more token adds, over all layers that cache, while all windows still fill."""
    return describe(config).per_token


def kv_bytes_per_token(config: Config, dtype: str) -> int | Fraction:
    """Bytes that one more token adds to the cache of one sequence, while all windows still fill.

    Raises:
        ConfigError: the dtype is unknown.
    """
    return kv_elements_per_token(config) * dtype_bytes(dtype)


def kv_bytes(config: Config, dtype: str, tokens: int) -> int | Fraction:
    """Bytes of the cache of one sequence of ``tokens`` tokens, full windows capped, the fixed state not included.

    Raises:
        ConfigError: the dtype is unknown.
        DomainError: ``tokens`` is negative.
    """
    return describe(config).elements(tokens) * dtype_bytes(dtype)


def state_elements(config: Config) -> int:
    """Elements of the recurrent state of one sequence: a key-by-value matrix per value head and layer."""
    return describe(config).state
