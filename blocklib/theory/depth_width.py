"""Depth against width: folds in sequence, reach through windows, and what a fixed budget buys in either direction.

A *fold* is the tent map on [0, 1], two ReLU neurons: 2x up to one half and 2 - 2x after it. A fixed budget holds N·d²
(the textbook's 12·N·d² weights) and lets the inner widths follow d.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.exact import DomainError, Exact, at_least, depth, fraction, plain, quotient, root
from blocklib.facts.registry import fact

NEURONS = 2  # of one fold
DEEPEST_FOLD = 64


@fact(
    formula="2^layers",
    tests=(
        "tests/theory/test_depth_width.py::test_pieces_by_counting_slopes",
        "tests/claims_evidence/test_design_depth.py::test_depth_multiplies_pieces",
    ),
)
def folded_pieces(layers: int) -> int:
    """Straight pieces of the curve that this many folds in sequence make of the unit interval.

    中文：这么多次对折先后相接，把单位区间变成的折线有几段。

    Raises:
        DomainError: ``layers`` is negative or too large to write the number down.
    """
    at_least("layers", layers, 0)
    if layers > DEEPEST_FOLD:
        raise DomainError(f"layers must be at most {DEEPEST_FOLD}, found {layers}")
    return 2**layers


@fact(formula="2 · layers", tests=("tests/theory/test_depth_width.py::test_pieces_by_counting_slopes",))
def folded_neurons(layers: int) -> int:
    """ReLU neurons in this many folds in sequence.

    中文：这么多次对折一共用了几个 ReLU 神经元。
    """
    at_least("layers", layers, 0)
    return NEURONS * layers


@fact(
    formula="neurons + 1",
    tests=(
        "tests/theory/test_depth_width.py::test_one_layer_has_a_piece_more_than_neurons",
        "tests/claims_evidence/test_design_depth.py::test_depth_multiplies_pieces",
    ),
)
def shallow_pieces(neurons: int) -> int:
    """Most straight pieces that one layer of so many ReLU neurons can make of a function of one variable.

    中文：一层这么多个 ReLU 神经元，对一个变量的函数最多能拼出几段折线。
    """
    at_least("neurons", neurons, 0)
    return neurons + 1


def folds(x: Fraction, layers: int) -> Fraction:
    """``x`` from [0, 1] after ``layers`` folds, exact.

    Raises:
        DomainError: ``x`` lies outside, or ``layers`` is negative.
    """
    at_least("layers", layers, 0)
    value = fraction(x)
    if not 0 <= value <= 1:
        raise DomainError(f"a fold acts on [0, 1], found {x}")
    for _ in range(layers):
        value = min(2 * value, 2 - 2 * value)
    return value


@fact(
    formula="layers · (window - 1)",
    tests=("tests/claims_evidence/test_design_depth.py::test_reach_grows_with_depth",),
)
def window_reach(layers: int, window: int) -> int:
    """How many positions back the last one can be influenced from, through this many layers whose attention sees a
    window of so many positions, itself included.

    中文：每层 attention 只看这么宽的窗口（含自己）时，叠这么多层之后，末尾的位置最远受多少个位置之前的影响。
    """
    depth("layers", layers, 0)
    at_least("window", window, 1)
    return layers * (window - 1)


@fact(
    formula="weights: 1; width: 1/√k; cache and scores: √k; steps: k",
    tests=(
        "tests/theory/test_depth_width.py::test_factors_of_a_fixed_budget",
        "tests/claims_evidence/test_design_depth.py::test_equal_budget_bill",
    ),
)
def fixed_budget_factor(of: Literal["weights", "width", "cache", "scores", "steps"], depth_factor: Fraction) -> Exact:
    """By what factor a quantity changes when the number of blocks is multiplied and the width brought down so that the
    block matrices hold as many weights as before: the cache and the scores of a token when every head has its own keys
    and values, the steps that wait for one another.

    中文：块数乘上这个倍数、宽度相应降低以保持块内矩阵的权重总数不变时，某个量变成原来的多少倍：每个 token 的缓存与打分（各头自有 key 与 value）、
    必须先后等待的步数等。

    Raises:
        DomainError: the factor is not positive, or ``of`` is unknown.
    """
    factor = fraction(depth_factor)
    if factor <= 0:
        raise DomainError(f"depth_factor must be positive, found {depth_factor}")
    if of == "weights":
        return 1
    if of == "steps":
        return plain(factor)
    if of in ("cache", "scores"):
        return root(factor)
    if of == "width":
        return quotient(1, root(factor))
    raise DomainError(f"unknown quantity {of!r}; known: weights, width, cache, scores, steps")
