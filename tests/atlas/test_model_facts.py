"""Model facts that the other tests of this room do not reach, and their registration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.atlas import block_bill, load, model_facts, shape_facts
from blocklib.atlas.models import PRIMER_IDS
from blocklib.facts.registry import evaluate
from blocklib.ledger.config import ConfigError
from blocklib.theory.norm_ops import norm_core_gap


@pytest.mark.parametrize("model", PRIMER_IDS)
def test_norms_per_token(model):
    config = load(model).config
    walked = sum(2 for _block in config.mixers) + 1
    assert shape_facts.norms_per_token(model) == walked
    assert shape_facts.norm_core_gap_per_token(model) == walked * norm_core_gap(config.d_model)


@pytest.mark.parametrize("model", ["gpt-1", "gemma-2-9b", "palm-540b", "t5-base", "bert-base-uncased"])
def test_models_with_other_norms_are_refused(model):
    with pytest.raises(ConfigError, match="other norms"):
        shape_facts.norms_per_token(model)
    if model != "gpt-1":
        with pytest.raises(ConfigError):
            block_bill.model_norm_ops("gemma-2-9b" if model != "palm-540b" else model)


def test_what_tying_saves_is_one_table():
    assert (
        model_facts.tied_saving("gpt2-small") == 50_257 * 768 and model_facts.tied_saving("llama-3-8b") == 525_336_576
    )
    assert model_facts.tied_saving("albert-base-v2") == 30_000 * 128  # the table is narrower than the stream


def test_gpt2s_biases_count_on_both_sides():
    """A block of GPT-2 small has 7,087,872 parameters, 3,072 of them in its norms."""
    attention, ffn = 4 * (768 * 768 + 768), 2 * 768 * 3072 + 3072 + 768
    assert attention + ffn + 3072 == 7_087_872
    assert model_facts.ffn_attention_ratio_with_biases("gpt2-small") == Fraction(ffn, attention)


def test_gpt3_would_save_millions_of_operations_a_token():
    assert shape_facts.norm_core_gap_per_token("gpt3-175b") == 193 * 24_576 == 4_743_168


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        ("kv_bytes_per_token?model=Llama-3-8B&dtype=bf16", 131072),
        ("ffn_attention_ratio?model=Llama-2-70B", Fraction(14, 3)),
        ("parameters?model=GPT-2 small", 124439808),
        ("query_width?model=qwen3.8-27b", 6144),
    ],
)
def test_facts_evaluate_by_name(expr, value):
    assert evaluate(expr).value == value
