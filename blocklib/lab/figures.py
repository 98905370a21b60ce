"""How measured numbers of the lab are set: signs, digits that the noise supports, p values. Standard library only."""

from __future__ import annotations

from blocklib.lab.power import LEVEL

MINUS = "−"


def decimals(noise: float, *ends: float) -> int:
    """Decimals worth printing: down to the first digit of the noise, as for any measured number of the site.

    At most five; four where there is no noise at all. One more where an end of the interval that leaves
    zero out would round to zero, which may be, since the interval stands beside the mean.

    Args:
        noise: standard error of the number.
        ends: of its interval, where it is printed too.
    """
    count = 4 if noise <= 0 else next((k for k in range(5) if noise >= 10**-k), 5)
    apart = len(ends) == 2 and ends[0] * ends[1] > 0
    return count + (apart and any(round(end, count) == 0 for end in ends))


def signed(value: float, places: int) -> str:
    """With its sign, and a minus as it is set in print."""
    return f"{value:+.{places}f}".replace("-", MINUS)


def p_value(p: float) -> str:
    """Two digits, three decimals below a tenth, and nothing finer than a thousandth.

    What is below the level of the verdicts never prints as the level itself: the verdict stands beside it.
    """
    if p < LEVEL <= round(p, 3):
        return f"<{LEVEL}"
    return "<0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"
