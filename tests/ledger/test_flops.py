"""FLOPs against torch's own counter on modules that run, and crossovers against a search."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load
from blocklib.exact import DomainError
from blocklib.ledger import flops, params
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU

SHAPES = [(8, 3), (16, 1), (24, 7), (32, 32), (48, 5), (64, 20), (96, 11), (128, 40)]


def counted(module: torch.nn.Module, *inputs: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    return counter.get_total_flops()


@pytest.mark.parametrize(("d_model", "tokens"), SHAPES)
def test_block_flops_match_the_flop_counter(d_model, tokens):
    x = torch.zeros(1, tokens, d_model)
    attention = MultiHeadAttention(d_model, 4, causal=False)
    assert counted(FeedForward(d_model), x) == tokens * flops.ffn_flops(d_model)
    assert counted(attention, x) == tokens * flops.attention_flops(d_model, tokens)
    assert flops.block_matmul_flops(d_model) == flops.ffn_flops(d_model) + flops.attention_flops(d_model, 0)


@pytest.mark.parametrize("model", ["gpt2-small", "llama-3-8b", "qwen2.5-7b"])
def test_real_shapes_match_the_flop_counter(model):
    c, tokens = load(model).config, 3
    with torch.device("meta"):
        x = torch.zeros(1, tokens, c.d_model)
        attention = MultiHeadAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim, causal=False)
        ffn = SwiGLU(c.d_model, c.d_ff) if c.ffn == "swiglu" else FeedForward(c.d_model, c.d_ff)
    assert counted(attention, x) == tokens * (flops.projection_flops(c) + flops.score_flops(c, tokens))
    assert counted(ffn, x) == tokens * flops.ffn_flops_of(c)


@pytest.mark.parametrize("d_model", [8, 768, 4096, 12288])
def test_crossover_is_where_the_costs_meet(d_model):
    meet = flops.ffn_crossover_tokens(d_model)
    assert flops.attention_flops(d_model, meet) == flops.ffn_flops(d_model)
    assert flops.attention_flops(d_model, meet - 1) < flops.ffn_flops(d_model)
    # Mean over a prompt of T tokens, token t seeing t of them: (T + 1) / 2.
    prompt = flops.ffn_crossover_tokens_causal(d_model) - 1
    mean_seen = Fraction(sum(range(1, prompt + 1)), prompt)
    assert mean_seen == meet


def test_known_crossovers():
    assert flops.ffn_crossover_tokens(768) == 1536 and flops.ffn_crossover_tokens_causal(12288) == 49152
    llama = flops.crossover_tokens_of(load("llama-3-8b").config)
    assert llama == Fraction(2 * (176_160_768 - 41_943_040), 4 * 4096)


def test_refusals():
    for call in (lambda: flops.ffn_flops(0), lambda: flops.attention_flops(0, 1), lambda: flops.attention_flops(8, -1),
                 lambda: flops.ffn_crossover_tokens(0), lambda: flops.score_flops(params.textbook(4), -1)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
