"""Where parameters and arithmetic go, against layers on the meta device, torch's counter and published integers."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load, where_facts
from blocklib.ledger.config import ConfigError
from blocklib.nn.attention import GatedAttention
from blocklib.nn.ffn import SwiGLU

QWEN = "qwen3.8-27b"


def counted(run) -> int:
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        run()
    return counter.get_total_flops()


def test_the_gate_by_the_layer_that_runs():
    c = load(QWEN).config
    with torch.device("meta"):
        layer = GatedAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim)
    gate = layer.gate.weight
    assert where_facts.query_matrix_width(QWEN) == layer.q.out_features + layer.gate.out_features == 12_288
    assert where_facts.output_gate_weights(QWEN) == gate.numel() == 31_457_280
    assert (
        where_facts.output_gate_total(QWEN) == sum(gate.numel() for kind in c.mixers if kind == "full") == 503_316_480
    )
    whole = sum(p.numel() for p in layer.parameters())
    assert where_facts.output_gate_share(QWEN) == Fraction(gate.numel(), whole) == Fraction(3, 10)
    assert where_facts.query_matrix_width("llama-3-8b") == 4096
    assert where_facts.output_gate_weights("llama-3-8b") == where_facts.output_gate_total("llama-3-8b") == 0


def test_mixers_by_the_shapes_of_the_checkpoint():
    """Two million-row figures of the checkpoint: a Gated DeltaNet layer, norm gain included, has 115,876,064."""
    shapes = [(10_240, 5120), (6144, 5120), (48, 5120), (48, 5120), (10_240, 1, 4), (48,), (48,), (5120, 6144)]
    by_shape = sum(torch.empty(shape, device="meta").numel() for shape in shapes)
    assert where_facts.recurrent_mixer_weights(QWEN) == by_shape == 115_876_064 - 128
    assert where_facts.mixer_total(QWEN, "recurrent") == 48 * by_shape == 5_562_051_072 - 48 * 128
    assert where_facts.mixer_total(QWEN, "softmax") == 16 * 104_857_600
    gpt2 = [nn.Linear(768, 768, device="meta") for _ in range(12 * 4)]
    assert where_facts.mixer_total("gpt2-small", "softmax") == sum(p.numel() for m in gpt2 for p in m.parameters())
    assert where_facts.mixer_total("gpt2-small", "recurrent") == 0
    with pytest.raises(ConfigError):
        where_facts.recurrent_mixer_weights("llama-3-8b")


def test_share_of_the_whole_checkpoint():
    """27,781,427,952 parameters in all, of which 460,730,096 in the vision tower and 424,699,392 in the draft head."""
    whole = 27_781_427_952
    assert f"{2 * whole / 1e9:.2f}" == "55.56"
    share = where_facts.ffn_share_of_checkpoint(QWEN)
    assert f"{100 * float(share):.1f}" == f"{100 * 17_112_760_320 / whole:.1f}" == "61.6"
    beside = where_facts.params_beside_the_text_model(QWEN)
    assert float(beside) == pytest.approx(460_730_096 + 424_699_392, rel=2e-3)
    assert f"{460_730_096 * 2 / 2**20:.1f}" == "878.8"  # as a public loader reports the vision tower, MiB in bf16
    for function in (where_facts.ffn_share_of_checkpoint, where_facts.params_beside_the_text_model):
        with pytest.raises(ConfigError):
            function("llama-3-8b")


def test_share_of_the_blocks():
    """64 FFNs over 48 and 16 blocks of the sizes that the checkpoint's tensors give."""
    blocks = 48 * (115_876_064 + 267_386_880 + 2 * 5120) + 16 * (104_857_600 + 512 + 267_386_880 + 2 * 5120)
    assert where_facts.ffn_share_of_blocks(QWEN) == Fraction(17_112_760_320, blocks)
    assert f"{100 * float(where_facts.ffn_share_of_blocks(QWEN)):.2f}" == "70.27"


def test_ffns_of_a_mixture_count_the_experts_that_are_visited():
    """DeepSeek-V3: three dense FFNs of 18,432, then a shared expert and eight of 256, all of 2,048."""
    dense, expert = 3 * 7168 * 18_432, 3 * 7168 * 2048
    assert where_facts.ffn_flops_of_model("deepseek-v3") == 2 * (3 * dense + 58 * (1 + 8) * expert)


def test_scores_of_a_position_where_all_layers_see_it():
    assert where_facts.score_flops_per_position("llama-3-8b") == 32 * 4 * 4096
    for windowed in ("mistral-7b", "gemma-3-1b"):
        with pytest.raises(ConfigError, match="see different numbers of positions"):
            where_facts.score_flops_per_position(windowed)


def test_crossovers_by_counting():
    """FFNs on the meta device against scores of one query over as many keys as the fact says."""
    for model, tokens in ((QWEN, 87_040), ("llama-3-8b", 21_504)):
        c = load(model).config

        def ffn(c=c):
            SwiGLU(c.d_model, c.d_ff)(torch.empty(1, c.d_model))

        def read(c=c, tokens=tokens):
            q, k = torch.empty(c.n_heads, 1, c.head_dim), torch.empty(c.n_heads, tokens, c.head_dim)
            weights = torch.bmm(q, k.transpose(1, 2))
            torch.bmm(weights, k)

        ffns, scores = c.n_layers * counted(ffn), c.full_layers * counted(read)
        assert ffns == scores and where_facts.score_crossover_tokens(model, "last") == tokens
        assert where_facts.ffn_flops_of_model(model) == ffns
        assert where_facts.score_flops_per_position(model) * tokens == scores
        mean = Fraction(sum(range(1, 2 * tokens + 1)), 2 * tokens)  # positions seen by the tokens of a causal prompt
        assert where_facts.score_crossover_tokens(model, "average") == 2 * tokens and 0 < mean - tokens < 1
        share = Fraction(c.full_layers, c.n_layers)
        assert where_facts.score_crossover_tokens(model, "layer") == tokens * share
    assert where_facts.score_crossover_tokens(QWEN, "layer") == 21_760


def test_crossover_with_all_that_mixers_compute():
    """Qwen by hand: projections of both kinds of mixer, and what their recurrence costs, taken off the FFNs' FLOPs."""
    projections = 2 * (16 * 104_857_600 + 48 * 5120 * (10_240 + 6144 + 96 + 6144))
    recurrence = 48 * (6 * 48 * 128 * 128 + 2 * 4 * 10_240)
    left = 2 * 17_112_760_320 - projections - recurrence
    assert where_facts.score_crossover_tokens(QWEN, "mixers") == Fraction(left, 16 * 4 * 6144)
    assert round(Fraction(left, 16 * 4 * 6144)) == 49_641
    assert where_facts.score_crossover_tokens("gpt3-175b", "mixers") == 2 * 12_288


def test_comparisons_that_mean_nothing_are_refused():
    for model, compare in (("mistral-7b", "last"), ("gemma-3-1b", "layer"), ("gemma-3-1b", "mixers")):
        with pytest.raises(ConfigError):
            where_facts.score_crossover_tokens(model, compare)
    with pytest.raises(ConfigError):
        where_facts.crossover(load(QWEN).config, "sideways")
    with pytest.raises(ConfigError):
        where_facts.score_flops_per_position("gemma-3-1b")
