"""The paths that residual connections open: how many, how long, and how much each weighs.

``units`` are residual additions in a row. Expanding ``(1 + f_N) … (1 + f_1)`` gives one term for every subset of
the units. For linear branches the sum is exact; for others the subsets are the paths of the computation graph.
A subset's length is the number of branches it takes; all subsets draw on the same ``units`` sets of weights.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from blocklib.exact import DomainError, Exact, at_least, depth, fraction, plain, quotient, root
from blocklib.facts.registry import fact


@fact(formula="2^blocks", tests=("tests/theory/test_paths.py::test_counts_match_enumeration",))
def implicit_paths(blocks: int) -> int:
    """Paths through a stack with one residual addition per block: one for each subset of the blocks.

    中文：每块一次残差相加时，穿过整摞块的路径数：每个块子集对应一条。
    """
    depth("blocks", blocks, 0)
    return 2**blocks


@fact(
    formula="2^(2 · blocks)",
    tests=(
        "tests/theory/test_paths.py::test_counts_match_enumeration",
        "tests/claims_evidence/test_stacking.py::test_two_adds_per_block",
    ),
)
def sublayer_paths(blocks: int) -> int:
    """Paths through a stack of Transformer blocks, whose two sublayers each end in a residual addition.

    中文：一摞 Transformer 块的路径数：每块两个子层，各有一次残差相加。
    """
    depth("blocks", blocks, 0)
    return 2 ** (2 * blocks)


@fact(
    formula="2^(blocks - 1) / 2^blocks",
    tests=("tests/theory/test_paths.py::test_half_of_the_paths_use_a_block",),
)
def path_share_through_block(blocks: int) -> Fraction:
    """Share of all paths that run through any one given block and so change with its weights.

    中文：穿过某一个给定块、因而随它的权重一起变的路径占全部路径的比例。
    """
    depth("blocks", blocks, 1)
    return Fraction(implicit_paths(blocks - 1), implicit_paths(blocks))


@fact(formula="C(blocks, length)", tests=("tests/theory/test_paths.py::test_histogram_matches_enumeration",))
def path_count(blocks: int, length: int) -> int:
    """Paths that go through exactly this many of the blocks and skip the rest.

    中文：恰好穿过这么多个块、跳过其余块的路径条数。
    """
    depth("blocks", blocks, 0)
    at_least("length", length, 0)
    return comb(blocks, length)


def path_histogram(blocks: int) -> tuple[int, ...]:
    """Number of paths of length 0, 1, …, ``blocks``; length ``blocks + 1``, sum ``2**blocks``.

    Raises:
        DomainError: ``blocks`` is negative.
    """
    return tuple(path_count(blocks, length) for length in range(blocks + 1))


def path_weights(blocks: int, gain: Fraction) -> tuple[Fraction, ...]:
    """Share of the gradient carried by paths of each length when every branch scales it by ``gain``.

    Exact for linear branches of equal gain: Binomial(blocks, gain / (1 + gain)). Length ``blocks + 1``, sum 1.

    Raises:
        DomainError: ``blocks`` or ``gain`` is negative.
    """
    share = _share(blocks, gain)
    return tuple(comb(blocks, k) * share**k * (1 - share) ** (blocks - k) for k in range(blocks + 1))


@fact(formula="blocks / 2", tests=("tests/theory/test_paths.py::test_moments_match_the_histogram",))
def path_length_mean(blocks: int) -> int | Fraction:
    """Average length of all paths, each counted once.

    中文：所有路径等权时的平均长度（穿过的块数）。
    """
    depth("blocks", blocks, 0)
    return plain(Fraction(blocks, 2))


@fact(formula="√blocks / 2", tests=("tests/theory/test_paths.py::test_moments_match_the_histogram",))
def path_length_sd(blocks: int) -> Exact:
    """Standard deviation of the length of all paths, each counted once.

    中文：所有路径等权时长度的标准差。
    """
    depth("blocks", blocks, 0)
    return root(Fraction(blocks, 4))


@fact(
    formula="Σ C(blocks, k) for k = low … high, over 2^blocks",
    tests=("tests/theory/test_paths.py::test_share_within_matches_enumeration",),
)
def paths_within(blocks: int, low: int, high: int) -> int | Fraction:
    """Share of all paths whose length lies between these bounds, both included.

    中文：长度落在这两个界之间（含端点）的路径占全部路径的比例。
    """
    _window(blocks, low, high)
    return plain(Fraction(sum(path_histogram(blocks)[low : high + 1]), 2**blocks))


@fact(
    formula="blocks · gain / (1 + gain)",
    tests=(
        "tests/theory/test_paths.py::test_weighted_moments_match_enumeration",
        "tests/claims_evidence/test_stacking.py::test_path_lengths_binomial",
    ),
)
def weighted_path_length(blocks: int, gain: Fraction) -> int | Fraction:
    """Average path length weighted by the gradient each path carries, when every branch scales it by this gain.

    中文：按各路径携带的梯度加权的平均长度；每条支路把梯度乘上同一个增益。
    """
    return plain(blocks * _share(blocks, gain))


@fact(
    formula="√(blocks · gain) / (1 + gain)",
    tests=("tests/theory/test_paths.py::test_weighted_moments_match_enumeration",),
)
def weighted_path_length_sd(blocks: int, gain: Fraction) -> Exact:
    """Standard deviation of the path length weighted by the gradient each path carries.

    中文：按梯度加权的路径长度的标准差。
    """
    share = _share(blocks, gain)
    return root(blocks * share * (1 - share))


@fact(
    formula="Σ C(blocks, k) p^k (1-p)^(blocks-k) for k = low … high, p = gain / (1 + gain)",
    tests=("tests/theory/test_paths.py::test_weighted_share_within_matches_enumeration",),
)
def weighted_paths_within(blocks: int, gain: Fraction, low: int, high: int) -> int | Fraction:
    """Share of the gradient carried by paths whose length lies between these bounds, both included.

    中文：长度落在这两个界之间（含端点）的路径所携带的梯度占比。
    """
    _window(blocks, low, high)
    return plain(sum(path_weights(blocks, gain)[low : high + 1], Fraction(0)))


@fact(
    formula="2^(2 · blocks) / 2^blocks",
    tests=("tests/theory/test_paths.py::test_doubling_depth_squares_the_count",),
)
def path_growth_on_doubling(blocks: int) -> int:
    """Factor by which doubling the blocks multiplies the paths: it is the old count, so the count is squared.

    中文：块数翻倍，路径数变成原来的多少倍：这个倍数就是原来的路径数，所以路径数变成平方。
    """
    return quotient(implicit_paths(2 * blocks), implicit_paths(blocks))


@fact(
    formula="(1 + gain)^blocks",
    tests=("tests/theory/test_paths.py::test_total_weight_is_the_whole_product",),
)
def total_path_weight(blocks: int, gain: Fraction) -> int | Fraction:
    """Sum over all paths of the gain each one carries: the whole product that the expansion came from.

    中文：所有路径携带的增益之和：正是展开之前的整个乘积。
    """
    depth("blocks", blocks, 0)
    return plain(sum(comb(blocks, k) * fraction(gain) ** k for k in range(blocks + 1)))


def _share(blocks: int, gain: Fraction) -> Fraction:
    depth("blocks", blocks, 0)
    at_least("gain", fraction(gain), 0)
    return fraction(gain) / (1 + fraction(gain))


def _window(blocks: int, low: int, high: int) -> None:
    depth("blocks", blocks, 0)
    at_least("low", low, 0)
    if high < low:
        raise DomainError(f"the upper bound must not lie below the lower one, found {low} to {high}")
