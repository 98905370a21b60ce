"""Evidence for the chapter on depth."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import ffn_facts, load, stack_facts
from blocklib.facts.registry import evaluate
from blocklib.ledger import params
from blocklib.nn.attention import MultiHeadAttention, SlidingWindow
from blocklib.nn.block import PreNormBlock
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.moe import Experts, MoE, SoftmaxThenTopK
from blocklib.theory import depth_width as theory
from tests.claims_evidence.support import fails, gap, holds
from tests.ledger.build import numel


def seeds(rounds: int = 8) -> Iterator[random.Random]:
    for seed in range(rounds):
        torch.manual_seed(seed)
        yield random.Random(seed)


X = torch.linspace(0, 1, 2**12 + 1, dtype=torch.float64)


def pieces(y: Tensor) -> int:
    slope = y.diff() / X.diff()
    return 1 + int((slope.diff().abs() > 1e-6).sum())


def off_doubling(draw: random.Random, sequence: bool) -> float:
    """Relative distance of the pieces made of 2k ReLU neurons from 2^k: k folds in sequence, or one layer of them."""
    k = draw.randint(4, 8)
    if sequence:
        y = X
        for _ in range(k):
            y = 2 * torch.relu(y) - 4 * torch.relu(y - 0.5)
    else:
        knots = X[torch.randperm(len(X) - 2)[: 2 * k] + 1]
        side = torch.randint(2, (2 * k,)) * 2.0 - 1  # each neuron opens to the left or to the right of its kink
        y = torch.relu(side * (X[:, None] - knots)) @ torch.randn(2 * k, dtype=torch.float64)
        assert pieces(y) <= theory.shallow_pieces(2 * k)
    return abs(pieces(y) / theory.folded_pieces(k) - 1)


@pytest.mark.claim("depth-multiplies-pieces")
def test_depth_multiplies_pieces():
    holds([off_doubling(draw, True) for draw in seeds()], tolerance=0.0)


@pytest.mark.claim("depth-multiplies-pieces", control=True)
def test_depth_multiplies_pieces_control():
    fails([off_doubling(draw, False) for draw in seeds()], clearly=0.1)


def off_reach(draw: random.Random, windowed: bool) -> int:
    """Distance of the farthest position that influences the last one from layers · (window - 1)."""
    layers, window = draw.randint(1, 4), draw.randint(2, 4)
    tokens, d = layers * (window - 1) + 4, 8
    pattern = SlidingWindow(window) if windowed else None
    stack = nn.Sequential(
        *[PreNormBlock(d, MultiHeadAttention(d, 2, pattern=pattern), FeedForward(d)) for _ in range(layers)]
    ).double()
    x = torch.randn(1, tokens, d, dtype=torch.float64, requires_grad=True)
    stack(x)[0, -1].sum().backward()
    moved = x.grad[0].abs().amax(-1) > 0
    farthest = tokens - 1 - int(moved.nonzero()[0])
    return abs(farthest - theory.window_reach(layers, window))


@pytest.mark.claim("reach-grows-with-depth")
def test_reach_grows_with_depth():
    holds([off_reach(draw, True) for draw in seeds()], tolerance=0)


@pytest.mark.claim("reach-grows-with-depth", control=True)
def test_reach_grows_with_depth_control():
    """Without the window one layer reaches everything."""
    fails([off_reach(draw, False) for draw in seeds()], clearly=0.5)


HEAD = 4  # width of a head


def stack_of(blocks: int, d: int) -> nn.Sequential:
    return nn.Sequential(*[PreNormBlock(d, MultiHeadAttention(d, d // HEAD), FeedForward(d)) for _ in range(blocks)])


def matrices(stack: nn.Module) -> int:
    return sum(p.numel() for p in stack.parameters() if p.dim() == 2)


def flops(stack: nn.Module, d: int, tokens: int) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        stack(torch.zeros(1, tokens, d))
    return counter.get_total_flops()


def cached(stack: nn.Sequential, d: int) -> int:
    cache, x = ContiguousCache(), torch.zeros(1, 3, d)
    for layer, block in enumerate(stack):
        x = block(x, cache=cache, layer=layer)
    return sum(t.numel() for pair in cache._store.values() for t in pair)


@pytest.mark.claim("equal-budget-bill")
@pytest.mark.parametrize(("k", "base", "width"), [(4, 2, 16), (9, 1, 24), (16, 1, 32)])
def test_equal_budget_bill(k, base, width):
    """Stacks of equal weights built, run and counted; k is a square, so that the width comes out whole."""
    narrow = round(width * float(theory.fixed_budget_factor("width", Fraction(k))))
    wide, deep = stack_of(base, width), stack_of(base * k, narrow)
    assert matrices(wide) == matrices(deep) and k == (width / narrow) ** 2
    assert cached(deep, narrow) == theory.fixed_budget_factor("cache", Fraction(k)) * cached(wide, width)
    assert len(deep) == theory.fixed_budget_factor("steps", Fraction(k)) * len(wide)
    weights, scores = [], []
    for stack, d in ((wide, width), (deep, narrow)):
        one, five = flops(stack, d, 1), flops(stack, d, 5)
        scores.append(Fraction(five - 5 * one, 20))  # per pair of positions: 25 - 5 pairs more than five single tokens
        weights.append(one - scores[-1])
    assert weights[0] == weights[1] == 2 * matrices(wide)
    assert scores[1] == theory.fixed_budget_factor("scores", Fraction(k)) * scores[0]


# width, blocks, as published
SHAPES = {"gpt2-small": (768, 12), "gpt2-xl": (1600, 48), "gpt3-175b": (12_288, 96), "llama-2-70b": (8192, 80),
          "qwen3.8-27b": (5120, 64)}  # fmt: skip


@pytest.mark.claim("aspect-ratios-in-use")
def test_aspect_ratios_in_use():
    ratios = [Fraction(*SHAPES[model]) for model in sorted(SHAPES, key=lambda m: params.count(load(m).config).total)]
    assert {model: stack_facts.aspect_ratio(model) for model in SHAPES} == {m: Fraction(*SHAPES[m]) for m in SHAPES}
    assert ratios != sorted(ratios) and ratios != sorted(ratios, reverse=True)


@pytest.mark.claim("sharing-saves-storage-only")
@pytest.mark.parametrize("layers", [2, 5])
def test_sharing_saves_storage_only(layers):
    d = 16
    own = stack_of(layers, d)
    shared = nn.Sequential(*[own[0]] * layers)
    assert numel(own) == layers * numel(shared)
    assert flops(own, d, 6) == flops(shared, d, 6) and cached(own, d) == cached(shared, d) and len(own) == len(shared)
    # ALBERT as published stores one block where BERT-base, of the same shape, stores twelve.
    albert, bert = load("albert-base-v2").config, load("bert-base-uncased").config
    assert (albert.stored_layers, albert.n_layers, bert.n_layers) == (1, 12, 12)
    assert params.layer_params(albert, albert.layers[0]).total == params.layer_params(bert, bert.layers[0]).total


def routed(draw: random.Random, k: int | None = None, renormalise: bool = True) -> tuple[MoE, Tensor]:
    d, n = draw.choice((4, 8)), draw.choice((4, 6, 8))
    k = draw.randint(1, n - 1) if k is None else n
    moe = MoE(d, Experts(n, d, 12), SoftmaxThenTopK(k, renormalise)).double()
    return moe, torch.randn(5, d, dtype=torch.float64)


@torch.no_grad()
def moved_by_others(draw: random.Random, k: int | None = None) -> float:
    """How far a token's output moves when one expert's weights are replaced: the one it likes least."""
    moe, x = routed(draw, k)
    token = x[:1]
    least = int(moe.router(token)[0].argmin())
    before = moe(token)
    for weight in (moe.experts.gate, moe.experts.up, moe.experts.down):
        weight[least] = torch.randn_like(weight[least]) * 5
    return gap(moe(token), before)


@pytest.mark.claim("unchosen-experts-are-idle")
def test_unchosen_experts_are_idle():
    holds([moved_by_others(draw) for draw in seeds()], tolerance=0.0)
    for draw in seeds(4):
        moe, x = routed(draw)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            moe(x[:1])
        d = x.shape[1]
        expert = SwiGLU(d, 12)
        assert counter.get_total_flops() == 2 * d * moe.experts.n_experts + 2 * moe.routing.k * numel(expert)


@pytest.mark.claim("unchosen-experts-are-idle", control=True)
def test_unchosen_experts_are_idle_control():
    """Where every expert is chosen, even the least liked one matters."""
    fails([moved_by_others(draw, k=0) for draw in seeds()], clearly=1e-3)


@torch.no_grad()
def off_one_ffn(draw: random.Random, renormalise: bool) -> float:
    """Distance of a mixture of equal experts from one of them, relative to it."""
    moe, x = routed(draw, renormalise=renormalise)
    for weight in (moe.experts.gate, moe.experts.up, moe.experts.down):
        weight[:] = torch.randn_like(weight[0])
    one = moe.experts(x, 0)
    return gap(moe(x), one) / one.abs().max().item()


@pytest.mark.claim("equal-experts-are-one")
def test_equal_experts_are_one():
    holds([off_one_ffn(draw, True) for draw in seeds()])


@pytest.mark.claim("equal-experts-are-one", control=True)
def test_equal_experts_are_one_control():
    fails([off_one_ffn(draw, False) for draw in seeds()])


@pytest.mark.claim("moe-total-and-active")
def test_moe_total_and_active():
    """By hand from the published shapes."""
    block = 4096 * (4096 + 1024 + 1024 + 4096) + 8 * 4096 + 2 * 4096
    expert, outside = 3 * 4096 * 14_336, 2 * 32_000 * 4096 + 4096
    total, active = (32 * (block + n * expert) + outside for n in (8, 2))
    assert (total, active) == (46_702_792_704, 12_879_925_248)
    assert params.count(load("mixtral-8x7b").config).total == total
    assert ffn_facts.active_parameters("mixtral-8x7b") == active
    assert round(active / total, 3) == 0.276
    idle = 58 * (256 - 8) * 3 * 7168 * 2048
    v3 = params.count(load("deepseek-v3").config).total
    assert v3 == 671_026_404_352 and ffn_facts.active_parameters("deepseek-v3") == v3 - idle == 37_552_282_624
    assert ffn_facts.active_ffn_width("deepseek-v3") == 9 * 2048 == load("deepseek-v3").config.dense_ffn.d_ff


def test_the_papers_own_counts_are_these_rounded():
    assert abs(evaluate("mixtral_published?count=total").value - 46_702_792_704) < 5e8
    assert abs(evaluate("mixtral_published?count=active").value - 12_879_925_248) < 5e8


def test_chinchilla_quotient():
    assert evaluate("chinchilla_tokens_per_parameter").value == Fraction(14 * 10**11, 70 * 10**9) == 20


def off_rate_times_sum(draw: random.Random, optimiser) -> float:
    """Relative distance of what one step changes in each output of a matrix from the rate times Σ|x|."""
    rows, d, rate = draw.randint(3, 9), draw.choice((16, 64, 256)), 10 ** draw.uniform(-4, -2)
    layer = nn.Linear(d, rows, bias=False).double()
    x, pull = torch.randn(d, dtype=torch.float64), torch.randn(rows, dtype=torch.float64)
    before = layer(x).detach()
    (pull @ layer(x)).backward()
    optimiser(layer.parameters(), rate).step()
    moved, expected = layer(x).detach() - before, -rate * pull.sign() * x.abs().sum()
    return gap(moved, expected) / expected.abs().max().item()


def adam(weights, rate):
    return torch.optim.Adam(weights, lr=rate, eps=1e-30)


def sgd(weights, rate):
    return torch.optim.SGD(weights, lr=rate)


@pytest.mark.claim("adam-step-grows-with-width")
def test_adam_step_grows_with_width():
    holds([off_rate_times_sum(draw, adam) for draw in seeds()])
    steps = []
    for d in (64, 256, 1024):
        layer, x = nn.Linear(d, 5, bias=False).double(), torch.randn(d, dtype=torch.float64).sign()
        before = layer(x).detach()
        layer(x).sum().backward()
        adam(layer.parameters(), 1 / d).step()
        steps.append((before - layer(x).detach()).mean().item())
    assert steps == pytest.approx([1.0] * 3, rel=1e-9)


@pytest.mark.claim("adam-step-grows-with-width", control=True)
def test_adam_step_grows_with_width_control():
    """A step along the gradient itself: each output moves by its own gradient and by Σx²."""
    fails([off_rate_times_sum(draw, sgd) for draw in seeds()])
