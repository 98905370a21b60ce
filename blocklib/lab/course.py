"""Figures of the course that the lab's decision table and pitfalls come from, and what can be worked out from them.

The course measured on a model of its own: width 256, vocabulary 2,048, four layers. Its runs are not public, so what it
reports is quoted as its own and checked by nobody; its parameter counts and its noise floor can be computed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import sqrt
from statistics import NormalDist
from typing import Literal

from blocklib.facts.registry import fact

D_MODEL, VOCAB_SIZE, N_LAYERS, D_FF, D_FF_GELU, ATTENTION_LAYERS = 256, 2048, 4, 688, 1024, 12
_REPORTED = {
    "rerun-range": "0.016", "reruns": "5", "three-sigma": "0.020", "stalled-loss": "6.63", "trained-loss": "4.87",
    "stalled-rate": "0.003", "trained-rate": "0.001", "warm-up-steps": "100", "divergence-rate": "0.01", "first-steps": "100",
}  # fmt: skip


@fact(grade="cited", origin="the course, chapter on the block (课程「块」一章)")
def course_reported(
    item: Literal["rerun-range", "reruns", "three-sigma", "stalled-loss", "trained-loss", "stalled-rate", "trained-rate",
                  "warm-up-steps", "divergence-rate", "first-steps"],
) -> Fraction:  # fmt: skip
    """As the course reports it of its own runs (width 256, vocabulary 2,048), in nats, steps or rates; not checked, since the runs are not public.

    中文：课程就自己的实验报告的数字（宽 256、词表 2,048），单位为 nat、步数或学习率；原始运行没有公开，无从核对。
    """
    return Fraction(_REPORTED[item])


@fact(tests=("tests/lab/test_course.py::test_counts_are_those_of_the_stack",))
def course_width(item: Literal["d_model", "vocab_size", "n_layers", "d_ff", "d_ff-gelu", "attention-layers"]) -> int:
    """A size of the course's model or of one of its comparisons.

    中文：课程的模型或其对照模型的一项尺寸。
    """
    return {
        "d_model": D_MODEL, "vocab_size": VOCAB_SIZE, "n_layers": N_LAYERS, "d_ff": D_FF, "d_ff-gelu": D_FF_GELU,
        "attention-layers": ATTENTION_LAYERS,
    }[item]  # fmt: skip


@fact(tests=("tests/lab/test_course.py::test_counts_are_those_of_the_stack",))
def course_part(part: Literal["embedding", "attention", "swiglu", "gelu", "norms", "final-norm"]) -> int:
    """Parameters of one part of the course's model: a layer's attention, its FFN of either kind, its two norms, or what stands once.

    中文：课程模型一个部件的参数：一层的 attention、两种 FFN、两个归一化，或整个模型只有一份的部件。
    """
    return {
        "embedding": VOCAB_SIZE * D_MODEL,
        "attention": 4 * D_MODEL**2,
        "swiglu": 3 * D_MODEL * D_FF,
        "gelu": 2 * D_MODEL * D_FF_GELU,
        "norms": 2 * D_MODEL,
        "final-norm": D_MODEL,
    }[part]


Arms = Literal["base", "gelu", "attention-only", "layernorm"]


@fact(tests=("tests/lab/test_course.py::test_counts_are_those_of_the_stack",))
def course_parameters(arm: Arms) -> int:
    """Parameters of the course's model and of those it compares, the tied head once.

    中文：课程的模型与各对照模型的参数，与 embedding 绑定的输出头只计一次。
    """
    once = course_part("embedding") + course_part("final-norm")
    if arm == "attention-only":
        return once + ATTENTION_LAYERS * (course_part("attention") + D_MODEL)
    layer = course_part("attention") + course_part("gelu" if arm == "gelu" else "swiglu") + course_part("norms")
    return once + N_LAYERS * layer + (D_MODEL * (2 * N_LAYERS + 1) if arm == "layernorm" else 0)


@fact(formula="other / base − 1", tests=("tests/lab/test_course.py::test_mismatches_as_printed",))
def course_mismatch(arm: Arms) -> Fraction:
    """Parameters of one of the course's comparisons over those of its base, minus one.

    中文：课程某个对照模型的参数比基准多出的比例。
    """
    return Fraction(course_parameters(arm), course_parameters("base")) - 1


@cache
def range_over_sd(runs: int) -> float:
    """Expected range of so many normal draws, in standard deviations: the constant d₂ of control charts.

    The integral of ``1 − Φⁿ − (1 − Φ)ⁿ`` by Simpson's rule. Raises ValueError for fewer than two runs.
    """
    if runs < 2:
        raise ValueError(f"a range needs at least two runs, found {runs}")
    phi, pieces, edge = NormalDist().cdf, 2000, 9.0
    step = 2 * edge / pieces
    total = 0.0
    for k in range(pieces + 1):
        share = phi(-edge + k * step)
        weight = 1 if k in (0, pieces) else 4 if k % 2 else 2
        total += weight * (1 - share**runs - (1 - share) ** runs)
    return total * step / 3


@fact(formula="range / d₂(runs)", tests=("tests/lab/test_course.py::test_constants_of_control_charts",))
def sd_from_range(spread: Fraction, runs: int) -> float:
    """Standard deviation that a range over so many runs points to, if they are normally distributed.

    中文：若各次运行服从正态分布，这么多次运行的极差所对应的标准差。
    """
    return float(spread) / range_over_sd(runs)


@fact(
    formula="3 · sd, times √2 for a difference", tests=("tests/lab/test_course.py::test_constants_of_control_charts",)
)
def three_sigma_from_range(spread: Fraction, runs: int, of: Literal["run", "difference"]) -> float:
    """Three standard deviations of one run, or of the difference of two, worked out from the range of repeated runs.

    中文：由重复运行的极差推出的三倍标准差：单次运行的，或两次运行之差的。
    """
    return 3 * sd_from_range(spread, runs) * (sqrt(2) if of == "difference" else 1)


@fact(formula="threshold / (√2 · sd)", tests=("tests/lab/test_course.py::test_constants_of_control_charts",))
def sigmas_of_difference(threshold: Fraction, spread: Fraction, runs: int) -> float:
    """A threshold in standard deviations of the difference of two runs, worked out from the range of repeated runs.

    中文：一个门槛等于两次运行之差的多少个标准差，由重复运行的极差推出。
    """
    return float(threshold) / (sd_from_range(spread, runs) * sqrt(2))


@fact(formula="std / √(2 · layers)", tests=("tests/lab/test_course.py::test_start_of_residual_writes",))
def residual_write_std(std: Fraction, layers: int) -> float:
    """Initial standard deviation of a matrix that writes to the stream, when there are two writes a layer.

    中文：每层两次写入时，写回残差流的矩阵的初始标准差。
    """
    return float(std) / sqrt(2 * layers)
