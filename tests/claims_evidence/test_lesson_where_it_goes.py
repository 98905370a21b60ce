"""Evidence for the lesson on where parameters and FLOPs go."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load
from blocklib.atlas.model_facts import ffn_share, ffn_total_params, parameters
from blocklib.atlas.where_facts import (
    ffn_share_of_blocks,
    ffn_share_of_checkpoint,
    mixer_total,
    recurrent_mixer_weights,
    score_crossover_tokens,
)
from blocklib.ledger import flops, params
from blocklib.ledger.config import uniform
from blocklib.nn.masks import SlidingWindow, causal_mask
from blocklib.nn.moe import Experts, MoE, SoftmaxThenTopK
from tests.atlas.counts import COMPONENTS, COUNTS

QWEN = "qwen3.8-27b"


def counted(run) -> int:
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        run()
    return counter.get_total_flops()


@pytest.mark.claim("ffn-share-has-three-wholes")
def test_ffn_share_has_three_wholes():
    """The FFNs against a count of the model's tensors made elsewhere, and against the checkpoint's printed size."""
    *components, total = COUNTS[QWEN]
    by_name = dict(zip(COMPONENTS, components, strict=True))
    outside = by_name["embedding"] + by_name["head"] + 5120
    assert ffn_total_params(QWEN) == by_name["ffn"] == 64 * 3 * 5120 * 17_408 and parameters(QWEN) == total
    shares = (ffn_share_of_checkpoint(QWEN), ffn_share(QWEN), ffn_share_of_blocks(QWEN))
    assert shares[1] == Fraction(by_name["ffn"], total) and shares[2] == Fraction(by_name["ffn"], total - outside)
    assert float(shares[0]) == pytest.approx(2 * by_name["ffn"] / 55.56e9, rel=1e-9)
    assert [f"{100 * float(s):.1f}" for s in shares] == ["61.6", "63.6", "70.3"]


@pytest.mark.claim("linear-attention-holds-more")
def test_linear_attention_holds_more():
    shapes = [(10_240, 5120), (6144, 5120), (48, 5120), (48, 5120), (10_240, 1, 4), (48,), (48,), (5120, 6144)]
    layer = sum(torch.empty(shape, device="meta").numel() for shape in shapes)
    with torch.device("meta"):
        full = [nn.Linear(5120, 2 * 6144), nn.Linear(5120, 1024), nn.Linear(5120, 1024), nn.Linear(6144, 5120)]
    attention = sum(m.weight.numel() for m in full)
    assert recurrent_mixer_weights(QWEN) == layer > attention
    assert mixer_total(QWEN, "recurrent") == 48 * layer and mixer_total(QWEN, "softmax") == 16 * attention
    assert 3.3 < Fraction(48 * layer, 16 * attention) < 3.4


@pytest.mark.claim("a-table-costs-no-flops")
@pytest.mark.parametrize(("vocab", "d"), [(100, 8), (1000, 64)])
def test_a_table_costs_no_flops(vocab, d):
    """torch's counter on a look-up and on a head of the same shape."""
    with torch.device("meta"):
        table, head = nn.Embedding(vocab, d), nn.Linear(d, vocab, bias=False)
    assert table.weight.numel() == head.weight.numel()
    assert counted(lambda: table(torch.zeros(1, dtype=torch.long))) == 0
    assert counted(lambda: head(torch.empty(1, d))) == 2 * vocab * d
    c = load(QWEN).config
    one = flops.forward(c, 1)
    assert one.head == 2 * params.count(c).embedding == 2 * params.count(c).head


@pytest.mark.claim("experts-rest")
def test_experts_rest():
    """A mixture's FLOPs per token by torch's counter: those of the experts visited, whatever the number held."""
    d, d_ff = 16, 24
    held, spent = [], []
    for n_experts in (4, 16):
        moe = MoE(d, Experts(n_experts, d, d_ff), SoftmaxThenTopK(2))
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            moe(torch.randn(1, 1, d))
        router = 2 * d * n_experts
        held.append(sum(p.numel() for p in moe.parameters()) - d * n_experts)
        spent.append(counter.get_total_flops() - router)
    assert held[1] == 4 * held[0] and spent[0] == spent[1] == 2 * 2 * 3 * d * d_ff
    assert score_crossover_tokens("qwen3-next-80b-a3b", "last") < score_crossover_tokens(QWEN, "last")


@pytest.mark.claim("attention-overtakes-the-ffn")
def test_attention_overtakes_the_ffn():
    """The two sides of random decoders at the crossing that the formula gives, one token before it and one after."""
    rng = random.Random(0)
    for _ in range(20):
        heads, head_dim, d = rng.choice([2, 4, 8]), 16, 16 * rng.randint(2, 8)
        config = uniform(
            vocab_size=100, d_model=d, n_layers=rng.randint(1, 6), n_heads=heads, n_kv_heads=rng.choice([1, heads]),
            head_dim=head_dim, d_ff=rng.choice([2, 3, 4]) * d, ffn="swiglu", norm="rmsnorm", tied=True,
        )  # fmt: skip
        meets = Fraction(params.count(config).ffn, 2 * config.n_layers * heads * head_dim)
        assert flops.score_crossover(config) == meets

        def read(tokens, heads=heads, head_dim=head_dim):
            q, k = torch.empty(heads, 1, head_dim), torch.empty(heads, tokens, head_dim)
            torch.bmm(torch.bmm(q, k.transpose(1, 2)), k)

        ffn = flops.decode(config, 1).ffn
        below, above = (config.n_layers * counted(lambda t=t: read(t)) for t in (int(meets) - 1, int(meets) + 1))
        assert below < ffn < above
    assert score_crossover_tokens(QWEN, "last") == Fraction(17_112_760_320, 2 * 16 * 6144) == 87_040


@pytest.mark.claim("crossing-depends-on-the-question")
def test_crossing_depends_on_the_question():
    answers = [score_crossover_tokens(QWEN, how) for how in ("layer", "mixers", "last", "average")]
    assert answers == sorted(answers) and [round(a) for a in answers] == [21_760, 49_641, 87_040, 174_080]
    c = load(QWEN).config
    prompt = flops.forward(c, 174_080)  # every token of the prompt against all it sees
    assert float((prompt.scores + prompt.values) / prompt.ffn) == pytest.approx(1, rel=1e-5)


def seen_by_last(pattern, tokens: int) -> int:
    """Positions that the last query of a causal pattern sees, by adding up its row of the mask."""
    return int(pattern(tokens, tokens, None)[-1].sum())


@pytest.mark.claim("windows-never-cross")
def test_windows_never_cross():
    rng = random.Random(0)
    for _ in range(50):
        window, tokens = rng.randint(1, 40), rng.randint(1, 200)
        assert seen_by_last(SlidingWindow(window), tokens) == min(tokens, window)
    c = load("mistral-7b").config
    window = c.softmax.window or next(iter(c.groups)).mixer.window
    at = [flops.decode(c, tokens) for tokens in (window, 8 * window, 1000 * window)]
    assert len({one.scores + one.values for one in at}) == 1 and at[0].scores + at[0].values < at[0].ffn
    assert flops.score_crossover(c) is None


@pytest.mark.claim("windows-never-cross", control=True)
def test_windows_never_cross_control():
    """Without a window the same row grows with the context, and any FFN is overtaken in the end."""
    assert [seen_by_last(causal_mask, tokens) for tokens in (1, 40, 200)] == [1, 40, 200]
    c = load("llama-3-8b").config
    at = [flops.decode(c, tokens) for tokens in (1, 10**3, 10**6)]
    assert [one.scores + one.values > one.ffn for one in at] == [False, False, True]
