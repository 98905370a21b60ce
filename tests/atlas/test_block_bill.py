"""The bill of one block, against torch's own counter and against tensors really stored."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import block_bill
from blocklib.atlas.models import load
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU

MODELS = ("gpt2-small", "llama-3-8b", "llama-2-70b")


def counted(module: torch.nn.Module, d_model: int) -> int:
    with FlopCounterMode(display=False) as counter:
        module(torch.empty(1, 1, d_model, device="meta"))
    return counter.get_total_flops()


@pytest.mark.parametrize("model", MODELS)
def test_flops_match_the_flop_counter(model):
    c = load(model).config
    with torch.device("meta"):
        ffn = SwiGLU(c.d_model, c.d_ff) if c.ffn == "swiglu" else FeedForward(c.d_model, c.d_ff)
        attention = MultiHeadAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim)
    assert block_bill.model_ffn_flops(model) == counted(ffn, c.d_model)
    scores = 4 * c.query_width  # one token that reads itself: one score and one weighted value per query channel
    assert block_bill.model_projection_flops(model) == counted(attention, c.d_model) - scores


@pytest.mark.parametrize("model", MODELS)
def test_cache_of_a_layer_by_storing_it(model):
    c = load(model).config
    stored = [torch.empty(c.n_kv_heads, 1, c.head_dim, dtype=torch.bfloat16) for _ in ("key", "value")]
    assert block_bill.kv_bytes_per_layer(model, "bf16") == sum(t.nbytes for t in stored)
    assert block_bill.kv_bytes_per_layer(model, "fp32") == 2 * block_bill.kv_bytes_per_layer(model, "bf16")


def test_additions_and_norms_by_counting():
    # RMSNorm, element by element: square, add to the sum, scale, gain. Twice a block, as are the residual additions.
    width = load("llama-3-8b").config.d_model
    operations = sum(("square", "sum", "scale", "gain").count(step) for _ in range(width)
                     for step in ("square", "sum", "scale", "gain"))  # fmt: skip
    assert block_bill.model_norm_ops("llama-3-8b") == 2 * operations
    assert block_bill.residual_adds("llama-3-8b") == sum(torch.zeros(width).numel() for _ in ("attention", "ffn"))
