"""Norms on numbers that count what is done to them: an oracle that knows no formula.

Elementwise work and sums are done with :class:`Counted` elements; what happens once per vector is plain float
arithmetic and so is not counted.
"""

from __future__ import annotations

from math import sqrt


class Counted:
    """A float that adds one to a shared tally at every addition or multiplication it takes part in."""

    def __init__(self, value: float, tally: list[int]):
        self.value, self.tally = value, tally

    def _make(self, value: float) -> Counted:
        self.tally[0] += 1
        return Counted(value, self.tally)

    def __add__(self, other):
        return self._make(self.value + getattr(other, "value", other))

    __radd__ = __add__

    def __sub__(self, other):
        return self._make(self.value - getattr(other, "value", other))

    def __mul__(self, other):
        return self._make(self.value * getattr(other, "value", other))


def layernorm(x: list[float], gain: list[float], bias: list[float], affine: bool = True) -> tuple[list[float], int]:
    """LayerNorm of one vector and the operations it took."""
    tally = [0]
    elements = [Counted(v, tally) for v in x]
    mean = sum(elements).value / len(x)
    centred = [e - mean for e in elements]
    spread = 1 / sqrt(sum(c * c for c in centred).value / len(x))
    out = [c * spread for c in centred]
    if affine:
        out = [o * g + b for o, g, b in zip(out, gain, bias, strict=True)]
    return [o.value for o in out], tally[0]


def rmsnorm(x: list[float], gain: list[float], affine: bool = True) -> tuple[list[float], int]:
    """RMSNorm of one vector and the operations it took."""
    tally = [0]
    elements = [Counted(v, tally) for v in x]
    scale = 1 / sqrt(sum(e * e for e in elements).value / len(x))
    out = [e * scale for e in elements]
    if affine:
        out = [o * g for o, g in zip(out, gain, strict=True)]
    return [o.value for o in out], tally[0]
