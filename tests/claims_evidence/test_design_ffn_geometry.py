"""Evidence for the essay's chapter on what happens inside the FFN."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocklib.atlas.models import load
from blocklib.facts.registry import evaluate
from blocklib.ledger import params
from blocklib.nn.ffn import ACTIVATIONS, FeedForward
from blocklib.theory.activations import activation_slope
from blocklib.theory.hinges import collapsed_weights, ffn_params_with_biases, linear_regions
from tests.claims_evidence.support import Case, cases, fails, gap, holds, jacobian, over


def ffn(case: Case, activation: str, d_ff: int | None = None, bias: bool = True) -> FeedForward:
    """A random FFN of the case's width in float64; ``activation`` may be ``"none"``."""
    torch.manual_seed(case.d + case.tokens)
    made = FeedForward(case.d, d_ff, bias=bias).double()
    made.activation = ACTIVATIONS.get(activation, lambda x: x)
    return made


# -- without an activation ---------------------------------------------------------------------------------


def not_one_matrix(case: Case, activation: str) -> float:
    """Largest error of the single matrix that fits the FFN best, over more inputs than the width."""
    made = ffn(case, activation, bias=False)
    x = torch.randn(4 * case.d, case.d, dtype=torch.float64)
    one = torch.linalg.lstsq(x, made(x)).solution
    return gap(x @ one, made(x))


@pytest.mark.claim("no-activation-collapses")
def test_no_activation_collapses():
    holds(over(cases(), not_one_matrix, "none"))
    for case in cases():
        made = ffn(case, "none", bias=False)
        collapsed = made.down.weight @ made.up.weight
        assert collapsed.numel() == collapsed_weights(case.d)
        assert gap(case.x @ collapsed.T, made(case.x)) < 1e-12
        for inner in (1, case.d // 2):
            narrow = ffn(case, "none", inner, bias=False)
            assert torch.linalg.matrix_rank(narrow.down.weight @ narrow.up.weight).item() == inner


@pytest.mark.claim("no-activation-collapses", control=True)
@pytest.mark.parametrize("activation", ["relu", "relu2", "gelu", "silu"])
def test_no_activation_collapses_control(activation):
    fails(over(cases(), not_one_matrix, activation))


def kinks(case: Case, activation: str, d_ff: int) -> int:
    """Kinks of the FFN along a random line: places where the slope of its output jumps, found between the points at
    which a reading passes its threshold."""
    made = ffn(case, activation, d_ff)
    start, along = torch.randn(2, case.d, dtype=torch.float64)
    readings, speeds = made.up(start), made.up.weight @ along
    stops = (-readings / speeds).sort().values
    between = [stops[0] - 1, *((a + b) / 2 for a, b in zip(stops, stops[1:], strict=False)), stops[-1] + 1]
    slopes = [jacobian(lambda t: made(start + t * along), t) for t in between]
    return sum(gap(a, b) > 1e-9 for a, b in zip(slopes, slopes[1:], strict=False))


@pytest.mark.claim("hinges-not-directions")
def test_hinges_not_directions():
    for case in cases(4):
        for d_ff in (case.d, 4 * case.d):
            made = ffn(case, "relu", d_ff)
            assert torch.linalg.matrix_rank(made.up.weight).item() == case.d
            assert kinks(case, "relu", d_ff) == d_ff


@pytest.mark.claim("hinges-not-directions", control=True)
def test_hinges_not_directions_control():
    """Without an activation there is no kink, however wide the inside."""
    assert {kinks(case, "none", 4 * case.d) for case in cases(4)} == {0}


# -- neurons -----------------------------------------------------------------------------------------------


def moved_by(case: Case, activation: str, change: str) -> float:
    """How far the FFN moves when its neurons are reordered, or their readings scaled up and their writes down."""
    made = ffn(case, activation)
    before = made(case.x)
    width = made.up.out_features
    order = torch.randperm(width) if change == "order" else torch.arange(width)
    scale = torch.ones(width, dtype=torch.float64) if change == "order" else torch.rand(width).double() * 3 + 0.5
    with torch.no_grad():
        made.up.weight.copy_(made.up.weight[order] * scale[:, None])
        made.up.bias.copy_(made.up.bias[order] * scale)
        made.down.weight.copy_(made.down.weight[:, order] / scale)
    return gap(made(case.x), before)


@pytest.mark.claim("neurons-have-no-order")
@pytest.mark.parametrize("activation", ["relu", "relu2", "gelu", "silu"])
def test_neurons_have_no_order(activation):
    holds(over(cases(), moved_by, activation, "order"))
    if activation == "relu":
        holds(over(cases(), moved_by, activation, "scale"))


@pytest.mark.claim("neurons-have-no-order", control=True)
@pytest.mark.parametrize("activation", ["relu2", "gelu", "silu"])
def test_neurons_have_no_order_control(activation):
    """Only ReLU lets scale pass between reading and write: it alone keeps multiples."""
    fails(over(cases(), moved_by, activation, "scale"), 1e-3)


# -- pieces ------------------------------------------------------------------------------------------------


def pieces(neurons: int, inputs: int, seed: int, parallel: bool) -> int:
    """On/off patterns of random neurons over a space, looked for around every crossing of as many hinges as the space
    has dimensions, and all over."""
    g = torch.Generator().manual_seed(seed)
    read = torch.randn(neurons, inputs, dtype=torch.float64, generator=g)
    threshold = torch.randn(neurons, dtype=torch.float64, generator=g)
    if parallel:
        read = read[:1].expand(neurons, inputs)
    points = [torch.randn(2000, inputs, dtype=torch.float64, generator=g) * s for s in (0.1, 1, 10, 1000)]
    for crossing in combinations(range(neurons), inputs):
        rows = read[list(crossing)]
        if parallel:
            continue
        corner = torch.linalg.solve(rows, threshold[list(crossing)])
        for signs in product((-1.0, 1.0), repeat=inputs):
            away = torch.linalg.solve(rows, torch.tensor(signs, dtype=torch.float64))
            points.append((corner + 1e-7 * away)[None])
    on = torch.cat(points) @ read.T > threshold
    return len({tuple(row) for row in on.tolist()})


@pytest.mark.claim("hinges-cut-regions")
@pytest.mark.parametrize(
    ("neurons", "inputs"), [(3, 1), (2, 2), (4, 2), (6, 2), (8, 2), (3, 3), (5, 3), (7, 3), (6, 4)]
)
def test_hinges_cut_regions(neurons, inputs):
    assert {pieces(neurons, inputs, seed, False) for seed in range(4)} == {linear_regions(neurons, inputs)}


@pytest.mark.claim("hinges-cut-regions", control=True)
@pytest.mark.parametrize(("neurons", "inputs"), [(2, 2), (4, 2), (8, 2), (5, 3)])
def test_hinges_cut_regions_control(neurons, inputs):
    """Hinges that are parallel do not cross, and fall short of the bound."""
    found = {pieces(neurons, inputs, seed, True) for seed in range(4)}
    assert max(found) == neurons + 1 < linear_regions(neurons, inputs)


# -- activations -------------------------------------------------------------------------------------------


def swish(x: Tensor, beta: float) -> Tensor:
    """Ramachandran et al.'s formula, with its parameter."""
    return x * torch.sigmoid(beta * x)


@pytest.mark.claim("silu-is-swish")
def test_silu_is_swish():
    holds([gap(swish(case.x, 1.0), F.silu(case.x)) for case in cases()])
    holds([gap(swish(case.x, 1.0), ACTIVATIONS["silu"](case.x)) for case in cases()])


@pytest.mark.claim("silu-is-swish", control=True)
@pytest.mark.parametrize("beta", [0.5, 1.702, 4.0])
def test_silu_is_swish_control(beta):
    fails([gap(swish(case.x, beta), F.silu(case.x)) for case in cases()])


def jump(activation: str) -> float:
    """Difference of the slopes just right and just left of zero."""
    x = torch.tensor([-1e-12, 1e-12], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(ACTIVATIONS[activation](x).sum(), x)
    return abs((slope[1] - slope[0]).item())


@pytest.mark.claim("smooth-at-zero")
@pytest.mark.parametrize(("activation", "slope"), [("gelu", 0.5), ("silu", 0.5), ("relu2", 0.0)])
def test_smooth_at_zero(activation, slope):
    holds([jump(activation)])
    assert activation_slope(activation, 0) == slope


@pytest.mark.claim("smooth-at-zero", control=True)
def test_smooth_at_zero_control():
    assert jump("relu") == 1.0


def taught(case: Case, activation: str) -> float:
    """Size of the gradient on a neuron's read direction, threshold and write direction, whose reading stays below
    zero on every input there is."""
    made = ffn(case, activation, 3)
    x = case.x.flatten(0, 1)
    with torch.no_grad():
        made.up.bias[0] = -1.0 - (x @ made.up.weight[0]).max()
    made(x).square().sum().backward()
    return (
        made.up.weight.grad[0].norm() + made.up.bias.grad[0].abs() + made.down.weight.grad[:, 0].norm()
    ).item()  # fmt: skip


@pytest.mark.claim("dead-relu-stays-dead")
@pytest.mark.parametrize("activation", ["relu", "relu2"])
def test_dead_relu_stays_dead(activation):
    holds(over(cases(), taught, activation), tolerance=0.0)


@pytest.mark.claim("dead-relu-stays-dead", control=True)
@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_dead_relu_stays_dead_control(activation):
    """Smooth activations have a slope left of zero as well, and something comes through."""
    fails(over(cases(), taught, activation), 1e-6)


# -- figures -----------------------------------------------------------------------------------------------


def test_gpt2_ffn_shape():
    """Against torch layers of GPT-2's shape: two matrices, biases, GELU."""
    config = load("gpt2-small").config
    up, down = nn.Linear(768, 3072), nn.Linear(3072, 768)
    with_biases = sum(p.numel() for m in (up, down) for p in m.parameters())
    assert (config.d_model, config.block.ffn.d_ff, config.ffn) == (768, 3072, "gelu")
    assert params.ffn_weights(config) == up.weight.numel() + down.weight.numel() == 4_718_592
    assert ffn_params_with_biases(768) == with_biases == 4_722_432
    assert load("transformer-base").config.ffn == "relu"


def test_cited_figures_of_the_chapter():
    full = {a: evaluate(f"glu_log_perplexity?run={a}-full").value for a in ("relu", "gelu", "swish")}
    gated = [
        evaluate(f"glu_log_perplexity?run={a}-full").value for a in ("glu", "bilinear", "reglu", "geglu", "swiglu")
    ]
    assert full["relu"] < full["gelu"] < full["swish"] and max(gated) < min(full.values())
    ppl = [evaluate(f"ffn_width_perplexity?width={w}").value for w in ("half", "base", "double")]
    assert sorted(ppl, reverse=True) == ppl
    spread = evaluate("glu_run_spread?activation=swiglu").value
    assert (
        abs(evaluate("glu_log_perplexity?run=geglu-full").value - evaluate("glu_log_perplexity?run=swiglu-full").value)
        < spread
    )
