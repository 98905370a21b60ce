"""Evidence for the page on the shape contract."""

from __future__ import annotations

import pytest
import torch

from blocklib.atlas import load
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PostNormBlock, PreNormBlock
from blocklib.nn.ffn import FeedForward, SwiGLU
from tests.claims_evidence.support import Case, Map, block, cases, fails, gap, holds, influence, over


def unreached(case: Case, attention_is_pointwise: bool = False) -> float:
    """Share of the pairs of positions that should influence each other through a block and do not, or the
    reverse: all pairs without a mask, the lower triangle with a causal one."""
    wrong = pairs = 0
    for causal in (False, True):
        made = block(case, causal=causal)
        if attention_is_pointwise:
            made.attention = FeedForward(case.d).double()
        everything = torch.ones(case.tokens, case.tokens, dtype=torch.bool)
        expected = everything.tril() if causal else everything
        wrong += (influence(made, case.x[0]) != expected).sum().item()
        pairs += expected.numel()
    return wrong / pairs


@pytest.mark.claim("attention-mixes-positions")
def test_attention_mixes_positions():
    holds(over(cases(), unreached))


@pytest.mark.claim("attention-mixes-positions", control=True)
def test_attention_mixes_positions_control():
    fails(over(cases(), unreached, True))


def test_only_attention_crosses_positions():
    """With attention taken out of the block, each output row depends on its own input row alone."""
    for case in cases():
        made = block(case)
        made.attention = FeedForward(case.d).double()
        assert torch.equal(influence(made, case.x[0]), torch.eye(case.tokens, dtype=torch.bool))


def row_mixing(case: Case, ffn_of) -> float:
    """How far shuffling the rows before and after the FFN differ, plus any influence across rows."""
    ffn = ffn_of(case).double()
    order = torch.roll(torch.arange(case.tokens), 1)
    shuffled = gap(ffn(case.x[:, order]), ffn(case.x)[:, order])
    return shuffled + (influence(ffn, case.x[0]) & ~torch.eye(case.tokens, dtype=torch.bool)).sum().item()


@pytest.mark.claim("ffn-is-positionwise")
def test_ffn_is_positionwise():
    for ffn_of in (
        lambda c: FeedForward(c.d, bias=True),
        lambda c: FeedForward(c.d, activation="relu"),
        lambda c: SwiGLU(c.d, 3 * c.d),
    ):
        holds(over(cases(), row_mixing, ffn_of))


@pytest.mark.claim("ffn-is-positionwise", control=True)
def test_ffn_is_positionwise_control():
    """The same two matrices across positions instead of features."""

    def across_positions(case: Case):
        mixer = FeedForward(case.tokens, bias=True).double()
        return Map(lambda x: mixer(x.transpose(1, 2)).transpose(1, 2))

    fails(over(cases(), row_mixing, across_positions))


def width_lost(case: Case, kind: type, extra: int = 0) -> float:
    """Stages of a stack of blocks whose shape is not that of the input; a stack that cannot run counts one.

    ``extra`` widens the FFN's output by that many features.
    """
    made = block(case, kind)
    made.ffn.down = torch.nn.Linear(4 * case.d, case.d + extra).double()
    x, wrong = case.x, 0
    try:
        for _ in range(3):
            stages = made.stages(x)
            wrong += sum(stage.shape != case.x.shape for stage in stages.values())
            x = list(stages.values())[-1]
    except RuntimeError:
        wrong += 1
    return float(wrong)


@pytest.mark.claim("block-preserves-width")
def test_block_preserves_width():
    for kind in (PreNormBlock, PostNormBlock):
        holds(over(cases(), width_lost, kind))


@pytest.mark.claim("block-preserves-width", control=True)
def test_block_preserves_width_control():
    for kind in (PreNormBlock, PostNormBlock):
        fails(over(cases(), width_lost, kind, 1))


@pytest.mark.claim("inner-width-may-differ")
@pytest.mark.parametrize(
    ("model", "stream", "queries", "inner"),
    [("gpt2-small", 768, 768, 3072), ("qwen3.8-27b", 5120, 6144, 17408), ("llama-3-8b", 4096, 4096, 14336)],
)
def test_inner_width_may_differ(model, stream, queries, inner):
    """The published shape, built: inside it is wider, at the doors it is not."""
    c = load(model).config
    with torch.device("meta"):
        attention = MultiHeadAttention(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim)
        ffn = SwiGLU(c.d_model, c.d_ff) if c.ffn == "swiglu" else FeedForward(c.d_model, c.d_ff)
        x = torch.zeros(1, 2, stream)
    assert (attention.q.out_features, ffn.up.out_features) == (queries, inner)
    assert attention(x).shape == ffn(x).shape == x.shape
