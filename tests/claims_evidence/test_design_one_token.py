"""Evidence for the chapter on one token in one attention sublayer."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention, SingleHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward
from blocklib.nn.masks import causal_mask
from blocklib.nn.norm import RMSNorm
from blocklib.nn.scores import DotProduct
from tests.claims_evidence.support import Case, cases, fails, gap, holds, over
from tests.claims_evidence.test_design_qkv import beyond_hull


def layer(case: Case, causal: bool = True) -> MultiHeadAttention:
    """Attention of the case's shape with random weights, in float64."""
    made = MultiHeadAttention(case.d, case.heads, causal=causal).double()
    for weight in made.parameters():
        nn.init.normal_(weight, 0.0, 1.5 * case.d**-0.5)
    return made


def off_own_value(case: Case, causal: bool) -> float:
    """How far what the first token receives is from its own value through the output matrix."""
    attention = layer(case, causal)
    return gap(attention(case.x)[:, 0], attention.o(attention.v(case.x))[:, 0])


@pytest.mark.claim("first-token-reads-itself")
def test_first_token_reads_itself():
    holds(over(cases(), off_own_value, True))


@pytest.mark.claim("first-token-reads-itself", control=True)
def test_first_token_reads_itself_control():
    fails(over(cases(), off_own_value, False))


class Unnormalised(DotProduct):
    """Scores as they are, for weights: what attention would be without the softmax."""

    def normalise(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores if mask is None else scores.masked_fill(~mask, 0.0)


def leaves_hull(case: Case, core: DotProduct) -> float:
    """How far what a head reads lies outside the hull of the values visible to it, the worst over heads and places."""
    q, k, v = torch.randn(3, 2, case.heads, case.tokens, 3, dtype=torch.float64) * 2
    mixed, worst = core(q, k, v, causal_mask, None), 0.0
    for place in range(case.tokens):
        seen = v[:, :, : place + 1]
        worst = max(worst, beyond_hull(seen, mixed[:, :, place : place + 1], directions=64))
    weights = core.weights(q, k, causal_mask, None)
    return max(worst, gap(weights.sum(-1), torch.ones_like(weights[..., 0])), -min(0.0, weights.min().item()))


@pytest.mark.claim("head-output-in-hull")
def test_head_output_in_hull():
    holds(over(cases(), leaves_hull, DotProduct()))


@pytest.mark.claim("head-output-in-hull", control=True)
def test_head_output_in_hull_control():
    fails(over(cases(), leaves_hull, Unnormalised()))


def distance_kept(seed: int, erasing: bool) -> float:
    """Distance after the residual sum of two inputs that are one apart, of a token that reads itself alone.

    The direction in which they differ is one that values and output matrix turn into its opposite, or shrink.
    """
    torch.manual_seed(seed)
    d = 4 + seed % 5
    attention = SingleHeadAttention(d).double()
    basis = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))[0]
    sizes = torch.rand(d, dtype=torch.float64) / 2
    sizes[0] = -1.0 if erasing else -0.5
    with torch.no_grad():
        attention.o.weight.copy_(basis @ torch.diag(sizes) @ basis.T @ torch.linalg.inv(attention.v.weight))
    x = torch.randn(1, 1, d, dtype=torch.float64)
    other = x + basis[:, 0]
    return (x + attention(x) - other - attention(other)).norm().item()


@pytest.mark.claim("stream-can-forget")
def test_stream_can_forget():
    holds([distance_kept(seed, True) for seed in range(8)])


@pytest.mark.claim("stream-can-forget", control=True)
def test_stream_can_forget_control():
    """With no direction turned into its opposite, different inputs stay different."""
    fails([distance_kept(seed, False) for seed in range(8)], clearly=0.4)


def alone_not_linear(case: Case, with_ffn: bool) -> float:
    """How far a stack is from linear on sequences of one token: residual attention layers, with FFNs or without."""
    stack = [layer(case) for _ in range(3)]
    if with_ffn:
        stack.insert(1, FeedForward(case.d).double())
    for part in stack[1:2] if with_ffn else ():
        for weight in part.parameters():
            nn.init.normal_(weight, 0.0, 0.5)

    def run(x: Tensor) -> Tensor:
        for part in stack:
            x = x + part(x)
        return x

    a, b = torch.randn(2, 1, 1, case.d, dtype=torch.float64)
    return gap(run(2 * a - 3 * b), 2 * run(a) - 3 * run(b))


@pytest.mark.claim("alone-attention-is-linear")
def test_alone_attention_is_linear():
    holds(over(cases(), alone_not_linear, False))


@pytest.mark.claim("alone-attention-is-linear", control=True)
def test_alone_attention_is_linear_control():
    fails(over(cases(), alone_not_linear, True))


def not_linear_in(case: Case, values_only: bool) -> float:
    """How far a sublayer is from linear in its input, the weights held as they are or computed anew."""
    attention = layer(case)
    q, k, _ = attention._projected(case.x, None, None, None)

    def write(x: Tensor) -> Tensor:
        if not values_only:
            return attention(x)
        v = attention._projected(x, None, None, None)[2]
        return attention.o(attention.core(q, k, v, attention.pattern, None).transpose(1, 2).flatten(2))

    other = torch.randn_like(case.x)
    return gap(write(case.x + 2 * other), write(case.x) + 2 * write(other))


@pytest.mark.claim("linear-once-weights-are-set")
def test_linear_once_weights_are_set():
    holds(over(cases(), not_linear_in, True))


@pytest.mark.claim("linear-once-weights-are-set", control=True)
def test_linear_once_weights_are_set_control():
    fails(over(cases(), not_linear_in, False))


def channels_part(case: Case, across: bool) -> float:
    """How far mixing the channels before reading is from mixing them after: within each head, or across two heads."""
    heads, width = 2, 3
    q, k, v = torch.randn(3, 1, heads, case.tokens, width, dtype=torch.float64) * 1.5
    size = heads * width if across else width
    mix = torch.randn(size, size, dtype=torch.float64)

    def mixed(x: Tensor) -> Tensor:
        if not across:
            return x @ mix
        return (x.transpose(1, 2).flatten(2) @ mix).unflatten(-1, (heads, width)).transpose(1, 2)

    core = DotProduct()
    return gap(core(q, k, mixed(v), None, None), mixed(core(q, k, v, None, None)))


@pytest.mark.claim("channels-share-their-weights")
def test_channels_share_their_weights():
    holds(over(cases(), channels_part, False))


@pytest.mark.claim("channels-share-their-weights", control=True)
def test_channels_share_their_weights_control():
    fails(over(cases(), channels_part, True))


def exponent(case: Case, causal: bool, skip: bool) -> float:
    """Power of a small difference between tokens at which the difference that is left after one layer shrinks."""
    base = torch.randn(1, 1, case.d, dtype=torch.float64)
    differences = torch.randn(1, case.tokens + 2, case.d, dtype=torch.float64)
    differences = differences - differences.mean(1, keepdim=True)
    attention = layer(case, causal)

    def left(size: float) -> float:
        x = base + size * differences
        y = attention(x) + skip * x
        return (y - y.mean(1, keepdim=True)).norm().item()

    small, large = 0.01, 0.02
    return math.log(left(large) / left(small)) / math.log(large / small)


@pytest.mark.claim("collapse-is-cubic")
def test_collapse_is_cubic():
    holds([abs(exponent(case, False, False) - 3) for case in cases()], tolerance=0.1)


@pytest.mark.claim("collapse-is-cubic", control=True)
def test_collapse_is_cubic_control():
    """Under a causal mask, or with a skip, what is left is of the order of what there was."""
    for causal, skip in ((True, False), (False, True), (True, True)):
        found = [exponent(case, causal, skip) for case in cases()]
        assert max(abs(power - 1) for power in found) < 0.1


def test_skip_is_what_stops_it():
    """A stack of blocks with skips keeps its tokens apart where the same sublayers without skips do not."""
    torch.manual_seed(0)
    d = 16
    x = torch.randn(1, 8, d, dtype=torch.float64)

    def unlike(y: Tensor) -> float:
        return ((y - y.mean(1, keepdim=True)).norm() / y.norm()).item()

    with_skips = bare = x
    norm = RMSNorm(d, affine=False)
    for _ in range(6):
        block = PreNormBlock(d, MultiHeadAttention(d, 2, causal=False), FeedForward(d)).double()
        with_skips = block(with_skips)
        bare = block.ffn(norm(block.attention(norm(bare))))
    assert unlike(with_skips) > 0.5 and unlike(bare) < 1e-6
