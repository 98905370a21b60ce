"""Activations of ungated FFNs, their values and slopes, in double precision."""

from __future__ import annotations

from fractions import Fraction
from math import erf, exp, pi, sqrt
from typing import Literal

from blocklib.exact import DomainError, fraction
from blocklib.facts.registry import fact

Activation = Literal["relu", "relu2", "gelu", "silu"]
ACTIVATIONS: tuple[str, ...] = ("relu", "relu2", "gelu", "silu")


def _known(kind: str) -> None:
    if kind not in ACTIVATIONS:
        raise DomainError(f"unknown activation {kind!r}; known: {', '.join(ACTIVATIONS)}")


def _normal(x: float) -> float:
    return 0.5 * (1 + erf(x / sqrt(2)))


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


@fact(
    formula="relu: max(x, 0); relu2: max(x, 0)²; gelu: x·Φ(x); silu: x·σ(x)",
    tests=("tests/theory/test_activations.py::test_values_match_torch",),
)
def activation_value(kind: Literal["relu", "relu2", "gelu", "silu"], x: Fraction) -> float:
    """Value of an activation at this input. GELU is the exact one, by the error function.

    中文：激活函数在该输入处的值；GELU 取用误差函数定义的精确形式。
    """
    _known(kind)
    at = float(fraction(x))
    if kind in ("relu", "relu2"):
        return max(at, 0.0) ** (2 if kind == "relu2" else 1)
    return at * (_normal(at) if kind == "gelu" else _sigmoid(at))


@fact(
    formula="relu: 0 or 1; relu2: 2·max(x, 0); gelu: Φ(x) + x·φ(x); silu: σ(x)·(1 + x·(1 − σ(x)))",
    tests=(
        "tests/theory/test_activations.py::test_slopes_match_torch",
        "tests/claims_evidence/test_design_ffn_geometry.py::test_smooth_at_zero",
    ),
)
def activation_slope(kind: Literal["relu", "relu2", "gelu", "silu"], x: Fraction) -> float:
    """Slope of an activation at this input; ReLU has none at zero.

    中文：激活函数在该输入处的斜率；ReLU 在零点没有。

    Raises:
        DomainError: ReLU at zero, where it has no slope, or an unknown ``kind``.
    """
    _known(kind)
    at = float(fraction(x))
    if kind == "relu":
        if at == 0:
            raise DomainError("ReLU has no slope at 0: it is 0 on one side and 1 on the other")
        return float(at > 0)
    if kind == "relu2":
        return 2 * max(at, 0.0)
    if kind == "gelu":
        return _normal(at) + at * exp(-at * at / 2) / sqrt(2 * pi)
    s = _sigmoid(at)
    return s * (1 + at * (1 - s))
