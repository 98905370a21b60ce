"""Blocks against torch's encoder layer on copied weights, and their stages against the two lines they stand for."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import OutputNormBlock, ParallelBlock, PostNormBlock, PreNormBlock, SandwichBlock
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward
from blocklib.nn.norm import RMSNorm

D, HEADS, D_FF = 12, 3, 20


def block(kind, **options):
    return kind(D, MultiHeadAttention(D, HEADS, bias=True, causal=False), FeedForward(D, D_FF, bias=True), **options)


def by_torch(ours, norm_first: bool) -> nn.TransformerEncoderLayer:
    """torch's own layer with the weights of ``ours``."""
    layer = nn.TransformerEncoderLayer(
        D, HEADS, D_FF, dropout=0, activation="gelu", batch_first=True, norm_first=norm_first
    )
    attention = ours.attention
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(torch.cat([attention.q.weight, attention.k.weight, attention.v.weight]))
        layer.self_attn.in_proj_bias.copy_(torch.cat([attention.q.bias, attention.k.bias, attention.v.bias]))
        for theirs, mine in (
            (layer.self_attn.out_proj, attention.o), (layer.linear1, ours.ffn.up), (layer.linear2, ours.ffn.down),
        ):  # fmt: skip
            theirs.weight.copy_(mine.weight)
            theirs.bias.copy_(mine.bias)
        for theirs, mine in ((layer.norm1, ours.norm_attention), (layer.norm2, ours.norm_ffn)):
            theirs.weight.copy_(mine.gain.normal_())
            theirs.bias.copy_(mine.bias.normal_())
    return layer.double()


@pytest.mark.parametrize(("kind", "norm_first"), [(PreNormBlock, True), (PostNormBlock, False)])
def test_equals_torchs_encoder_layer(kind, norm_first):
    ours = block(kind)
    theirs = by_torch(ours, norm_first)
    x = torch.randn(2, 5, D, dtype=torch.float64)
    torch.testing.assert_close(ours.double()(x), theirs(x), rtol=1e-10, atol=1e-12)


def test_pre_norm_stages_are_the_two_lines():
    ours = block(PreNormBlock, norm=RMSNorm).double()
    x = torch.randn(2, 5, D, dtype=torch.float64)
    stages = ours.stages(x)
    assert list(stages) == ["norm_attention", "attention", "add_attention", "norm_ffn", "ffn", "add_ffn"]
    after = x + ours.attention(ours.norm_attention(x))
    torch.testing.assert_close(stages["add_attention"], after)
    torch.testing.assert_close(ours(x), after + ours.ffn(ours.norm_ffn(after)))
    assert all(stage.shape == x.shape for stage in stages.values())


def test_post_norm_stages_are_the_two_lines():
    ours = block(PostNormBlock).double()
    x = torch.randn(2, 5, D, dtype=torch.float64)
    stages = ours.stages(x)
    assert list(stages) == ["attention", "add_attention", "norm_attention", "ffn", "add_ffn", "norm_ffn"]
    after = ours.norm_attention(x + ours.attention(x))
    torch.testing.assert_close(ours(x), ours.norm_ffn(after + ours.ffn(after)))


@pytest.mark.parametrize("kind", [PreNormBlock, PostNormBlock])
def test_skip_scales_the_residual_path(kind):
    x = torch.randn(1, 4, D, dtype=torch.float64)
    ours = block(kind, skip=0.5).double()
    stages = ours.stages(x)
    torch.testing.assert_close(stages["add_attention"], 0.5 * x + stages["attention"])
    middle = stages["add_attention"] if kind is PreNormBlock else stages["norm_attention"]
    torch.testing.assert_close(stages["add_ffn"], 0.5 * middle + stages["ffn"])
    bare = block(kind, skip=0.0).double().stages(x)
    torch.testing.assert_close(bare["add_attention"], bare["attention"])


KINDS = [
    PreNormBlock, PostNormBlock, OutputNormBlock, SandwichBlock, ParallelBlock, partial(ParallelBlock, shared_norm=True),
]  # fmt: skip


def randomised(ours: nn.Module) -> nn.Module:
    for weight in ours.parameters():
        nn.init.normal_(weight, 0.2, 0.5)
    return ours.double()


def test_output_norm_leaves_the_path_free():
    ours, x = randomised(block(OutputNormBlock, norm=RMSNorm)), torch.randn(2, 5, D, dtype=torch.float64)
    middle = x + ours.norm_attention(ours.attention(x))
    torch.testing.assert_close(ours(x), middle + ours.norm_ffn(ours.ffn(middle)))
    assert list(ours.stages(x)) == ["attention", "norm_attention", "add_attention", "ffn", "norm_ffn", "add_ffn"]
    post = randomised(block(PostNormBlock, norm=RMSNorm))  # control: the post-norm takes the path along
    post.load_state_dict(ours.state_dict())
    assert (post(x) - ours(x)).abs().max() > 0.1
    # What is written does not depend on the scale of the last matrix; what post-norm passes on does.
    nn.init.zeros_(ours.attention.o.bias)
    before = ours.stages(x)["norm_attention"]
    with torch.no_grad():
        ours.attention.o.weight.mul_(50)
    torch.testing.assert_close(ours.stages(x)["norm_attention"], before, rtol=1e-3, atol=1e-3)


def test_sandwich_norms_both_sides():
    ours, x = randomised(block(SandwichBlock, norm=RMSNorm)), torch.randn(2, 5, D, dtype=torch.float64)
    middle = x + ours.norm_attention_out(ours.attention(ours.norm_attention(x)))
    expected = middle + ours.norm_ffn_out(ours.ffn(ours.norm_ffn(middle)))
    torch.testing.assert_close(ours(x), expected)
    assert len({id(n) for n in (ours.norm_attention, ours.norm_attention_out, ours.norm_ffn, ours.norm_ffn_out)}) == 4
    assert list(ours.stages(x))[2] == "norm_attention_out" and len(ours.stages(x)) == 8


@pytest.mark.parametrize("shared", [True, False])
def test_parallel_sublayers_read_the_same_stream(shared):
    ours, x = randomised(block(ParallelBlock, shared_norm=shared)), torch.randn(2, 5, D, dtype=torch.float64)
    expected = x + ours.attention(ours.norm_attention(x)) + ours.ffn(ours.norm_ffn(x))
    torch.testing.assert_close(ours(x), expected)
    assert (ours.norm_ffn is ours.norm_attention) == shared
    serial = randomised(block(PreNormBlock))  # control: one after the other is something else
    serial.load_state_dict(ours.state_dict())
    assert (serial(x) - ours(x)).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_factors_on_path_and_writes(kind):
    x = torch.randn(1, 4, D, dtype=torch.float64)
    ours = randomised(block(kind, skip=0.5, write=0.25))
    stages = ours.stages(x)
    # What is added first: the sublayer's output, or what its norm made of it.
    written = {OutputNormBlock: "norm_attention", SandwichBlock: "norm_attention_out"}.get(kind, "attention")
    if "add" in stages:
        torch.testing.assert_close(stages["add"], 0.5 * x + 0.25 * (stages["attention"] + stages["ffn"]))
    else:
        torch.testing.assert_close(stages["add_attention"], 0.5 * x + 0.25 * stages[written])
    torch.testing.assert_close(ours(x), list(stages.values())[-1])


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_every_kind_decodes_with_a_cache(kind):
    ours = randomised(kind(D, MultiHeadAttention(D, 4, 2, bias=True), FeedForward(D, D_FF, bias=True)))
    x = torch.randn(2, 7, D, dtype=torch.float64)
    cache = ContiguousCache()
    parts = [ours(part, cache=cache, layer=3) for part in x.split([3, 1, 2, 1], 1)]
    torch.testing.assert_close(torch.cat(parts, 1), ours(x), rtol=1e-10, atol=1e-12)
    assert cache.seen(3) == 7 and cache.seen(0) == 0


def test_a_sublayer_need_only_know_x():
    ours, x = PreNormBlock(D, nn.Identity(), nn.Identity()), torch.randn(1, 3, D)
    assert ours(x).shape == x.shape
    with pytest.raises(TypeError, match="cache"):
        ours(x, cache=ContiguousCache())
