"""Counts of the ledger against torch layers built on the meta device and against hand-counted shapes."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.ledger import params
from blocklib.ledger.config import Config, ConfigError, GatedDelta, uniform
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
