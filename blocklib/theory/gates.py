"""The gates of gated linear units: how much of a value each lets through, and with which sign.

A gated unit multiplies a value ``up`` by ``gate_value(kind, gate)``. Sigmoid, SiLU and what follows from them are
computed in decimals to thirty digits; GELU by the error function in double precision.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import erf, exp, pi, sqrt
from typing import Literal

from blocklib.exact import DIGITS, DomainError, Exact, fraction
from blocklib.facts.registry import fact

Gate = Literal["glu", "bilinear", "reglu", "geglu", "swiglu"]
GATES: tuple[str, ...] = ("glu", "bilinear", "reglu", "geglu", "swiglu")
LARGEST = 1000  # beyond it a gate is its own asymptote to all printed digits

_WIDE = Context(prec=DIGITS + 20)
_NARROW = Context(prec=DIGITS)


def _decimal(value: Fraction) -> Decimal:
    exact = fraction(value)
    if abs(exact) > LARGEST:
        raise DomainError(f"a gate's input must lie within ±{LARGEST}, found {value}")
    return _WIDE.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _sigmoid(x: Decimal) -> Decimal:
    return _WIDE.divide(Decimal(1), _WIDE.add(Decimal(1), _WIDE.exp(x.copy_negate())))


def _lambert() -> Decimal:
    """W₀(1/e), the w with w·e^w = 1/e, by Newton's method."""
    goal, w = _WIDE.exp(Decimal(-1)), Decimal("0.2784645")
    for _ in range(6):  # seven right digits to begin with, doubled at every step
        grown = _WIDE.exp(w)
        w = _WIDE.subtract(w, _WIDE.divide(_WIDE.subtract(_WIDE.multiply(w, grown), goal),
                                           _WIDE.multiply(grown, _WIDE.add(w, Decimal(1)))))  # fmt: skip
    return w


@fact(formula="gate · σ(gate)", tests=("tests/theory/test_gates.py::test_gates_match_torch",))
def silu(gate: Fraction) -> Decimal:
    """SiLU of a gate's input, the factor by which SwiGLU multiplies the value.

    中文：门的输入经 SiLU 之后的值，也就是 SwiGLU 乘在内容上的系数。
    """
    x = _decimal(gate)
    return _NARROW.plus(_WIDE.multiply(x, _sigmoid(x)))


@fact(
    formula="-W₀(1/e)",
    tests=(
        "tests/theory/test_gates.py::test_the_minimum_is_the_lambert_number",
        "tests/claims_evidence/test_design_swiglu.py::test_silu_gate_is_a_signed_gain",
    ),
)
def silu_minimum() -> Decimal:
    """The smallest value of SiLU: the most a SwiGLU gate can turn a value's sign.

    中文：SiLU 的最小值，也就是 SwiGLU 的门最多能把内容翻转到什么程度。
    """
    return _NARROW.plus(_lambert()).copy_negate()


@fact(formula="-1 - W₀(1/e)", tests=("tests/theory/test_gates.py::test_the_minimum_is_the_lambert_number",))
def silu_minimiser() -> Decimal:
    """The input at which SiLU is smallest.

    中文：SiLU 取最小值时的输入。
    """
    return _NARROW.add(Decimal(1), _lambert()).copy_negate()


@fact(
    formula="1 + W₀(1/e)",
    tests=(
        "tests/theory/test_gates.py::test_unit_gain_mirrors_the_minimum",
        "tests/claims_evidence/test_design_swiglu.py::test_unit_gain_is_one_point",
    ),
)
def silu_unit_gain() -> Decimal:
    """The input at which SiLU is exactly one, so that the gate hands the value on unchanged.

    中文：SiLU 恰好等于一的输入；门在这里原样放行。
    """
    return _NARROW.add(Decimal(1), _lambert())


@fact(formula="gate · σ(gate) · up", tests=("tests/theory/test_gates.py::test_gates_match_torch",))
def swiglu(gate: Fraction, up: Fraction) -> Decimal:
    """What one channel of SwiGLU hands on: the value times SiLU of the gate.

    中文：SwiGLU 一个通道的输出：内容乘以门的 SiLU。
    """
    x = _decimal(gate)
    return _NARROW.plus(_WIDE.multiply(_WIDE.multiply(x, _sigmoid(x)), _decimal(up)))


@fact(
    formula="min(gate, limit) · σ(min(gate, limit)) · clamp(up, ±limit)",
    tests=("tests/theory/test_gates.py::test_clamped_matches_torch",),
)
def swiglu_clamped(gate: Fraction, up: Fraction, limit: Fraction) -> Decimal:
    """One channel of SwiGLU with the gate's input capped from above and the value clamped on both sides.

    中文：一个通道的 SwiGLU，门的输入从上方截断，内容两侧截断。

    Raises:
        DomainError: ``limit`` is not positive.
    """
    cap = fraction(limit)
    if cap <= 0:
        raise DomainError(f"limit must be positive, found {limit}")
    return swiglu(min(fraction(gate), cap), max(-cap, min(fraction(up), cap)))


@fact(
    formula="g · σ(1.702 · g) · (u + 1), g = min(gate, limit), u = clamp(up, ±limit)",
    tests=("tests/theory/test_gates.py::test_clamped_matches_torch",),
)
def swiglu_gpt_oss(gate: Fraction, up: Fraction, limit: Fraction) -> Decimal:
    """One channel of the clamped gate of gpt-oss: a steeper sigmoid, and one added to the value.

    中文：gpt-oss 的一个通道：sigmoid 更陡，内容截断后再加一。

    Raises:
        DomainError: ``limit`` is not positive.
    """
    cap = fraction(limit)
    if cap <= 0:
        raise DomainError(f"limit must be positive, found {limit}")
    g, u = _decimal(min(fraction(gate), cap)), _decimal(max(-cap, min(fraction(up), cap)))
    gain = _WIDE.multiply(g, _sigmoid(_WIDE.multiply(Decimal("1.702"), g)))
    return _NARROW.plus(_WIDE.multiply(gain, _WIDE.add(u, Decimal(1))))


@fact(
    formula="glu: σ(x); bilinear: x; reglu: max(x, 0); geglu: x·Φ(x); swiglu: x·σ(x)",
    tests=("tests/theory/test_gates.py::test_gates_match_torch",),
)
def gate_value(kind: Literal["glu", "bilinear", "reglu", "geglu", "swiglu"], gate: Fraction) -> Exact | float:
    """The factor that this member of the GLU family multiplies its value by, at this input of the gate.

    中文：GLU 家族这一成员的门在该输入处乘在内容上的系数。

    Raises:
        DomainError: ``kind`` is unknown.
    """
    if kind not in GATES:
        raise DomainError(f"unknown gate {kind!r}; known: {', '.join(GATES)}")
    x = _decimal(gate)
    if kind == "glu":
        return _NARROW.plus(_sigmoid(x))
    if kind == "bilinear":
        return fraction(gate)
    if kind == "reglu":
        return max(fraction(gate), Fraction(0))
    return silu(gate) if kind == "swiglu" else float(x) * 0.5 * (1 + erf(float(x) / sqrt(2)))


@fact(
    formula="glu: 0; bilinear: none; reglu: 0; geglu: -0.16997…; swiglu: -W₀(1/e)",
    tests=("tests/theory/test_gates.py::test_lower_bounds_by_search",),
)
def gate_floor(kind: Literal["glu", "reglu", "geglu", "swiglu"]) -> Exact | float:
    """The greatest lower bound of this gate; that of a sigmoid is approached and not reached.

    中文：这种门的下确界；sigmoid 只会逼近它，不会取到。

    Raises:
        DomainError: the gate has no lower bound, or ``kind`` is unknown.
    """
    if kind in ("glu", "reglu"):
        return 0
    if kind == "swiglu":
        return silu_minimum()
    if kind != "geglu":
        raise DomainError(f"the gate {kind!r} has no lower bound here")
    x = -0.75  # Newton's method on the derivative Φ(x) + x·φ(x), whose own derivative is (2 - x²)·φ(x)
    for _ in range(30):
        density = exp(-x * x / 2) / sqrt(2 * pi)
        x -= (0.5 * (1 + erf(x / sqrt(2))) + x * density) / ((2 - x * x) * density)
    return float(gate_value("geglu", fraction(x)))
