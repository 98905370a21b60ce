"""What the epsilon of a norm does to small vectors."""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, Exact, fraction, quotient, root
from blocklib.facts.registry import fact


@fact(
    formula="size / √(size² + ε)",
    tests=(
        "tests/theory/test_norm_epsilon.py::test_output_size_against_torch",
        "tests/claims_evidence/test_lesson_invariances.py::test_epsilon_shrinks_small_vectors",
    ),
)
def norm_output_size(size: Fraction, eps: Fraction) -> Exact:
    """Size of a norm's output for an input of this size: root mean square for RMSNorm, standard deviation for
    LayerNorm; gain one. Without epsilon it is one.

    中文：归一化的输出有多大，给定输入的大小：RMSNorm 看均方根，LayerNorm 看标准差，增益取一。没有 ε 时总是一。

    Raises:
        DomainError: ``size`` is not positive, or ``eps`` is negative.
    """
    size, eps = fraction(size), fraction(eps)
    if size <= 0 or eps < 0:
        raise DomainError(f"a size above 0 and an epsilon of at least 0 expected, found {size} and {eps}")
    return quotient(size, root(size**2 + eps))
