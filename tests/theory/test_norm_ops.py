"""Operation counts against norms that count their own steps."""

from __future__ import annotations

import random
import statistics
from fractions import Fraction

import pytest

from blocklib.exact import DomainError
from blocklib.theory.norm_ops import (
    norm_core_gap,
    norm_core_ops,
    norm_core_ratio,
    norm_gap_share,
    norm_ops,
    norm_ops_gap,
    norm_steps,
    rmsnorm_output_mean,
)
from tests.theory import counting

WIDTHS = [1, 2, 8, 127, 768]


def vectors(width: int) -> tuple[list[float], list[float], list[float]]:
    rng = random.Random(width)
    return tuple([rng.gauss(1, 2) for _ in range(width)] for _ in range(3))


@pytest.mark.parametrize("width", WIDTHS[1:])
@pytest.mark.parametrize("affine", [True, False])
def test_counts_match_an_instrumented_norm(width, affine):
    x, gain, bias = vectors(width)
    closed_form = norm_ops if affine else norm_core_ops
    assert closed_form("layernorm", width) == counting.layernorm(x, gain, bias, affine)[1]
    assert closed_form("rmsnorm", width) == counting.rmsnorm(x, gain, affine)[1]


def test_the_instrumented_norms_are_norms():
    x, gain, bias = vectors(64)
    ln, _ = counting.layernorm(x, gain, bias, affine=False)
    rms, _ = counting.rmsnorm(x, gain, affine=False)
    assert statistics.fmean(ln) == pytest.approx(0, abs=1e-12) and statistics.pstdev(ln) == pytest.approx(1)
    assert statistics.fmean(v * v for v in rms) == pytest.approx(1)


@pytest.mark.parametrize(
    ("width", "ln", "rms"),
    [(768, 5376, 3072), (4096, 28672, 16384), (8192, 57344, 32768), (12288, 86016, 49152)],
)
def test_known_totals(width, ln, rms):
    assert (norm_ops("layernorm", width), norm_ops("rmsnorm", width)) == (ln, rms)


@pytest.mark.parametrize(("width", "gap"), [(768, 1536), (1600, 3200), (4096, 8192), (12288, 24576)])
def test_gaps_are_differences(width, gap):
    assert norm_core_gap(width) == gap == norm_core_ops("layernorm", width) - norm_core_ops("rmsnorm", width)
    assert norm_ops_gap(width) == gap * 3 // 2 == norm_ops("layernorm", width) - norm_ops("rmsnorm", width)


@pytest.mark.parametrize("width", WIDTHS)
def test_ratios_do_not_depend_on_width(width):
    assert norm_core_ratio(width) == Fraction(3, 5)


@pytest.mark.parametrize(("width", "percent"), [(768, 0.0217), (12288, 0.001356)])
def test_gap_share_is_the_gap_over_the_block(width, percent):
    assert norm_gap_share(width) == Fraction(1, 6 * width)
    assert float(norm_gap_share(width)) * 100 == pytest.approx(percent, rel=1e-3)


def test_steps_are_in_order_and_add_up():
    steps = norm_steps("layernorm", 8)
    assert [s.name.en for s in steps] == [
        "sum for the mean", "subtract the mean", "square each element", "sum of the squares",
        "divide by the scale", "multiply by the gain", "add the bias",
    ]  # fmt: skip
    assert [s.core for s in steps] == [True] * 5 + [False] * 2
    assert {s.name for s in norm_steps("rmsnorm", 8)} < {s.name for s in steps}
    assert all(s.name.zh and s.name.en for s in steps)


@pytest.mark.parametrize("seed", range(5))
def test_rmsnorm_output_mean_on_a_vector(seed):
    rng = random.Random(seed)
    x = [rng.gauss(1.5, 1) for _ in range(200)]
    out, _ = counting.rmsnorm(x, [], affine=False)
    predicted = rmsnorm_output_mean(statistics.fmean(x), statistics.pstdev(x))
    assert float(predicted) == pytest.approx(statistics.fmean(out), rel=1e-12)


def test_rmsnorm_output_mean_special_cases():
    assert rmsnorm_output_mean(3, 4) == Fraction(3, 5)
    assert rmsnorm_output_mean(0, 1) == 0
    assert rmsnorm_output_mean(-2, 0) == -1
    with pytest.raises(DomainError):
        rmsnorm_output_mean(0, 0)
    with pytest.raises(DomainError):
        rmsnorm_output_mean(1, -1)


@pytest.mark.parametrize("call", [lambda: norm_ops("layernorm", 0), lambda: norm_gap_share(0)])
def test_width_must_be_positive(call):
    with pytest.raises(DomainError, match="d_model must be at least 1"):
        call()
