"""Shared key/value heads of real models against layers that are built without memory, and published cache sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.atlas import load, model_facts, sharing_facts
from blocklib.ledger.config import ConfigError
from blocklib.nn.attention import MultiHeadAttention

DENSE = ("gpt2-small", "llama-7b", "llama-2-70b", "llama-3-8b", "mistral-7b", "qwen2.5-7b")


def built(model: str, n_kv_heads: int) -> int:
    """Weights of this model's attention layer with that many key/value heads, on the device without memory."""
    shape = load(model).config
    with torch.device("meta"):
        layer = MultiHeadAttention(shape.d_model, shape.n_heads, n_kv_heads, shape.head_dim)
    return sum(p.numel() for p in layer.parameters())


@pytest.mark.parametrize("model", DENSE)
def test_weights_match_layers_that_are_built(model):
    shape = load(model).config
    assert sharing_facts.attention_weights_unshared(model) == built(model, shape.n_heads)
    assert model_facts.model_attention_weights(model) == built(model, shape.n_kv_heads)


def test_cache_bytes_against_the_published_ones():
    """Llama 2: of the two sizes, published by one hand, only the larger shares heads."""
    assert sharing_facts.kv_bytes_per_token_unshared("llama-3-8b", "bf16") == 2 * 32 * 32 * 128 * 2
    assert sharing_facts.kv_bytes_per_token_unshared("llama-2-7b", "bf16") == model_facts.kv_bytes_per_token(
        "llama-2-7b", "bf16"
    )
    shares = {m: sharing_facts.model_kv_sharing(m) for m in ("llama-2-7b", "llama-2-70b", "palm-540b", "qwen2.5-7b")}
    assert shares == {"llama-2-7b": 1, "llama-2-70b": Fraction(8, 64), "palm-540b": Fraction(1, 48),
                      "qwen2.5-7b": Fraction(4, 28)}  # fmt: skip
    for model in DENSE:
        whole = sharing_facts.kv_bytes_per_token_unshared(model, "bf16")
        assert model_facts.kv_bytes_per_token(model, "bf16") == whole * sharing_facts.model_kv_sharing(model)


def test_a_latent_has_no_heads_to_share():
    with pytest.raises(ConfigError):
        sharing_facts.attention_weights_unshared("deepseek-v3")
