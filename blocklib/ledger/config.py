"""The shape of a decoder-only model: everything that a parameter, FLOP or byte count depends on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from blocklib.problems import BlocklibError

FFN_MATRICES = {"relu": 2, "gelu": 2, "swiglu": 3}
BIAS_SITES = ("q", "k", "v", "o", "ffn")
MIXERS = ("full", "gated_delta")


class ConfigError(BlocklibError):
    """A model shape that cannot be: a field missing, of the wrong type, or at odds with another."""


@dataclass(frozen=True)
class GatedDelta:
    """Shape of a Gated DeltaNet layer: a recurrent mixer that keeps a state of fixed size instead of a cache.

    Attributes:
        k_heads, k_dim: key heads and their width (queries share them).
        v_heads, v_dim: value heads and their width.
        conv: kernel size of the short causal convolution over queries, keys and values.
    """

    k_heads: int
    k_dim: int
    v_heads: int
    v_dim: int
    conv: int

    def __post_init__(self) -> None:
        _positive_integers(self, tuple(f.name for f in fields(self)))
        if self.v_heads % self.k_heads:
            raise ConfigError(f"v_heads must be a multiple of k_heads, found {self.v_heads} and {self.k_heads}")

    @property
    def key_width(self) -> int:
        """Width of all key heads together."""
        return self.k_heads * self.k_dim

    @property
    def value_width(self) -> int:
        """Width of all value heads together."""
        return self.v_heads * self.v_dim


@dataclass(frozen=True)
class Config:
    """A decoder-only model, validated on construction.

    Attributes:
        vocab_size: rows of the embedding table, padding included.
        d_model: width of the residual stream.
        n_layers: number of blocks.
        n_heads, n_kv_heads, head_dim: query heads, key/value heads and the width of each. ``head_dim`` is a
            field of its own: ``n_heads * head_dim`` need not equal ``d_model``.
        d_ff: inner width of the FFN.
        ffn: ``"relu"``, ``"gelu"`` (two matrices) or ``"swiglu"`` (three).
        norm: ``"layernorm"`` (gain and bias) or ``"rmsnorm"`` (gain).
        tied: whether the head is the embedding table.
        biases: the sites that carry a bias, of ``q k v o ffn``.
        learned_positions: rows of the position table; 0 where positions cost no parameters (RoPE).
        qk_norm: RMSNorm of every query and key head, one gain vector of ``head_dim`` for each of the two.
        output_gate: whether the query projection also makes a gate of its own width for attention's output.
        layers: mixer of each block, ``"full"`` or ``"gated_delta"``; empty means all full.
        gated_delta: shape of the recurrent layers, required where ``layers`` names them.

    Raises:
        ConfigError: a value is no positive integer, a name is unknown, or two fields contradict each other.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    ffn: Literal["relu", "gelu", "swiglu"]
    norm: Literal["layernorm", "rmsnorm"]
    tied: bool
    biases: frozenset[str] = frozenset()
    learned_positions: int = 0
    qk_norm: bool = False
    output_gate: bool = False
    layers: tuple[str, ...] = field(default=())
    gated_delta: GatedDelta | None = None

    def __post_init__(self) -> None:
        _positive_integers(self, ("vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff"))
        if not _is_int(self.learned_positions) or self.learned_positions < 0:
            raise ConfigError(f"learned_positions must be an integer from 0 up, found {self.learned_positions!r}")
        for name in ("tied", "qk_norm", "output_gate"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be true or false, found {getattr(self, name)!r}")
        _one_of("ffn", self.ffn, tuple(FFN_MATRICES))
        _one_of("norm", self.norm, ("layernorm", "rmsnorm"))
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(f"n_heads must be a multiple of n_kv_heads, found {self.n_heads} and {self.n_kv_heads}")
        for site in sorted(self.biases):
            _one_of("bias site", site, BIAS_SITES)
        for mixer in self.layers:
            _one_of("layer", mixer, MIXERS)
        if self.layers and len(self.layers) != self.n_layers:
            raise ConfigError(f"layers names {len(self.layers)} mixers for n_layers = {self.n_layers}")
        if ("gated_delta" in self.layers) != (self.gated_delta is not None):
            raise ConfigError("gated_delta layers and their shape must be given together")

    @property
    def query_width(self) -> int:
        """Width of all query heads together; also the width that attention's output projection reads."""
        return self.n_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all key heads together; the values are as wide."""
        return self.n_kv_heads * self.head_dim

    @property
    def mixers(self) -> tuple[str, ...]:
        """Mixer of each block, always of length ``n_layers``."""
        return self.layers or ("full",) * self.n_layers

    @property
    def full_layers(self) -> int:
        """Blocks whose attention keeps a growing key-value cache."""
        return self.mixers.count("full")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _positive_integers(owner: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(owner, name)
        if not _is_int(value) or value < 1:
            raise ConfigError(f"{name} must be a positive integer, found {value!r}")


def _one_of(what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"unknown {what} {value!r}; known: {', '.join(known)}")
