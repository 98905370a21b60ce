"""Gates against torch, a search for their minima, and the defining equation of Lambert's function."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.nn.ffn import ClampedSwiGLU, Gated
from blocklib.theory import gates

INPUTS = st.fractions(-40, 40, max_denominator=1000)
WIDE = Context(prec=60)


def join(function, gate, up) -> float:
    made = function(torch.tensor(float(gate), dtype=torch.float64), torch.tensor(float(up), dtype=torch.float64))
    return made.item()


@given(INPUTS, INPUTS)
def test_gates_match_torch(gate, up):
    for kind in gates.GATES:
        assert float(gates.gate_value(kind, gate)) == pytest.approx(join(Gated(kind), gate, 1), rel=1e-12, abs=1e-15)
    assert float(gates.swiglu(gate, up)) == pytest.approx(join(Gated("swiglu"), gate, up), rel=1e-12, abs=1e-15)
    assert gates.swiglu(gate, 1) == gates.silu(gate) == gates.gate_value("swiglu", gate)


@given(INPUTS, INPUTS, st.fractions(Fraction(1, 10), 12, max_denominator=50))
def test_clamped_matches_torch(gate, up, limit):
    cap = float(limit)

    def plain(g, u):
        return torch.nn.functional.silu(g.clamp(max=cap)) * u.clamp(-cap, cap)

    assert float(gates.swiglu_clamped(gate, up, limit)) == pytest.approx(join(plain, gate, up), rel=1e-9, abs=1e-12)
    oss = join(ClampedSwiGLU(limit=cap), gate, up)
    assert float(gates.swiglu_gpt_oss(gate, up, limit)) == pytest.approx(oss, rel=1e-9, abs=1e-12)


def test_the_minimum_is_the_lambert_number():
    """w·e^w = 1/e, to the last digits; and nothing nearby is lower."""
    w, at = gates.silu_minimum().copy_negate(), gates.silu_minimiser()
    assert abs(WIDE.multiply(w, WIDE.exp(w)) - WIDE.exp(Decimal(-1))) < Decimal("1e-29")
    assert gates.silu_minimum() == Decimal("-0.278464542761073795109358739023") and WIDE.subtract(
        gates.silu_minimum(), at
    ) == pytest.approx(1, abs=Decimal("2e-29"))
    lowest = gates.silu(Fraction(at))
    assert abs(lowest - gates.silu_minimum()) < Decimal("1e-28")
    step = Fraction(1, 10**9)
    assert lowest < gates.silu(Fraction(at) + step) and lowest < gates.silu(Fraction(at) - step)


def test_unit_gain_mirrors_the_minimum():
    """SiLU(x) - SiLU(-x) = x, so the minimum -w at -(1 + w) makes SiLU one at 1 + w."""
    at = gates.silu_unit_gain()
    assert at == gates.silu_minimiser().copy_negate()
    assert abs(gates.silu(Fraction(at)) - 1) < Decimal("1e-28")


@pytest.mark.parametrize("kind", ["glu", "reglu", "geglu", "swiglu"])
def test_lower_bounds_by_search(kind):
    x = torch.linspace(-30, 30, 600_001, dtype=torch.float64)
    lowest = Gated(kind)(x, torch.ones_like(x)).min().item()
    assert float(gates.gate_floor(kind)) <= lowest + 1e-15
    assert lowest == pytest.approx(float(gates.gate_floor(kind)), abs=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gates.silu(10_000),
        lambda: gates.swiglu_clamped(1, 1, 0),
        lambda: gates.swiglu_gpt_oss(1, 1, -1),
        lambda: gates.gate_value("tanh", 1),
        lambda: gates.gate_floor("bilinear"),
    ],
)
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
