"""Evidence for the chapter on gated FFNs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import ffn_facts, load
from blocklib.charts.design.swiglu import GATED
from blocklib.ledger.activation_facts import ffn_saved_excess, ffn_saved_widths
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward, Gated, GatedFeedForward, SwiGLU
from blocklib.theory import gates
from blocklib.theory.gated_width import gated_ffn_flops, matched_width, rounded_width
from blocklib.theory.glu_evidence import log_perplexity
from tests.claims_evidence.support import Case, cases, fails, gap, holds, over
from tests.ledger.build import numel


def seeds(rounds: int = 12) -> Iterator[torch.Generator]:
    for seed in range(rounds):
        torch.manual_seed(seed)
        yield torch.Generator().manual_seed(seed)


def off_degree_one(case: Case, bias: bool) -> float:
    """How far a ReLU FFN of a scaled input is from the scaled output, relative to it."""
    ffn = FeedForward(case.d, 3 * case.d, "relu", bias=bias).double()
    for weight in ffn.parameters():
        nn.init.normal_(weight, 0.0, 0.5)
    factor = 2.0 + torch.rand(()).item() * 4
    scaled = factor * ffn(case.x)
    return gap(ffn(factor * case.x), scaled) / scaled.abs().max().item()


@pytest.mark.claim("relu-ffn-is-degree-one")
def test_relu_ffn_is_degree_one():
    holds(over(cases(), off_degree_one, False))
    # A product of two readings grows by the square, so the two can agree nowhere but at zero.
    for case in cases():
        a, b = torch.randn(2, case.d, dtype=torch.float64)
        product = (case.x @ a) * (case.x @ b)
        assert torch.allclose((3 * case.x @ a) * (3 * case.x @ b), 9 * product)


@pytest.mark.claim("relu-ffn-is-degree-one", control=True)
def test_relu_ffn_is_degree_one_control():
    fails(over(cases(), off_degree_one, True))


def off_product(case: Case, kind: str) -> float:
    """How far two gated channels, the second with both readings negated, are from the product of the readings."""
    a, b = torch.randn(2, case.d, dtype=torch.float64)
    ffn = GatedFeedForward(case.d, 2, Gated(kind)).double()
    with torch.no_grad():
        ffn.gate.weight.copy_(torch.stack((a, -a)))
        ffn.up.weight.copy_(torch.stack((b, -b)))
        ffn.down.weight.fill_(1.0)
    product = (case.x @ a) * (case.x @ b)
    return gap(ffn(case.x)[..., 0], product) / product.abs().max().item()


@pytest.mark.claim("two-channels-multiply")
def test_two_channels_multiply():
    holds(over(cases(), off_product, "swiglu"))


@pytest.mark.claim("two-channels-multiply", control=True)
def test_two_channels_multiply_control():
    fails(over(cases(), off_product, "glu"))


def off_product_of_squares(case: Case, activation: str) -> float:
    """How far four ungated channels, on plus and minus the sum and the difference, are from the product of readings."""
    a, b = torch.randn(2, case.d, dtype=torch.float64)
    ffn = FeedForward(case.d, 4, activation).double()
    with torch.no_grad():
        ffn.up.weight.copy_(torch.stack((a + b, -a - b, a - b, b - a)))
        ffn.down.weight.copy_(torch.tensor([1.0, 1.0, -1.0, -1.0]).expand_as(ffn.down.weight) / 4)
    product = (case.x @ a) * (case.x @ b)
    return gap(ffn(case.x)[..., 0], product) / product.abs().max().item()


@pytest.mark.claim("squared-relu-multiplies")
def test_squared_relu_multiplies():
    holds(over(cases(), off_product_of_squares, "relu2"))


@pytest.mark.claim("squared-relu-multiplies", control=True)
def test_squared_relu_multiplies_control():
    fails(over(cases(), off_product_of_squares, "relu"))


def grown_or_turned(generator: torch.Generator, kind: str) -> float:
    """By how much gating ever enlarges a value or turns its sign, over random gate inputs and values."""
    gate, up = torch.randn(2, 4000, generator=generator, dtype=torch.float64) * 4
    out = Gated(kind)(gate, up)
    return max((out.abs() - up.abs()).max().item(), (-out * up.sign()).max().item(), 0.0)


@pytest.mark.claim("sigmoid-gate-only-attenuates")
def test_sigmoid_gate_only_attenuates():
    holds([grown_or_turned(g, "glu") for g in seeds()], tolerance=0.0)


@pytest.mark.claim("sigmoid-gate-only-attenuates", control=True)
def test_sigmoid_gate_only_attenuates_control():
    fails([grown_or_turned(g, "swiglu") for g in seeds()])


def under_the_floor(generator: torch.Generator, steepness: float) -> float:
    """How far x·σ(steepness·x) gets below -W₀(1/e), over random inputs, a fine grid and a descent from each."""
    x = torch.cat(
        (torch.randn(2000, generator=generator, dtype=torch.float64) * 5, torch.linspace(-12, 2, 4001).double())
    )
    for _ in range(60):  # Newton steps towards the minimum, kept inside the picture
        s = torch.sigmoid(steepness * x)
        slope = s + steepness * x * s * (1 - s)
        x = (x - slope.clamp(-1, 1)).clamp(-40, 40)
    lowest = (x * torch.sigmoid(steepness * x)).min().item()
    return max(float(gates.silu_minimum()) - lowest, 0.0)


@pytest.mark.claim("silu-gate-is-a-signed-gain")
def test_silu_gate_is_a_signed_gain():
    holds([under_the_floor(g, 1.0) for g in seeds()], tolerance=1e-12)
    at = torch.tensor(float(gates.silu_minimiser()), dtype=torch.float64, requires_grad=True)
    value = F.silu(at)
    assert value.item() == pytest.approx(float(gates.silu_minimum()), abs=1e-15)
    assert torch.autograd.grad(value, at)[0].item() == pytest.approx(0, abs=1e-15)
    w = -float(gates.silu_minimum())
    assert w * math.exp(w) == pytest.approx(1 / math.e, rel=1e-15)
    negative = -torch.rand(1000, dtype=torch.float64) * 30
    assert (F.silu(negative) < 0).all() and F.silu(torch.tensor(1e6)).item() > 1e5


@pytest.mark.claim("silu-gate-is-a-signed-gain", control=True)
def test_silu_gate_is_a_signed_gain_control():
    fails([under_the_floor(g, 0.5) for g in seeds()])


def wrong_side(generator: torch.Generator, kind: str) -> float:
    """Share of random gate inputs near 1 + W₀(1/e) that shrink a value above it or enlarge one below it."""
    point = float(gates.silu_unit_gain())
    gate = point + torch.randn(4000, generator=generator, dtype=torch.float64) * 0.3
    size = Gated(kind)(gate, torch.ones_like(gate))
    return ((size > 1) != (gate > point)).double().mean().item()


@pytest.mark.claim("unit-gain-is-one-point")
def test_unit_gain_is_one_point():
    holds([wrong_side(g, "swiglu") for g in seeds()], tolerance=0.0)
    point = torch.tensor(float(gates.silu_unit_gain()), dtype=torch.float64)
    assert F.silu(point).item() == pytest.approx(1, abs=1e-15)
    assert point.item() == -float(gates.silu_minimiser())
    large = torch.linspace(2, 30, 500, dtype=torch.float64)
    behind = large - F.silu(large)  # how far the gain is from its input
    assert (behind.diff() < 0).all() and behind[-1] < 1e-10


@pytest.mark.claim("unit-gain-is-one-point", control=True)
def test_unit_gain_is_one_point_control():
    fails([wrong_side(g, "geglu") for g in seeds()])


def flops(module: nn.Module, x: Tensor, training: bool = False) -> int:
    with FlopCounterMode(display=False) as counter:
        out = module(x)
        if training:
            out.sum().backward()
    return counter.get_total_flops()


def off_budget(generator: torch.Generator, multiple_of: int) -> float:
    """Relative difference of the two FFNs in weights and in FLOPs, whichever is larger, at a random width."""
    d = 3 * int(torch.randint(2, 20, (), generator=generator))
    width = rounded_width(d, multiple_of)
    assert multiple_of > 1 or width == matched_width(d)
    gated, plain, x = SwiGLU(d, width), FeedForward(d), torch.randn(1, d)
    return max(abs(numel(gated) / numel(plain) - 1), abs(flops(gated, x) / flops(plain, x) - 1))


@pytest.mark.claim("matched-width")
def test_matched_width():
    holds([off_budget(g, 1) for g in seeds()], tolerance=0.0)


@pytest.mark.claim("matched-width", control=True)
def test_matched_width_control():
    fails([off_budget(g, 256) for g in seeds()])


# d, d_ff as the models' publishers print them
SHAPES = {
    "deepseek-v3": (7168, 18_432), "llama-7b": (4096, 11_008), "deepseek-llm-67b": (8192, 22_016),
    "qwen3-8b": (4096, 12_288), "llama-3.1-405b": (16_384, 53_248), "qwen3.8-27b": (5120, 17_408),
    "mistral-7b": (4096, 14_336), "llama-3-8b": (4096, 14_336), "llama-2-70b": (8192, 28_672),
    "gemma-2-9b": (3584, 14_336), "palm-540b": (18_432, 73_728), "qwen2.5-7b": (3584, 18_944),
}  # fmt: skip


@pytest.mark.claim("few-follow-eight-thirds")
def test_few_follow_eight_thirds():
    assert set(SHAPES) == set(GATED)
    for model, (d, inner) in SHAPES.items():
        config = load(model).config
        assert (config.d_model, config.dense_ffn.d_ff, config.dense_ffn.matrices) == (d, inner, 3)
        assert ffn_facts.model_ffn_excess(model) == Fraction(3 * inner, 8 * d) - 1
    follow = {m for m, (d, inner) in SHAPES.items() if inner % 256 == 0 and 0 <= inner - 8 * d / 3 < 256}
    narrower = {m for m, (d, inner) in SHAPES.items() if 3 * inner < 8 * d}
    assert follow == {"llama-7b", "deepseek-llm-67b"} and narrower == {"deepseek-v3"}
    assert max(SHAPES, key=lambda m: SHAPES[m][1] / SHAPES[m][0]) == "qwen2.5-7b"


def order(function: Callable[[Tensor], Tensor], x: Tensor) -> float:
    """By which power of a small input the output shrinks."""
    small = x * 1e-4
    return math.log2((function(small).norm() / function(small / 2).norm()).item())


def orders_not_one_apart(pair: tuple[Callable, Callable], x: Tensor) -> float:
    """Distance of the difference of two functions' orders at zero from one."""
    one, other = (order(function, x) for function in pair)
    return abs(other - one - 1)


@pytest.mark.claim("same-count-other-function")
def test_same_count_other_function():
    found = []
    for case in cases():
        d = 3 * case.d
        relu, gated = FeedForward(d, activation="relu").double(), SwiGLU(d, 8 * d // 3).double()
        assert numel(relu) == numel(gated)
        x = torch.randn(4, d, dtype=torch.float64)
        found.append(orders_not_one_apart((relu, gated), x))
        assert gap(relu(x), gated(x)) > 1e-2
    holds(found, tolerance=1e-3)


@pytest.mark.claim("same-count-other-function", control=True)
def test_same_count_other_function_control():
    """A cached and a recomputed pass through attention: not two functions but one."""
    found = []
    for case in cases():
        attention = MultiHeadAttention(case.d, case.heads).double()

        def cached(x: Tensor, attention=attention) -> Tensor:
            cache = ContiguousCache()
            return torch.cat([attention(x[:, t : t + 1], cache=cache) for t in range(x.shape[1])], 1)

        with torch.no_grad():
            found.append(orders_not_one_apart((attention, cached), case.x))
            assert gap(attention(case.x), cached(case.x)) < 1e-12
    fails(found)


@pytest.mark.claim("gated-ffn-flops")
@pytest.mark.parametrize("d_model", [3, 12, 48])
def test_ffn_flops_convention(d_model):
    """Forward and a whole step, by torch's counter, of one token that itself needs a gradient."""
    width = matched_width(d_model)
    for ffn in (FeedForward(d_model), SwiGLU(d_model, width)):
        assert flops(ffn, torch.randn(1, d_model)) == 16 * d_model**2
        assert flops(ffn, torch.randn(1, d_model, requires_grad=True), training=True) == 48 * d_model**2
    assert gated_ffn_flops(d_model, width, "forward") == 16 * d_model**2
    assert gated_ffn_flops(d_model, width, "training") == 48 * d_model**2


def kept_widths(function: Callable[[Tensor], Tensor], x: Tensor, weights: Iterator[Tensor]) -> Fraction:
    """Elements that autograd saves in one pass, each storage once, input and weights aside, over the width of ``x``."""
    outside, kept = {x.data_ptr(), *(w.data_ptr() for w in weights)}, {}

    def pack(t: Tensor) -> Tensor:
        if t.data_ptr() not in outside:
            kept[t.data_ptr()] = t.numel()
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        out = function(x)
    assert out.requires_grad
    return Fraction(sum(kept.values()), x.shape[-1])


class Recomputing(torch.autograd.Function):
    """What comes after the first matrices, as one operation that keeps their outputs and nothing else."""

    @staticmethod
    def forward(ctx, join, down: Tensor, *inner: Tensor) -> Tensor:
        ctx.join = join
        ctx.save_for_backward(down, *inner)
        return join(*inner) @ down.T

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple:
        down, *inner = (t.detach().requires_grad_() for t in ctx.saved_tensors)
        with torch.enable_grad():
            out = ctx.join(*inner) @ down.T
        return None, *torch.autograd.grad(out, (down, *inner), grad)


@pytest.mark.claim("gated-ffn-keeps-more")
@pytest.mark.parametrize("kind", ["gelu", "swiglu"])
def test_what_a_recomputing_kernel_keeps(kind):
    """The outputs of the first matrices alone, and the same gradients as without recomputing."""
    torch.manual_seed(0)
    d, x = 48, torch.randn(1, 48, dtype=torch.float64, requires_grad=True)
    ffn = (FeedForward(d) if kind == "gelu" else SwiGLU(d, 8 * d // 3)).double()
    first, join = ((ffn.up,), F.gelu) if kind == "gelu" else ((ffn.gate, ffn.up), ffn.join)

    def recomputed(x: Tensor) -> Tensor:
        return Recomputing.apply(join, ffn.down.weight, *(matrix(x) for matrix in first))

    assert kept_widths(recomputed, x, ffn.parameters()) == ffn_saved_widths(kind, "matched", "recompute")
    wanted = (x, *ffn.parameters())
    plain, again = (torch.autograd.grad(f(x).square().sum(), wanted) for f in (ffn, recomputed))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(plain, again, strict=True))


@pytest.mark.claim("gated-ffn-keeps-more")
def test_gated_ffn_keeps_more():
    d, found = 48, {}
    for kind, ffn in {
        "relu": FeedForward(d, activation="relu"),
        "gelu": FeedForward(d),
        "swiglu": SwiGLU(d, 8 * d // 3),
    }.items():
        found[kind] = kept_widths(ffn, torch.randn(1, d, requires_grad=True), ffn.parameters())
        assert found[kind] == ffn_saved_widths(kind, "matched", "all")
    assert found == {"relu": 4, "gelu": 8, "swiglu": Fraction(32, 3)}
    for other in ("relu", "gelu"):
        assert ffn_saved_excess("swiglu", other, "all") == found["swiglu"] / found[other] - 1 > 0
    assert ffn_saved_widths("swiglu", "matched", "recompute") == Fraction(2 * 8, 3)
    assert ffn_saved_widths("gelu", "matched", "recompute") == 4


@pytest.mark.claim("glu-family-leads")
def test_published_scores_of_the_glu_family():
    names = ("relu", "gelu", "swish", "glu", "bilinear", "geglu", "swiglu", "reglu")
    for steps in ("short", "full"):
        ranked = sorted(names, key=lambda name: log_perplexity(name, steps))
        assert set(ranked[:2]) == {"geglu", "swiglu"}
        assert abs(log_perplexity("swiglu", steps) - log_perplexity("geglu", steps)) < Fraction("0.010")
    assert abs(log_perplexity("gelu", "short") - log_perplexity("glu", "short")) < Fraction("0.005")
