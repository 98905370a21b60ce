"""The stream's size against known values and a simulated sum of writes."""

from __future__ import annotations

import random
import statistics

import pytest

from blocklib.exact import DomainError
from blocklib.theory.stream import residual_writes, stream_rms


@pytest.mark.parametrize(
    ("blocks", "shown"), [(0, 1), (4, 3), (12, 5), (24, 7), (32, 8.062), (64, 11.358), (96, 13.892)]
)
def test_known_values(blocks, shown):
    assert float(stream_rms(blocks)) == pytest.approx(shown, abs=5e-4)
    assert residual_writes(blocks) == 2 * blocks


def test_sum_of_independent_writes():
    rng = random.Random(0)
    sums = [sum(rng.gauss(0, 1) for _ in range(1 + residual_writes(24))) for _ in range(4000)]
    assert statistics.fmean(s * s for s in sums) ** 0.5 == pytest.approx(float(stream_rms(24)), rel=0.04)


@pytest.mark.parametrize("function", [stream_rms, residual_writes])
def test_outside_the_domain(function):
    with pytest.raises(DomainError):
        function(-1)
