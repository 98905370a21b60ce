"""How alike the rows of a sequence become when every layer mixes them, and what the residual keeps apart.

The model: rows start out orthogonal and of unit size; each layer writes to every row the average of all rows as a norm
leaves them, sent through a random matrix that keeps sizes. Without the residual one layer makes all rows equal. With
it every row gains the same vector, so what sets two rows apart stays, and is diluted by what they share.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext

from blocklib.exact import DIGITS, at_least, depth
from blocklib.facts.registry import fact

ONE = Decimal(1)


@fact(
    formula="s ← s + (1 + (tokens − 1) · s / (1 + s)) / tokens, layers times from s = 0",
    tests=(
        "tests/theory/test_mixing.py::test_against_rows_mixed_by_random_matrices",
        "tests/theory/test_mixing.py::test_one_layer_by_hand",
    ),
)
def shared_square(tokens: int, layers: int) -> Decimal:
    """Mean square of what all rows share, in units of a row's own, after this many residual layers that each write
    the average of the normed rows.

    中文：每层把归一化后各行的平均写回残差流，经过这么多层之后，各行共有的那一份的均方，以一行自己的那一份为一。
    """
    at_least("tokens", tokens, 2)
    depth("layers", layers, 0)
    with localcontext(Context(prec=DIGITS + 10)):
        shared = Decimal(0)
        for _ in range(layers):
            shared += (ONE + (tokens - 1) * shared / (ONE + shared)) / tokens
        return Context(prec=DIGITS).plus(shared)


@fact(
    formula="shared / (1 + shared)",
    tests=(
        "tests/theory/test_mixing.py::test_against_rows_mixed_by_random_matrices",
        "tests/theory/test_mixing.py::test_one_layer_by_hand",
    ),
)
def row_similarity(tokens: int, layers: int) -> Decimal:
    """Cosine of two rows after this many residual layers that each write the average of the normed rows; without
    the residual it is one after the first.

    中文：每层把归一化后各行的平均写回残差流，经过这么多层之后两行之间的余弦；没有残差，一层就到一。
    """
    shared = shared_square(tokens, layers)
    with localcontext(Context(prec=DIGITS)):
        return shared / (ONE + shared)
