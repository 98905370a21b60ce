"""Four phrases and whether they are praise: what an affine map, and what one neuron, can make of them. Exact.

A phrase is (negated, bad): "tasty" (0, 0), "not tasty" (1, 0), "awful" (0, 1), "not awful" (1, 1); praise is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from blocklib.exact import DomainError
from blocklib.facts.registry import fact

PHRASES = ((0, 0), (1, 0), (0, 1), (1, 1))
TARGETS = (1, 0, 0, 1)


def error(outputs: Sequence[Fraction]) -> Fraction:
    """Mean squared error of four outputs, one a phrase."""
    return sum(((o - t) ** 2 for o, t in zip(outputs, TARGETS, strict=True)), Fraction(0)) / len(TARGETS)


def line(negated: Fraction, bad: Fraction, bias: Fraction) -> tuple[Fraction, ...]:
    """Outputs of the affine map with these weights, one a phrase."""
    return tuple(negated * a + bad * b + bias for a, b in PHRASES)


def best_outputs(bias: bool) -> tuple[Fraction, ...]:
    """Outputs of the affine map (without ``bias``, of the linear map) of least squared error, from its normal equations."""
    rows = [(*map(Fraction, phrase), *([Fraction(1)] if bias else [])) for phrase in PHRASES]
    size = len(rows[0])
    system = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * t for row, t in zip(rows, TARGETS, strict=True))]
        for i in range(size)
    ]
    for i in range(size):  # Gauss–Jordan; the pivots are positive, for the columns are independent
        system[i] = [value / system[i][i] for value in system[i]]
        for j in range(size):
            if j != i:
                system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i], strict=True)]
    solution = [row[-1] for row in system]
    return tuple(sum((a * w for a, w in zip(row, solution, strict=True)), Fraction(0)) for row in rows)


@fact(
    formula="(XᵀX)⁻¹Xᵀ·target", tests=("tests/claims_evidence/test_lesson_four_phrases.py::test_affine_misses_phrases",)
)
def phrase_output(kind: Literal["affine", "linear"], negated: int, bad: int) -> Fraction:
    """Output that least squares gives a phrase: with a bias (affine) or without one (linear).

    中文：最小二乘给一个短语的输出；affine 带偏置，linear 不带。

    Raises:
        DomainError: ``negated`` or ``bad`` is neither 0 nor 1.
    """
    if (negated, bad) not in PHRASES:
        raise DomainError(f"negated and bad are 0 or 1, found {negated} and {bad}")
    return best_outputs(kind == "affine")[PHRASES.index((negated, bad))]


@fact(
    formula="Σ (output − target)² / 4",
    tests=(
        "tests/claims_evidence/test_lesson_four_phrases.py::test_affine_misses_phrases",
        "tests/claims_evidence/test_lesson_four_phrases.py::test_one_hinge_falls_short",
    ),
)
def phrase_error(kind: Literal["affine", "linear", "hinge"]) -> Fraction:
    """Least mean squared error over the four phrases: of a map with a bias (affine), without one (linear), or of a
    single ReLU neuron with a scale and a bias on its output (hinge). The hinge at its best sets one phrase of praise
    apart and gives the other three one output, their mean.

    中文：四个短语上能达到的最小均方误差：带偏置的映射（affine）、不带偏置的（linear），或一个 ReLU 神经元加输出的系数与偏置
    （hinge）。最好的单个神经元只认出一个褒义短语，其余三个得到同一个输出，即它们的平均。
    """
    if kind == "hinge":
        apart = TARGETS.index(1)
        others = [t for i, t in enumerate(TARGETS) if i != apart]
        middle = Fraction(sum(others), len(others))
        return error([Fraction(t) if i == apart else middle for i, t in enumerate(TARGETS)])
    return error(best_outputs(kind == "affine"))
