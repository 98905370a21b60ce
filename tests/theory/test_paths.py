"""Paths against brute-force enumeration of every subset."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product as cartesian

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.theory import paths

GAINS = st.fractions(0, 3, max_denominator=20)
SIZES = st.integers(1, 9)


def subsets(units: int) -> list[tuple[int, ...]]:
    """Every path as the tuple of its choices: 1 takes the branch, 0 the skip."""
    return list(cartesian((0, 1), repeat=units))


def weights(units: int, gain: Fraction) -> list[tuple[int, Fraction]]:
    """(length, gain carried) of every path."""
    return [(sum(path), gain ** sum(path)) for path in subsets(units)]


@pytest.mark.parametrize("blocks", range(6))
def test_counts_match_enumeration(blocks):
    assert paths.implicit_paths(blocks) == len(set(subsets(blocks)))
    assert paths.sublayer_paths(blocks) == len(set(subsets(2 * blocks)))


def test_known_counts():
    assert paths.implicit_paths(24) == 16_777_216
    assert paths.sublayer_paths(24) == 281_474_976_710_656


@pytest.mark.parametrize("blocks", range(9))
def test_histogram_matches_enumeration(blocks):
    lengths = [sum(path) for path in subsets(blocks)]
    assert paths.path_histogram(blocks) == tuple(lengths.count(k) for k in range(blocks + 1))
    assert paths.path_count(blocks, blocks + 1) == 0


@pytest.mark.parametrize("blocks", range(1, 9))
def test_half_of_the_paths_use_a_block(blocks):
    for block in range(blocks):
        through = sum(path[block] for path in subsets(blocks))
        assert paths.path_share_through_block(blocks) == Fraction(through, 2**blocks)


@pytest.mark.parametrize("blocks", range(1, 10))
def test_moments_match_the_histogram(blocks):
    lengths = [sum(path) for path in subsets(blocks)]
    mean = Fraction(sum(lengths), len(lengths))
    variance = Fraction(sum((k - mean) ** 2 for k in lengths), len(lengths))
    assert paths.path_length_mean(blocks) == mean
    assert float(paths.path_length_sd(blocks)) ** 2 == pytest.approx(float(variance), rel=1e-14)


@given(SIZES, st.data())
def test_share_within_matches_enumeration(blocks, data):
    low = data.draw(st.integers(0, blocks + 2))
    high = data.draw(st.integers(low, blocks + 4))
    inside = sum(low <= sum(path) <= high for path in subsets(blocks))
    assert paths.paths_within(blocks, low, high) == Fraction(inside, 2**blocks)


def test_known_shares():
    assert float(paths.paths_within(24, 8, 16)) == pytest.approx(0.93609, abs=5e-6)
    assert float(paths.paths_within(54, 5, 17)) == pytest.approx(0.004537, abs=5e-7)
    assert float(paths.paths_within(54, 19, 35)) == pytest.approx(0.980, abs=5e-4)
    assert paths.path_length_mean(24) == 12 and round(float(paths.path_length_sd(24)), 3) == 2.449


@given(SIZES, GAINS)
@settings(max_examples=30)
def test_weighted_moments_match_enumeration(blocks, gain):
    carried = weights(blocks, gain)
    total = sum(w for _, w in carried)
    mean = sum(k * w for k, w in carried) / total
    variance = sum((k - mean) ** 2 * w for k, w in carried) / total
    assert paths.weighted_path_length(blocks, gain) == mean
    assert float(paths.weighted_path_length_sd(blocks, gain)) ** 2 == pytest.approx(float(variance), abs=1e-12)


@given(SIZES, GAINS, st.integers(0, 4), st.integers(0, 6))
@settings(max_examples=30)
def test_weighted_share_within_matches_enumeration(blocks, gain, low, span):
    carried = weights(blocks, gain)
    inside = sum(w for k, w in carried if low <= k <= low + span)
    assert paths.weighted_paths_within(blocks, gain, low, low + span) == inside / sum(w for _, w in carried)


@given(SIZES, GAINS)
@settings(max_examples=30)
def test_total_weight_is_the_whole_product(blocks, gain):
    whole = Fraction(1)
    for _ in range(blocks):
        whole *= 1 + gain
    assert paths.total_path_weight(blocks, gain) == whole == sum(w for _, w in weights(blocks, gain))


@pytest.mark.parametrize("blocks", range(6))
def test_doubling_depth_squares_the_count(blocks):
    old, new = len(subsets(blocks)), len(subsets(2 * blocks))
    assert new == old**2 and paths.path_growth_on_doubling(blocks) == new // old


def test_gain_one_weighs_all_paths_alike():
    assert paths.weighted_path_length(24, 1) == paths.path_length_mean(24)
    assert paths.weighted_path_length_sd(24, 1) == paths.path_length_sd(24)


def test_irrational_results_carry_thirty_digits():
    assert paths.path_length_sd(24) == Decimal("2.44948974278317809819728407471")
    assert paths.path_length_sd(16) == 2 and isinstance(paths.path_length_sd(16), int)


@pytest.mark.parametrize("call", [
    lambda: paths.implicit_paths(-1), lambda: paths.path_share_through_block(0), lambda: paths.sublayer_paths(-1), lambda: paths.path_count(3, -1),
    lambda: paths.path_count(-1, 0), lambda: paths.path_length_mean(-1), lambda: paths.path_length_sd(-1),
    lambda: paths.weighted_path_length(3, -0.1), lambda: paths.weighted_path_length(-1, 0.1),
    lambda: paths.paths_within(3, -1, 2), lambda: paths.paths_within(3, 2, 1), lambda: paths.paths_within(-1, 0, 1),
])  # fmt: skip
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
