"""OLMo 2: norms on what the sublayers write, a norm over all query heads and one over all key heads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blocklib.nn.block import OutputNormBlock
from blocklib.nn.families.family import (
    GATED_ACTIVATIONS,
    Family,
    attention_rules,
    gated_rules,
    norm_rules,
    outer_rules,
    read_shape,
    usual_spares,
)
from blocklib.nn.families.fields import Fields
from blocklib.nn.families.llama import attention_of
from blocklib.nn.families.rope import read_rope
from blocklib.nn.families.weights import Rule
from blocklib.nn.ffn import Gated, GatedFeedForward
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import FullQKNorm, RMSNorm

NORMS = {"norm_attention": "post_attention_layernorm", "norm_ffn": "post_feedforward_layernorm"}


def build(fields: Fields) -> DecoderLM:
    """A model of OLMo 2's shape."""
    shape = read_shape(fields)
    rope = read_rope(fields, shape.head_dim)
    norm = partial(RMSNorm, eps=fields.number("rms_norm_eps", 1e-5))
    join = Gated(fields.choice("hidden_act", GATED_ACTIVATIONS, "silu"))
    bias = fields.flag("attention_bias", False)
    blocks = []
    for _ in range(shape.n_layers):
        qk_norm = FullQKNorm(shape.n_heads, shape.n_kv_heads, shape.head_dim, norm)
        attention = attention_of(shape, rope, bias=bias, qk_norm=qk_norm)
        blocks.append(
            OutputNormBlock(shape.d_model, attention, GatedFeedForward(shape.d_model, shape.d_ff, join), norm)
        )
    return DecoderLM(shape.vocab_size, shape.d_model, blocks, norm, tied=fields.flag("tie_word_embeddings", False))


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go."""
    yield from outer_rules(model)
    for i, block in enumerate(model.blocks):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        yield from attention_rules(block.attention, model, f"{ours}.attention", f"{theirs}.self_attn")
        yield from gated_rules(model, f"{ours}.ffn", f"{theirs}.mlp")
        yield from norm_rules(block, ours, theirs, NORMS)


FAMILY = Family("Olmo2", build, rules, spares=usual_spares)
