"""Counts of the ledger against torch layers built on the meta device and against hand-counted shapes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.atlas import load
from blocklib.exact import DomainError
from blocklib.ledger import params
from blocklib.ledger.config import Config, ConfigError, Layer, uniform
from blocklib.ledger.parts import FFN, Attention, GatedDelta, KimiDelta, LatentAttention, MoE
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward
from tests.ledger.build import built


@st.composite
def configs(draw) -> Config:
    """Small shapes over every field that a count depends on, gated DeltaNet layers left out."""
    kv, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sites = draw(st.sampled_from([(), ("q", "k", "v"), ("q", "k", "v", "o", "ffn"), ("ffn",), ("o",)]))
    return uniform(
        vocab_size=draw(st.integers(1, 50)),
        d_model=draw(st.integers(1, 24)),
        n_layers=draw(st.integers(1, 3)),
        n_heads=kv * group,
        n_kv_heads=kv,
        head_dim=draw(st.integers(1, 8)),
        d_ff=draw(st.integers(1, 40)),
        ffn=draw(st.sampled_from(["relu", "gelu", "swiglu"])),
        norm=draw(st.sampled_from(["layernorm", "rmsnorm"])),
        tied=draw(st.booleans()),
        biases=frozenset(sites),
        learned_positions=draw(st.integers(0, 9)),
        qk_norm=draw(st.booleans()),
        output_gate=draw(st.booleans()),
    )


@given(configs())
@settings(max_examples=40, deadline=None)
def test_components_match_layers_on_the_meta_device(config):
    assert params.count(config).components == built(config)


DELTA = GatedDelta(k_heads=2, k_dim=3, v_heads=4, v_dim=5, conv=4)
HYBRID = uniform(
    vocab_size=11, d_model=6, n_layers=3, n_heads=2, n_kv_heads=1, head_dim=4, d_ff=7, ffn="swiglu", norm="rmsnorm",
    tied=False, layers=("gated_delta", "full", "gated_delta"), gated_delta=DELTA,
)  # fmt: skip


def test_gated_delta_shapes_counted_by_hand():
    shapes = {
        "queries, keys, values": 6 * (6 + 6 + 20), "output gate": 6 * 20, "beta": 6 * 4, "decay input": 6 * 4,
        "convolution": (6 + 6 + 20) * 4, "decay rate": 4, "time-step bias": 4, "output": 20 * 6,
    }  # fmt: skip
    assert params.gated_delta_weights(6, DELTA) == sum(shapes.values())
    assert params.block(HYBRID, "gated_delta").norm == 6 + 6 + 5


def test_kimi_delta_shapes_counted_by_hand():
    shapes = {
        "queries, keys, values": 6 * 3 * 8, "convolutions": 3 * 8 * 4, "output gate": 6 * 8, "beta": 6 * 2,
        "decay, down and up": 6 * 5 + 5 * 8, "decay rate": 2, "time-step bias": 8, "output": 8 * 6,
    }  # fmt: skip
    count = params.mixer_params(KimiDelta(heads=2, dim=4, conv=4, decay_rank=5), 6)
    assert (count.attention, count.norm, count.total) == (sum(shapes.values()), 4, sum(shapes.values()) + 4)


def test_latent_attention_with_a_gate_counted_by_hand():
    mixer = LatentAttention(n_heads=2, q_rank=None, kv_rank=5, nope_dim=4, rope_dim=2, v_dim=3, bias=True, gate=True)
    shapes = {"queries": 6 * 12, "latent": 6 * 7 + 7, "expansion": 5 * 2 * 7, "output": 6 * 6 + 6, "gate": 6 * 6}
    count = params.mixer_params(mixer, 6)
    assert (count.attention, count.norm) == (sum(shapes.values()), 5)


def test_experts_in_a_latent_counted_by_hand():
    experts = MoE(FFN(4, "situglu"), n_experts=5, top_k=2, shared=FFN(7, "situglu"), shared_gate=True,
                  router_bias=True, latent=3)  # fmt: skip
    shapes = {"router": 5 * 6 + 5, "experts": 5 * 3 * 3 * 4, "shared": 3 * 6 * 7 + 6, "down and up": 2 * 6 * 3}
    count = params.ffn_params_of(experts, 6)
    assert (count.ffn, count.norm) == (sum(shapes.values()), 3)
    layer = Layer(KimiDelta(2, 4, 4, 5), experts)
    config = Config(11, 6, (layer, layer), "rmsnorm", tied=False)
    active = params.active(config)
    assert params.count(config).total - active.with_embeddings == 2 * (5 - 2) * 3 * 3 * 4
    assert active.with_embeddings - active.without_input_embedding == 11 * 6


def test_all_experts_chosen_are_all_parameters():
    layer = Layer(Attention(1, 1, 6), MoE(FFN(4, "swiglu", bias=True), n_experts=3, top_k=3))
    config = Config(11, 6, (layer,), "rmsnorm", tied=True)
    assert params.active(config) == params.Active(*[params.count(config).total] * 2)


def test_blocks_that_differ_have_no_one_count():
    dense, sparse = FFN(4, "swiglu"), MoE(FFN(4, "swiglu"), 3, 1)
    layers = tuple(Layer(Attention(1, 1, 6), ffn) for ffn in (dense, sparse))
    config = Config(11, 6, layers, "rmsnorm", tied=True)
    for call in (lambda: params.block(config), lambda: params.block(config, "full"),
                 lambda: params.ffn_weights(config), lambda: params.attention_weights(load("deepseek-v3").config),
                 lambda: params.mixer_params("full", 6)):  # fmt: skip
        with pytest.raises(ConfigError):
            call()
    assert params.count(config).ffn == 72 + 3 * 72 + 18


def test_weights_and_biases_of_a_block_add_up():
    config = load("gpt2-small").config
    assert (params.attention_weights(config), params.attention_biases(config)) == (4 * 768**2, 4 * 768)
    assert (params.ffn_weights(config), params.ffn_biases(config)) == (2 * 768 * 3072, 3072 + 768)
    sinks = load("gpt-oss-20b").config
    assert params.attention_biases(sinks) == 4096 + 512 + 512 + 2880  # the learned sinks are no biases
    assert params.attention_weights(sinks) == 2880 * (4096 + 1024 + 4096)


def test_shared_blocks_are_stored_once():
    one = uniform(vocab_size=5, d_model=4, n_layers=6, n_heads=1, n_kv_heads=1, head_dim=4, d_ff=8, ffn="gelu",
                  norm="layernorm", tied=True, stored_layers=2, embedding_width=3)  # fmt: skip
    two = replace(one, layers=one.layers[:2], stored_layers=0)
    assert params.count(one) == params.count(two)
    assert params.count(one).embedding == 5 * 3 + 4 * 3 + 4


def test_hybrid_is_the_sum_of_its_layers():
    blocks = [params.block(HYBRID, mixer) for mixer in HYBRID.mixers]
    outside = 2 * 11 * 6 + 6
    assert params.count(HYBRID).total == sum(b.total for b in blocks) + outside
    assert params.outside_blocks(HYBRID).total == outside


def test_a_mixer_the_model_lacks_is_refused():
    plain = params.textbook(8)
    for mixer in ("gated_delta", "window"):
        with pytest.raises(ConfigError, match=repr(mixer)):
            params.block(plain, mixer)


@pytest.mark.parametrize("d_model", [1, 768, 1024, 4096, 12288])
def test_textbook_block_matches_counted_matrices(d_model):
    with torch.device("meta"):
        attention, ffn = MultiHeadAttention(d_model, 1), FeedForward(d_model)
    assert params.attention_params(d_model) == sum(p.numel() for p in attention.parameters())
    assert params.ffn_params(d_model) == sum(p.numel() for p in ffn.parameters())


@pytest.mark.parametrize(
    ("d_model", "attention", "ffn"),
    [(768, 2_359_296, 4_718_592), (1600, 10_240_000, 20_480_000), (12288, 603_979_776, 1_207_959_552)],
)
def test_known_textbook_counts(d_model, attention, ffn):
    assert (params.attention_params(d_model), params.ffn_params(d_model)) == (attention, ffn)


def test_width_must_be_positive():
    for count in (params.attention_params, params.ffn_params):
        with pytest.raises(DomainError):
            count(0)


def test_components_are_ordered_and_add_up():
    count = params.count(HYBRID)
    assert list(count.components) == ["embedding", "position", "attention", "ffn", "norm", "qk_norm", "head", "other"]
    assert count.total == sum(count.components.values())


def test_no_torch_behind_the_ledger():
    code = (
        "import sys, blocklib.ledger.params, blocklib.ledger.flops, blocklib.ledger.cache, blocklib.atlas.model_facts;"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
