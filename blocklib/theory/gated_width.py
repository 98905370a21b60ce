"""How wide a gated FFN must be to cost what an ungated one does, and what its matrices cost otherwise.

Counts are of weight matrices only, no biases: two of ``d_model · d_ff`` without a gate, three with one. FLOPs count
one multiply-accumulate as two, matrix products only; a training step costs three forward passes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.exact import at_least, plain
from blocklib.facts.registry import fact

PASSES = {"forward": 1, "training": 3}


@fact(formula="8 · d_model / 3", tests=("tests/theory/test_gated_width.py::test_matched_width_by_counting",))
def matched_width(d_model: int) -> int | Fraction:
    """Inner width at which three matrices hold exactly the weights of two at four times the width; not always
    whole.

    中文：三个矩阵与「两个矩阵、中间四倍宽」权重恰好相等的内部宽度，不一定是整数。
    """
    at_least("d_model", d_model, 1)
    return plain(Fraction(8 * d_model, 3))


@fact(
    formula="⌊8 · d_model / 3⌋ rounded up to a multiple",
    tests=("tests/theory/test_gated_width.py::test_rounded_width_by_search_and_against_the_layer",),
)
def rounded_width(d_model: int, multiple_of: int) -> int:
    """Inner width by LLaMA's rule: 8d/3, rounded down to an integer and then up to a multiple.

    中文：LLaMA 的取法：8d/3 先取整，再向上凑成某个数的倍数。
    """
    at_least("d_model", d_model, 1)
    at_least("multiple_of", multiple_of, 1)
    return multiple_of * -(-(8 * d_model // 3) // multiple_of)


@fact(formula="3 · d_model · d_ff", tests=("tests/theory/test_gated_width.py::test_weights_by_counting",))
def gated_ffn_weights(d_model: int, d_ff: int) -> int:
    """Weights of the three matrices of a gated FFN; no biases.

    中文：带门的 FFN 三个矩阵的权重数，不含偏置。
    """
    at_least("d_model", d_model, 1)
    at_least("d_ff", d_ff, 1)
    return 3 * d_model * d_ff


@fact(
    formula="3 · d_model · d_ff / (8 · d_model²) - 1",
    tests=("tests/theory/test_gated_width.py::test_weights_by_counting",),
)
def gated_ffn_excess(d_model: int, d_ff: int) -> int | Fraction:
    """By what share a gated FFN of this width has more weights than the textbook's 8d²; negative when fewer.

    中文：这样宽的带门 FFN 比教科书的 8d² 多出的比例；负数表示更少。
    """
    return plain(Fraction(gated_ffn_weights(d_model, d_ff), 8 * d_model**2) - 1)


@fact(
    unit="FLOP",
    formula="2 · 3 · d_model · d_ff · passes",
    tests=("tests/claims_evidence/test_design_swiglu.py::test_ffn_flops_convention",),
)
def gated_ffn_flops(d_model: int, d_ff: int, step: Literal["forward", "training"]) -> int:
    """FLOPs of a gated FFN's matrices for one token: forward only, or a whole training step (three times that).

    中文：带门 FFN 的矩阵乘法每个 token 的 FLOP：只算前向，或算完整的一步训练（前向的三倍）。
    """
    return 2 * gated_ffn_weights(d_model, d_ff) * PASSES[step]
