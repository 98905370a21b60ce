"""How large the halves of a gated channel may grow before their product leaves a number format."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Literal

from blocklib.exact import DIGITS, DomainError
from blocklib.facts.registry import fact

# Largest finite number of each format: IEEE 754 binary16, bfloat16, and the E4M3 of 8-bit floating point (OFP8).
LARGEST = {"fp16": Decimal(65504), "bf16": Decimal(255) * Decimal(2) ** 120, "fp8": Decimal(448)}

_WIDE = Context(prec=DIGITS + 20)


@fact(
    formula="x with x · SiLU(x) = largest number of the format",
    tests=("tests/theory/test_gate_range.py::test_where_formats_end",),
)
def gate_overflow(dtype: Literal["fp16", "bf16", "fp8"]) -> Decimal:
    """Input of gate and value alike at which one SwiGLU channel hands on the largest number that the format has; fp8 is
    E4M3. Beyond it the product overflows.

    中文：门的输入与内容同为多大时，SwiGLU 的一个通道恰好交出该格式的最大数（fp8 指 E4M3）；再大就溢出。

    Raises:
        DomainError: the format is unknown.
    """
    if dtype not in LARGEST:
        raise DomainError(f"unknown format {dtype!r}; known: {', '.join(LARGEST)}")
    largest = LARGEST[dtype]
    x = _WIDE.sqrt(largest)
    for _ in range(8):  # x² = largest / σ(x), and σ is one but for what e^-x leaves
        x = _WIDE.sqrt(_WIDE.multiply(largest, _WIDE.add(Decimal(1), _WIDE.exp(x.copy_negate()))))
    return Context(prec=DIGITS).plus(x)
