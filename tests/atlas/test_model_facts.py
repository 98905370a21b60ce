"""Model facts that the other tests of this room do not reach, and their registration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.atlas import block_bill, load, shape_facts
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
