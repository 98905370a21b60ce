"""The course's counts against torch's own, its noise floor against the tables of control charts, and the recipe's facts."""

from __future__ import annotations

import re

import pytest

from blocklib.facts.registry import evaluate
from blocklib.lab import corpus, course
from blocklib.lab.arms import BASE, replace
from blocklib.lab.reference import REFERENCE
from blocklib.lab.stack import parameters


def value(expr: str):
    return evaluate(expr, {}).value


def test_counts_are_those_of_the_stack():
    gelu = replace(REFERENCE, ffn="gelu", d_ff=course.D_FF_GELU)
    attention = replace(REFERENCE, layout="A" * course.ATTENTION_LAYERS)
    layernorm = replace(REFERENCE, norm="layer")
    for name, arm, published in (
        ("base", REFERENCE, 3_688_704), ("gelu", gelu, 3_672_320), ("attention-only", attention, 3_673_344),
        ("layernorm", layernorm, 3_691_008),
    ):  # fmt: skip
        assert value(f"course_parameters?arm={name}") == parameters(arm) == published
    shapes = {"d_model": REFERENCE.d_model, "vocab_size": REFERENCE.vocab_size, "d_ff": REFERENCE.d_ff, "n_layers": 4}
    assert {key: value(f"course_width?item={key}") for key in shapes} == shapes
    parts = ("embedding", 524_288), ("attention", 262_144), ("swiglu", 528_384), ("gelu", 524_288), ("norms", 512), ("final-norm", 256)  # fmt: skip
    assert all(value(f"course_part?part={part}") == count for part, count in parts)


def test_mismatches_as_printed():
    assert float(value("course_mismatch?arm=gelu")) == pytest.approx(-0.0044, abs=5e-5)
    assert float(value("course_mismatch?arm=attention-only")) == pytest.approx(-0.0042, abs=5e-5)
    assert value("course_mismatch?arm=base") == 0


@pytest.mark.parametrize(
    ("runs", "constant"), [(2, 1.128), (3, 1.693), (5, 2.326), (8, 2.847), (10, 3.078), (25, 3.931)]
)
def test_constants_of_control_charts(runs, constant):
    """The published d₂ (ASTM; Montgomery, Introduction to Statistical Quality Control, appendix VI)."""
    assert course.range_over_sd(runs) == pytest.approx(constant, abs=6e-4)
    assert float(value(f"sd_from_range?spread=0.016&runs={runs}")) == pytest.approx(0.016 / constant, rel=1e-3)
    run, gap = (
        float(value(f"three_sigma_from_range?spread=0.016&runs={runs}&of={of}")) for of in ("run", "difference")
    )
    of_gap = float(value(f"sigmas_of_difference?threshold=0.020&spread=0.016&runs={runs}"))
    assert of_gap == pytest.approx(3 * 0.020 / gap)
    assert run == pytest.approx(3 * 0.016 / constant, rel=1e-3) and gap == pytest.approx(2**0.5 * run)


def test_a_range_needs_two_runs():
    with pytest.raises(ValueError, match="at least two"):
        course.range_over_sd(1)


def test_recipe_facts_are_the_bases():
    for item in ("vocab_size", "d_model", "n_heads", "d_ff", "steps", "batch", "seq_len", "warmup"):
        assert value(f"lab_recipe?item={item}") == BASE.config()[item]
    assert value("lab_recipe?item=n_layers") == len(re.findall("A", BASE.layout)) == 4
    assert value("lab_documents?part=all") == len(corpus.documents())
    assert value("lab_documents?part=validation") == len(corpus.split()[1])
    assert value("lab_rung?rung=1") == pytest.approx(3e-3) and value("lab_rung?rung=-1") == pytest.approx(4e-3 / 3)


def test_start_of_residual_writes():
    """As the stack draws them: the spread of many weights, not the formula."""
    from blocklib.lab.stack import build

    weights = build(REFERENCE, 3).ffn[1].down.weight
    assert float(value("residual_write_std?std=0.02&layers=4")) == pytest.approx(
        float(weights.detach().std()), rel=0.01
    )
