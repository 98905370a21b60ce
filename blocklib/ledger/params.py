"""Parameters of a model, by component, in total and per token.

Convention: learned tensors once each. A tied head costs nothing; biases, norm gains and learned positions are
in; buffers (masks, rotary frequencies, balancing biases), vision towers and draft heads are out. *Active* counts
what one token passes through: of a mixture of experts the router, the chosen experts and the shared one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from operator import add
from typing import NamedTuple

from blocklib.exact import at_least, plain
from blocklib.facts.registry import fact
from blocklib.ledger.config import NORMS, Config, Layer, uniform
from blocklib.ledger.parts import (
    FFN,
    Attention,
    CompressedAttention,
    ConfigError,
    GatedDelta,
    KimiDelta,
    LatentAttention,
    MoE,
)


class Parameters(NamedTuple):
    """An itemised count; the rows are disjoint and ``total`` is their sum.

    ``attention`` holds the weights and biases of every mixer (for a recurrent one its convolution and decay
    terms too, for a latent one its projections), ``ffn`` routers too, ``norm`` all norms but those of queries and
    keys, which are ``qk_norm``, ``head`` what stands after the last block, a pooler too.
    """

    embedding: int = 0
    position: int = 0
    attention: int = 0
    ffn: int = 0
    norm: int = 0
    qk_norm: int = 0
    head: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """Sum of the components."""
        return sum(self)

    @property
    def components(self) -> dict[str, int]:
        """Component name to count, in the order of the fields."""
        return self._asdict()

    def __add__(self, more: Parameters) -> Parameters:
        return Parameters._make(map(add, self, more))

    def __mul__(self, times: int) -> Parameters:
        return Parameters._make(map(times.__mul__, self))


@dataclass(frozen=True)
class Active:
    """Parameters that one token passes through, under the two conventions in use.

    Attributes:
        with_embeddings: everything active, the input embedding and the head included.
        without_input_embedding: the input table left out, since a token only looks up one row of it; the head is in
            (a tied table stays: it is the head).
    """

    with_embeddings: int
    without_input_embedding: int


def count(config: Config) -> Parameters:
    """All parameters of the model."""
    total = outside_blocks(config)
    for groups in (config.groups, config.encoder_groups):
        for layer, times in groups.items():
            total += layer_params(config, layer) * (config.stored_layers or times)
    return total


def active(config: Config) -> Active:
    """Parameters that one token passes through; shared blocks count once, as they are stored."""
    idle = sum(
        (config.stored_layers or times) * _idle(layer.ffn, config.d_model)
        for groups in (config.groups, config.encoder_groups)
        for layer, times in groups.items()
    )
    total = count(config)
    rows = config.source_vocab + (0 if config.tied and config.lm_head else config.vocab_size)
    lookup = rows * (config.embedding_width or config.d_model)
    return Active(total.total - idle, total.total - idle - lookup)


def _idle(ffn: FFN | MoE, d_model: int) -> int:
    if isinstance(ffn, FFN):
        return 0
    return (ffn.n_experts - ffn.top_k) * _ffn(ffn.expert, ffn.latent or d_model)


def outside_blocks(config: Config) -> Parameters:
    """Embedding, learned positions, norms outside the blocks and head."""
    width = config.embedding_width or config.d_model
    projection = 0 if config.embedding_width is None else config.d_model * (width + 1)
    head = config.lm_head * config.vocab_size * ((0 if config.tied else width) + config.lm_bias)
    per_width = NORMS[config.norm]
    return Parameters(
        embedding=(config.vocab_size + config.source_vocab) * width + projection,
        position=(config.learned_positions + config.token_types) * width + config.relative_bias,
        norm=per_width * sum((*config.norm_widths, *config.extra_head_norms)),
        head=head + sum(matrix.params for matrix in config.extra_head),
        other=config.other,
    )


def block(config: Config, mixer: str | None = None) -> Parameters:
    """One block of this model: the one with full attention, or the one whose mixer is of this kind.

    Raises:
        ConfigError: the model has no such block, or several of different shape.
    """
    if mixer is None:
        return layer_params(config, config.block)
    found = [layer for layer in config.groups if layer.mixer.kind == mixer]
    counts = {layer_params(config, layer) for layer in found}
    if len(counts) != 1:
        raise ConfigError(f"the model has {'several kinds of' if counts else 'no'} {mixer!r} layers")
    return counts.pop()


def layer_params(config: Config, layer: Layer) -> Parameters:
    """One block: mixer, cross-attention, FFN, norms."""
    made = mixer_params(layer.mixer, config.d_model) + ffn_params_of(layer.ffn, config.d_model)
    if layer.cross is not None:
        made += mixer_params(layer.cross, config.d_model)
    return made + Parameters(norm=layer.norms * norm(config), other=layer.other)


def norm(config: Config) -> int:
    """One norm over the stream: a gain, and a bias for LayerNorm."""
    return config.d_model * NORMS[config.norm]


@singledispatch
def mixer_params(mixer: object, d_model: int) -> Parameters:
    """Parameters of one mixer in a stream of this width.

    Raises:
        ConfigError: for what is no mixer.
    """
    raise ConfigError(f"{mixer!r} is no mixer")


@mixer_params.register
def _(mixer: Attention, d_model: int) -> Parameters:
    read, kv = mixer.query_width, mixer.kv_width
    gains = {None: 0, "head": 2 * mixer.head_dim, "heads": read + kv, "full": read + kv}[mixer.qk_norm]
    query = read * (2 if mixer.gate else 1)
    biases = {"q": query, "k": kv, "v": kv, "o": d_model}
    matrices = d_model * (query + 2 * kv + read)
    sinks = mixer.n_heads if mixer.sinks else 0
    return Parameters(attention=matrices + sum(biases[site] for site in mixer.biases) + sinks, qk_norm=gains)


@mixer_params.register
def _(mixer: LatentAttention, d_model: int) -> Parameters:
    query = (
        d_model * mixer.query_width
        if mixer.q_rank is None
        else mixer.q_rank * (d_model + mixer.query_width + mixer.bias)
    )
    latent = (d_model + mixer.bias) * (mixer.kv_rank + mixer.rope_dim)
    expand = mixer.kv_rank * mixer.n_heads * (mixer.nope_dim + mixer.v_dim)
    output = (mixer.value_width + mixer.bias) * d_model
    gate = d_model * mixer.value_width if mixer.gate else 0
    return Parameters(attention=query + latent + expand + output + gate, norm=(mixer.q_rank or 0) + mixer.kv_rank)


@mixer_params.register
def _(mixer: CompressedAttention, d_model: int) -> Parameters:
    query = mixer.q_rank * (d_model + mixer.query_width)
    output = mixer.query_width * mixer.o_rank + mixer.o_groups * mixer.o_rank * d_model
    attention = query + d_model * mixer.head_dim + output + mixer.n_heads
    norms = mixer.q_rank + mixer.head_dim
    if mixer.rate is not None:  # key-value and weight projections of the compressor, a bias per place, a norm
        overlap = 2 if mixer.index_heads else 1
        attention += overlap * mixer.head_dim * (2 * d_model + mixer.rate)
        norms += mixer.head_dim
    if mixer.index_heads:  # a compressor of its own width, its queries, a weight per head
        attention += 2 * mixer.index_dim * (2 * d_model + mixer.rate)
        attention += mixer.q_rank * mixer.index_heads * mixer.index_dim + d_model * mixer.index_heads
        norms += mixer.index_dim
    return Parameters(attention=attention, norm=norms)


@mixer_params.register
def _(mixer: GatedDelta, d_model: int) -> Parameters:
    return Parameters(attention=gated_delta_weights(d_model, mixer), norm=mixer.v_dim)


@mixer_params.register
def _(mixer: KimiDelta, d_model: int) -> Parameters:
    projections = d_model * (5 * mixer.width + mixer.heads)  # q, k, v, gate, output; one beta per head
    decay = mixer.decay_rank * (d_model + mixer.width) + mixer.width + mixer.heads
    return Parameters(attention=projections + 3 * mixer.width * mixer.conv + decay, norm=mixer.dim)


def ffn_params_of(ffn: FFN | MoE, d_model: int) -> Parameters:
    """Parameters of one FFN, or of one mixture of experts with its router."""
    if isinstance(ffn, FFN):
        return Parameters(ffn=_ffn(ffn, d_model))
    router = ffn.n_experts * (d_model + ffn.router_bias)
    shared = 0 if ffn.shared is None else _ffn(ffn.shared, d_model) + (d_model if ffn.shared_gate else 0)
    latent = 0 if ffn.latent is None else 2 * d_model * ffn.latent
    experts = ffn.n_experts * _ffn(ffn.expert, ffn.latent or d_model)
    return Parameters(ffn=router + shared + latent + experts, norm=ffn.latent or 0)


def _ffn(ffn: FFN, width: int) -> int:
    return ffn.matrices * width * ffn.d_ff + (((ffn.matrices - 1) * ffn.d_ff + width) if ffn.bias else 0)


def attention_weights(config: Config) -> int:
    """Matrices of one full-attention layer (q, k, v, o, and the output gate where there is one), no biases.

    Raises:
        ConfigError: attention layers differ or keep no keys and values per head.
    """
    bare = replace(config.heads_kind, biases=frozenset(), sinks=False)
    return mixer_params(bare, config.d_model).attention


def attention_biases(config: Config) -> int:
    """Biases of one full-attention layer. Raises as :func:`attention_weights`."""
    with_biases = replace(config.heads_kind, sinks=False)
    return mixer_params(with_biases, config.d_model).attention - attention_weights(config)


def ffn_weights(config: Config) -> int:
    """Matrices of one FFN: two, or three with a gate; no biases.

    Raises:
        ConfigError: the model has mixtures of experts, or FFNs of several kinds.
    """
    return _ffn(replace(_dense(config), bias=False), config.d_model)


def ffn_biases(config: Config) -> int:
    """Biases of one FFN: one of the inner width per matrix into it, one of the outer width. Raises as
    :func:`ffn_weights`."""
    return _ffn(_dense(config), config.d_model) - ffn_weights(config)


def _dense(config: Config) -> FFN:
    if config.moe is not None or config.dense_ffn is None:
        raise ConfigError("the model's FFNs are mixtures of experts")
    return config.dense_ffn


def gated_delta_weights(d_model: int, delta: GatedDelta) -> int:
    """One Gated DeltaNet layer without its output norm.

    Projections to queries, keys and values, to the output gate, and to the two scalars per value head; the
    depthwise convolution; a decay rate and a time-step bias per value head; the output projection.
    """
    mixed = 2 * delta.key_width + delta.value_width
    projections = d_model * (mixed + delta.value_width + 2 * delta.v_heads)
    return projections + mixed * delta.conv + 2 * delta.v_heads + delta.value_width * d_model


@fact(
    formula="4d²",
    tests=(
        "tests/ledger/test_params.py::test_textbook_block_matches_counted_matrices",
        "tests/claims_evidence/test_block.py::test_ffn_twice_attention",
    ),
)
def attention_params(d_model: int) -> int:
    """Weights of textbook attention at this width: four square matrices for queries, keys, values and output;
    no biases.

    中文：教科书式 attention 的权重数：q、k、v、o 四个方阵，不含偏置。
    """
    at_least("d_model", d_model, 1)
    return attention_weights(textbook(d_model))


@fact(
    formula="8d²",
    tests=(
        "tests/ledger/test_params.py::test_textbook_block_matches_counted_matrices",
        "tests/claims_evidence/test_block.py::test_ffn_twice_attention",
    ),
)
def ffn_params(d_model: int) -> int:
    """Weights of the textbook FFN at this width: into four times the width and back; no biases.

    中文：教科书式 FFN 的权重数：先到四倍宽再回来的两个矩阵，不含偏置。
    """
    at_least("d_model", d_model, 1)
    return ffn_weights(textbook(d_model))


@fact(
    formula="8d² / 4d²",
    tests=("tests/claims_evidence/test_block.py::test_ffn_twice_attention",),
)
def textbook_ffn_attention_ratio(d_model: int) -> int | Fraction:
    """FFN weights over attention weights in the textbook block; the same at every width.

    中文：教科书式的块里 FFN 与 attention 的权重之比；任何宽度都一样。
    """
    return plain(Fraction(ffn_params(d_model), attention_params(d_model)))


@fact(
    formula="4d / d",
    tests=("tests/claims_evidence/test_block.py::test_ffn_twice_attention",),
)
def textbook_ffn_expansion() -> int | Fraction:
    """Inner width of the textbook FFN over the width of the stream.

    中文：教科书式 FFN 的内部宽度与残差流宽度之比。
    """
    config = textbook(1)
    return plain(Fraction(config.d_ff, config.d_model))


def textbook(d_model: int) -> Config:
    """The block that textbook counts speak of: multi-head attention with square matrices, a GELU FFN of width
    4d, no biases. One head and one layer, since neither changes a block's count."""
    return uniform(
        vocab_size=1, d_model=d_model, n_layers=1, n_heads=1, n_kv_heads=1, head_dim=d_model, d_ff=4 * d_model,
        ffn="gelu", norm="layernorm", tied=True,
    )  # fmt: skip
