"""The model against the six lines it stands for, its parameters against the ledger, its start against its rule."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from blocklib.ledger.config import uniform
from blocklib.ledger.params import count
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock, SandwichBlock
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.masks import SlidingWindow
from blocklib.nn.model import DecoderLM, initialise
from blocklib.nn.moe import Experts, MoE, TopKThenSoftmax
from blocklib.nn.norm import LayerNorm, RMSNorm
from blocklib.nn.position import RoPE, SinusoidalPositions
from blocklib.nn.scores import WithSinks

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
    gpt_shape = uniform(
        vocab_size=V, d_model=D, n_layers=LAYERS, n_heads=3, n_kv_heads=3, head_dim=4, d_ff=48, ffn="gelu",
        norm="layernorm", tied=tied, biases=frozenset({"q", "k", "v", "o", "ffn"}), learned_positions=9,
    )  # fmt: skip
    assert sum(p.numel() for p in gpt(tied).parameters()) == count(gpt_shape).total


def test_llama_shape_equals_the_ledger():
    shape = uniform(
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


def rich() -> DecoderLM:
    """Grouped attention with windows, sinks and RoPE, experts, sandwiched; capped logits, scaled embeddings."""
    rope = RoPE(rope_frequencies(4))
    blocks = []
    for window in (3, None, 2):
        attention = MultiHeadAttention(
            D, 4, 2, 4, pattern=window and SlidingWindow(window), rope=rope, core=WithSinks(4)
        )  # fmt: skip
        blocks.append(SandwichBlock(D, attention, MoE(D, Experts(4, D, 8), TopKThenSoftmax(2)), RMSNorm))
    model = DecoderLM(V, D, blocks, RMSNorm, tied=True, embed_scale=D**0.5, logit_cap=1.5).double()
    for weight in model.parameters():
        nn.init.normal_(weight, 0.1, 0.5)
    return model


def sinusoidal() -> DecoderLM:
    blocks = [PreNormBlock(D, MultiHeadAttention(D, 3), FeedForward(D)) for _ in range(LAYERS)]
    return DecoderLM(V, D, blocks, positions=SinusoidalPositions(D)).double()


MODELS = [lambda: gpt().double(), lambda: llama().double(), sinusoidal, rich]


@pytest.mark.parametrize("make", MODELS)
@torch.no_grad()
def test_prefixes_are_consistent(make):
    """Logits of a prefix are the prefix of the logits; a model that looks ahead fails."""
    model, ids = make(), torch.randint(V, (2, 9))
    for tokens in (1, 4, 8):
        torch.testing.assert_close(model(ids[:, :tokens]), model(ids)[:, :tokens], rtol=1e-9, atol=1e-10)
    for block in model.blocks:  # control
        block.attention.pattern = None
    assert (model(ids[:, :4]) - model(ids)[:, :4]).abs().max() > 1e-4


@pytest.mark.parametrize("make", MODELS)
@torch.no_grad()
def test_cached_is_full(make):
    model, ids = make(), torch.randint(V, (2, 9))
    for chunks in ([1] * 9, [4, 3, 1, 1]):
        cache = ContiguousCache()
        parts = [model(part, cache=cache) for part in ids.split(chunks, 1)]
        torch.testing.assert_close(torch.cat(parts, 1), model(ids), rtol=1e-9, atol=1e-10)
        assert cache.length == 9
    cache = ContiguousCache()  # control: layers that share a place in the cache
    for block in model.blocks:
        block.forward = lambda x, block=block, **context: type(block).forward(block, x, **{**context, "layer": 0})
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        torch.testing.assert_close(torch.cat([model(part, cache=cache) for part in ids.split(1, 1)], 1), model(ids))


@pytest.mark.parametrize("make", MODELS)
@torch.no_grad()
def test_padding_on_the_left_changes_nothing(make):
    model, ids = make(), torch.randint(V, (2, 9))
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1], [1] * 9])
    for kind in (mask, mask.bool(), mask.double()):
        out = model(ids, attention_mask=kind)
        torch.testing.assert_close(out[0, 3:], model(ids[:1, 3:])[0], rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(out[1], model(ids[1:])[0], rtol=1e-9, atol=1e-10)
    cache = ContiguousCache()
    parts = [model(ids[:, a:b], cache=cache, attention_mask=mask[:, :b]) for a, b in ((0, 5), (5, 6), (6, 9))]
    for row, start in ((0, 3), (1, 0)):
        torch.testing.assert_close(torch.cat(parts, 1)[row, start:], out[row, start:], rtol=1e-9, atol=1e-10)
    assert torch.equal(model(ids, attention_mask=torch.ones(2, 9)), model(ids))
    with pytest.raises(ValueError, match=r"must cover all tokens so far, \(2, 9\): found \(2, 8\)"):
        model(ids, attention_mask=mask[:, :8])
    with pytest.raises(ValueError, match=r"\(2, 10\): found \(2, 1\)"):
        model(ids[:, :1], cache=cache, attention_mask=torch.ones(2, 1))


def test_given_positions_are_used():
    model, ids = gpt().double(), torch.randint(V, (2, 4))
    where = torch.tensor([[3, 1, 4, 0], [5, 8, 2, 6]])
    x = model.embed(ids) + model.position.weight[where]
    torch.testing.assert_close(model.stream(ids, positions=where)[0], x)
    turned = llama_with_rope()
    torch.testing.assert_close(turned(ids, positions=range(100, 104)), turned(ids), rtol=1e-9, atol=1e-10)
    assert (turned(ids, positions=torch.tensor([0, 2, 4, 6])) - turned(ids)).abs().max() > 1e-4


def llama_with_rope() -> DecoderLM:
    rope = RoPE(rope_frequencies(4))
    blocks = [PreNormBlock(D, MultiHeadAttention(D, 4, 2, 4, rope=rope), SwiGLU(D, 20), RMSNorm) for _ in range(2)]
    return DecoderLM(V, D, blocks, RMSNorm).double()


def test_scale_of_embeddings_and_cap_of_logits():
    model, ids = rich(), torch.randint(V, (1, 6))
    torch.testing.assert_close(model.stream(ids)[0], model.embed.weight[ids] * D**0.5)
    bare = model.head(model.final_norm(model.stream(ids)[-1]))
    torch.testing.assert_close(model(ids), 1.5 * torch.tanh(bare / 1.5))
    assert model(ids).abs().max() < 1.5 < bare.abs().max()


def test_initialisation_knows_stacked_experts():
    moe = MoE(64, Experts(6, 64, 96, bias=True), TopKThenSoftmax(2), router_bias=True)
    model = initialise(DecoderLM(50, 64, [PreNormBlock(64, MultiHeadAttention(64, 4), moe)]))
    assert moe.experts.gate.std().item() == pytest.approx(0.02, rel=0.05)
    assert moe.experts.down.std().item() == pytest.approx(0.02 / math.sqrt(2), rel=0.05)
    assert moe.experts.up_bias.abs().max() == 0 and moe.router.bias.abs().max() == 0 and model.head.weight.std() > 0
