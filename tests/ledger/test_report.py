"""The report of one model: its defaults, exact numbers for JSON, and caches of every kind in bytes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from blocklib.atlas import MODEL_IDS, load, load_chip
from blocklib.exact import DomainError
from blocklib.ledger.parts import ConfigError
from blocklib.ledger.report import Question, number, report
from blocklib.ledger.roofline import Machine


def test_what_is_asked_when_nothing_is_said():
    asked = Question()
    assert (asked.seq_len, asked.batch, asked.dtype, asked.kv_dtype, asked.machine) == (4096, 1, "bf16", "bf16", None)
    assert Question(1, 1).seq_len == 1
    for wrong in ({"seq_len": 0}, {"batch": 0}):
        with pytest.raises(DomainError):
            Question(**wrong)
    for wrong in ({"dtype": "bf61"}, {"kv_dtype": "int4"}):
        with pytest.raises(ConfigError):
            Question(**wrong)


@pytest.mark.parametrize(("value", "shown"), [
    (7, 7), (Fraction(4, 2), 2), (Fraction(1, 2), 0.5), (Fraction(3, 2), 1.5), (2.5, 2.5), (2.0, 2.0),
])  # fmt: skip
def test_numbers_for_json(value, shown):
    assert number(value) == shown and type(number(value)) is type(shown)


def test_the_cache_of_an_encoder_decoder_holds_its_source_too():
    """T5-base: twelve decoder layers, keys and values of twelve heads of 64 for each token and each source token."""
    cache = report("t5", load("t5-base").config, Question(100, 3))["kv_cache"]
    one = 2 * 12 * 12 * 64 * 2
    assert (cache["bytes_per_token"], cache["source_bytes_per_token"]) == (one, one)
    assert cache["bytes_per_sequence"] == 2 * one * 100 and cache["bytes"] == 3 * 2 * one * 100


def test_a_recurrent_state_is_wide_and_its_convolution_as_the_cache():
    """Qwen3.8-27B: 48 layers with a state of 48 × 128 × 128 in fp32 and three inputs of 10,240 channels."""
    cache = report("q", load("qwen3.8-27b").config, Question(10, 2, kv_dtype="fp8"))["kv_cache"]
    state = 48 * (48 * 128 * 128 * 4 + 3 * 10_240 * 1)
    assert cache["state_bytes_per_sequence"] == state and cache["bytes_per_token"] == 65_536 // 2
    assert cache["bytes"] == 2 * (10 * 65_536 // 2 + state)


def test_windows_stop_growing():
    """Gemma-3-1B: one head of 256, twenty-two layers of a window of 512, four that see everything."""
    cache = report("g", load("gemma-3-1b").config, Question(10))["kv_cache"]
    assert cache["bytes_per_token_beyond_windows"] == 4 * 2 * 256 * 2 and cache["windows"] == [[512, 22 * 2 * 256 * 2]]


def test_activations_and_weights_of_a_token():
    found = report("l", load("llama-3-8b").config, Question(10, 3))
    kept = found["activations"]
    assert kept["bytes"] == 10 * 3 * kept["bytes_per_token"] and kept["dtype"] == "bf16"
    assert found["flops"]["weights_per_token"] == 2 * 7_504_658_432
    eight = report("l", load("llama-3-8b").config, Question(10, dtype="int8"))
    assert eight["activations"]["dtype"] == "bf16" and eight["weights"]["bytes"] == 8_030_261_248


def test_bounds_of_llama_3_8b_on_an_h100():
    machine = load_chip("h100").machine()
    line = report("l", load("llama-3-8b").config, Question(1000, 2, machine=machine))["roofline"]
    weights, cache = 2 * 7_504_658_432, 131_072
    assert line["decode_seconds_at_least"] == pytest.approx((weights + 2 * 1000 * cache) / 3.35e12, rel=1e-12)
    assert (line["decode_limit"], line["prefill_limit"], line["compute_bound_batch"]) == ("memory", "compute", None)
    assert line["tokens_that_fit"] == (72_000_000_000 - 16_060_522_496) // cache == 426_784
    assert line["sequences_that_fit"] == 426_784 // 1000 and line["cache_flop_per_byte"] == 32 / 8
    assert line["weights_flop_per_byte"] == 2 and line["cache_equals_weights_at_tokens"] == 16_060_522_496 / cache
    assert line["compute_bound_at_any_context"] is False and 393 < line["compute_bound_up_to_context"] < 394
    assert line["ridge_flop_per_byte"] == pytest.approx(989.4 / 3.35, rel=1e-12)


def test_a_slow_machine_is_compute_bound_at_any_context():
    slow = Machine("slow", 10**9, 10**12, 10**11)
    line = report("l", load("llama-3-8b").config, Question(1000, machine=slow))["roofline"]
    assert line["compute_bound_at_any_context"] is True and line["compute_bound_up_to_context"] is None
    assert 0 < line["compute_bound_batch"] < 1
    big = report("l", load("gpt3-175b").config, Question(1000, machine=slow))["roofline"]
    assert big["tokens_that_fit"] is None and big["sequences_that_fit"] == 0


SAID = {
    "llama-3-8b": {"weights: every parameter in bf16", "activations: what eager autograd keeps"},
    "gpt2-small": {"a tied head costs no parameters"}, "mixtral-8x7b": {"active: what one token", "experts: dispatch fp8"},
    "deepseek-v3": {"latent attention: expanded", "activations of this model's mixers are not itemised"},
    "deepseek-v4-flash": {"compressed attention: every compressed entry"}, "qwen3.8-27b": {"recurrent states in fp32",
                                                                                       "recurrent mixers: token by token"},
    "t5-base": {"source and target are both"}, "bert-base-uncased": {"prefill: forward, every position sees all"},
}  # fmt: skip


@pytest.mark.parametrize("model", SAID)
def test_conventions_of_each_kind(model):
    """What is said of this kind of model, and of which others it is not said."""
    said = report(model, load(model).config, Question(100))["conventions"]
    for words in SAID[model]:
        assert any(sentence.startswith(words) for sentence in said), words
    elsewhere = {"a tied head", "latent attention", "compressed attention", "recurrent states", "recurrent mixers",
                 "source and target", "prefill: forward, every", "roofline", "a batch visits", "seq_len"}  # fmt: skip
    for words in elsewhere - {w for w in elsewhere for own in SAID[model] if own.startswith(w)}:
        assert any(sentence.startswith(words) for sentence in said) is False, words


ALWAYS = ("parameters: learned tensors once each", "weights: every parameter in bf16", "cache in bf16; KB, MB, GB are powers",
          "FLOPs: a multiply-accumulate is two", "steps: matrix products in sequence", "communication: one pass")  # fmt: skip


@pytest.mark.parametrize("model", MODEL_IDS)
def test_what_is_always_said(model):
    said = report(model, load(model).config, Question(100))["conventions"]
    for words in ALWAYS:
        assert sum(sentence.startswith(words) for sentence in said) == 1, words
    assert sum(sentence.startswith("prefill: forward, e") for sentence in said) == 1


def test_conventions_of_formats_chips_and_lengths():
    def said(model, **asked):
        return report(model, load(model).config, Question(**asked))["conventions"]

    machine = load_chip("h100").machine()
    assert "weights: every parameter in int8, 8 bits a weight; scales that a quantiser adds are out" in said(
        "gpt-1", dtype="int8"
    )
    assert "weights: every parameter in fp16" in said("gpt-1", dtype="fp16")
    assert any(s.startswith("a batch visits") for s in said("mixtral-8x7b", machine=machine))
    assert not any(s.startswith("a batch visits") for s in said("llama-3-8b", machine=machine))
    assert any(s.startswith("roofline") for s in said("llama-3-8b", machine=machine))
    assert [s for s in said("gpt2-small", seq_len=1025) if s.startswith("seq_len")] == [
        "seq_len 1,025 is beyond the 1,024 learned positions"]  # fmt: skip
    one = replace(load("gpt2-small").config, learned_positions=1)
    assert report("o", one, Question(2))["conventions"][-1] == "seq_len 2 is beyond the 1 learned positions"
    assert not any(
        s.startswith("seq_len") for s in said("gpt2-small", seq_len=1024) + said("llama-3-8b", seq_len=10**6)
    )
