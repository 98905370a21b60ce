"""Gemma 2 and Gemma 3 (text): zero-centred norms on both sides of each sublayer, scaled embeddings, some windows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from torch import nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import SandwichBlock
from blocklib.nn.families.family import (
    GATED_ACTIVATIONS,
    LAYER_KINDS,
    Family,
    Shape,
    attention_rules,
    gated_rules,
    norm_rules,
    outer_rules,
    read_layers,
    read_shape,
    usual_spares,
)
from blocklib.nn.families.fields import CheckpointError, Fields
from blocklib.nn.families.rope import read_rope, rope_of
from blocklib.nn.families.weights import Rule
from blocklib.nn.ffn import Gated, GatedFeedForward
from blocklib.nn.masks import SlidingWindow
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import PerHeadQKNorm, ZeroCentredRMSNorm
from blocklib.nn.position import RoPE
from blocklib.nn.scores import DotProduct, FusedDotProduct, SoftCapped

NORMS = {
    "norm_attention": "input_layernorm",
    "norm_attention_out": "post_attention_layernorm",
    "norm_ffn": "pre_feedforward_layernorm",
    "norm_ffn_out": "post_feedforward_layernorm",
}


def gemma2(fields: Fields) -> DecoderLM:
    """A model of Gemma 2's shape: capped scores and logits, every other layer with a window."""
    shape = read_shape(fields, kv_heads=4, head_dim=256)
    rope = read_rope(fields, shape.head_dim)
    window = _window(fields)
    fields.only("sliding_window_size", None, window)
    scale, cap = _scale(fields), _default(fields, "attn_logit_softcapping", 50.0)
    core = FusedDotProduct(scale) if cap is None else SoftCapped(cap, scale)
    windows = read_layers(fields, shape.n_layers, window, lambda i: i % 2 == 0)
    norm = _norm(fields)
    return _model(fields, shape, norm, [(w, rope, core, None) for w in windows], 30.0)


def gemma3(fields: Fields) -> DecoderLM:
    """A model of Gemma 3's shape: norms of query and key heads, five windows to a full layer, each kind its RoPE."""
    shape = read_shape(fields, kv_heads=4, head_dim=256)
    fields.only("attn_logit_softcapping", None)
    core, norm = FusedDotProduct(_scale(fields)), _norm(fields)
    every = fields.integer("sliding_window_pattern", 6)
    fields.only("_sliding_window_pattern", None, every)
    windows = read_layers(fields, shape.n_layers, _window(fields), lambda i: bool((i + 1) % every))
    full, local = _two_ropes(fields, shape.head_dim)
    layers = [(w, full if w is None else local, core, PerHeadQKNorm(shape.head_dim, norm)) for w in windows]
    return _model(fields, shape, norm, layers, None)


def _model(
    fields: Fields,
    shape: Shape,
    norm: partial,
    layers: list[tuple[int | None, RoPE, DotProduct, nn.Module | None]],
    logit_cap: float | None,
) -> DecoderLM:
    """The rest, alike in both; a layer is its window, RoPE, core and norm of queries and keys."""
    activation = fields.take("hidden_activation", "gelu_pytorch_tanh", "a word")
    join = Gated(fields.choice("hidden_activation", GATED_ACTIVATIONS, "gelu_pytorch_tanh"))
    fields.only("hidden_act", None, activation)
    fields.only("use_bidirectional_attention", None, False)
    bias = fields.flag("attention_bias", False)
    blocks = []
    for window, rope, core, qk_norm in layers:
        attention = MultiHeadAttention(
            shape.d_model,
            shape.n_heads,
            shape.n_kv_heads,
            shape.head_dim,
            bias,
            pattern=None if window is None else SlidingWindow(window),
            rope=rope,
            qk_norm=qk_norm,
            core=core,
        )
        blocks.append(SandwichBlock(shape.d_model, attention, GatedFeedForward(shape.d_model, shape.d_ff, join), norm))
    return DecoderLM(
        shape.vocab_size,
        shape.d_model,
        blocks,
        norm,
        tied=fields.flag("tie_word_embeddings", True),
        embed_scale=shape.d_model**0.5,
        logit_cap=_default(fields, "final_logit_softcapping", logit_cap),
    )


def _norm(fields: Fields) -> partial:
    return partial(ZeroCentredRMSNorm, eps=fields.number("rms_norm_eps", 1e-6))


def _scale(fields: Fields) -> float:
    return fields.number("query_pre_attn_scalar", 256) ** -0.5


def _window(fields: Fields) -> int | None:
    return fields.integer("sliding_window", None) if "sliding_window" in fields.values else 4096


def _default(fields: Fields, name: str, default: float | None) -> float | None:
    """A number; null, where written, is none at all and not the family's own."""
    return fields.number(name, None) if name in fields.values else default


def _two_ropes(fields: Fields, head_dim: int) -> tuple[RoPE, RoPE]:
    """RoPE of the full layers and of those with a window."""
    context = fields.integer("max_position_embeddings", None)
    theta, local = fields.number("rope_theta", None), fields.number("rope_local_base_freq", None)
    group, old = fields.group("rope_parameters"), fields.group("rope_scaling")
    if group is not None and (old is not None or theta is not None or local is not None):
        raise CheckpointError("rope_parameters is given together with older fields for RoPE", where=fields.where)
    if group is None:
        return rope_of(old, head_dim, theta or 1e6, context), rope_of(None, head_dim, local or 1e4, context)
    full, sliding = (group.group(kind) for kind in LAYER_KINDS)
    group.finish()
    return rope_of(full, head_dim, 1e6, context), rope_of(sliding, head_dim, 1e4, context)


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go."""
    yield from outer_rules(model)
    for i, block in enumerate(model.blocks):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        yield from attention_rules(block.attention, model, f"{ours}.attention", f"{theirs}.self_attn")
        yield from gated_rules(model, f"{ours}.ffn", f"{theirs}.mlp")
        yield from norm_rules(block, ours, theirs, NORMS)


GEMMA2 = Family("Gemma2", gemma2, rules, spares=usual_spares)
GEMMA3 = Family("Gemma3", gemma3, rules, spares=usual_spares)
