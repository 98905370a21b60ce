"""What norms on queries and keys bound: the logits of a head, and how sharp its softmax can be."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from blocklib.exact import DIGITS, Exact, at_least, fraction, root
from blocklib.facts.registry import fact


@fact(
    formula="gain² · √head_dim",
    tests=(
        "tests/theory/test_qk_norm.py::test_the_bound_is_reached_and_not_passed",
        "tests/claims_evidence/test_design_normalization.py::test_qk_norm_bounds_logits",
    ),
)
def qk_logit_bound(head_dim: int, gain: Fraction) -> Exact:
    """Largest absolute logit of a head whose queries and keys have been RMS-normed, with 1/√head_dim kept, when no
    entry of either gain exceeds this in size; a rotation of both by position does not change it.

    中文：query 与 key 做过 RMSNorm、保留 1/√head_dim、两边增益的绝对值都不超过此数时，一个头的 logit 绝对值的上界；按位置旋转不影响它。
    """
    at_least("head_dim", head_dim, 1)
    size = fraction(gain)
    at_least("gain", size, 0)
    return root(size**4 * head_dim)


@fact(
    formula="1 / (1 + (keys − 1) · e^(−2 · bound))",
    tests=("tests/theory/test_qk_norm.py::test_the_sharpest_softmax_by_construction",),
)
def sharpest_weight(bound: Fraction, keys: int) -> Decimal:
    """Largest weight that softmax can give one of this many keys when every logit lies within ± bound.

    中文：所有 logit 都在 ± 上界之内时，softmax 至多能给这么多个 key 中的一个多大的权重。
    """
    at_least("keys", keys, 1)
    limit = fraction(bound)
    at_least("bound", limit, 0)
    wide = Context(prec=DIGITS + 10)
    exponent = -2 * limit
    low = wide.exp(wide.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    return Context(prec=DIGITS).divide(Decimal(1), wide.add(Decimal(1), wide.multiply(Decimal(keys - 1), low)))
