"""Every model's parameters, by component, against counts made elsewhere.

The integers come from the Hugging Face classes on the meta device, transformers 5.24.0, torch 2.13.0 (text tower
where a model has others); GPT-3 is a GPT-2 class of its published shape.
"""

from __future__ import annotations

import pytest

from blocklib.atlas import MODEL_IDS, load, model_facts
from blocklib.ledger import params

COMPONENTS = ("embedding", "position", "attention", "ffn", "norm", "qk_norm", "head", "other")

# components in the order above, then the total
META_DEVICE = {
    "gpt2-small": (38_597_376, 786_432, 28_348_416, 56_669_184, 38_400, 0, 0, 0, 124_439_808),
    "gpt2-medium": (51_463_168, 1_048_576, 100_761_600, 201_449_472, 100_352, 0, 0, 0, 354_823_168),
    "gpt2-large": (64_328_960, 1_310_720, 236_113_920, 472_089_600, 186_880, 0, 0, 0, 774_030_080),
    "gpt2-xl": (80_411_200, 1_638_400, 491_827_200, 983_424_000, 310_400, 0, 0, 0, 1_557_611_200),
    "gpt3-175b": (617_558_016, 25_165_824, 57_986_777_088, 115_970_015_232, 4_743_168, 0, 0, 0, 174_604_259_328),
    "llama-7b": (131_072_000, 0, 2_147_483_648, 4_328_521_728, 266_240, 0, 131_072_000, 0, 6_738_415_616),
    "llama-2-7b": (131_072_000, 0, 2_147_483_648, 4_328_521_728, 266_240, 0, 131_072_000, 0, 6_738_415_616),
    "llama-2-70b": (262_144_000, 0, 12_079_595_520, 56_371_445_760, 1_318_912, 0, 262_144_000, 0, 68_976_648_192),
    "mistral-7b": (131_072_000, 0, 1_342_177_280, 5_637_144_576, 266_240, 0, 131_072_000, 0, 7_241_732_096),
    "llama-3-8b": (525_336_576, 0, 1_342_177_280, 5_637_144_576, 266_240, 0, 525_336_576, 0, 8_030_261_248),
    "llama-3-70b": (1_050_673_152, 0, 12_079_595_520, 56_371_445_760, 1_318_912, 0, 1_050_673_152, 0, 70_553_706_496),
    "qwen2.5-7b": (544_997_376, 0, 822_212_608, 5_703_204_864, 204_288, 0, 544_997_376, 0, 7_615_616_512),
    "qwen3.8-27b": (1_271_398_400, 0, 7_239_766_528, 17_112_760_320, 666_624, 8_192, 1_271_398_400, 0, 26_895_998_464),
}

# Totals as their publishers or checkpoints give them: the released sizes of GPT-2, the tensors of the others.
PUBLISHED = {
    "gpt2-small": 124_439_808, "gpt2-xl": 1_557_611_200, "llama-2-7b": 6_738_415_616, "llama-2-70b": 68_976_648_192,
    "mistral-7b": 7_241_732_096, "llama-3-8b": 8_030_261_248, "llama-3-70b": 70_553_706_496,
    "qwen2.5-7b": 7_615_616_512, "qwen3.8-27b": 27_781_427_952 - 460_730_096 - 424_699_392,
}  # fmt: skip


def test_every_model_has_an_oracle():
    assert set(META_DEVICE) == set(MODEL_IDS)


@pytest.mark.parametrize("model", MODEL_IDS)
def test_components_match_the_meta_device_count(model):
    *components, total = META_DEVICE[model]
    count = params.count(load(model).config)
    assert count.components == dict(zip(COMPONENTS, components, strict=True))
    assert count.total == total
    facts = (
        model_facts.embedding_params(model), model_facts.position_params(model),
        model_facts.stack_params(model) + load(model).config.d_model * (2 if "gpt" in model else 1),
        model_facts.head_params(model),
    )  # fmt: skip
    assert sum(facts) == total == model_facts.parameters(model)
    assert model_facts.ffn_total_params(model) == components[3]
    assert model_facts.ffn_share(model) * total == components[3]
    assert model_facts.embedding_share(model) * total == components[0]
    assert model_facts.stack_share(model) * total == model_facts.stack_params(model)


@pytest.mark.parametrize(("model", "total"), PUBLISHED.items())
def test_totals_match_published_integers(model, total):
    assert model_facts.parameters(model) == total


def test_gpt3_rounds_to_its_papers_table():
    assert round(model_facts.parameters("gpt3-175b"), -8) == 174_600_000_000


def test_blocks_of_uniform_models_are_equal():
    for model in ("gpt2-small", "llama-3-8b", "qwen2.5-7b"):
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
