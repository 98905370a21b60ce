"""FLOPs against torch's own counter on modules that run, and crossovers against a search."""

from __future__ import annotations

import random
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


def test_the_narrowest_block():
    assert (flops.ffn_flops(1), flops.attention_flops(1, 0), flops.attention_flops(1, 3)) == (16, 8, 20)
    assert (flops.ffn_crossover_tokens(1), flops.ffn_crossover_tokens_causal(1)) == (2, 4)


@pytest.mark.parametrize("model", ["deepseek-v4-flash", "kimi-k3", "gemma-3-1b", "llama-3-8b"])
def test_pieces_are_what_a_longer_context_adds(model):
    """Beyond every window, and over a stretch that all compression rates divide."""
    config, pieces = load(model).config, flops.attention_pieces(load(model).config)
    assert len(dict(pieces)) == len(pieces)
    near, far = 2**20, 2**20 + 2**14
    added = flops.decode(config, far).attention - flops.decode(config, near).attention
    assert added == dict(pieces)[None] * (far - near)


def test_a_window_of_its_own_size_adds_nothing_more():
    config = load("gemma-3-1b").config
    (window, slope), *_ = [piece for piece in flops.attention_pieces(config) if piece[0] is not None]
    assert window == 512 and slope == 22 * 4 * 4 * 256


def test_an_encoders_crossover():
    """BERT: an FFN of 4d costs 16d² a token, scores and values 4d a position: 4d positions."""
    assert flops.score_crossover(load("bert-base-uncased").config) == 4 * 768


def test_solve_against_the_sum_itself():
    dice, never = random.Random(7), 0
    for _ in range(400):
        windows = [dice.choice([None, *range(1, 9)]) for _ in range(dice.randint(1, 4))]
        pieces = tuple((window, Fraction(dice.randint(0, 5))) for window in windows)
        target = Fraction(dice.randint(0, 120), dice.choice([1, 2, 3]))

        def total(context, pieces=pieces):
            return sum(slope * (context if window is None else min(context, window)) for window, slope in pieces)

        found = flops.solve(pieces, target)
        if found is None:
            never += 1
            assert total(10**6) < target or total(10**6) == 0
        else:
            assert total(found) == target and (found == 0 or total(found - Fraction(1, 10**6)) < target)
    assert 20 < never < 380
    assert flops.solve(((1, Fraction(10)), (None, Fraction(1))), Fraction(11, 2)) == Fraction(1, 2)


def test_refusals():
    for call in (lambda: flops.ffn_flops(0), lambda: flops.attention_flops(0, 1), lambda: flops.attention_flops(8, -1),
                 lambda: flops.ffn_crossover_tokens(0), lambda: flops.score_flops(params.textbook(4), -1)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
