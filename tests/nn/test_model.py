"""The model against the six lines it stands for, its parameters against the ledger, its start against its rule."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from blocklib.ledger.config import Config
from blocklib.ledger.params import count
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.model import DecoderLM, initialise
from blocklib.nn.norm import LayerNorm, RMSNorm

V, D, LAYERS = 17, 12, 3


def gpt(tied: bool = True) -> DecoderLM:
    blocks = [PreNormBlock(D, MultiHeadAttention(D, 3, bias=True), FeedForward(D, bias=True)) for _ in range(LAYERS)]
    return DecoderLM(V, D, blocks, LayerNorm, positions=9, tied=tied)


def llama() -> DecoderLM:
    blocks = [PreNormBlock(D, MultiHeadAttention(D, 4, 2), SwiGLU(D, 20), RMSNorm) for _ in range(LAYERS)]
    return DecoderLM(V, D, blocks, RMSNorm, tied=False)


def test_forward_is_six_lines():
    model = gpt().double()
    ids = torch.randint(V, (2, 7))
    x = model.embed.weight[ids] + model.position.weight[:7]
    for block in model.blocks:
        x = x + block.attention(block.norm_attention(x))
        x = x + block.ffn(block.norm_ffn(x))
    torch.testing.assert_close(model(ids), model.final_norm(x) @ model.embed.weight.T, rtol=1e-10, atol=1e-12)
    assert model(ids).shape == (2, 7, V)


def test_stream_has_a_state_before_and_after_each_block():
    model = llama()
    states = model.stream(torch.randint(V, (2, 5)))
    assert len(states) == LAYERS + 1 and all(s.shape == (2, 5, D) for s in states)
    torch.testing.assert_close(states[1], model.blocks[0](states[0]))


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_equal_the_ledger(tied):
    gpt_shape = Config(
        vocab_size=V, d_model=D, n_layers=LAYERS, n_heads=3, n_kv_heads=3, head_dim=4, d_ff=48, ffn="gelu",
        norm="layernorm", tied=tied, biases=frozenset({"q", "k", "v", "o", "ffn"}), learned_positions=9,
    )  # fmt: skip
    assert sum(p.numel() for p in gpt(tied).parameters()) == count(gpt_shape).total


def test_llama_shape_equals_the_ledger():
    shape = Config(
        vocab_size=V, d_model=D, n_layers=LAYERS, n_heads=4, n_kv_heads=2, head_dim=3, d_ff=20, ffn="swiglu",
        norm="rmsnorm", tied=False,
    )  # fmt: skip
    assert sum(p.numel() for p in llama().parameters()) == count(shape).total


def test_a_prompt_beyond_the_position_table_is_refused():
    with pytest.raises(ValueError, match="10 positions exceed the table's 9"):
        gpt()(torch.zeros(1, 10, dtype=torch.long))


def test_a_post_norm_stack_needs_no_final_norm():
    model = DecoderLM(V, D, [nn.Identity()], norm=None)
    ids = torch.randint(V, (1, 4))
    torch.testing.assert_close(model(ids), model.head(model.embed(ids)))


def test_initialisation_scales_what_writes_to_the_stream():
    blocks = [PreNormBlock(64, MultiHeadAttention(64, 4, bias=True), FeedForward(64, bias=True)) for _ in range(4)]
    model = initialise(DecoderLM(500, 64, blocks), generator=torch.Generator().manual_seed(1))
    assert model.embed.weight.std().item() == pytest.approx(0.02, rel=0.05)
    for block in model.blocks:
        assert block.ffn.up.weight.std().item() == pytest.approx(0.02, rel=0.05)
        for writer in (block.attention.o, block.ffn.down):
            assert writer.weight.std().item() == pytest.approx(0.02 / math.sqrt(8), rel=0.05)
        assert block.ffn.up.bias.abs().max() == 0 and (block.norm_ffn.gain == 1).all()
