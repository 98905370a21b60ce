"""Blocks against torch's encoder layer on copied weights, and their stages against the two lines they stand for."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PostNormBlock, PreNormBlock
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
