"""Llama and its near relatives Mistral, Qwen2 and Qwen3: RMSNorm before each sublayer, RoPE, SwiGLU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from torch import nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.families.family import (
    GATED_ACTIVATIONS,
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
from blocklib.nn.families.fields import Fields
from blocklib.nn.families.rope import read_rope
from blocklib.nn.families.weights import Rule
from blocklib.nn.ffn import Gated, GatedFeedForward
from blocklib.nn.masks import SlidingWindow
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import PerHeadQKNorm, RMSNorm
from blocklib.nn.position import RoPE
from blocklib.nn.scores import FusedDotProduct

NORMS = {"norm_attention": "input_layernorm", "norm_ffn": "post_attention_layernorm"}


def attention_of(
    shape: Shape, rope: RoPE, window: int | None = None, bias: bool = False, qk_norm: nn.Module | None = None
) -> MultiHeadAttention:
    """Attention of these sizes, through torch's fused kernel."""
    return MultiHeadAttention(
        shape.d_model,
        shape.n_heads,
        shape.n_kv_heads,
        shape.head_dim,
        bias,
        pattern=None if window is None else SlidingWindow(window),
        rope=rope,
        qk_norm=qk_norm,
        core=FusedDotProduct(),
    )


def llama(fields: Fields) -> DecoderLM:
    """A model of Llama's shape: no windows; biases where the config says."""
    shape, rope = _begin(fields)
    bias, ffn_bias = fields.flag("attention_bias", False), fields.flag("mlp_bias", False)
    return _model(fields, shape, [attention_of(shape, rope, None, bias) for _ in range(shape.n_layers)], ffn_bias)


def mistral(fields: Fields) -> DecoderLM:
    """A model of Mistral's shape: the same window in every layer, or none."""
    shape, rope = _begin(fields, kv_heads=8)
    window = fields.integer("sliding_window", 4096) if "sliding_window" not in fields.values else None
    window = fields.integer("sliding_window", None) if window is None else window
    return _model(fields, shape, [attention_of(shape, rope, window) for _ in range(shape.n_layers)])


def qwen2(fields: Fields) -> DecoderLM:
    """A model of Qwen2's shape: biases on queries, keys and values; windows in the upper layers, if at all."""
    shape, rope = _begin(fields)
    layers = [attention_of(shape, rope, window, bias=True) for window in _upper_windows(fields, shape)]
    for attention in layers:
        attention.o = nn.Linear(shape.n_heads * shape.head_dim, shape.d_model, bias=False)
    return _model(fields, shape, layers)


def qwen3(fields: Fields) -> DecoderLM:
    """A model of Qwen3's shape: a norm of every query and key head; windows as Qwen2."""
    shape, rope = _begin(fields, head_dim=128)
    bias = fields.flag("attention_bias", False)
    norm = partial(RMSNorm, eps=fields.number("rms_norm_eps", 1e-6))
    layers = [
        attention_of(shape, rope, window, bias, PerHeadQKNorm(shape.head_dim, norm))
        for window in _upper_windows(fields, shape)
    ]
    return _model(fields, shape, layers)


def _begin(fields: Fields, kv_heads: int | None = None, head_dim: int | None = None) -> tuple[Shape, RoPE]:
    shape = read_shape(fields, kv_heads, head_dim)
    return shape, read_rope(fields, shape.head_dim)


def _upper_windows(fields: Fields, shape: Shape) -> list[int | None]:
    window = fields.integer("sliding_window", None) if "sliding_window" in fields.values else 4096
    below = fields.take("max_window_layers", 28, "")
    if not isinstance(below, int) or isinstance(below, bool) or below < 0:
        raise fields.refuse("max_window_layers", "an integer from 0")
    window = window if fields.flag("use_sliding_window", False) else None
    return read_layers(fields, shape.n_layers, window, lambda i: window is not None and i >= below)


def _model(fields: Fields, shape: Shape, layers: list[MultiHeadAttention], ffn_bias: bool = False) -> DecoderLM:
    norm = partial(RMSNorm, eps=fields.number("rms_norm_eps", 1e-6))
    join = Gated(fields.choice("hidden_act", GATED_ACTIVATIONS, "silu"))
    blocks = [
        PreNormBlock(shape.d_model, attention, GatedFeedForward(shape.d_model, shape.d_ff, join, ffn_bias), norm)
        for attention in layers
    ]
    return DecoderLM(shape.vocab_size, shape.d_model, blocks, norm, tied=fields.flag("tie_word_embeddings", False))


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go."""
    yield from outer_rules(model)
    for i, block in enumerate(model.blocks):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        yield from attention_rules(block.attention, model, f"{ours}.attention", f"{theirs}.self_attn")
        yield from gated_rules(model, f"{ours}.ffn", f"{theirs}.mlp")
        yield from norm_rules(block, ours, theirs, NORMS)


LLAMA = Family("Llama", llama, rules, frozenset({"pretraining_tp"}), spares=usual_spares)
MISTRAL = Family("Mistral", mistral, rules, spares=usual_spares)
QWEN2 = Family("Qwen2", qwen2, rules, spares=usual_spares)
QWEN3 = Family("Qwen3", qwen3, rules, spares=usual_spares)
