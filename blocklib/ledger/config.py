"""The shape of a model: everything that a parameter, FLOP or byte count depends on, put together from parts.

A :class:`Config` is a stack of :class:`Layer` objects with embedding, norms and head around it; an encoder–decoder
has a second stack. Layers of one shape may be one object. ``uniform`` builds the common case of equal blocks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from blocklib.ledger.parts import (
    ATTENTION_BIAS_SITES,
    BIAS_SITES,
    FFN,
    FFN_MATRICES,
    Attention,
    CompressedAttention,
    ConfigError,
    GatedDelta,
    KimiDelta,
    LatentAttention,
    Mixer,
    MoE,
    check_flags,
    check_sizes,
    one_of,
)

__all__ = [
    "BIAS_SITES", "FFN", "FFN_MATRICES", "NORMS", "Attention", "CompressedAttention", "Config", "ConfigError",
    "GatedDelta", "KimiDelta", "LatentAttention", "Layer", "Linear", "Mixer", "MoE", "uniform",
]  # fmt: skip

# norm over the stream -> learned vectors of its width
NORMS = {"layernorm": 2, "layernorm-gain": 1, "rmsnorm": 1, "rmsnorm-plain": 0}
MAX_LAYERS = 10_000
SOFTMAX = (Attention, LatentAttention, CompressedAttention)
RECURRENT = (GatedDelta, KimiDelta)


@dataclass(frozen=True)
class Linear:
    """A matrix from ``inputs`` to ``outputs``, with or without a bias."""

    inputs: int
    outputs: int
    bias: bool = True

    def __post_init__(self) -> None:
        check_sizes(self, "inputs", least=0)  # none: a bias alone
        check_sizes(self, "outputs")

    @property
    def params(self) -> int:
        """Weights and bias."""
        return self.outputs * (self.inputs + self.bias)


@dataclass(frozen=True)
class Layer:
    """One block.

    Attributes:
        mixer: attention or what stands in its place.
        ffn: dense or a mixture of experts.
        norms: norms over the stream in this block (two in a pre-norm block, four in a sandwich, one where both
            sublayers share it).
        cross: attention of a decoder over the encoder's output, None elsewhere.
        other: parameters that belong to none of the named components.

    Raises:
        ConfigError: no mixer or FFN of a known kind, or a negative count.
    """

    mixer: Mixer
    ffn: FFN | MoE
    norms: int = 2
    cross: Attention | None = None
    other: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.mixer, SOFTMAX + RECURRENT) or not isinstance(self.ffn, FFN | MoE):
            raise ConfigError("a layer needs a mixer and an FFN")
        check_sizes(self, "norms", "other", least=0)


@dataclass(frozen=True)
class Config:
    """A model, validated on construction.

    Attributes:
        vocab_size: rows of the embedding table, padding included.
        d_model: width of the residual stream.
        layers: the blocks in order of application; of an encoder–decoder the decoder's.
        norm: kind of the norms over the stream, a key of :data:`NORMS`.
        tied: whether the head is the embedding table.
        kind: ``"decoder"``, ``"encoder"`` or ``"encoder-decoder"``.
        encoder: the encoder's blocks, of an encoder–decoder only.
        learned_positions, token_types: rows of the learned tables of positions and of segment types.
        relative_bias: entries of learned relative-position tables.
        outer_norms: widths of the norms outside the blocks; None means one final norm of ``d_model``.
        embedding_width: width of the tables where they are factorised, followed by a projection with a bias; None
            for ``d_model``.
        source_vocab: rows of an encoder's own table; 0 where it shares the decoder's or there is none.
        lm_head: whether there is a head over the vocabulary.
        lm_bias: the head over the vocabulary has a bias.
        extra_head: further matrices of the head (a pooler, the transform of a masked-word head).
        extra_head_norms: widths of norms inside the head.
        stored_layers: blocks that have weights of their own where blocks share weights; 0 for all.
        other: parameters outside the blocks that belong to none of the named components.

    Raises:
        ConfigError: a value is no positive integer, a name is unknown, or two fields contradict each other.
    """

    vocab_size: int
    d_model: int
    layers: tuple[Layer, ...]
    norm: str
    tied: bool
    kind: Literal["decoder", "encoder", "encoder-decoder"] = "decoder"
    encoder: tuple[Layer, ...] = ()
    learned_positions: int = 0
    token_types: int = 0
    relative_bias: int = 0
    outer_norms: tuple[int, ...] | None = None
    embedding_width: int | None = None
    source_vocab: int = 0
    lm_head: bool = True
    lm_bias: bool = False
    extra_head: tuple[Linear, ...] = ()
    extra_head_norms: tuple[int, ...] = ()
    stored_layers: int = 0
    other: int = 0

    def __post_init__(self) -> None:
        check_sizes(self, "vocab_size", "d_model")
        check_sizes(self, "learned_positions", "token_types", "relative_bias", "source_vocab", "stored_layers",
                    "other", least=0)  # fmt: skip
        check_flags(self, "tied", "lm_head", "lm_bias")
        one_of("norm", self.norm, tuple(NORMS))
        one_of("kind", self.kind, ("decoder", "encoder", "encoder-decoder"))
        if self.embedding_width is not None:
            check_sizes(self, "embedding_width")
        for stack in (self.layers, self.encoder):
            if len(stack) > MAX_LAYERS or not {Layer}.issuperset(map(type, stack)):
                raise ConfigError(f"a stack must hold layers, at most {MAX_LAYERS}")
        if not self.layers:
            raise ConfigError("n_layers must be a positive integer, found 0")
        if (self.kind == "encoder-decoder") != bool(self.encoder):
            raise ConfigError("an encoder-decoder, and only that, has a stack of encoder layers")
        if self.stored_layers and (self.stored_layers > self.n_layers or len(set(self.layers)) > 1):
            raise ConfigError(f"{self.stored_layers} stored layers cannot serve {self.n_layers}")

    @property
    def n_layers(self) -> int:
        """Blocks of the stack; of an encoder–decoder the decoder's."""
        return len(self.layers)

    @cached_property
    def groups(self) -> dict[Layer, int]:
        """Each shape of block in the main stack and how many times it is applied, in order of first appearance."""
        return _grouped(self.layers)

    @cached_property
    def encoder_groups(self) -> dict[Layer, int]:
        """As :attr:`groups`, of the encoder."""
        return _grouped(self.encoder)

    @property
    def mixers(self) -> tuple[str, ...]:
        """Kind of each block's mixer: ``full``, ``sliding``, ``latent``, ``gated_delta`` …"""
        return tuple(layer.mixer.kind for layer in self.layers)

    @property
    def full_layers(self) -> int:
        """Blocks whose attention reaches every position; in a decoder their cache grows with every token."""
        return sum(kind in ("full", "latent") for kind in self.mixers)

    @property
    def sliding_layers(self) -> int:
        """Blocks whose attention reaches only the last tokens."""
        return sum(kind in ("sliding", "window") for kind in self.mixers)

    @property
    def recurrent_layers(self) -> int:
        """Blocks whose mixer keeps a state of fixed size."""
        return sum(isinstance(layer.mixer, RECURRENT) for layer in self.layers)

    @cached_property
    def softmax(self) -> Mixer:
        """The attention that all softmax layers share, windows and compression set aside.

        Raises:
            ConfigError: there is none, or they differ.
        """
        found = [_core(layer.mixer) for layer in self.groups if isinstance(layer.mixer, SOFTMAX)]
        return _the_one(found, "attention layers")

    @cached_property
    def block(self) -> Layer:
        """The block with softmax attention, windows set aside: the one a page means by "a block of this model".

        Raises:
            ConfigError: the model has none, or several kinds (dense and mixture-of-experts, say).
        """
        found = [replace(layer, mixer=_windowless(layer.mixer)) for layer in self.groups
                 if isinstance(layer.mixer, SOFTMAX)]  # fmt: skip
        return _the_one(found, "blocks with attention")

    @property
    def heads_kind(self) -> Attention:
        """The attention with keys and values per head. Raises :class:`ConfigError` for other kinds."""
        if not isinstance(self.softmax, Attention):
            raise ConfigError(f"{self.softmax.kind} attention has no key/value heads of its own")
        return self.softmax

    @property
    def n_heads(self) -> int:
        """Query heads per attention layer."""
        return self.softmax.n_heads

    @property
    def n_kv_heads(self) -> int:
        """Key/value heads per attention layer. Raises :class:`ConfigError` where a latent is cached instead."""
        return self.heads_kind.n_kv_heads

    @property
    def head_dim(self) -> int:
        """Width of a query head."""
        return self.softmax.head_dim

    @property
    def query_width(self) -> int:
        """Width of all query heads together; it need not equal ``d_model``."""
        return self.softmax.query_width

    @property
    def kv_width(self) -> int:
        """Width of all key heads together; the values are as wide. Raises as :attr:`n_kv_heads`."""
        return self.heads_kind.kv_width

    @cached_property
    def moe(self) -> MoE | None:
        """The mixture of experts, None in a dense model. Raises :class:`ConfigError` where layers differ."""
        found = [layer.ffn for layer in self.groups if isinstance(layer.ffn, MoE)]
        return _the_one(found, "mixtures of experts") if found else None

    @cached_property
    def dense_ffn(self) -> FFN | None:
        """The dense FFN, None where every layer is a mixture. Raises :class:`ConfigError` where layers differ."""
        found = [layer.ffn for layer in self.groups if isinstance(layer.ffn, FFN)]
        return _the_one(found, "dense FFNs") if found else None

    @property
    def d_ff(self) -> int:
        """Inner width of the dense FFN; where there is none, of one routed expert."""
        return (self.dense_ffn or self.moe).d_ff

    @property
    def ffn(self) -> str:
        """Activation of the FFN: ``relu``, ``gelu``, ``swiglu`` …"""
        return (self.dense_ffn or self.moe).kind

    @property
    def biases(self) -> frozenset[str]:
        """Sites of the usual block that carry a bias, of ``q k v o ffn``."""
        ffn = self.dense_ffn or self.moe.expert
        return self.heads_kind.biases | ({"ffn"} if ffn.bias else set())

    @property
    def qk_norm(self) -> bool:
        """Whether queries and keys are normalised with learned gains."""
        return isinstance(self.softmax, Attention) and self.softmax.qk_norm is not None

    @property
    def output_gate(self) -> bool:
        """Whether a gate made from the stream multiplies attention's output."""
        return isinstance(self.softmax, Attention | LatentAttention) and self.softmax.gate

    @property
    def gated_delta(self) -> GatedDelta | None:
        """Shape of the Gated DeltaNet layers, None where there are none."""
        found = [layer.mixer for layer in self.groups if isinstance(layer.mixer, GatedDelta)]
        return _the_one(found, "recurrent layers") if found else None

    @property
    def norm_widths(self) -> tuple[int, ...]:
        """Widths of the norms outside the blocks."""
        return (self.d_model,) if self.outer_norms is None else self.outer_norms

    @property
    def stream_norms(self) -> int:
        """Norms over the stream that one token meets: those of the blocks and those outside, of ``d_model``."""
        inside = sum(layer.norms for layer in (*self.layers, *self.encoder))
        return inside + sum(width == self.d_model for width in self.norm_widths)


def uniform(
    *, n_layers: int, n_heads: int, n_kv_heads: int, head_dim: int, d_ff: int, ffn: str,
    biases: frozenset[str] | set[str] = frozenset(), qk_norm: bool = False, output_gate: bool = False,
    window: int | None = None, layers: tuple[str, ...] = (), gated_delta: GatedDelta | None = None, **rest: object,
) -> Config:  # fmt: skip
    """A decoder whose blocks are equal but for their mixers.

    Args:
        n_layers, n_heads, n_kv_heads, head_dim, d_ff, ffn: sizes and activation of the blocks.
        biases: sites with a bias, of ``q k v o ffn``.
        qk_norm: gains of ``head_dim`` for queries and for keys.
        output_gate: the query projection also makes a gate.
        window: positions that ``"sliding"`` layers see; where ``layers`` is empty, all layers slide.
        layers: kind of each mixer, ``"full"``, ``"sliding"`` or ``"gated_delta"``; empty for all alike.
        gated_delta: shape of the recurrent layers, required where ``layers`` names them.
        rest: fields of :class:`Config`.

    Raises:
        ConfigError: as :class:`Config`, and where ``layers`` is of another length or names what is not given.
    """
    for site in sorted(biases):
        one_of("bias site", site, BIAS_SITES)
    counted = _Count(n_layers)
    check_flags(_Flags(qk_norm, output_gate), "qk_norm", "output_gate")
    full = Attention(n_heads, n_kv_heads, head_dim, biases=frozenset(biases) & ATTENTION_BIAS_SITES,
                     qk_norm="head" if qk_norm else None, gate=output_gate)  # fmt: skip
    mixers: dict[str, Mixer] = {"full": full}
    if window is not None:
        mixers["sliding"] = replace(full, window=window)
    if gated_delta is not None:
        mixers["gated_delta"] = gated_delta
    for kind in layers:
        one_of("layer", kind, ("full", "sliding", "gated_delta"))
    if layers and len(layers) != counted.n_layers:
        raise ConfigError(f"layers names {len(layers)} mixers for n_layers = {n_layers}")
    kinds = layers or ("full" if window is None else "sliding",) * n_layers
    for kind, given in (("gated_delta", gated_delta), ("sliding", window)):
        if (kind in kinds) != (given is not None):
            raise ConfigError(f"{kind} layers and their {'shape' if kind == 'gated_delta' else 'window'} must be "
                              "given together")  # fmt: skip
    inner = FFN(d_ff, ffn, bias="ffn" in biases)
    made = {kind: Layer(mixer, inner) for kind, mixer in mixers.items()}
    return Config(layers=tuple(made[kind] for kind in kinds), **rest)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Count:
    n_layers: int

    def __post_init__(self) -> None:
        check_sizes(self, "n_layers")
        if self.n_layers > MAX_LAYERS:
            raise ConfigError(f"n_layers must be at most {MAX_LAYERS}, found {self.n_layers}")


@dataclass(frozen=True)
class _Flags:
    qk_norm: bool
    output_gate: bool


def _windowless(mixer: Mixer) -> Mixer:
    return replace(mixer, window=None) if isinstance(mixer, Attention) and mixer.window is not None else mixer


def _core(mixer: Mixer) -> Mixer:
    if isinstance(mixer, CompressedAttention):
        return replace(mixer, rate=None, index_heads=0, index_dim=0)
    return _windowless(mixer)


def _the_one(found: list, what: str):
    different = list(dict.fromkeys(found))
    if len(different) != 1:
        raise ConfigError(f"the model has {'no' if not different else 'several kinds of'} {what}")
    return different[0]


def _grouped(stack: tuple[Layer, ...]) -> dict[Layer, int]:
    # By identity first: a stack of one shape is mostly one object many times, and hashing a shape is slow.
    if len(set(map(id, stack))) < 2:
        return {stack[0]: len(stack)} if stack else {}
    times = Counter(map(id, stack))
    groups: dict[Layer, int] = {}
    for name, layer in dict(zip(map(id, stack), stack, strict=True)).items():
        groups[layer] = groups.get(layer, 0) + times[name]
    return groups
