"""What may be concluded from paired runs: a difference, sameness within a margin, or neither; the words are chosen here.

Runs are paired by seed, so what a seed does to both arms cancels. A difference is judged against the spread of the
*difference*, by a paired t test, with Holm's correction over the comparisons of one question; sameness by two one-sided
tests against a margin that was stated beforehand. An arm that lost a run is never averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from scipy import stats

from blocklib.problems import BlocklibError

LEVEL = 0.05
MARGIN = 0.03  # nats per token, about a hundredth of the base's loss: what eight seeds can resolve
FEWEST = 5


class StatisticsError(BlocklibError):
    """A comparison that the data do not allow."""


@dataclass(frozen=True)
class Comparison:
    """One arm against another: ``mean`` is the first's loss minus the second's, in nats per token, over paired seeds.

    ``low`` and ``high`` bound its 95 % interval; ``sd`` is the spread of the paired differences; ``floor`` the smallest
    mean that so many seeds would tell from zero, uncorrected (half the interval's width); ``p`` the two-sided p value,
    after :func:`holm` the adjusted one; ``p_same`` that of the two one-sided tests against the margin.
    """

    mean: float
    sd: float
    low: float
    high: float
    floor: float
    p: float
    p_same: float
    pairs: int

    @property
    def verdict(self) -> str:
        """``differs``, ``same`` (within the margin) or ``open``: neither is shown."""
        if self.p < LEVEL:
            return "differs"
        return "same" if self.p_same < LEVEL else "open"


def compare(first: Sequence[float], second: Sequence[float], margin: float = MARGIN) -> Comparison:
    """Paired by position: a t test, its interval, and two one-sided tests against ``margin``.

    Raises:
        StatisticsError: unequal lengths, fewer than five pairs, or a value that is not finite.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape or a.ndim != 1:
        raise StatisticsError(f"pairs need equal lengths, found {a.shape} and {b.shape}")
    if len(a) < FEWEST:
        raise StatisticsError(f"{len(a)} pairs are too few for a verdict; at least {FEWEST}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise StatisticsError("a loss that is not finite belongs to a lost run, which is never averaged")
    gap = a - b
    sd = float(gap.std(ddof=1))
    if sd == 0:  # the tests divide by it; equal gaps settle every question at once
        mean = float(gap.mean())
        return Comparison(mean, 0.0, mean, mean, 0.0, float(mean == 0), float(abs(mean) >= margin), len(a))
    test = stats.ttest_1samp(gap, 0.0)
    low, high = test.confidence_interval(1 - LEVEL)
    above = stats.ttest_1samp(gap, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(gap, margin, alternative="less").pvalue
    return Comparison(
        float(gap.mean()), sd, float(low), float(high), float((high - low) / 2), float(test.pvalue),
        float(max(above, below)), len(a),
    )  # fmt: skip


def holm(comparisons: Sequence[Comparison], planned: int | None = None) -> list[Comparison]:
    """The same comparisons with p values adjusted by Holm's step-down procedure (Holm 1979), in the order given.

    Args:
        comparisons: those that could be tested so far.
        planned: how many there will be; by default these. The missing ones are taken for the least significant, so no
            adjusted value rises when they come.
    """
    planned = len(comparisons) if planned is None else planned
    adjusted = [1.0] * len(comparisons)
    worst = 0.0
    for rank, index in enumerate(sorted(range(len(comparisons)), key=lambda i: comparisons[i].p)):
        worst = max(worst, min(1.0, (planned - rank) * comparisons[index].p))
        adjusted[index] = worst
    return [replace(each, p=p) for each, p in zip(comparisons, adjusted, strict=True)]


def spread(losses: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of one arm's runs. Raises :class:`StatisticsError` for fewer than two."""
    if len(losses) < 2:
        raise StatisticsError("a spread needs at least two runs")
    values = np.asarray(losses, float)
    return float(values.mean()), float(values.std(ddof=1))


def standard_error(losses: Sequence[float]) -> float:
    """Standard error of the mean; raises as :func:`spread`."""
    return spread(losses)[1] / sqrt(len(losses))
