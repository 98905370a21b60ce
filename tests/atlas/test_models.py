"""Model files: found by the names readers use, read exactly, refused with the file and the reason."""

from __future__ import annotations

import pytest

from blocklib.atlas import MODEL_IDS, AtlasError, display_name, find, load, shape_facts
from blocklib.atlas.models import FOLDER, parse
from blocklib.ledger.config import ConfigError

# d_model, layers, heads, KV heads, head width, d_ff, vocabulary: as published.
SHAPES = {
    "gpt2-small": (768, 12, 12, 12, 64, 3072, 50257),
    "gpt2-medium": (1024, 24, 16, 16, 64, 4096, 50257),
    "gpt2-large": (1280, 36, 20, 20, 64, 5120, 50257),
    "gpt2-xl": (1600, 48, 25, 25, 64, 6400, 50257),
    "gpt3-175b": (12288, 96, 96, 96, 128, 49152, 50257),
    "llama-7b": (4096, 32, 32, 32, 128, 11008, 32000),
    "llama-2-7b": (4096, 32, 32, 32, 128, 11008, 32000),
    "llama-2-70b": (8192, 80, 64, 8, 128, 28672, 32000),
    "mistral-7b": (4096, 32, 32, 8, 128, 14336, 32000),
    "llama-3-8b": (4096, 32, 32, 8, 128, 14336, 128256),
    "llama-3-70b": (8192, 80, 64, 8, 128, 28672, 128256),
    "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064),
    "qwen3.8-27b": (5120, 64, 24, 4, 256, 17408, 248320),
}


@pytest.mark.parametrize("model", MODEL_IDS)
def test_shapes_match_published_values(model):
    width, layers, heads, kv_heads, head_dim, d_ff, vocabulary = SHAPES[model]
    assert (shape_facts.model_width(model), shape_facts.model_layers(model)) == (width, layers)
    assert (shape_facts.model_heads(model), shape_facts.model_kv_heads(model)) == (heads, kv_heads)
    assert (shape_facts.model_head_dim(model), shape_facts.query_width(model)) == (head_dim, heads * head_dim)
    assert (shape_facts.ffn_width(model), shape_facts.vocab_size(model)) == (d_ff, vocabulary)
    assert shape_facts.ffn_expansion(model) * width == d_ff
    full = layers // 4 if model == "qwen3.8-27b" else layers
    assert shape_facts.full_attention_layers(model) == full
    assert shape_facts.linear_attention_layers(model) == layers - full


@pytest.mark.parametrize("model", MODEL_IDS)
def test_every_value_names_its_source(model):
    loaded = load(model)
    assert loaded.id == model and loaded.organisation and 2017 < loaded.year < 2030
    assert all(len(value.source) > 20 for value in loaded.values.values())
    assert loaded.context_length == loaded.values["context_length"].value > 0


def test_the_hybrid_repeats_three_to_one():
    config = load("qwen3.8-27b").config
    assert config.mixers == ("gated_delta", "gated_delta", "gated_delta", "full") * 16
    assert config.qk_norm and config.output_gate


def test_files_and_ids_agree():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(MODEL_IDS) == set(SHAPES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GPT-2 small", "gpt2-small"), ("gpt2-small", "gpt2-small"), ("gpt-2 SMALL", "gpt2-small"),
        ("GPT-2 XL", "gpt2-xl"), ("GPT-3", "gpt3-175b"), ("GPT-3 175B", "gpt3-175b"), ("gpt3-175b", "gpt3-175b"),
        ("Llama-3-8B", "llama-3-8b"), ("Llama 3 8B", "llama-3-8b"), ("llama3-8b", "llama-3-8b"),
        ("Meta-Llama-3-8B", "llama-3-8b"), ("Llama‑2‑70B", "llama-2-70b"), ("LLaMA-7B", "llama-7b"),
        ("Mistral-7B", "mistral-7b"), ("Qwen2.5-7B", "qwen2.5-7b"), ("Qwen3.8-27B", "qwen3.8-27b"),
    ],
)  # fmt: skip
def test_find_takes_ids_names_and_aliases(name, expected):
    assert find(name) == expected


@pytest.mark.parametrize("model", MODEL_IDS)
def test_display_names_find_back(model):
    assert find(display_name(model)) == model


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("Llama-27B", "Llama-2-7B"),
        ("Llama-3-80B", "Llama-3-8B"),
        ("GPT-2 smal", "GPT-2 small"),
        ("Qwen25-7B", "Qwen2.5-7B"),
    ],
)
def test_near_misses_are_refused_and_named(name, nearest):
    with pytest.raises(AtlasError, match=f"unknown model '{name}'.*{nearest}"):
        find(name)


@pytest.mark.parametrize("name", ["", "GPT-2", "参数", "💥"])
def test_names_of_nothing_are_refused(name):
    with pytest.raises(AtlasError, match="unknown model"):
        find(name)


def test_load_refuses_an_unknown_id():
    with pytest.raises(AtlasError, match="gpt2-smal.*gpt2-small"):
        load("gpt2-smal")


GOOD = (FOLDER / "llama-3-8b.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("[values]", "[values", AtlasError, "x.toml: not valid TOML"),
        ("d_model = {", "d_mode = {", AtlasError, "x.toml: the values do not make a model shape.*d_mode"),
        ('context_length = { value = 8192, source = "config" }', "", AtlasError, "'context_length' is missing"),
        ("year = 2024", "", AtlasError, "'year' is missing"),
        ('value = 4096, source = "config"', 'value = 4096, source = "card"', AtlasError, "unknown source 'card'"),
        ('value = 4096, source = "config"', "value = 4096", AtlasError, "'source' is missing"),
        ("[sources]", '[sources]\nspare = "a paper"', AtlasError, "no value uses the source 'spare'"),
        ("value = 4096", "value = 4096.0", ConfigError, "d_model must be a positive integer"),
        ("value = 4096", "value = 0", ConfigError, "d_model must be a positive integer"),
        ("d_model = { value = 4096", "d_model = { value = [4096]", ConfigError, "d_model must be"),
    ],
)
def test_broken_files_are_refused(old, new, error, message):
    assert old in GOOD
    with pytest.raises(error, match=message):
        parse("llama-3-8b", GOOD.replace(old, new, 1), where="x.toml")
