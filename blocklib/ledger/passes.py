"""FLOPs of a whole model in one pass over one sequence, by part: a prompt, a chunk of it, or one decoded token.

Conventions: one multiply-accumulate is two FLOPs; matrix products only, forward (norms, softmax, activations,
rotations, biases and table look-ups are left out). Scores and the weighted sum of values count the positions that
are *visible*: under a causal mask T queries see T(T+1)/2 of them, half of the square; ``square`` counts what a
kernel that computes all and then masks would. Of a mixture of experts, only what a token visits. A pass can be
training's: the backward pass costs two forward ones (gradients of inputs and of weights), nothing recomputed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from operator import add
from typing import Literal

from blocklib.exact import at_least
from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import (
    FFN,
    Attention,
    CompressedAttention,
    ConfigError,
    GatedDelta,
    KimiDelta,
    LatentAttention,
    Mixer,
    MoE,
)

Form = Literal["expanded", "absorbed"]
TRAINING = 3  # forward passes that a training step costs: one forward, two backward


@dataclass(frozen=True)
class Flops:
    """An itemised count in FLOPs; the rows are disjoint and ``total`` is their sum.

    Attributes:
        projections: matrices of the mixers: queries, keys, values, output, gates, latents, decays.
        scores, values: products of queries with keys, and the sums of values; an indexer's scores are scores.
        recurrent: short convolutions, and reading and writing the states of recurrent mixers, token by token.
        ffn: dense FFNs and shared experts.
        router: routers and the gates of shared experts.
        experts: the routed experts that tokens visit, with the projections into their width where it is their own.
        head: the matrix over the vocabulary, with what a head has before it.
        other: the projection out of a factorised table, and parameters of a block that belong to no named part, as one
            multiply-accumulate each (such parameters outside the blocks are tables, and left out).
    """

    projections: int = 0
    scores: int = 0
    values: int = 0
    recurrent: int = 0
    ffn: int = 0
    router: int = 0
    experts: int = 0
    head: int = 0
    other: int = 0

    @property
    def components(self) -> dict[str, int]:
        """Row name to FLOPs, in the order of the fields."""
        return dict(vars(self))

    @property
    def total(self) -> int:
        """Sum of the rows."""
        return sum(vars(self).values())

    @property
    def attention(self) -> int:
        """What grows with the context: scores and values."""
        return self.scores + self.values

    @property
    def weights(self) -> int:
        """What does not depend on the context: every product with a weight matrix (convolutions are not in)."""
        return self.total - self.attention - self.recurrent

    def __add__(self, more: Flops) -> Flops:
        return Flops(*map(add, vars(self).values(), vars(more).values()))

    def __mul__(self, times: int) -> Flops:
        return Flops(*(times * count for count in vars(self).values()))


@dataclass(frozen=True)
class _Pass:
    """``tokens`` queries after ``past`` cached positions, over ``source`` positions of an encoder."""

    tokens: int
    past: int
    source: int
    new_source: int  # source positions whose keys and values are made in this pass
    form: Form
    square: bool
    causal: bool

    def seen(self, window: int | None = None) -> int:
        """Visible positions, summed over the queries."""
        total = self.past + self.tokens
        if not self.causal or self.square:
            reach = total if window is None or self.square else min(window, total)
            return self.tokens * reach
        if window is None or window >= total:
            return self.tokens * self.past + self.tokens * (self.tokens + 1) // 2
        rising = max(0, window - self.past)  # queries that still see everything before them
        return rising * self.past + rising * (rising + 1) // 2 + (self.tokens - rising) * window

    def entries(self, rate: int) -> int:
        """Visible compressed entries: position p sees one for each full group of ``rate`` positions up to it."""
        last, first = self.past + self.tokens, self.past
        if self.square:
            return self.tokens * (last // rate)
        return _floors(last, rate) - _floors(first, rate)


def _floors(n: int, rate: int) -> int:
    """Sum of ``p // rate`` for p from 1 to n."""
    whole, rest = divmod(max(n, 0), rate)
    return rate * whole * (whole - 1) // 2 + whole * (rest + 1)


def forward(
    config: Config, tokens: int, past: int = 0, *, form: Form = "expanded", square: bool = False,
    logits: Literal["all", "last"] = "all", source: int | None = None,
) -> Flops:  # fmt: skip
    """One forward pass of ``tokens`` tokens of one sequence.

    Args:
        tokens: positions computed.
        past: positions before them, already in the cache.
        form: of latent attention: ``"expanded"`` makes keys and values of all heads from the latents of every
            position that it reads, ``"absorbed"`` lets the heads read the latents themselves.
        square: count masked positions too.
        logits: whether the head runs on every position or on the last only.
        source: source positions of an encoder–decoder (default: as many as all target positions); the encoder, and
            the keys and values of cross-attention, are computed where ``past`` is 0.

    Raises:
        DomainError: a length is negative.
        ConfigError: an encoder has a past, or a name is unknown.
    """
    at_least("tokens", tokens, 0)
    at_least("past", past, 0)
    return _forward(config, tokens, past, form, square, logits, source)


def decode(config: Config, context: int, *, form: Form = "absorbed", source: int | None = None) -> Flops:
    """One decoded token that attends to ``context`` positions, its own included; ``source`` as in :func:`forward`.

    Context 0 is the limit in which only the weights are left.

    Raises:
        DomainError: ``context`` is negative.
        ConfigError: the model is an encoder, which does not decode.
    """
    at_least("context", context, 0)
    return _forward(config, 1, context - 1, form, False, "all", context if source is None else source)


def training(config: Config, tokens: int, *, square: bool = False, source: int | None = None) -> Flops:
    """One training step on one sequence of ``tokens`` tokens: forward and backward, three forward passes.

    Raises:
        DomainError: ``tokens`` is negative.
    """
    return forward(config, tokens, square=square, source=source) * TRAINING


def matmul_params(config: Config) -> int:
    """Weights that one token is multiplied by: blocks (active experts) and head; no embedding, norm or bias.

    Twice this number is a token's FLOPs without its context. Short convolutions are in; of an encoder–decoder it is
    what a decoded token meets.
    """
    one = forward(config, 1) if config.kind == "encoder" else decode(config, 0, source=0)
    convs = sum(times * _conv(layer.mixer) for layer, times in config.groups.items())
    return one.weights // 2 + convs


def _conv(mixer: Mixer) -> int:
    if isinstance(mixer, GatedDelta):
        return mixer.conv * (2 * mixer.key_width + mixer.value_width)
    return mixer.conv * 3 * mixer.width if isinstance(mixer, KimiDelta) else 0


def _forward(config: Config, tokens: int, past: int, form: str, square: bool, logits: str, source: int | None):
    for what, value, known in (("form", form, ("expanded", "absorbed")), ("logits", logits, ("all", "last"))):
        if value not in known:
            raise ConfigError(f"unknown {what} {value!r}; known: {', '.join(known)}")
    if config.kind == "encoder" and past:
        raise ConfigError("an encoder has no cache: it does not decode")
    if source is None:
        source = past + tokens
    at_least("source", source, 0)
    fresh = source if past == 0 else 0
    step = _Pass(tokens, past, source, fresh, form, square, config.kind != "encoder")
    made = _stack(config, config.groups, step)
    if fresh:
        made += _stack(config, config.encoder_groups, _Pass(fresh, 0, 0, 0, form, square, False))
    per_token, per_sequence = _head(config)
    read = tokens if logits == "all" else min(tokens, 1)
    tables = 0 if config.embedding_width is None else config.embedding_width * config.d_model
    return made + Flops(head=2 * (read * per_token + per_sequence), other=2 * tokens * tables)


def _stack(config: Config, groups: dict[Layer, int], step: _Pass) -> Flops:
    made, d = Flops(), config.d_model
    for layer, times in groups.items():
        block = _mixer(layer.mixer, d, step) + _ffn(layer.ffn, d) * step.tokens
        if layer.cross is not None:
            block += _cross(layer.cross, d, step)
        made += (block + Flops(other=2 * step.tokens * layer.other)) * times
    return made


@singledispatch
def _mixer(mixer: object, d: int, step: _Pass) -> Flops:
    raise ConfigError(f"{mixer!r} is no mixer")


@_mixer.register
def _(mixer: Attention, d: int, step: _Pass) -> Flops:
    query = mixer.query_width * (2 if mixer.gate else 1)
    matrices = d * (query + 2 * mixer.kv_width + mixer.query_width)
    return Flops(2 * step.tokens * matrices) + _read(mixer, step)


@_mixer.register
def _(mixer: LatentAttention, d: int, step: _Pass) -> Flops:
    q = d * mixer.query_width if mixer.q_rank is None else mixer.q_rank * (d + mixer.query_width)
    matrices = q + d * mixer.cache_elements + mixer.value_width * d * (2 if mixer.gate else 1)
    expand = mixer.kv_rank * mixer.n_heads * (mixer.nope_dim + mixer.v_dim)
    through = step.tokens if step.form == "absorbed" else step.past + step.tokens
    return Flops(2 * (step.tokens * matrices + through * expand)) + _read(mixer, step)


@_mixer.register
def _(mixer: CompressedAttention, d: int, step: _Pass) -> Flops:
    output = mixer.query_width * mixer.o_rank + mixer.o_groups * mixer.o_rank * d
    matrices = mixer.q_rank * (d + mixer.query_width) + d * mixer.head_dim + output
    if mixer.rate is not None:
        matrices += 2 * d * mixer.head_dim * (2 if mixer.index_heads else 1)
    if mixer.index_heads:
        matrices += 4 * d * mixer.index_dim + mixer.q_rank * mixer.index_heads * mixer.index_dim + d * mixer.index_heads
    made = Flops(2 * step.tokens * matrices) + _read(mixer, step)
    if mixer.rate is not None:
        entries, half = step.entries(mixer.rate), 2 * mixer.query_width
        made += Flops(scores=entries * (half + index_flops(mixer)), values=entries * half)
    return made


@_mixer.register
def _(mixer: GatedDelta, d: int, step: _Pass) -> Flops:
    matrices = d * (2 * mixer.key_width + 3 * mixer.value_width + 2 * mixer.v_heads)
    return Flops(2 * step.tokens * matrices, recurrent=step.tokens * (6 * mixer.state_elements + 2 * _conv(mixer)))


@_mixer.register
def _(mixer: KimiDelta, d: int, step: _Pass) -> Flops:
    matrices = d * (5 * mixer.width + mixer.heads) + mixer.decay_rank * (d + mixer.width)
    return Flops(2 * step.tokens * matrices, recurrent=step.tokens * (6 * mixer.state_elements + 2 * _conv(mixer)))


def per_position(mixer: Mixer, form: str) -> tuple[int, int]:
    """FLOPs of scores and of values, per query and visible position."""
    if isinstance(mixer, LatentAttention):
        key, value = (
            (mixer.cache_elements, mixer.kv_rank) if form == "absorbed" else (mixer.head_dim, mixer.v_dim)
        )  # fmt: skip
        return 2 * mixer.n_heads * key, 2 * mixer.n_heads * value
    return 2 * mixer.query_width, 2 * mixer.query_width


def _read(mixer: Mixer, step: _Pass) -> Flops:
    seen, (scores, values) = step.seen(mixer.window), per_position(mixer, step.form)
    return Flops(scores=seen * scores, values=seen * values)


def index_flops(mixer: CompressedAttention) -> int:
    """FLOPs of an indexer per query and compressed entry: a product per head, and their weighted sum."""
    return 2 * mixer.index_heads * (mixer.index_dim + 1)


def _cross(cross: Attention, d: int, step: _Pass) -> Flops:
    matrices = step.tokens * 2 * d * cross.query_width + step.new_source * 2 * d * cross.kv_width
    read = step.tokens * step.source * 2 * cross.query_width
    return Flops(2 * matrices, scores=read, values=read)


def _ffn(ffn: FFN | MoE, d: int) -> Flops:
    """One token."""
    if isinstance(ffn, FFN):
        return Flops(ffn=2 * ffn.matrices * d * ffn.d_ff)
    width = ffn.latent or d
    latent = 0 if ffn.latent is None else 2 * d * ffn.latent
    shared = 0 if ffn.shared is None else ffn.shared.matrices * d * ffn.shared.d_ff
    experts = ffn.top_k * ffn.expert.matrices * width * ffn.expert.d_ff + latent
    return Flops(ffn=2 * shared, router=2 * d * (ffn.n_experts + ffn.shared_gate), experts=2 * experts)


def _head(config: Config) -> tuple[int, int]:
    """Weights of the head that every token meets, and those that meet one token of the sequence (a pooler)."""
    inner = config.embedding_width or config.d_model
    extra = [matrix for matrix in config.extra_head if matrix.inputs]
    words = [m for m in extra if m.outputs == inner][-1:] if config.lm_head else []
    per_token = config.lm_head * config.vocab_size * inner + sum(m.inputs * m.outputs for m in words)
    return per_token, sum(m.inputs * m.outputs for m in extra) - sum(m.inputs * m.outputs for m in words)
