"""Model files: found by the names readers use, read exactly, refused with the file and the reason."""

from __future__ import annotations

import pytest

from blocklib.atlas import MODEL_IDS, AtlasError, display_name, find, load, shape_facts
from blocklib.atlas.models import FOLDER, PRIMER_IDS, parse
from blocklib.ledger.config import ConfigError

# d_model, layers, heads, KV heads (None: a latent instead), head width, d_ff, vocabulary: as published.
SHAPES = {
    "transformer-base": (512, 6, 8, 8, 64, 2048, 37000),
    "gpt-1": (768, 12, 12, 12, 64, 3072, 40478),
    "bert-base-uncased": (768, 12, 12, 12, 64, 3072, 30522),
    "gpt2-small": (768, 12, 12, 12, 64, 3072, 50257),
    "gpt2-medium": (1024, 24, 16, 16, 64, 4096, 50257),
    "gpt2-large": (1280, 36, 20, 20, 64, 5120, 50257),
    "gpt2-xl": (1600, 48, 25, 25, 64, 6400, 50257),
    "albert-base-v2": (768, 12, 12, 12, 64, 3072, 30000),
    "t5-base": (768, 12, 12, 12, 64, 3072, 32128),
    "gpt3-175b": (12288, 96, 96, 96, 128, 49152, 50257),
    "gpt-neox-20b": (6144, 44, 64, 64, 96, 24576, 50432),
    "palm-540b": (18432, 118, 48, 1, 256, 73728, 256000),
    "llama-7b": (4096, 32, 32, 32, 128, 11008, 32000),
    "llama-2-7b": (4096, 32, 32, 32, 128, 11008, 32000),
    "llama-2-70b": (8192, 80, 64, 8, 128, 28672, 32000),
    "mistral-7b": (4096, 32, 32, 8, 128, 14336, 32000),
    "deepseek-llm-67b": (8192, 95, 64, 8, 128, 22016, 102400),
    "mixtral-8x7b": (4096, 32, 32, 8, 128, 14336, 32000),
    "llama-3-8b": (4096, 32, 32, 8, 128, 14336, 128256),
    "llama-3-70b": (8192, 80, 64, 8, 128, 28672, 128256),
    "gemma-2-9b": (3584, 42, 16, 8, 256, 14336, 256000),
    "llama-3.1-405b": (16384, 126, 128, 8, 128, 53248, 128256),
    "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064),
    "smollm2-1.7b": (2048, 24, 32, 32, 64, 8192, 49152),
    "deepseek-v3": (7168, 61, 128, None, 128 + 64, 18432, 129280),
    "gemma-3-1b": (1152, 26, 4, 1, 256, 6912, 262144),
    "qwen3-8b": (4096, 36, 32, 8, 128, 12288, 151936),
    "kimi-k2": (7168, 61, 64, None, 128 + 64, 18432, 163840),
    "gpt-oss-20b": (2880, 24, 64, 8, 64, 2880, 201088),
    "qwen3-next-80b-a3b": (2048, 48, 16, 2, 256, 512, 151936),
    "nanochat-d20-2025": (1280, 20, 10, 10, 128, 5120, 65536),
    "qwen3.8-27b": (5120, 64, 24, 4, 256, 17408, 248320),
    "deepseek-v4-flash": (4096, 43, 64, None, 512, 2048, 129280),
    "kimi-k3": (7168, 93, 96, None, 128 + 64, 33792, 163840),
    "nanochat-d20-head": (1280, 20, 10, 10, 128, 5120, 32768),
}

# full (or latent), sliding, recurrent layers where not all are full
LAYERS = {
    "mistral-7b": (0, 32, 0), "gemma-2-9b": (21, 21, 0), "gemma-3-1b": (4, 22, 0), "gpt-oss-20b": (12, 12, 0),
    "qwen3-next-80b-a3b": (12, 0, 36), "qwen3.8-27b": (16, 0, 48), "deepseek-v4-flash": (0, 2, 0),
    "kimi-k3": (24, 0, 69),
}  # fmt: skip


@pytest.mark.parametrize("model", MODEL_IDS)
def test_shapes_match_published_values(model):
    width, layers, heads, kv_heads, head_dim, d_ff, vocabulary = SHAPES[model]
    assert (shape_facts.model_width(model), shape_facts.model_layers(model)) == (width, layers)
    assert shape_facts.model_heads(model) == heads
    if kv_heads is None:
        with pytest.raises(ConfigError, match="no key/value heads of its own"):
            shape_facts.model_kv_heads(model)
    else:
        assert shape_facts.model_kv_heads(model) == kv_heads
    assert (shape_facts.model_head_dim(model), shape_facts.query_width(model)) == (head_dim, heads * head_dim)
    assert (shape_facts.ffn_width(model), shape_facts.vocab_size(model)) == (d_ff, vocabulary)
    assert shape_facts.ffn_expansion(model) * width == d_ff
    full, sliding, recurrent = LAYERS.get(model, (layers, 0, 0))
    assert shape_facts.full_attention_layers(model) == full
    assert shape_facts.linear_attention_layers(model) == recurrent
    assert load(model).config.sliding_layers == sliding


@pytest.mark.parametrize("model", PRIMER_IDS)
def test_models_that_the_primer_compares_are_decoders_of_one_block(model):
    config = load(model).config
    assert config.kind == "decoder" and config.block.norms == 2 and config.moe is None


def test_windows():
    windows = {"mistral-7b": 4096, "gemma-2-9b": 4096, "gemma-3-1b": 512, "gpt-oss-20b": 128, "deepseek-v4-flash": 128}
    for model in MODEL_IDS:
        found = {layer.mixer.window for layer in load(model).config.layers} - {None}
        assert found == ({windows[model]} if model in windows else set())


@pytest.mark.parametrize("model", MODEL_IDS)
def test_every_value_names_its_source(model):
    loaded = load(model)
    assert loaded.id == model and loaded.organisation and 2017 <= loaded.year < 2030
    assert all(len(value.source) > 20 for value in loaded.values.values())
    if model == "transformer-base":
        assert loaded.context_length is None
    else:
        assert loaded.context_length == loaded.values["context_length"].value > 0


def test_what_nothing_confirms_is_marked():
    assert set(load("kimi-k3").unverified) == set(load("kimi-k3").values)
    assert {"vocab_size", "biases"} <= set(load("transformer-base").unverified)
    for model in MODEL_IDS:
        if model not in PRIMER_IDS and model != "transformer-base":
            assert "context_length" in load(model).unverified
    assert load("gpt-neox-20b").published[0].value == "20554567680"


def test_the_hybrid_repeats_three_to_one():
    config = load("qwen3.8-27b").config
    assert config.mixers == ("gated_delta", "gated_delta", "gated_delta", "full") * 16
    assert config.qk_norm and config.output_gate


def test_files_and_ids_agree():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(MODEL_IDS) == set(SHAPES)
    assert {path.stem for path in (FOLDER / "configs").glob("*.json")} == set(MODEL_IDS)
    assert set(PRIMER_IDS) < set(MODEL_IDS) and len(MODEL_IDS) == len(set(MODEL_IDS)) == 35
    years = [load(model).year for model in MODEL_IDS]
    assert years == sorted(years)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GPT-2 small", "gpt2-small"), ("gpt2-small", "gpt2-small"), ("gpt-2 SMALL", "gpt2-small"),
        ("GPT-2 XL", "gpt2-xl"), ("GPT-3", "gpt3-175b"), ("GPT-3 175B", "gpt3-175b"), ("gpt3-175b", "gpt3-175b"),
        ("Llama-3-8B", "llama-3-8b"), ("Llama 3 8B", "llama-3-8b"), ("llama3-8b", "llama-3-8b"),
        ("Meta-Llama-3-8B", "llama-3-8b"), ("Llama‑2‑70B", "llama-2-70b"), ("LLaMA-7B", "llama-7b"),
        ("Mistral-7B", "mistral-7b"), ("Qwen2.5-7B", "qwen2.5-7b"), ("Qwen3.8-27B", "qwen3.8-27b"),
        ("DeepSeek-R1", "deepseek-v3"), ("PaLM", "palm-540b"), ("Mixtral 8x7B", "mixtral-8x7b"), ("BERT base", "bert-base-uncased"),
        ("GPT-OSS-20B", "gpt-oss-20b"), ("Kimi K2", "kimi-k2"), ("Transformer base", "transformer-base"),
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


def test_three_names_are_offered_at_most():
    with pytest.raises(AtlasError) as error:
        find("llama")  # five models are called so
    assert error.value.remedy.startswith("did you mean ") and error.value.remedy.count(",") == 2


@pytest.mark.parametrize("name", ["", "GPT-2", "参数", "💥"])
def test_names_of_nothing_are_refused(name):
    with pytest.raises(AtlasError, match="unknown model"):
        find(name)


def test_load_refuses_an_unknown_id():
    with pytest.raises(AtlasError, match="gpt2-smal.*gpt2-small"):
        load("gpt2-smal")


GOOD = (FOLDER / "llama-3-8b.toml").read_text("utf-8")


def test_a_period_of_layers_is_repeated():
    text = (FOLDER / "qwen3.8-27b.toml").read_text("utf-8")
    wrong = text.replace('"gated_delta", "full"]', '"full", "gated_delta"]')
    assert wrong != text
    with pytest.raises(AtlasError, match="layers is"):
        parse("qwen3.8-27b", wrong, where="x.toml")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("[values]", "[values", AtlasError, "x.toml: not valid TOML"),
        ("d_model = {", "d_mode = {", AtlasError, "x.toml: 'd_mode' is no value of this shape.*d_model"),
        ('d_ff = { value = 14336, source = "config" }', "", AtlasError, "x.toml: 'd_ff' is missing"),
        ("year = 2024", "", AtlasError, "'year' is missing"),
        ("year = 2024", 'year = 2024\nunverified = ["depth"]', AtlasError, "unverified names 'depth'"),
        ('value = 4096, source = "config"', 'value = 4096, source = "card"', AtlasError, "unknown source 'card'"),
        ('value = 4096, source = "config"', "value = 4096", AtlasError, "'source' is missing"),
        ("[sources]", '[sources]\nspare = "a paper"', AtlasError, "no value uses the source 'spare'"),
        ("d_model = { value = 4096", "d_model = { value = 4097", AtlasError, "d_model is 4097 here and 4096 in the co"),
        ("d_model = { value = 4096", "d_model = { value = 4096.0", AtlasError, "d_model is 4096.0 here and 4096"),
        ("d_model = { value = 4096", "d_model = { value = [4096]", AtlasError, "d_model is .4096. here and 4096"),
        ("tied = { value = false", "tied = { value = 0", AtlasError, "tied is 0 here and False"),
    ],
)
def test_broken_files_are_refused(old, new, error, message):
    assert old in GOOD
    with pytest.raises(error, match=message):
        parse("llama-3-8b", GOOD.replace(old, new, 1), where="x.toml")
