"""The parts that a block is put together from: mixers (attention and what stands in its place) and FFNs.

Every part is a frozen dataclass that refuses impossible sizes; it knows its own shape and nothing of the model
around it. A mixer states what it stores of past tokens: elements that each token adds (``cache_elements``, perhaps
only inside ``window`` tokens) and elements of fixed size (``state_elements``, ``conv_elements``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from blocklib.ledger.checks import MAX_SIZE, ConfigError, check_flags, check_sizes, is_size, one_of, shown
from blocklib.ledger.ffn import FFN, FFN_MATRICES, MoE

__all__ = [
    "ATTENTION_BIAS_SITES", "BIAS_SITES", "FFN", "FFN_MATRICES", "MAX_SIZE", "MIXER_KINDS", "Attention",
    "CompressedAttention", "ConfigError", "GatedDelta", "KimiDelta", "LatentAttention", "Mixer", "MoE", "check_flags",
    "check_sizes", "is_size", "one_of", "shown",
]  # fmt: skip

BIAS_SITES = ("q", "k", "v", "o", "ffn")
ATTENTION_BIAS_SITES = frozenset("qkvo")


@dataclass(frozen=True)
class Attention:
    """Softmax attention with keys and values per head (MHA, GQA, MQA), over all or the last ``window`` positions.

    Attributes:
        n_heads, n_kv_heads, head_dim: query heads, key/value heads, width of each.
        window: positions a query sees, itself included; None for all.
        biases: sites with a bias, of ``q k v o``.
        qk_norm: gain vectors of query and key norm: ``"head"`` (one of ``head_dim`` for each of the two), ``"heads"``
            (one of ``head_dim`` for every head), ``"full"`` (one over all heads together: the same number), or None.
        gate: the query projection also makes a gate of its own width for the output.
        sinks: one learned logit per query head.

    Raises:
        ConfigError: a size that is not positive, ``n_kv_heads`` that does not divide ``n_heads``, or an unknown word.
    """

    n_heads: int
    n_kv_heads: int
    head_dim: int
    window: int | None = None
    biases: frozenset[str] = frozenset()
    qk_norm: str | None = None
    gate: bool = False
    sinks: bool = False
    state_elements: ClassVar[int] = 0
    conv_elements: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_sizes(self, "n_heads", "n_kv_heads", "head_dim")
        if self.window is not None:
            check_sizes(self, "window")
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(f"n_heads must be a multiple of n_kv_heads, found {self.n_heads} and {self.n_kv_heads}")
        for site in sorted(self.biases):
            one_of("bias site", site, ("q", "k", "v", "o"))
        one_of("qk_norm", self.qk_norm, (None, "head", "heads", "full"))
        check_flags(self, "gate", "sinks")

    @property
    def kind(self) -> str:
        """``"full"`` or ``"sliding"``."""
        return "full" if self.window is None else "sliding"

    @property
    def query_width(self) -> int:
        """Width of all query heads together; also the width that the output projection reads."""
        return self.n_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all key heads together; the values are as wide."""
        return self.n_kv_heads * self.head_dim

    @property
    def cache_elements(self) -> int:
        """Elements stored per token (inside the window, where there is one)."""
        return 2 * self.kv_width


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (MLA): keys and values of all heads from one cached latent and one rotary key.

    Attributes:
        n_heads: heads.
        q_rank: width of the queries' latent, None for a direct projection.
        kv_rank: width of the cached latent.
        nope_dim, rope_dim: the two parts of a query or key head; the rotary part of the key is shared by all heads.
        v_dim: width of a value head.
        bias: the down-projections and the output projection carry a bias.
        gate: a full-rank projection of the stream gates the output.
    """

    n_heads: int
    q_rank: int | None
    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    bias: bool = False
    gate: bool = False
    kind: ClassVar[str] = "latent"
    window: ClassVar[None] = None
    state_elements: ClassVar[int] = 0
    conv_elements: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_sizes(self, "n_heads", "kv_rank", "nope_dim", "rope_dim", "v_dim")
        if self.q_rank is not None:
            check_sizes(self, "q_rank")
        check_flags(self, "bias", "gate")

    @property
    def head_dim(self) -> int:
        """Width of a query or key head, rotary part included."""
        return self.nope_dim + self.rope_dim

    @property
    def query_width(self) -> int:
        """Width of all query heads together."""
        return self.n_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Width of all value heads together, which the output projection reads."""
        return self.n_heads * self.v_dim

    @property
    def cache_elements(self) -> int:
        """Elements stored per token: the latent and the shared rotary key."""
        return self.kv_rank + self.rope_dim


@dataclass(frozen=True)
class CompressedAttention:
    """DeepSeek-V4's attention: one shared key-value head (K = V) over a window, and over compressed older tokens.

    Attributes:
        n_heads, head_dim: query heads and their width; the one shared key-value entry is as wide.
        q_rank: width of the queries' latent.
        o_groups, o_rank: the output projection goes through ``o_rank`` per group of heads.
        window: recent positions seen uncompressed.
        rate: tokens per compressed entry, None for a layer that has only the window.
        index_heads, index_dim: heads and width of the indexer that selects compressed entries (0: all are read);
            layers with an indexer let neighbouring entries overlap, which doubles the compressor's width.

    Raises:
        ConfigError: a size that is not positive, groups that do not divide the heads' width, or half an indexer.
    """

    n_heads: int
    head_dim: int
    q_rank: int
    o_groups: int
    o_rank: int
    window: int
    rate: int | None = None
    index_heads: int = 0
    index_dim: int = 0
    state_elements: ClassVar[int] = 0
    conv_elements: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_sizes(self, "n_heads", "head_dim", "q_rank", "o_groups", "o_rank", "window")
        if self.rate is not None:
            check_sizes(self, "rate")
        check_sizes(self, "index_heads", "index_dim", least=0)
        if self.n_heads * self.head_dim % self.o_groups:
            raise ConfigError(f"o_groups must divide the query width {self.n_heads * self.head_dim}")
        if bool(self.index_heads) != bool(self.index_dim) or (self.index_heads and self.rate is None):
            raise ConfigError("an indexer needs heads, a width and compressed entries to choose from")

    @property
    def kind(self) -> str:
        """``"window"``, ``"compressed"`` (with an indexer) or ``"heavily compressed"``."""
        return "window" if self.rate is None else "compressed" if self.index_heads else "heavily compressed"

    @property
    def query_width(self) -> int:
        """Width of all query heads together."""
        return self.n_heads * self.head_dim

    @property
    def cache_elements(self) -> int:
        """Elements stored per token inside the window: one entry that is key and value at once."""
        return self.head_dim

    @property
    def compressed_elements(self) -> Fraction:
        """Elements that each token adds for good: its share of a compressed entry and of the indexer's key."""
        return Fraction(self.head_dim + self.index_dim, self.rate) if self.rate else Fraction(0)


@dataclass(frozen=True)
class GatedDelta:
    """Gated DeltaNet: a recurrent mixer that keeps a state of fixed size instead of a cache.

    Attributes:
        k_heads, k_dim: key heads and their width (queries share them).
        v_heads, v_dim: value heads and their width.
        conv: kernel size of the short causal convolution over queries, keys and values.

    Raises:
        ConfigError: a size that is not positive, or ``k_heads`` that does not divide ``v_heads``.
    """

    k_heads: int
    k_dim: int
    v_heads: int
    v_dim: int
    conv: int
    kind: ClassVar[str] = "gated_delta"
    cache_elements: ClassVar[int] = 0
    window: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_sizes(self, "k_heads", "k_dim", "v_heads", "v_dim", "conv")
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

    @property
    def state_elements(self) -> int:
        """A key-by-value matrix per value head."""
        return self.v_heads * self.v_dim * self.k_dim

    @property
    def conv_elements(self) -> int:
        """The last ``conv - 1`` inputs of the convolution."""
        return (self.conv - 1) * (2 * self.key_width + self.value_width)


@dataclass(frozen=True)
class KimiDelta:
    """Kimi Delta Attention: a delta rule with a decay for every channel of the key.

    Attributes:
        heads, dim: heads and the width of keys and values.
        conv: kernel size of the short convolutions over queries, keys and values.
        decay_rank: width of the low-rank map from the stream to the decays.
    """

    heads: int
    dim: int
    conv: int
    decay_rank: int
    kind: ClassVar[str] = "kimi_delta"
    cache_elements: ClassVar[int] = 0
    window: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_sizes(self, "heads", "dim", "conv", "decay_rank")

    @property
    def width(self) -> int:
        """Width of all heads together: of queries, keys, values and the output gate each."""
        return self.heads * self.dim

    @property
    def state_elements(self) -> int:
        """A key-by-value matrix per head."""
        return self.heads * self.dim * self.dim

    @property
    def conv_elements(self) -> int:
        """The last ``conv - 1`` inputs of the three convolutions."""
        return (self.conv - 1) * 3 * self.width


Mixer = Attention | LatentAttention | CompressedAttention | GatedDelta | KimiDelta
MIXER_KINDS = {
    "attention": Attention, "latent": LatentAttention, "compressed": CompressedAttention, "gated_delta": GatedDelta,
    "kimi_delta": KimiDelta,
}  # fmt: skip
