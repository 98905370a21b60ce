"""Cache bytes against published golden values and the edge cases of head sharing."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import replace
from fractions import Fraction

import pytest

from blocklib.atlas import load
from blocklib.atlas.model_facts import kv_bytes as kv_bytes_fact
from blocklib.atlas.model_facts import kv_bytes_per_token as kv_fact
from blocklib.exact import DomainError
from blocklib.ledger import cache
from blocklib.ledger.config import FFN, Attention, Config, ConfigError, Layer

# bf16 bytes per token of the published shapes.
GOLDEN = {
    "gpt2-small": 36_864, "gpt2-medium": 98_304, "gpt2-large": 184_320, "gpt2-xl": 307_200, "gpt3-175b": 4_718_592,
    "llama-7b": 524_288, "llama-2-7b": 524_288, "llama-2-70b": 327_680, "llama-3-8b": 131_072,
    "llama-3-70b": 327_680, "mistral-7b": 131_072, "qwen2.5-7b": 57_344, "qwen3.8-27b": 65_536,
    "mixtral-8x7b": 131_072, "deepseek-v3": 70_272, "llama-3.1-405b": 516_096,
}  # fmt: skip


@pytest.mark.parametrize(("model", "expected"), GOLDEN.items())
def test_golden_bytes_per_token(model, expected):
    assert kv_fact(model, "bf16") == expected
    assert kv_fact(model, "fp32") == 2 * expected and kv_fact(model, "int8") * 2 == expected
    assert kv_bytes_fact(model, "bf16", 1000) == 1000 * expected and kv_bytes_fact(model, "bf16", 0) == 0


class Stored:
    """A sequence's cache as lists of entries, one per layer, a window forgetting its oldest."""

    def __init__(self, config):
        self.layers = [(deque(maxlen=layer.mixer.window), layer.mixer.cache_elements) for layer in config.layers]

    def append(self):
        for entries, _ in self.layers:
            entries.append(None)

    def elements(self):
        return sum(len(entries) * size for entries, size in self.layers)


@pytest.mark.parametrize("model", ["gpt-oss-20b", "qwen3-next-80b-a3b", "deepseek-v3", "kimi-k3", "llama-3-8b"])
def test_growth_by_storing_entries(model):
    config = load(model).config
    stored, ledger = Stored(config), cache.describe(config)
    for tokens in range(1, 201):
        before = stored.elements()
        stored.append()
        assert ledger.elements(tokens) == stored.elements()
        if tokens in (1, 128, 129, 200):
            per_token = ledger.per_token if tokens <= 128 else ledger.growing_per_token
            assert stored.elements() - before == per_token


def test_parts_of_a_description_add_up():
    full = cache.KVCache(growing=3, latent=5, compressed=Fraction(1, 2), sliding=((4, 7), (9, 1)), state=2, conv=1)
    assert (full.growing_per_token, full.per_token, full.constant) == (Fraction(17, 2), Fraction(33, 2), 3)
    assert full.elements(0) == 0 and full.elements(6) == Fraction(17, 2) * 6 + 4 * 7 + 6
    assert full.elements(10) == 85 + 28 + 9
    with pytest.raises(DomainError, match="tokens"):
        full.elements(-1)


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


def test_widths_of_formats():
    machine = {"fp32": "f", "fp16": "e", "int8": "b"}
    assert {dtype: cache.dtype_bytes(dtype) for dtype in machine} == {
        dtype: struct.calcsize(code) for dtype, code in machine.items()}  # fmt: skip
    assert cache.dtype_bytes("bf16") == struct.calcsize("f") // 2 and cache.dtype_bytes("fp8") == 1


def test_layers_of_several_shapes_add_up():
    attention, cross = Attention(4, 2, 8), Attention(4, 4, 8)
    layers = [Layer(attention, FFN(d_ff, "relu"), norms=3, cross=cross) for d_ff in (16, 32, 32)]
    config = Config(vocab_size=9, d_model=32, layers=tuple(layers), norm="rmsnorm", tied=True, kind="encoder-decoder",
                    encoder=(Layer(attention, FFN(16, "relu")),))  # fmt: skip
    found = cache.describe(config)
    assert (found.growing, found.cross) == (3 * 2 * 2 * 8, 3 * 2 * 4 * 8)
    assert (found.elements(5), found.latent, found.compressed, found.sliding, found.constant) == (5 * 96, 0, 0, (), 0)


def test_an_encoder_keeps_nothing():
    found = cache.describe(load("bert-base-uncased").config)
    assert not any(vars(found).values()) and found.elements(512) == 0


def test_refusals():
    config = load("gpt2-small").config
    with pytest.raises(ConfigError, match="unknown dtype 'bf61'"):
        cache.kv_bytes_per_token(config, "bf61")
    with pytest.raises(DomainError, match="tokens"):
        cache.kv_bytes(config, "bf16", -1)
    assert cache.kv_bytes(config, "bf16", 0) == 0
