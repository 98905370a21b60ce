"""Stacks of real models against what their publishers print."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.atlas import load, stack_facts
from blocklib.ledger.parts import ConfigError

# width, blocks, blocks with full attention, with a window
STACKS = {
    "gpt2-small": (768, 12, 12, 0), "gpt2-xl": (1600, 48, 48, 0), "gpt3-175b": (12_288, 96, 96, 0),
    "llama-7b": (4096, 32, 32, 0), "llama-2-70b": (8192, 80, 80, 0), "gemma-2-9b": (3584, 42, 21, 21),
    "gemma-3-1b": (1152, 26, 4, 22), "gpt-oss-20b": (2880, 24, 12, 12), "qwen3.8-27b": (5120, 64, 16, 0),
    "qwen3-next-80b-a3b": (2048, 48, 12, 0), "nanochat-d20-2025": (1280, 20, 20, 0),
}  # fmt: skip


@pytest.mark.parametrize("model", STACKS)
def test_stacks_as_published(model):
    width, blocks, full, window = STACKS[model]
    assert stack_facts.aspect_ratio(model) == Fraction(width, blocks)
    assert stack_facts.ffns_per_full_attention(model) == Fraction(blocks, full)
    assert stack_facts.window_layers(model) == window
    assert all(layer.ffn is not None for layer in load(model).config.layers)


def test_windows_everywhere():
    assert stack_facts.window_layers("mistral-7b") == 32
    with pytest.raises(ConfigError, match="attends to every position"):
        stack_facts.ffns_per_full_attention("mistral-7b")
