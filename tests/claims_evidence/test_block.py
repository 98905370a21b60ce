"""Evidence for the page on the whole block."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load, model_facts
from blocklib.ledger.flops import ffn_crossover_tokens, ffn_crossover_tokens_causal
from blocklib.ledger.params import (
    attention_params,
    ffn_params,
    textbook_ffn_attention_ratio,
    textbook_ffn_expansion,
)
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PostNormBlock, PreNormBlock
from blocklib.nn.ffn import FeedForward, SwiGLU
from tests.claims_evidence.support import Case, block, cases, fails, gap, holds, over
from tests.ledger.build import built, numel


def off_sum_of_writes(case: Case, kind: type) -> float:
    """How far the output of three blocks is from their input plus all that attention and FFN wrote, recorded
    at the sublayers as the stack runs."""
    stack = nn.Sequential(*[block(case, kind) for _ in range(3)])
    writes: list[Tensor] = []
    for made in stack:
        for sublayer in (made.attention, made.ffn):
            sublayer.register_forward_hook(lambda _module, _inputs, output: writes.append(output))
    out = stack(case.x)
    assert len(writes) == 6
    return gap(out, case.x + sum(writes)) / (1 + out.abs().max().item())


@pytest.mark.claim("stream-is-a-sum")
def test_stream_is_a_sum():
    holds(over(cases(), off_sum_of_writes, PreNormBlock))


@pytest.mark.claim("stream-is-a-sum", control=True)
def test_stream_is_a_sum_control():
    fails(over(cases(), off_sum_of_writes, PostNormBlock))


@pytest.mark.claim("ffn-twice-attention")
@pytest.mark.parametrize("d_model", [1, 6, 768, 1600, 4096, 12288])
def test_ffn_twice_attention(d_model):
    """Layers built at this width, their parameters counted by torch."""
    with torch.device("meta"):
        attention, ffn = MultiHeadAttention(d_model, 1), FeedForward(d_model)
    assert numel(attention) == attention_params(d_model)
    assert numel(ffn) == ffn_params(d_model) == 2 * numel(attention)
    assert textbook_ffn_attention_ratio(d_model) == 2
    assert textbook_ffn_expansion() * d_model == ffn.up.out_features


# Ratios worked out by hand from the published shapes, matrices only.
RATIOS = {
    "gpt2-small": Fraction(2), "gpt3-175b": Fraction(2), "llama-7b": Fraction(3 * 11008, 4 * 4096),
    "llama-2-70b": Fraction(14, 3), "llama-3-8b": Fraction(21, 5), "mistral-7b": Fraction(21, 5),
    "qwen2.5-7b": Fraction(111, 16), "qwen3.8-27b": Fraction(51, 20),
}  # fmt: skip


@pytest.mark.claim("ratio-in-real-models")
@pytest.mark.parametrize(("model", "ratio"), RATIOS.items())
def test_ratio_in_real_models(model, ratio):
    """The two sublayers built at the model's shape, their matrices counted by torch."""
    c = load(model).config
    with torch.device("meta"):
        attention = MultiHeadAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim)
        gate = nn.Linear(c.d_model, c.query_width, bias=False) if c.output_gate else nn.Identity()
        ffn = SwiGLU(c.d_model, c.d_ff) if c.ffn == "swiglu" else FeedForward(c.d_model, c.d_ff)
    assert Fraction(numel(ffn), numel(attention, gate)) == ratio == model_facts.ffn_attention_ratio(model)


@pytest.mark.parametrize(("model", "shown"), [("gpt2-small", 1.99902), ("gpt3-175b", 1.99994), ("llama-3-8b", 4.2)])
def test_ratio_with_biases(model, shown):
    counted = built(load(model).config)
    ratio = model_facts.ffn_attention_ratio_with_biases(model)
    assert ratio == Fraction(counted["ffn"], counted["attention"]) and float(ratio) == pytest.approx(shown, abs=5e-6)


def flops(module: nn.Module, *inputs: Tensor) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    return counter.get_total_flops()


def attention_flops_of_one_token(attention: MultiHeadAttention, d_model: int, seen: int) -> int:
    """One query over ``seen`` positions; keys and values of the earlier ones were projected before."""
    token, memory = torch.zeros(1, 1, d_model), torch.zeros(1, seen, d_model)
    projected_again = 2 * flops(attention.k, torch.zeros(1, seen - 1, d_model))
    return flops(attention, token, memory) - projected_again


@pytest.mark.claim("ffn-compute-crossover")
@pytest.mark.parametrize("d_model", [4, 8, 12])
def test_ffn_compute_crossover(d_model):
    """FLOPs as torch's counter finds them, token by token: equal at 2d positions, and at 4d on a causal average."""
    attention, per_token_ffn = MultiHeadAttention(d_model, 1), flops(FeedForward(d_model), torch.zeros(1, 1, d_model))
    cost = {seen: attention_flops_of_one_token(attention, d_model, seen) for seen in range(1, 4 * d_model + 2)}
    meet = ffn_crossover_tokens(d_model)
    assert meet == 2 * d_model and cost[meet] == per_token_ffn
    assert cost[meet - 1] < per_token_ffn < cost[meet + 1]
    prompt = ffn_crossover_tokens_causal(d_model)
    assert prompt == 4 * d_model
    # Token t of a prompt sees t positions: (T + 1)/2 on average, so the lines cross between 4d - 1 and 4d + 1.
    average = {
        length: Fraction(sum(cost[t] for t in range(1, length + 1)), length) for length in (prompt - 1, prompt + 1)
    }
    assert average[prompt - 1] == per_token_ffn < average[prompt + 1]


FAMILY = {"gpt2-small": 31.0, "gpt2-medium": 14.5, "gpt2-large": 8.3, "gpt2-xl": 5.2, "gpt3-175b": 0.35}


@pytest.mark.claim("embedding-share-falls")
def test_embedding_share_falls():
    """Each model of the family built on the meta device, its tensors counted by torch; a tied head once."""
    shares = []
    for model, percent in FAMILY.items():
        components = built(load(model).config)
        share = Fraction(components["embedding"], sum(components.values()))
        assert share == model_facts.embedding_share(model)
        assert float(share) * 100 == pytest.approx(percent, abs=0.05)
        shares.append(share)
    assert shares == sorted(shares, reverse=True) and len(set(shares)) == len(shares)
