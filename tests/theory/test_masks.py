"""Masks against a rule written out, and generation against loops that count what they touch."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.exact import DomainError
from blocklib.theory import masks


@pytest.mark.parametrize("positions", [1, 2, 6, 17])
def test_cells_match_the_mask(positions):
    mask = masks.causal_mask(positions)
    opened = sum(mask[q][k] for q in range(positions) for k in range(positions))
    assert masks.causal_cells(positions) == opened
    assert masks.grid_cells(positions) == sum(len(row) for row in mask)
    assert masks.causal_share(positions) == Fraction(opened, positions * positions)


def test_visible_positions_count_a_row():
    mask = masks.causal_mask(6)
    assert [sum(row) for row in mask] == [masks.visible_positions(i) for i in range(6)] == [1, 2, 3, 4, 5, 6]
    assert all(mask[q][k] == (k <= q) for q in range(6) for k in range(6))


def test_mask_is_aligned_to_the_newest_position():
    assert masks.causal_mask(1, 8) == ((True,) * 8,)
    chunk = masks.causal_mask(3, 8)
    assert [sum(row) for row in chunk] == [6, 7, 8] and chunk == masks.causal_mask(8)[5:]


@pytest.mark.parametrize("tokens", [1, 2, 5, 40])
def test_generation_matches_a_counted_loop(tokens):
    reads = passes = cells = 0
    cache: list[int] = []
    for token in range(tokens):
        cache.append(token)
        reads += len(cache)
        prefix = range(token + 1)
        passes += len(prefix)
        cells += sum(1 for q in prefix for k in prefix if k <= q)
    assert masks.generation_reads(tokens) == reads
    assert masks.recomputed_positions(tokens) == passes
    assert masks.uncached_score_cells(tokens) == cells
    assert masks.recompute_factor(tokens) == Fraction(passes, tokens)


@pytest.mark.parametrize("call", [
    lambda: masks.causal_mask(0), lambda: masks.causal_mask(3, 2), lambda: masks.visible_positions(-1),
    lambda: masks.causal_cells(-1), lambda: masks.grid_cells(-1), lambda: masks.causal_share(0),
    lambda: masks.recomputed_positions(-1), lambda: masks.recompute_factor(0), lambda: masks.uncached_score_cells(-1),
])  # fmt: skip
def test_outside_the_domain(call):
    with pytest.raises(DomainError):
        call()
