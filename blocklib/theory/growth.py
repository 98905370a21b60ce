"""What a constant factor per layer does to a magnitude when nothing pulls it back."""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import depth, fraction, plain
from blocklib.facts.registry import fact


@fact(
    formula="factor^layers",
    tests=("tests/theory/test_growth.py::test_compound_factor_matches_repeated_multiplication",),
)
def compound_factor(factor: Fraction, layers: int) -> int | Fraction:
    """How many times larger or smaller a vector is after a stack that multiplies its size by the same factor
    at every layer and never normalises.

    中文：每层都把向量的量级乘上同一个因子、从不归一化，整摞层之后量级变成原来的多少倍。
    """
    depth("layers", layers, 0)
    return plain(fraction(factor) ** layers)


def compound_curve(factor: Fraction, layers: int) -> tuple[Fraction, ...]:
    """Sizes after layer 0, 1, …, ``layers`` relative to the input, exact; length ``layers + 1``.

    Raises:
        DomainError: ``layers`` is negative or ``factor`` no finite number.
    """
    depth("layers", layers, 0)
    exact, sizes = fraction(factor), [Fraction(1)]
    for _ in range(layers):
        sizes.append(sizes[-1] * exact)
    return tuple(sizes)
