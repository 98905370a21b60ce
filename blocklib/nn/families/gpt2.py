"""GPT-2: LayerNorm before each sublayer, learned positions, biases everywhere, matrices stored input first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.families.family import Family
from blocklib.nn.families.fields import MOST_HEADS, MOST_LAYERS, Fields
from blocklib.nn.families.weights import FUSED, FUSED_TRANSPOSED, TRANSPOSED, Rule, Spare
from blocklib.nn.ffn import FeedForward
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import LayerNorm
from blocklib.nn.scores import FusedDotProduct

ACTIVATIONS = {
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "relu2": "relu2",
    "silu": "silu", "swish": "silu",
}  # fmt: skip
INERT = frozenset(
    """
    attn_pdrop embd_pdrop resid_pdrop reorder_and_upcast_attn summary_activation summary_first_dropout
    summary_proj_to_labels summary_type summary_use_proj
    """.split()
)


def build(fields: Fields) -> DecoderLM:
    """A model of GPT-2's shape.

    Raises:
        CheckpointError: a field is missing, wrong, or means something that is not built.
    """
    d_model, n_heads = fields.integer("n_embd"), fields.integer("n_head", most=MOST_HEADS)
    if d_model % n_heads:
        raise fields.refuse("n_embd", f"a multiple of n_head = {n_heads}")
    n_layers, positions = fields.integer("n_layer", most=MOST_LAYERS), fields.integer("n_positions")
    d_ff = fields.integer("n_inner", None) or 4 * d_model
    activation = fields.choice("activation_function", ACTIVATIONS, "gelu_new")
    norm = partial(LayerNorm, eps=fields.number("layer_norm_epsilon", 1e-5))
    fields.only("add_cross_attention", False)
    fields.only("n_ctx", None, positions)
    scaled = fields.flag("scale_attn_weights", True)
    by_layer = fields.flag("scale_attn_by_inverse_layer_idx", False)
    blocks = []
    for i in range(n_layers):
        scale = ((d_model // n_heads) ** -0.5 if scaled else 1.0) / (i + 1 if by_layer else 1)
        attention = MultiHeadAttention(d_model, n_heads, bias=True, core=FusedDotProduct(scale))
        blocks.append(PreNormBlock(d_model, attention, FeedForward(d_model, d_ff, activation, bias=True), norm))
    tied = fields.flag("tie_word_embeddings", True)
    return DecoderLM(fields.integer("vocab_size"), d_model, blocks, norm, positions, tied)


def rules(model: DecoderLM) -> Iterator[Rule]:
    """Where the tensors go; queries, keys and values lie in one."""
    yield Rule(("embed.weight",), ("transformer.wte.weight",))
    yield Rule(("position.weight",), ("transformer.wpe.weight",))
    yield from _norm("final_norm", "transformer.ln_f")
    if model.head.weight is not model.embed.weight:
        yield Rule(("head.weight",), ("lm_head.weight",))
    for i in range(len(model.blocks)):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        yield from _norm(f"{ours}.norm_attention", f"{theirs}.ln_1")
        yield from _norm(f"{ours}.norm_ffn", f"{theirs}.ln_2")
        qkv = [f"{ours}.attention.{name}" for name in "qkv"]
        yield Rule(tuple(f"{name}.weight" for name in qkv), (f"{theirs}.attn.c_attn.weight",), FUSED_TRANSPOSED)
        yield Rule(tuple(f"{name}.bias" for name in qkv), (f"{theirs}.attn.c_attn.bias",), FUSED)
        for mine, other in (("attention.o", "attn.c_proj"), ("ffn.up", "mlp.c_fc"), ("ffn.down", "mlp.c_proj")):
            yield Rule((f"{ours}.{mine}.weight",), (f"{theirs}.{other}.weight",), TRANSPOSED)
            yield Rule((f"{ours}.{mine}.bias",), (f"{theirs}.{other}.bias",))


def _norm(ours: str, theirs: str) -> Iterator[Rule]:
    yield Rule((f"{ours}.gain",), (f"{theirs}.weight",))
    yield Rule((f"{ours}.bias",), (f"{theirs}.bias",))


def spares(model: DecoderLM) -> Iterator[Spare]:
    """A tied head stored a second time, and the causal masks and fill values that old checkpoints store."""
    if model.head.weight is model.embed.weight:
        yield Spare(
            "lm_head.weight", lambda t, ours: torch.equal(t.to(ours["embed.weight"].dtype), ours["embed.weight"])
        )
    for i in range(len(model.blocks)):
        yield Spare(f"transformer.h.{i}.attn.bias", _causal)
        yield Spare(f"transformer.h.{i}.attn.masked_bias", lambda t, ours: t.numel() == 1 and t.item() <= -1e4)


def _causal(mask: Tensor, ours: dict[str, Tensor]) -> bool:
    size = mask.shape[-1]
    return mask.shape == (1, 1, size, size) and torch.equal(mask[0, 0] != 0, torch.ones(size, size).tril() != 0)


FAMILY = Family("GPT2", build, rules, INERT, prefix="transformer.", spares=spares, head="LMHeadModel")
