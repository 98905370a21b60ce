"""How measured numbers of the lab are set: signs, digits that the noise supports, p values. Standard library only."""

from __future__ import annotations

from blocklib.lab.power import LEVEL

MINUS = "−"


def decimals(noise: float) -> int:
    """Decimals worth printing: down to the first digit of the noise, as for any measured number of the site.

    At most five; four where there is no noise at all.

    Args:
        noise: standard error of the number.
    """
    return 4 if noise <= 0 else next((k for k in range(5) if noise >= 10**-k), 5)


def signed(value: float, places: int) -> str:
    """With its sign, and a minus as it is set in print."""
    return f"{value:+.{places}f}".replace("-", MINUS)


def interval(low: float, high: float, places: int) -> tuple[str, str]:
    """Both ends with their signs, at the digits of the number between them: or at as many more as it takes that an
    interval without zero does not read as if it ended there."""
    while low * high > 0 and 0 in (round(low, places), round(high, places)):
        places += 1
    return signed(low, places), signed(high, places)


def p_value(p: float) -> str:
    """Two digits, three decimals below a tenth, and nothing finer than a thousandth.

    What is below the level of the verdicts never prints as the level itself: the verdict stands beside it.
    """
    if p < LEVEL <= round(p, 3):
        return f"<{LEVEL}"
    return "<0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"
