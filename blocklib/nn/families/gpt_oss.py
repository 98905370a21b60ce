"""gpt-oss: sinks in the softmax, every other layer with a window, experts with clamped SwiGLU and biases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.families.family import (
    Family,
    attention_rules,
    norm_rules,
    outer_rules,
    read_layers,
    read_shape,
    usual_spares,
)
from blocklib.nn.families.fields import Fields
from blocklib.nn.families.llama import NORMS
from blocklib.nn.families.mixtral import INERT, read_experts
from blocklib.nn.families.rope import read_rope, rope_of
from blocklib.nn.families.weights import ALTERNATE, ALTERNATE_TRANSPOSED, STACK_TRANSPOSED, Rule, linear
from blocklib.nn.ffn import ClampedSwiGLU
from blocklib.nn.masks import SlidingWindow
from blocklib.nn.model import DecoderLM
from blocklib.nn.moe import Experts, MoE, TopKThenSoftmax
from blocklib.nn.norm import RMSNorm
from blocklib.nn.position import RoPE
from blocklib.nn.scores import WithSinks

YARN = {
    "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip


def build(fields: Fields) -> DecoderLM:
    """A model of gpt-oss's shape."""
    shape = read_shape(fields, kv_heads=8, head_dim=64)
    rope = _rope(fields, shape.head_dim)
    window = fields.integer("sliding_window", None) if "sliding_window" in fields.values else 128
    windows = read_layers(fields, shape.n_layers, window, lambda i: i % 2 == 0)
    norm = partial(RMSNorm, eps=fields.number("rms_norm_eps", 1e-5))
    bias = fields.flag("attention_bias", True)
    n_experts, k = read_experts(fields, 128, 4)
    fields.only("experts_per_token", None, k)
    fields.only("hidden_act", "silu")
    join = ClampedSwiGLU(fields.number("swiglu_alpha", 1.702), fields.number("swiglu_limit", 7.0))
    blocks = []
    for slide in windows:
        attention = MultiHeadAttention(
            shape.d_model,
            shape.n_heads,
            shape.n_kv_heads,
            shape.head_dim,
            bias,
            pattern=None if slide is None else SlidingWindow(slide),
            rope=rope,
            core=WithSinks(shape.n_heads),
        )
        experts = Experts(n_experts, shape.d_model, shape.d_ff, join, bias=True)
        moe = MoE(shape.d_model, experts, TopKThenSoftmax(k), router_bias=True)
        blocks.append(PreNormBlock(shape.d_model, attention, moe, norm))
    return DecoderLM(shape.vocab_size, shape.d_model, blocks, norm, tied=fields.flag("tie_word_embeddings", False))


def _rope(fields: Fields, head_dim: int) -> RoPE:
    if fields.given("rope_parameters") or fields.given("rope_scaling"):
        return read_rope(fields, head_dim, theta=150_000.0)
    context = fields.integer("max_position_embeddings", None)
    theta = fields.number("rope_theta", None)
    return rope_of(Fields(YARN, fields.where), head_dim, theta or 150_000.0, context)


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go; gate and value of the experts lie in alternate columns."""
    yield from outer_rules(model)
    for i, block in enumerate(model.blocks):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        yield from attention_rules(block.attention, model, f"{ours}.attention", f"{theirs}.self_attn")
        yield Rule((f"{ours}.attention.core.sinks",), (f"{theirs}.self_attn.sinks",))
        yield from norm_rules(block, ours, theirs, NORMS)
        yield from linear(model, f"{ours}.ffn.router", f"{theirs}.mlp.router")
        mine, other = f"{ours}.ffn.experts", f"{theirs}.mlp.experts"
        yield Rule((f"{mine}.gate", f"{mine}.up"), (f"{other}.gate_up_proj",), ALTERNATE_TRANSPOSED)
        yield Rule((f"{mine}.gate_bias", f"{mine}.up_bias"), (f"{other}.gate_up_proj_bias",), ALTERNATE)
        yield Rule((f"{mine}.down",), (f"{other}.down_proj",), STACK_TRANSPOSED)
        yield Rule((f"{mine}.down_bias",), (f"{other}.down_proj_bias",))


FAMILY = Family("GptOss", build, rules, INERT | {"initial_context_length"}, spares=usual_spares)
