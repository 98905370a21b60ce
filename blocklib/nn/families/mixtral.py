"""Mixtral: Mistral's block with a mixture of experts in place of the FFN."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blocklib.nn.block import PreNormBlock
from blocklib.nn.families.family import (
    GATED_ACTIVATIONS,
    Family,
    attention_rules,
    norm_rules,
    outer_rules,
    read_shape,
    usual_spares,
)
from blocklib.nn.families.fields import MOST_EXPERTS, Fields
from blocklib.nn.families.llama import NORMS, attention_of
from blocklib.nn.families.rope import read_rope
from blocklib.nn.families.weights import PER_EXPERT, Rule
from blocklib.nn.ffn import Gated
from blocklib.nn.model import DecoderLM
from blocklib.nn.moe import Experts, MoE, SoftmaxThenTopK
from blocklib.nn.norm import RMSNorm

INERT = frozenset({"output_router_logits", "router_aux_loss_coef", "router_jitter_noise"})


def build(fields: Fields) -> DecoderLM:
    """A model of Mixtral's shape."""
    shape = read_shape(fields, kv_heads=8)
    rope = read_rope(fields, shape.head_dim, theta=1e6)
    window = fields.integer("sliding_window", None)
    norm = partial(RMSNorm, eps=fields.number("rms_norm_eps", 1e-5))
    join = Gated(fields.choice("hidden_act", GATED_ACTIVATIONS, "silu"))
    n_experts, k = read_experts(fields, 8, 2)
    blocks = []
    for _ in range(shape.n_layers):
        moe = MoE(shape.d_model, Experts(n_experts, shape.d_model, shape.d_ff, join), SoftmaxThenTopK(k))
        blocks.append(PreNormBlock(shape.d_model, attention_of(shape, rope, window), moe, norm))
    return DecoderLM(shape.vocab_size, shape.d_model, blocks, norm, tied=fields.flag("tie_word_embeddings", False))


def read_experts(fields: Fields, experts: int, k: int) -> tuple[int, int]:
    """How many experts there are, and how many a token uses; the family's own where the config does not say.

    Raises:
        CheckpointError: a token would use more experts than there are.
    """
    n_experts = fields.integer("num_local_experts", experts, MOST_EXPERTS)
    used = fields.integer("num_experts_per_tok", k, MOST_EXPERTS)
    if used > n_experts:
        raise fields.refuse("num_experts_per_tok", f"at most num_local_experts = {n_experts}")
    return n_experts, used


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go: w1 is the gate, w3 the value, w2 the way back."""
    yield from outer_rules(model)
    for i, block in enumerate(model.blocks):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        yield from attention_rules(block.attention, model, f"{ours}.attention", f"{theirs}.self_attn")
        yield from norm_rules(block, ours, theirs, NORMS)
        yield Rule((f"{ours}.ffn.router.weight",), (f"{theirs}.block_sparse_moe.gate.weight",))
        for mine, other in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
            each = range(block.ffn.experts.n_experts)
            names = tuple(f"{theirs}.block_sparse_moe.experts.{e}.{other}.weight" for e in each)
            yield Rule((f"{ours}.ffn.experts.{mine}",), names, PER_EXPERT)


FAMILY = Family("Mixtral", build, rules, INERT, spares=usual_spares)
