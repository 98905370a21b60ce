"""Cache bytes against published golden values and the edge cases of head sharing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blocklib.atlas import load
from blocklib.atlas.model_facts import kv_bytes as kv_bytes_fact
from blocklib.atlas.model_facts import kv_bytes_per_token as kv_fact
from blocklib.exact import DomainError
from blocklib.ledger import cache
from blocklib.ledger.config import ConfigError

# bf16 bytes per token of the published shapes.
GOLDEN = {
    "gpt2-small": 36_864, "gpt2-medium": 98_304, "gpt2-large": 184_320, "gpt2-xl": 307_200, "gpt3-175b": 4_718_592,
    "llama-7b": 524_288, "llama-2-7b": 524_288, "llama-2-70b": 327_680, "llama-3-8b": 131_072,
    "llama-3-70b": 327_680, "mistral-7b": 131_072, "qwen2.5-7b": 57_344, "qwen3.8-27b": 65_536,
}  # fmt: skip


@pytest.mark.parametrize(("model", "expected"), GOLDEN.items())
def test_golden_bytes_per_token(model, expected):
    assert kv_fact(model, "bf16") == expected
    assert kv_fact(model, "fp32") == 2 * expected and kv_fact(model, "int8") * 2 == expected
    assert kv_bytes_fact(model, "bf16", 1000) == 1000 * expected


def test_ten_gibibytes_are_not_ten_gigabytes():
    size = cache.kv_bytes(load("llama-2-70b").config, "bf16", 32_768)
    assert size == 10 * 2**30 and size != 10 * 10**9


def test_a_cache_counts_what_a_list_of_tensors_holds():
    config = load("llama-3-8b").config
    stored = [(config.n_kv_heads, config.head_dim) for _layer in config.mixers for _kv in ("k", "v")]
    assert cache.kv_elements_per_token(config) == sum(heads * width for heads, width in stored)


@pytest.mark.parametrize(("n_kv_heads", "share"), [(32, 1), (8, 4), (4, 8), (1, 32)])
def test_sharing_heads_divides_the_cache(n_kv_heads, share):
    config = load("llama-2-7b").config
    layer = config.layers[0]
    layer = replace(layer, mixer=replace(layer.mixer, n_kv_heads=n_kv_heads))
    config = replace(config, layers=(layer,) * config.n_layers)
    assert cache.kv_bytes_per_token(config, "bf16") * share == 524_288


def test_recurrent_layers_keep_a_fixed_state_instead():
    config = load("qwen3.8-27b").config
    assert cache.kv_elements_per_token(config) == 2 * 16 * 4 * 256
    assert cache.state_elements(config) == 37_748_736
    assert cache.state_elements(load("llama-3-8b").config) == 0


def test_refusals():
    config = load("gpt2-small").config
    with pytest.raises(ConfigError, match="unknown dtype 'bf61'"):
        cache.kv_bytes_per_token(config, "bf61")
    with pytest.raises(DomainError, match="tokens"):
        cache.kv_bytes(config, "bf16", -1)
    assert cache.kv_bytes(config, "bf16", 0) == 0
