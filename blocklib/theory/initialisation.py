"""Initial sizes of the matrices that write to the residual stream."""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, Exact, depth, fraction, quotient, root
from blocklib.facts.registry import fact


@fact(
    formula="std / √(2 · blocks)",
    tests=(
        "tests/theory/test_initialisation.py::test_the_known_value",
        "tests/claims_evidence/test_lesson_deep_net.py::test_scaled_writes_keep_the_stream",
    ),
)
def residual_init_std(std: Fraction, blocks: int) -> Exact:
    """Standard deviation at which the matrices that write to the stream start, when the usual one is divided by the
    root of the number of writes, two a block.

    中文：写回残差流的那些矩阵的初始标准差：通常的值除以写入次数的平方根，每块两次。

    Raises:
        DomainError: ``std`` is not positive, or ``blocks`` is below one.
    """
    depth("blocks", blocks, 1)
    if fraction(std) <= 0:
        raise DomainError(f"std must be positive, found {std}")
    return quotient(fraction(std), root(2 * blocks))
