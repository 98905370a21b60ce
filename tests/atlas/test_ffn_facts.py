"""FFNs of real models against built layers, published shapes, and counts by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.atlas import ffn_facts, load
from blocklib.ledger.parts import ConfigError
from blocklib.nn.ffn import FeedForward, SwiGLU

# experts, experts a token, inner width of one, of the shared one: as the publishers' configs have them
MIXTURES = {
    "mixtral-8x7b": (8, 2, 14_336, 0),
    "deepseek-v3": (256, 8, 2048, 2048),
    "kimi-k2": (384, 8, 2048, 2048),
    "gpt-oss-20b": (32, 4, 2880, 0),
    "qwen3-next-80b-a3b": (512, 10, 512, 512),
}


@pytest.mark.parametrize("model", MIXTURES)
def test_shapes_of_mixtures_as_published(model):
    held, used, inner, shared = MIXTURES[model]
    assert (ffn_facts.experts_held(model), ffn_facts.experts_used(model)) == (held, used)
    assert ffn_facts.experts_used_share(model) == Fraction(used, held)
    assert ffn_facts.active_ffn_width(model) == used * inner + shared


@pytest.mark.parametrize("model", ["llama-7b", "mistral-7b", "qwen2.5-7b", "qwen3.8-27b", "palm-540b", "gemma-2-9b"])
def test_excess_of_built_ffns(model):
    c = load(model).config
    with torch.device("meta"):
        gated, textbook = SwiGLU(c.d_model, c.d_ff), FeedForward(c.d_model)
    counts = [sum(p.numel() for p in made.parameters()) for made in (gated, textbook)]
    assert ffn_facts.model_ffn_excess(model) == Fraction(*counts) - 1


def test_active_counts_by_hand():
    """Mixtral: attention, experts, router, norms of a block; two tables and the final norm around the blocks."""
    attention, expert, router, norms = 41_943_040, 176_160_768, 32_768, 8_192
    outside = 4_096 + 2 * 131_072_000
    total = 32 * (attention + 8 * expert + router + norms) + outside
    active = 32 * (attention + 2 * expert + router + norms) + outside
    assert (total, active) == (46_702_792_704, 12_879_925_248)
    assert ffn_facts.active_parameters("mixtral-8x7b") == active
    assert ffn_facts.active_share("mixtral-8x7b") == Fraction(active, total)
    assert ffn_facts.routed_share("mixtral-8x7b") == Fraction(32 * 8 * expert, total)
    # DeepSeek-V3: 58 of 61 layers are mixtures of 256 experts, of which a token leaves out 248.
    idle = 58 * 248 * 3 * 7168 * 2048
    assert ffn_facts.active_parameters("deepseek-v3") == 671_026_404_352 - idle
    assert ffn_facts.routed_share("deepseek-v3") == Fraction(58 * 256 * 3 * 7168 * 2048, 671_026_404_352)


def test_experts_of_layers_of_several_kinds():
    """gpt-oss-20b: 24 layers, windowed and not, of 32 experts; an expert's two matrices carry biases."""
    expert = 2880 * 5760 + 5760 + 2880 * 2880 + 2880
    assert ffn_facts.routed_share("gpt-oss-20b") == Fraction(24 * 32 * expert, 20_914_757_184)


def test_dense_models_use_all_they_have():
    assert ffn_facts.active_share("llama-3-8b") == 1
    for refused in (ffn_facts.experts_held, ffn_facts.active_ffn_width, ffn_facts.routed_share):
        with pytest.raises(ConfigError, match="no experts"):
            refused("llama-3-8b")
    with pytest.raises(ConfigError, match="no dense FFN with a gate"):
        ffn_facts.model_ffn_excess("gpt2-small")
