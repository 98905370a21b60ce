"""Evidence for the page on stacking."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest
import torch
from torch import Tensor, nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward
from blocklib.nn.model import DecoderLM
from blocklib.theory import paths
from blocklib.theory.scaling import depth_scaling, equal_budget_width, width_scaling
from tests.claims_evidence.support import Case, Map, cases, fails, gap, holds, over


def model(blocks: int, d_model: int, vocab: int = 11) -> DecoderLM:
    """A GPT-shaped model on the meta device: biases everywhere, learned positions, tied head."""
    with torch.device("meta"):
        stack = [
            PreNormBlock(d_model, MultiHeadAttention(d_model, 1, bias=True), FeedForward(d_model, bias=True))
            for _ in range(blocks)
        ]
        return DecoderLM(vocab, d_model, stack, positions=5)


def matrices(made: DecoderLM) -> int:
    """Parameters of the weight matrices of the blocks, as torch counts them."""
    return sum(p.numel() for p in made.blocks.parameters() if p.dim() == 2)


def everything(made: DecoderLM) -> int:
    return sum(p.numel() for p in made.parameters())


@pytest.mark.claim("depth-linear-width-quadratic")
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_depth_linear_width_quadratic(factor):
    base, deeper, wider = model(2, 8), model(2 * factor, 8), model(2, 8 * factor)
    assert matrices(deeper) == depth_scaling(factor) * matrices(base) == factor * matrices(base)
    assert matrices(wider) == width_scaling(factor) * matrices(base) == factor**2 * matrices(base)
    # Biases, gains, positions and embedding grow with the width only, so the whole grows by less than the square.
    assert factor * everything(base) < everything(wider) < factor**2 * everything(base)


@pytest.mark.claim("equal-budget-depth")
@pytest.mark.parametrize("blocks", [2, 8, 16, 32])
def test_equal_budget_depth(blocks):
    """The width found by trying every one, on models whose matrices torch counts."""
    target = matrices(model(4, 24))
    per_block = {width: matrices(model(1, width)) for width in range(1, 60)}
    best = min(per_block, key=lambda width: abs(blocks * per_block[width] - target))
    assert equal_budget_width(blocks, 4, 24) == best
    assert best == pytest.approx(24 / (blocks / 4) ** 0.5, abs=0.5)


def terms(branches: list, x: Tensor) -> list[Tensor]:
    """What each path makes of ``x``: every subset of the branches, applied in order."""
    made = []
    for choice in product((False, True), repeat=len(branches)):
        term = x
        for taken, branch in zip(choice, branches, strict=True):
            term = branch(term) if taken else term
        made.append(term)
    return made


def linear_branches(d: int, count: int = 5) -> list[nn.Module]:
    return [nn.Linear(d, d, bias=False).double() for _ in range(count)]


def off_sum_of_paths(case: Case, activation) -> float:
    """How far the stack ``x → x + f(x)`` is from the sum of what its paths make of the input."""
    branches = [nn.Sequential(linear, Map(activation)) for linear in linear_branches(case.d)]
    out = case.x
    for branch in branches:
        out = out + branch(out)
    return gap(out, sum(terms(branches, case.x)))


@pytest.mark.claim("expansion-is-exact-when-linear")
def test_expansion_is_exact_when_linear():
    holds(over(cases(), off_sum_of_paths, lambda x: x))


@pytest.mark.claim("expansion-is-exact-when-linear", control=True)
def test_expansion_is_exact_when_linear_control():
    for activation in (torch.tanh, torch.relu):
        fails(over(cases(), off_sum_of_paths, activation))


@pytest.mark.claim("two-adds-per-block")
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_two_adds_per_block(blocks):
    """Real blocks with linear sublayers and no norm: their output is a sum of 2^(2N) terms, not of 2^N."""
    d = 6
    x = torch.randn(1, 3, d, dtype=torch.float64)
    sublayers = linear_branches(d, 2 * blocks)
    stack = [
        PreNormBlock(d, attention, ffn, norm=lambda _d: nn.Identity())
        for attention, ffn in zip(sublayers[::2], sublayers[1::2], strict=True)
    ]
    adds = sum(name.startswith("add") for made in stack for name in made.stages(x))
    parts = terms(sublayers, x)
    assert adds == 2 * blocks and len(parts) == paths.sublayer_paths(blocks) == paths.implicit_paths(blocks) ** 2
    assert gap(nn.Sequential(*stack)(x), sum(parts)) < 1e-9
    distinct = {tuple(part.flatten().tolist()) for part in parts}
    assert len(distinct) == len(parts)


def off_half_changed(case: Case, shared: bool) -> float:
    """Distance from one half of the share of paths that change when one module's weights do.

    Shared: every path through the stack uses the same modules. Not shared: each path is given its own copies.
    """
    count = 4
    branches = linear_branches(case.d, count)
    if shared:
        before = terms(branches, case.x)
        with torch.no_grad():
            branches[1].weight.add_(1.0)
        after = terms(branches, case.x)
    else:
        copies = [linear_branches(case.d, count) for _ in range(2**count)]
        before = [terms(own, case.x)[i] for i, own in enumerate(copies)]
        with torch.no_grad():
            copies[-1][1].weight.add_(1.0)
        after = [terms(own, case.x)[i] for i, own in enumerate(copies)]
    changed = sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    return abs(changed / 2**count - 0.5)


@pytest.mark.claim("paths-share-weights")
def test_paths_share_weights():
    holds(over(cases(), off_half_changed, True), tolerance=0.0)


@pytest.mark.claim("paths-share-weights", control=True)
def test_paths_share_weights_control():
    fails(over(cases(), off_half_changed, False))


def off_binomial(seed: int, equal_gains: bool) -> float:
    """Largest distance between the distribution of path lengths, weighted by the gradient that each path of a
    chain of scalar branches carries, and Binomial(N, g/(1+g)) of the mean gain g."""
    g = torch.Generator().manual_seed(seed)
    units = int(torch.randint(3, 9, (), generator=g))
    gain = Fraction(int(torch.randint(1, 12, (), generator=g)), 10)
    gains = [gain] * units if equal_gains else [gain * Fraction(1, 20), *[gain] * (units - 2), gain * Fraction(39, 20)]
    weight = [Fraction(0)] * (units + 1)
    for choice in product((0, 1), repeat=units):
        carried = Fraction(1)
        for taken, branch_gain in zip(choice, gains, strict=True):
            carried *= branch_gain if taken else 1
        weight[sum(choice)] += carried
    mean = sum(gains) / units
    p = mean / (1 + mean)
    binomial = [comb(units, k) * p**k * (1 - p) ** (units - k) for k in range(units + 1)]
    if equal_gains:
        assert paths.path_weights(units, gain) == tuple(binomial)
        assert paths.weighted_path_length(units, gain) == units * p
    return float(max(abs(w / sum(weight) - b) for w, b in zip(weight, binomial, strict=True)))


@pytest.mark.claim("path-lengths-binomial")
def test_path_lengths_binomial():
    holds([off_binomial(seed, True) for seed in range(12)], tolerance=0.0)
    for units in range(1, 11):
        lengths = [sum(choice) for choice in product((0, 1), repeat=units)]
        assert [lengths.count(k) for k in range(units + 1)] == list(paths.path_histogram(units))


@pytest.mark.claim("path-lengths-binomial", control=True)
def test_path_lengths_binomial_control():
    """Branches of different gain: the lengths no longer follow a binomial distribution."""
    fails([off_binomial(seed, False) for seed in range(12)], clearly=1e-3)
