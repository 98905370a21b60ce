"""A block by matrix: sums against the ledger, rows against torch's own layers and against a checkpoint's shapes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from blocklib.atlas import MODEL_IDS, load
from blocklib.ledger import params
from blocklib.ledger.matrices import block_rows, ffn_rows, mixer_rows
from blocklib.ledger.parts import FFN, Attention, ConfigError, MoE
from blocklib.nn.attention import GatedAttention, MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU

APART = [m for m in MODEL_IDS if m not in ("transformer-base", "t5-base", "deepseek-v3", "kimi-k2", "deepseek-v4-flash",
                                           "kimi-k3", "nanochat-d20-head")]  # fmt: skip


@pytest.mark.parametrize("model", APART)
def test_rows_add_up_to_the_ledger(model):
    config = load(model).config
    for layer in config.groups:
        assert sum(block_rows(config, layer).values()) == params.layer_params(config, layer).total
        mixer = params.mixer_params(layer.mixer, config.d_model).total
        assert sum(mixer_rows(layer.mixer, config.d_model).values()) == mixer


@pytest.mark.parametrize("model", ["gpt2-small", "llama-3-8b", "qwen3.8-27b"])
def test_rows_are_the_layers_that_run(model):
    c = load(model).config
    layer = next(layer for layer in c.groups if layer.mixer.kind == "full")
    kind = GatedAttention if c.output_gate else MultiHeadAttention
    with torch.device("meta"):
        attention = kind(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim, bias="q" in c.biases)
        made = (
            SwiGLU(c.d_model, c.d_ff) if c.ffn == "swiglu" else FeedForward(c.d_model, c.d_ff, bias="ffn" in c.biases)
        )
    rows, ffn = block_rows(c, layer), {name: m.weight.numel() for name, m in made.named_children()}
    names = {"query": attention.q, "key": attention.k, "value": attention.v, "output": attention.o}
    names |= {"output_gate": attention.gate} if c.output_gate else {}
    assert {n: rows[n] for n in names} == {n: m.weight.numel() for n, m in names.items()}
    assert {n: rows[n] for n in ffn} == ffn
    linear = [m for m in (*attention.children(), *made.children()) if isinstance(m, nn.Linear)]
    biases = sum(m.bias.numel() for m in linear if m.bias is not None)
    assert rows.get("mixer_biases", 0) + rows.get("ffn_biases", 0) == biases


def test_a_recurrent_layer_by_the_shapes_of_its_checkpoint():
    """Tensor shapes of ``linear_attn`` in the Qwen3.5 family's checkpoints, written out."""
    config = load("qwen3.8-27b").config
    layer = next(layer for layer in config.groups if layer.mixer.kind == "gated_delta")
    shapes = {
        "query": [(16 * 128, 5120)], "key": [(16 * 128, 5120)], "value": [(48 * 128, 5120)],
        "output_gate": [(6144, 5120)], "write_and_decay": [(48, 5120), (48, 5120)], "convolution": [(10_240, 1, 4)],
        "decay_terms": [(48,), (48,)], "gain": [(128,)], "output": [(5120, 6144)],
    }  # fmt: skip
    expected = {name: sum(torch.empty(s, device="meta").numel() for s in made) for name, made in shapes.items()}
    rows = block_rows(config, layer)
    assert {name: rows[name] for name in expected} == expected
    assert rows["norms"] == 2 * 5120 and rows["gate"] == rows["up"] == rows["down"] == 5120 * 17_408


def test_a_mixture_by_its_experts():
    """Eight experts of three matrices and a router of 8 × 4,096 (the published Mixtral layer)."""
    config = load("mixtral-8x7b").config
    rows = ffn_rows(config.moe, 4096)
    assert rows["router"] == 8 * 4096 and rows["gate"] == rows["up"] == rows["down"] == 8 * 4096 * 14_336
    qwen = ffn_rows(load("qwen3-next-80b-a3b").config.moe, 2048)
    assert qwen["shared"] == 3 * 2048 * 512 + 2048 and qwen["up"] == 512 * 2048 * 512


def test_other_parts_are_refused():
    latent, t5 = load("deepseek-v3").config, load("t5-base").config
    for config, layer in ((latent, latent.layers[0]), (t5, t5.layers[0])):
        with pytest.raises(ConfigError):
            block_rows(config, layer)
    moe = load("mixtral-8x7b").config.moe
    with pytest.raises(ConfigError):
        ffn_rows(replace(moe, latent=64), 4096)


@pytest.mark.parametrize(("qk_norm", "widths"), [("head", (4, 4)), ("heads", (24, 8)), ("full", (24, 8)), (None, ())])
@pytest.mark.parametrize("gate", [False, True])
def test_gains_and_biases_are_those_of_torchs_layers(qk_norm, widths, gate):
    """Six query heads and two key heads of width four."""
    d, query, kv = 10, 24, 8
    with torch.device("meta"):
        made = {"q": nn.Linear(d, query * (2 if gate else 1)), "k": nn.Linear(d, kv), "v": nn.Linear(d, kv),
                "o": nn.Linear(query, d)}  # fmt: skip
        gains = sum(nn.RMSNorm(width).weight.numel() for width in widths)
    rows = mixer_rows(Attention(6, 2, 4, biases=frozenset("qkvo"), qk_norm=qk_norm, gate=gate), d)
    assert rows["qk_gains"] == gains and rows["mixer_biases"] == sum(layer.bias.numel() for layer in made.values())
    assert rows["query"] + rows["output_gate"] == made["q"].weight.numel() and rows["key"] == made["k"].weight.numel()
    for site, layer in made.items():
        only = Attention(6, 2, 4, biases=frozenset(site), gate=gate)
        assert mixer_rows(only, d)["mixer_biases"] == layer.bias.numel()


def test_a_gate_on_the_shared_expert_is_a_row_of_the_stream():
    shared = FFN(7, "swiglu")
    plain, gated = (
        ffn_rows(MoE(FFN(4, "swiglu"), 3, 2, shared, shared_gate=gate), 10)["shared"] for gate in (False, True)
    )
    assert (plain, gated) == (3 * 10 * 7, 3 * 10 * 7 + nn.Linear(10, 1, bias=False).weight.numel())
