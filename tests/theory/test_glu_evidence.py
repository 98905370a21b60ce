"""Gaps between published scores, against the figures typed in from the paper's table."""

from __future__ import annotations

import math

import pytest

from blocklib.theory.glu_evidence import glu_log_gap, glu_perplexity_gap, log_perplexity

TABLE = {  # activation: 65,536 steps, 524,288 steps
    "relu": (1.997, 1.677), "gelu": (1.983, 1.679), "swish": (1.994, 1.683), "glu": (1.982, 1.663),
    "bilinear": (1.960, 1.648), "geglu": (1.942, 1.633), "swiglu": (1.944, 1.636), "reglu": (1.953, 1.645),
}  # fmt: skip


@pytest.mark.parametrize("activation", TABLE)
def test_the_table(activation):
    assert tuple(float(log_perplexity(activation, steps)) for steps in ("short", "full")) == TABLE[activation]


@pytest.mark.parametrize("steps", ["short", "full"])
@pytest.mark.parametrize("worse", ["relu", "gelu", "glu"])
@pytest.mark.parametrize("better", ["swiglu", "geglu"])
def test_gaps_of_the_published_scores(worse, better, steps):
    k = ("short", "full").index(steps)
    one, other = TABLE[worse][k], TABLE[better][k]
    assert float(glu_log_gap(worse, better, steps)) == pytest.approx(one - other, abs=1e-12)
    assert float(glu_perplexity_gap(worse, better, steps)) == pytest.approx(math.exp(one) - math.exp(other), rel=1e-12)


def test_gaps_worked_out_before():
    assert [round(float(glu_perplexity_gap("relu", "swiglu", s)), 3) for s in ("short", "full")] == [0.380, 0.215]
    assert [round(float(glu_perplexity_gap("gelu", "swiglu", s)), 3) for s in ("short", "full")] == [0.278, 0.226]
