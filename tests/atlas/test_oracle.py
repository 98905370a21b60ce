"""Every model's parameters by component, its active parameters and its cache, against counts made elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blocklib.atlas import MODEL_IDS, load, model_facts
from blocklib.ledger import cache, params
from tests.atlas.counts import ACTIVE, COMPONENTS, COUNTS, KV_BYTES, STATES

# Totals as their publishers or checkpoints give them: released sizes, model cards, tensors of a checkpoint.
PUBLISHED = {
    "gpt2-small": 124_439_808, "gpt2-xl": 1_557_611_200, "llama-2-7b": 6_738_415_616, "llama-2-70b": 68_976_648_192,
    "mistral-7b": 7_241_732_096, "llama-3-8b": 8_030_261_248, "llama-3-70b": 70_553_706_496,
    "qwen2.5-7b": 7_615_616_512, "qwen3.8-27b": 27_781_427_952 - 460_730_096 - 424_699_392,
    "bert-base-uncased": 109_482_240, "albert-base-v2": 11_683_584, "t5-base": 222_903_552,
    "gpt-neox-20b": 20_554_567_680, "llama-3.1-405b": 405_853_388_800, "mixtral-8x7b": 46_702_792_704,
    "gemma-2-9b": 9_242_164_736 - 128 * 3_584, "gemma-3-1b": 999_885_952, "qwen3-8b": 8_190_735_360,
    "deepseek-v3": 671_026_419_200 - 58 * 256, "kimi-k2": 1_026_408_232_448 - 60 * 384, "gpt-oss-20b": 20_914_757_184,
    "qwen3-next-80b-a3b": 79_674_391_296, "deepseek-v4-flash": 284_332_240_471 - 40 * 256,
    "kimi-k3": 2_779_484_476_000 - 92 * 896, "nanochat-d20-2025": 560_988_160, "smollm2-1.7b": 1_711_376_384,
}  # fmt: skip

# (digits as printed, unit, which count)
ROUNDED = {
    "palm-540b": ("540.36", 10**9), "mixtral-8x7b": ("46.7", 10**9), "gpt-oss-20b": ("20.91", 10**9),
    "gpt3-175b": ("174.6", 10**9), "transformer-base": ("63.1", 10**6), "gpt-1": ("116.5", 10**6),
}  # fmt: skip
ROUNDED_ACTIVE = {"mixtral-8x7b": ("12.9", 0), "gpt-oss-20b": ("3.61", 1), "kimi-k3": ("104.2", 1)}


def test_every_model_has_an_oracle():
    assert set(COUNTS) == set(MODEL_IDS) and len(MODEL_IDS) == 35


@pytest.mark.parametrize("model", MODEL_IDS)
def test_components_match_the_meta_device_count(model):
    *components, total = COUNTS[model]
    count = params.count(load(model).config)
    assert count.components == dict(zip(COMPONENTS, components, strict=True))
    assert count.total == total == model_facts.parameters(model)
    assert model_facts.embedding_params(model) == components[0]
    assert model_facts.position_params(model) == components[1]
    assert model_facts.ffn_total_params(model) == components[3]
    assert model_facts.head_params(model) == components[6]
    outside = params.outside_blocks(load(model).config)
    assert model_facts.stack_params(model) == total - outside.total
    assert model_facts.ffn_share(model) * total == components[3]
    assert model_facts.embedding_share(model) * total == components[0]
    assert model_facts.stack_share(model) * total == model_facts.stack_params(model)


@pytest.mark.parametrize("model", MODEL_IDS)
def test_active_parameters(model):
    active, total = params.active(load(model).config), params.count(load(model).config)
    if model in ACTIVE:
        assert (active.with_embeddings, active.without_input_embedding) == ACTIVE[model]
    else:  # dense: all of it, without a table that is only looked up
        config = load(model).config
        looked_up = config.vocab_size * (config.embedding_width or config.d_model)
        headless = model in ("bert-base-uncased", "albert-base-v2")
        assert active.with_embeddings == total.total
        assert active.without_input_embedding == total.total - (looked_up if headless or not config.tied else 0)


def test_active_conventions_differ_by_the_table_that_is_only_looked_up():
    deepseek, tied = load("deepseek-v3").config, load("gpt2-small").config
    both = params.active(deepseek)
    assert both.with_embeddings - both.without_input_embedding == 129_280 * 7168
    assert params.active(tied).without_input_embedding == 124_439_808  # the table is the head
    encoder = params.active(load("bert-base-uncased").config)
    assert encoder.with_embeddings - encoder.without_input_embedding == 30_522 * 768  # nothing reads it as a head
    factorised = params.active(load("albert-base-v2").config)
    assert factorised.with_embeddings - factorised.without_input_embedding == 30_000 * 128  # the projection stays
    two_tables = replace(load("transformer-base").config, source_vocab=100)
    assert params.active(two_tables).with_embeddings - params.active(two_tables).without_input_embedding == 100 * 512


@pytest.mark.parametrize(("model", "total"), PUBLISHED.items())
def test_totals_match_published_integers(model, total):
    assert model_facts.parameters(model) == total


@pytest.mark.parametrize(("model", "printed"), ROUNDED.items())
def test_totals_round_to_printed_figures(model, printed):
    digits, unit = printed
    assert f"{model_facts.parameters(model) / unit:.{len(digits.partition('.')[2])}f}" == digits


@pytest.mark.parametrize(("model", "printed"), ROUNDED_ACTIVE.items())
def test_active_counts_round_to_printed_figures(model, printed):
    digits, which = printed
    active = params.active(load(model).config)
    value = (active.with_embeddings, active.without_input_embedding)[which]
    assert f"{value / 10**9:.{len(digits.partition('.')[2])}f}" == digits


@pytest.mark.parametrize(("model", "expected"), KV_BYTES.items())
def test_cache_bytes_per_token(model, expected):
    found = cache.describe(load(model).config)
    assert (2 * found.per_token, 2 * found.growing_per_token) == expected


@pytest.mark.parametrize("model", MODEL_IDS)
def test_states_of_fixed_size(model):
    state, conv = STATES.get(model, (0, 0))
    found = cache.describe(load(model).config)
    assert found.state == state and (conv is None or found.conv == conv)


def test_gpt3_rounds_to_its_papers_table():
    assert round(model_facts.parameters("gpt3-175b"), -8) == 174_600_000_000


def test_blocks_of_uniform_models_are_equal():
    for model in ("gpt2-small", "llama-3-8b", "qwen2.5-7b", "mistral-7b", "gemma-2-9b", "mixtral-8x7b"):
        layers = load(model).config.n_layers
        assert model_facts.block_params(model) * layers == model_facts.stack_params(model)
    assert model_facts.stack_params("gpt2-small") == 85_054_464


def test_the_hybrids_layers():
    """Counts quoted for this shape: an FFN, the matrices of a full layer, one recurrent layer without its norm."""
    config = load("qwen3.8-27b").config
    assert model_facts.model_ffn_weights("qwen3.8-27b") == 267_386_880
    assert model_facts.model_attention_weights("qwen3.8-27b") == 104_857_600
    assert params.block(config, "gated_delta").attention == 115_875_936
    assert params.block(config, "gated_delta").norm - params.block(config, "full").norm == 128
