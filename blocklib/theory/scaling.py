"""Depth against width: what a block's weight matrices cost.

Only the weight matrices of the blocks are counted: 12d² a block, so N blocks cost 12Nd². Biases, norm gains and
embeddings grow with d, not with d², and are left out.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import Exact, at_least, depth, fraction, plain, root
from blocklib.facts.registry import fact


@fact(
    formula="factor",
    tests=(
        "tests/theory/test_scaling.py::test_scaling_matches_counted_matrices",
        "tests/claims_evidence/test_stacking.py::test_depth_linear_width_quadratic",
    ),
)
def depth_scaling(factor: Fraction) -> int | Fraction:
    """How many times more weights the block matrices hold when only the number of blocks is multiplied.

    中文：只把块数乘上这个倍数，块内权重矩阵的参数变成原来的多少倍。
    """
    at_least("factor", fraction(factor), 0)
    return plain(fraction(factor))


@fact(
    formula="factor²",
    tests=(
        "tests/theory/test_scaling.py::test_scaling_matches_counted_matrices",
        "tests/claims_evidence/test_stacking.py::test_depth_linear_width_quadratic",
    ),
)
def width_scaling(factor: Fraction) -> int | Fraction:
    """How many times more weights the block matrices hold when only the width is multiplied.

    中文：只把宽度乘上这个倍数，块内权重矩阵的参数变成原来的多少倍。
    """
    at_least("factor", fraction(factor), 0)
    return plain(fraction(factor) ** 2)


@fact(formula="12 · blocks · d_model²", tests=("tests/theory/test_scaling.py::test_scaling_matches_counted_matrices",))
def matrix_params(blocks: int, d_model: int) -> int:
    """Weights in the matrices of a stack of blocks: four square ones in attention and two of four times the
    width in the FFN; no biases, norms or embeddings.

    中文：一摞块里权重矩阵的参数：attention 四个方阵，FFN 两个四倍宽的矩阵；不含偏置、归一化与 embedding。
    """
    depth("blocks", blocks, 0)
    at_least("d_model", d_model, 1)
    return 12 * blocks * d_model**2


@fact(
    formula="base_width · √(base_blocks / blocks), rounded",
    tests=(
        "tests/theory/test_scaling.py::test_equal_budget_width_is_the_nearest",
        "tests/claims_evidence/test_stacking.py::test_equal_budget_depth",
    ),
)
def equal_budget_width(blocks: int, base_blocks: int, base_width: int) -> int:
    """The whole width at which this many blocks come nearest to the matrix weights of the base stack.

    中文：块数改成这么多时，使权重矩阵总量最接近基准的整数宽度。
    """
    exact = equal_budget_width_exact(blocks, base_blocks, base_width)
    floor = int(exact)
    # Nearest in N·d², not in d: that is what is to be equal.
    target = base_blocks * base_width**2
    return min(max(floor, 1), floor + 1, key=lambda width: (abs(blocks * width**2 - target), width))


def equal_budget_width_exact(blocks: int, base_blocks: int, base_width: int) -> Exact:
    """The width with exactly the same N·d², whole or not.

    Raises:
        DomainError: any argument is below one.
    """
    for name, value in (("blocks", blocks), ("base_blocks", base_blocks), ("base_width", base_width)):
        at_least(name, value, 1)
    return root(Fraction(base_blocks * base_width**2, blocks))


@fact(
    formula="12 · (blocks · width² - base_blocks · base_width²)",
    tests=("tests/theory/test_scaling.py::test_residual_is_the_difference",),
)
def equal_budget_residual(blocks: int, base_blocks: int, base_width: int) -> int:
    """Weights by which the stack of the nearest whole width misses the base stack; negative when it has fewer.

    中文：取最接近的整数宽度后，与基准相差的权重数；负数表示少了。
    """
    width = equal_budget_width(blocks, base_blocks, base_width)
    return matrix_params(blocks, width) - matrix_params(base_blocks, base_width)


@fact(
    formula="(blocks · width² - base_blocks · base_width²) / (base_blocks · base_width²)",
    tests=("tests/theory/test_scaling.py::test_residual_is_the_difference",),
)
def equal_budget_deviation(blocks: int, base_blocks: int, base_width: int) -> int | Fraction:
    """Share of the base stack's matrix weights by which the stack of the nearest whole width misses them.

    中文：取最接近的整数宽度后，与基准相差的权重占基准的比例。
    """
    return plain(
        Fraction(equal_budget_residual(blocks, base_blocks, base_width), matrix_params(base_blocks, base_width))
    )


@fact(
    formula="base_blocks · (base_width / width)²",
    tests=("tests/theory/test_scaling.py::test_equal_budget_blocks",),
)
def equal_budget_blocks(width: int, base_blocks: int, base_width: int) -> int | Fraction:
    """How many blocks of this width have the matrix weights of the base stack.

    中文：宽度取这个值时，与基准权重总量相等的块数。
    """
    for name, value in (("width", width), ("base_blocks", base_blocks), ("base_width", base_width)):
        at_least(name, value, 1)
    return plain(base_blocks * Fraction(base_width, width) ** 2)
