"""How often so many paired seeds would find a difference of a given size; standard library only.

The rules are those of :mod:`blocklib.lab.statistics`: a paired t test at the hardest step of Holm's correction, then two
one-sided tests against the margin. Given the spread that the seeds happen to show, both are intervals of a normal mean;
over that spread one integrates.
"""

from __future__ import annotations

from functools import cache
from math import atan, cos, exp, lgamma, log, pi, sin, sqrt
from statistics import NormalDist
from typing import NamedTuple

LEVEL, MARGIN, FEWEST = 0.05, 0.03, 5  # those of the verdicts; a test compares them with blocklib.lab.statistics
# Spreads of a paired difference that the pilot met, in nats: arms with the same matrices, and all others.
PLANNED = {"same-shapes": 0.007, "other-shapes": 0.014}
MEASURED = 0.02  # their median in the runs since, to one digit; a test holds it to them
_PIECES = 240  # of the integral over the spread
_PHI = NormalDist().cdf


class Chances(NamedTuple):
    """Shares of repeats that report a difference, sameness within the margin, and neither; they add up to one."""

    differs: float
    same: float
    open: float


def t_cdf(t: float, df: int) -> float:
    """Student's distribution function for whole degrees of freedom, in closed form (Abramowitz and Stegun 26.7.3–4)."""
    if df < 1:
        raise ValueError(f"degrees of freedom must be positive, found {df}")
    theta = atan(t / sqrt(df))
    if df % 2:
        inside, term = 0.0, cos(theta)
        for k in range(3, df + 1, 2):
            inside += term
            term *= cos(theta) ** 2 * (k - 1) / k
        return 0.5 + (theta + sin(theta) * inside) / pi
    inside, term = 0.0, 1.0
    for k in range(2, df + 1, 2):
        inside += term
        term *= cos(theta) ** 2 * (k - 1) / k
    return 0.5 + sin(theta) * inside / 2


@cache
def t_quantile(p: float, df: int) -> float:
    """Where Student's distribution function reaches ``p`` (one half or more), by bisection."""
    if not 0.5 <= p < 1:
        raise ValueError(f"a share from one half up to, but not including, one is expected, found {p}")
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return high


@cache
def _spreads(df: int) -> tuple[tuple[float, float], ...]:
    """Values of sample spread over true spread and their weights: Simpson's rule on the scaled chi distribution."""
    top = 1 + 9 / sqrt(2 * df)
    step = top / _PIECES
    constant = log(2) + df / 2 * log(df / 2) - lgamma(df / 2)
    rows = []
    for k in range(1, _PIECES + 1):
        w = k * step
        simpson = 1 if k == _PIECES else 4 if k % 2 else 2
        rows.append((w, simpson * step / 3 * exp(constant + (df - 1) * log(w) - df * w * w / 2)))
    return tuple(rows)


@cache
def chances(effect: float, sd: float, seeds: int, comparisons: int = 1, margin: float = MARGIN) -> Chances:
    """What becomes of a true difference.

    Args:
        effect: the true mean difference, in nats per token.
        sd: true spread of the paired difference, in nats; normally distributed.
        seeds: pairs of runs.
        comparisons: in the question; the first step of Holm's correction divides the level by their number.
        margin: of sameness, in nats.

    Raises:
        ValueError: a spread that is not positive, or fewer pairs than a verdict takes.
    """
    if sd <= 0 or seeds < FEWEST or comparisons < 1:
        raise ValueError(f"a positive spread and at least {FEWEST} seeds are expected, found {sd} and {seeds}")
    df, root = seeds - 1, sqrt(seeds) / sd
    far = t_quantile(1 - LEVEL / comparisons / 2, df)
    near = t_quantile(1 - LEVEL, df)
    centre, room = effect * root, margin * root
    differs = same = 0.0
    for w, weight in _spreads(df):
        outside = far * w
        differs += weight * (_PHI(centre - outside) + _PHI(-centre - outside))
        inside = min(room - near * w, outside)
        if inside > 0:
            same += weight * (_PHI(inside - centre) - _PHI(-inside - centre))
    return Chances(differs, same, max(0.0, 1 - differs - same))
