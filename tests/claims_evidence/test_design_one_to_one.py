"""Evidence for the chapter on the ratio of attention to FFN."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn

from blocklib.atlas import load, stack_facts
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import ParallelBlock, PreNormBlock
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward
from blocklib.nn.norm import RMSNorm
from blocklib.theory.arrangements import Stack, unit_ratio
from tests.claims_evidence.support import Case, block, cases, fails, gap, holds, orthogonal, over
from tests.ledger.build import numel

CLEAR = 1e-6  # what passes for an influence or a bend


def built(case: Case, layout: str) -> nn.ModuleList:
    """Sublayers of a layout at the case's shape, without biases, weights of some size."""
    made = nn.ModuleList(
        MultiHeadAttention(case.d, case.heads, causal=False) if letter == "A" else FeedForward(case.d, 3 * case.d)
        for letter in layout
    ).double()
    for weight in made.parameters():
        nn.init.normal_(weight, 0.0, 0.3)
    return made


def run(stack: nn.ModuleList, x: Tensor) -> Tensor:
    for sublayer in stack:
        x = x + sublayer(x)
    return x


@torch.no_grad()
def heard(case: Case, layout: str) -> float:
    """How far the last position moves when the first is changed."""
    stack, poked = built(case, layout), case.x.clone()
    poked[:, 0] += 1.0
    return gap(run(stack, poked)[:, -1], run(stack, case.x)[:, -1])


@torch.no_grad()
def bend(case: Case, layout: str) -> float:
    """How far the stack is from additive on sequences of one token."""
    stack = built(case, layout)
    a, b = torch.randn(2, 3, 1, case.d, dtype=torch.float64)
    return gap(run(stack, a + b), run(stack, a) + run(stack, b))


@pytest.mark.claim("both-kinds-needed")
def test_both_kinds_needed():
    for depth in (1, 3, 6):
        holds(over(cases(), heard, "F" * depth), tolerance=0.0)
        holds(over(cases(), bend, "A" * depth))


@pytest.mark.claim("both-kinds-needed", control=True)
def test_both_kinds_needed_control():
    for layout in ("AF", "FA"):
        fails(over(cases(), heard, layout), clearly=1e-4)
        fails(over(cases(), bend, layout), clearly=1e-4)


def layouts(letters: str) -> Iterator[str]:
    """Random orders of two to seven sublayers, each letter at least once."""
    for seed in range(12):
        draw = random.Random(seed)
        order = list(letters) + [draw.choice(letters) for _ in range(draw.randint(2 - len(letters) + 1, 5))]
        draw.shuffle(order)
        yield "".join(order)


def limits(case: Case, layout: str) -> int:
    """How many of the two limits the order is still under."""
    return (heard(case, layout) < CLEAR) + (bend(case, layout) < CLEAR)


@pytest.mark.claim("completeness-fixes-no-ratio")
def test_completeness_fixes_no_ratio():
    found = list(layouts("AF"))
    ratios = {Fraction(layout.count("A"), layout.count("F")) for layout in found}
    assert min(ratios) < 1 < max(ratios)
    holds([limits(case, layout) for layout in found for case in cases(3)], tolerance=0)
    assert all(Stack(layout).complete for layout in found)


@pytest.mark.claim("completeness-fixes-no-ratio", control=True)
def test_completeness_fixes_no_ratio_control():
    fails([limits(case, layout) for kind in "AF" for layout in layouts(kind) for case in cases(3)], clearly=0.5)


def off_one_wide_ffn(case: Case, beside: bool) -> float:
    """How far several FFNs, side by side or in sequence, are from one with all their inner channels."""
    widths = [2 * case.d, case.d, 3 * case.d]
    several = [FeedForward(case.d, width).double() for width in widths]
    wide = FeedForward(case.d, sum(widths)).double()
    with torch.no_grad():
        wide.up.weight.copy_(torch.cat([f.up.weight for f in several]))
        wide.down.weight.copy_(torch.cat([f.down.weight for f in several], 1))
        out = case.x + sum(f(case.x) for f in several) if beside else run(several, case.x)
        return gap(out, case.x + wide(case.x))


@pytest.mark.claim("parallel-ffns-are-one-wider")
def test_parallel_ffns_are_one_wider():
    holds(over(cases(), off_one_wide_ffn, True))


@pytest.mark.claim("parallel-ffns-are-one-wider", control=True)
def test_parallel_ffns_are_one_wider_control():
    fails(over(cases(), off_one_wide_ffn, False))


@torch.no_grad()
def sequence_minus_parallel(case: Case, silent: bool) -> float:
    """Distance of a parallel block from one in sequence of the same weights; with ``silent``, attention writes nothing."""
    sequence = block(case, PreNormBlock)
    if silent:
        for tensor in sequence.attention.o.parameters():
            tensor.zero_()
    parallel = block(case, ParallelBlock)
    parallel.load_state_dict(sequence.state_dict())
    return gap(sequence(case.x), parallel(case.x))


@pytest.mark.claim("parallel-block-is-another-function")
def test_parallel_block_is_another_function():
    fails(over(cases(), sequence_minus_parallel, False))


@pytest.mark.claim("parallel-block-is-another-function", control=True)
def test_parallel_block_is_another_function_control():
    """With a silent attention nothing distinguishes them: the check above does not pass."""
    with pytest.raises(AssertionError):
        fails(over(cases(), sequence_minus_parallel, True))
    holds(over(cases(), sequence_minus_parallel, True))


@torch.no_grad()
def off_law(seed: int, place: str, correlated: bool = False) -> float:
    """Relative distance of the stream's size from √(1 + writes) in a pre-norm stack, from one in a post-norm stack;
    the largest over several numbers of writes."""
    torch.manual_seed(seed)
    d, norm = 192, RMSNorm(192, affine=False, eps=0.0).double()
    x = norm(torch.randn(48, d, dtype=torch.float64))
    worst = 0.0
    for writes in range(1, 97):
        branch = torch.eye(d, dtype=torch.float64) if correlated else orthogonal(d)
        x = x + norm(x) @ branch if place == "pre" else norm(x + x @ branch)
        if writes in (24, 64, 96):
            size = x.square().mean().sqrt().item()
            worst = max(worst, abs(size / ((1 + writes) ** 0.5 if place == "pre" else 1.0) - 1))
    return worst


@pytest.mark.claim("more-writes-grow-only-pre-norm")
def test_more_writes_grow_only_pre_norm():
    holds([off_law(seed, "pre") for seed in range(4)], tolerance=0.06)
    holds([off_law(seed, "post") for seed in range(4)])


@pytest.mark.claim("more-writes-grow-only-pre-norm", control=True)
def test_more_writes_grow_only_pre_norm_control():
    """Writes that all point along the stream add up in length, not in squares."""
    fails([off_law(seed, "pre", correlated=True) for seed in range(4)], clearly=1.0)


@pytest.mark.claim("second-ffn-price")
@pytest.mark.parametrize("d_model", [8, 12])
def test_second_ffn_price(d_model):
    """Sublayers built and counted; the cache of each unit filled by running it; compute by the context it reads."""
    case = Case(d_model, 2, 5, torch.randn(1, 5, d_model, dtype=torch.float64))
    sizes, cached = {}, {}
    for unit in ("AF", "AFF", "AAF"):
        stack = nn.ModuleList(
            MultiHeadAttention(d_model, 2) if letter == "A" else FeedForward(d_model) for letter in unit
        ).double()
        sizes[unit] = Fraction(numel(stack), d_model**2)
        x, cache = case.x, ContiguousCache()
        for layer, sublayer in enumerate(stack):
            x = x + (sublayer(x, cache=cache, layer=layer) if unit[layer] == "A" else sublayer(x))
        cached[unit] = sum(t.numel() for pair in cache._store.values() for t in pair)
        assert sizes[unit] == Stack(unit).weights and cached[unit] == 5 * Stack(unit).cache_elements(d_model)
    assert sizes == {"AF": 12, "AFF": 20, "AAF": 16}
    assert cached["AFF"] == cached["AF"] and cached["AAF"] == 2 * cached["AF"]
    assert Stack("AFF").score_flops(d_model, 99) == Stack("AF").score_flops(d_model, 99)
    assert Stack("AAF").score_flops(d_model, 99) == 2 * Stack("AF").score_flops(d_model, 99)
    assert (unit_ratio(1, 1, "plain"), unit_ratio(1, 1, "gated"), unit_ratio(1, 2, "narrowed")) == (2, 3, 4)


# blocks, of them with attention over all positions, as the publishers' configs list their layers
HYBRIDS = {"gpt-oss-20b": (24, 12), "qwen3.8-27b": (64, 16), "gemma-3-1b": (26, 4), "qwen3-next-80b-a3b": (48, 12)}


@pytest.mark.claim("hybrids-keep-every-ffn")
@pytest.mark.parametrize("model", HYBRIDS)
def test_hybrids_keep_every_ffn(model):
    blocks, full = HYBRIDS[model]
    config = load(model).config
    assert sum(layer.ffn is not None for layer in config.layers) == blocks
    assert config.mixers.count("full") == full
    assert stack_facts.ffns_per_full_attention(model) == Fraction(blocks, full)
