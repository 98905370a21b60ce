"""Fields of a file: defaults and nulls as the classes have them, values that must hold, and the edges of each type."""

from __future__ import annotations

import pytest

from blocklib.ledger import reader
from blocklib.ledger.config import ConfigError
from blocklib.ledger.reader.fields import REQUIRED
from tests.ledger.members import (
    ALBERT,
    BERT,
    BLOOM,
    GEMMA2,
    GEMMA3,
    GPT_OSS,
    LLAMA,
    MARIAN,
    MISTRAL,
    MIXTRAL,
    NEXT,
    Q35,
    QWEN2,
    QWEN3,
    QWEN3_MOE,
    T5,
    V2,
    V3,
    V4,
)

# What no class gives in this form: rules of its own, lists, and the switch that sets a window to null.
BY_RULE = ("names", "integers", "sizes")


@pytest.mark.parametrize("name", [name for name in reader.families() if name != "kimi_k2"])
def test_defaults_are_those_of_the_classes(name):
    import transformers

    family, config_class = reader.families()[name], transformers.CONFIG_MAPPING[name]
    windowed = config_class(use_sliding_window=True) if "use_sliding_window" in family.read else config_class()
    for key, spec in family.read.items():
        config = config_class() if key == "use_sliding_window" else windowed
        if spec.default not in (REQUIRED, None) and spec.kind not in BY_RULE and hasattr(config, key):
            found = getattr(config, key)
            assert (spec.choices[found] if spec.choices else found) == spec.default, key


def test_kimis_defaults_are_deepseeks():
    assert reader.families()["kimi_k2"].read == reader.families()["deepseek_v3"].read


@pytest.mark.parametrize(("field", "allowed", "refused"), [
    ("is_encoder_decoder", [False], True), ("is_decoder", [False], True), ("add_cross_attention", [False], True),
    ("cross_attention_hidden_size", [None], 8), ("tie_encoder_decoder", [False], True), ("pruned_heads", [{}, None], {"1": [0]}),
])  # fmt: skip
def test_fields_that_must_hold_one_value(field, allowed, refused):
    for value in allowed:
        assert reader.from_dict(LLAMA | {field: value}) == reader.from_dict(LLAMA)
    with pytest.raises(ConfigError, match=f"{field} must be"):
        reader.from_dict(LLAMA | {field: refused})


@pytest.mark.parametrize(("raw", "field", "allowed", "refused"), [
    (BLOOM, "n_inner", None, 48), (BERT, "position_embedding_type", "absolute", "relative_key"),
    (ALBERT, "position_embedding_type", "absolute", "relative_key"), (T5, "is_encoder_decoder", True, False),
    (T5, "dense_act_fn", "gelu", "tanh"), (MARIAN, "is_encoder_decoder", True, False),
    (MARIAN, "add_final_layer_norm", False, True), (MARIAN, "normalize_embedding", False, True),
    (MARIAN, "normalize_before", False, True), (MARIAN, "static_position_embeddings", True, False),
    (MARIAN, "add_bias_logits", False, True), (GEMMA2, "use_bidirectional_attention", None, True),
    (GEMMA3, "use_bidirectional_attention", False, True), (V2, "moe_layer_freq", 1, 2), (V3, "moe_layer_freq", 1, 2),
    (V4, "num_key_value_heads", 1, 2), (V4, "attention_bias", False, True), (NEXT, "attn_output_gate", True, False),
    (NEXT, "use_sliding_window", False, True), (NEXT, "sliding_window", None, 8), (Q35, "attn_output_gate", True, False),
    (Q35, "use_sliding_window", False, True), (Q35, "sliding_window", None, 8),
])  # fmt: skip
def test_fields_of_a_family_that_must_hold_one_value(raw, field, allowed, refused):
    assert reader.from_dict(raw | {field: allowed}) == reader.from_dict(raw)
    with pytest.raises(ConfigError, match=f"{field} must be"):
        reader.from_dict(raw | {field: refused})


@pytest.mark.parametrize("raw", [MISTRAL, QWEN2, QWEN3, MIXTRAL, QWEN3_MOE, GPT_OSS, LLAMA])
def test_null_for_key_heads_means_one_for_each_query_head(raw):
    full = reader.from_dict(raw | {"num_key_value_heads": raw["num_attention_heads"]})
    assert reader.from_dict(raw | {"num_key_value_heads": None}) == full


def test_null_where_a_rule_stands_behind_it():
    wide = GPT_OSS | {"head_dim": GPT_OSS["hidden_size"] // GPT_OSS["num_attention_heads"]}
    assert reader.from_dict(wide | {"head_dim": None}) == reader.from_dict(wide)
    windowed = QWEN3_MOE | {"use_sliding_window": True, "sliding_window": None}
    assert reader.from_dict(windowed) == reader.from_dict(QWEN3_MOE)
    for raw, field in ((QWEN2, "layer_types"), (V4, "layer_types"), (V4, "compress_rates"), (V4, "compress_ratios"),
                       (QWEN3_MOE, "mlp_only_layers")):  # fmt: skip
        assert reader.from_dict(raw | {field: None}) == reader.from_dict({k: v for k, v in raw.items() if k != field})


@pytest.mark.parametrize(("raw", "change", "message"), [
    (V3, {"first_k_dense_replace": None}, "first_k_dense_replace must be an integer from 0 up, found None"),
    (QWEN2, {"layer_types": []}, "layer_types must be a list of one name for each layer, found"),
    (QWEN2, {"layer_types": ["full_attention"] * 10_001}, "layer_types must be a list of one name for each layer, found"),
    (QWEN3_MOE, {"mlp_only_layers": [0] * 10_001}, "mlp_only_layers must be a list of integers, found"),
    (V4, {"compress_rates": {"x" * 41: 0}}, rf"compress_rates\.{'x' * 40} must be a positive integer, found 0"),
    (V4, {"compress_rates": [4]}, "compress_rates must be an object of positive integers, found .4."),
])  # fmt: skip
def test_edges_of_the_types(raw, change, message):
    with pytest.raises(ConfigError, match=message):
        reader.from_dict(raw | change)


def test_lists_as_long_as_the_deepest_stack():
    deep = QWEN2 | {"num_hidden_layers": 10_000, "layer_types": ["full_attention"] * 10_000}
    assert reader.from_dict(deep).n_layers == 10_000
    assert reader.from_dict(QWEN3_MOE | {"mlp_only_layers": [0] * 10_000}).n_layers == 3
    rows = [["a", "f", 5000], ["a", "f", 5000]]
    plain = {"model_type": "blocklib", "vocab_size": 9, "d_model": 8, "norm": "rmsnorm", "tied": True, "layers": rows,
             "mixers": {"a": {"kind": "attention", "n_heads": 2, "n_kv_heads": 1, "head_dim": 4}},
             "ffns": {"f": {"d_ff": 6, "kind": "relu"}}}  # fmt: skip
    assert reader.from_dict(plain).n_layers == 10_000
    with pytest.raises(ConfigError, match="no number up to 10000 together"):
        reader.from_dict(plain | {"layers": [*rows, ["a", "f", 1]]})
