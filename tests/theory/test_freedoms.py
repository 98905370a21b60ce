"""Freedoms of a head's scoring form against ranks of Jacobians and counted entries."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward
from blocklib.nn.tied import TiedQueryKey
from blocklib.theory import freedoms

SHAPES = [(1, 1), (2, 1), (4, 2), (5, 5), (6, 3), (7, 2), (8, 5), (9, 4)]


def rank_of_jacobian(function, *shapes: tuple[int, int]) -> int:
    """Directions in which a matrix-valued function of random matrices of these shapes moves."""
    torch.manual_seed(0)
    matrices = tuple(torch.randn(shape, dtype=torch.float64) for shape in shapes)
    parts = torch.autograd.functional.jacobian(function, matrices)
    whole = torch.cat([part.flatten(2).flatten(0, 1) for part in parts], dim=1)
    return int(torch.linalg.matrix_rank(whole, rtol=1e-10))


@pytest.mark.parametrize(("d", "r"), SHAPES)
def test_counts_are_ranks_of_jacobians(d, r):
    separate = rank_of_jacobian(lambda q, k: q @ k.T, (d, r), (d, r))
    tied = rank_of_jacobian(lambda w: w @ w.T, (d, r))
    assert freedoms.score_freedoms(d, r) == separate
    assert freedoms.tied_score_freedoms(d, r) == tied
    assert freedoms.untying_freedoms(d, r) == separate - tied
    assert freedoms.score_gauge(r) == 2 * d * r - separate


@given(st.integers(1, 200), st.data())
def test_entries_are_counted(d, data):
    r = data.draw(st.integers(1, d))
    counted = sum(1 for _ in range(2) for _ in range(d) for _ in range(r))
    assert freedoms.score_entries(d, r) == counted
    assert freedoms.score_entries(d, r) - freedoms.score_gauge(r) == freedoms.score_freedoms(d, r)


def test_gap_at_full_rank():
    for d in range(2, 40):
        above_the_diagonal = sum(1 for i in range(d) for j in range(d) if i < j)
        assert freedoms.untying_freedoms(d, d) == freedoms.antisymmetric_freedoms(d) == above_the_diagonal
        assert freedoms.full_rank_overstatement(d, d) == 1
    assert (freedoms.score_freedoms(4096, 128), freedoms.tied_score_freedoms(4096, 128)) == (1_032_192, 516_160)
    assert (freedoms.untying_freedoms(4096, 128), freedoms.antisymmetric_freedoms(4096)) == (516_032, 8_386_560)
    assert round(float(freedoms.full_rank_overstatement(4096, 128)), 2) == 16.25


@pytest.mark.parametrize("d", [8, 32])
def test_tying_saves_one_matrix(d):
    def weights(module):
        return sum(p.numel() for p in module.parameters())

    whole, tied = weights(MultiHeadAttention(d, 4)), weights(TiedQueryKey(d, 4))
    assert (whole - tied) / whole == freedoms.tying_share_of_attention()
    assert (whole - tied) * 12 == whole + weights(FeedForward(d))
    assert freedoms.tying_share_of_block() * 12 == 1


def test_refuses_a_head_wider_than_the_stream():
    for count in (freedoms.score_entries, freedoms.score_freedoms, freedoms.tied_score_freedoms):
        with pytest.raises(DomainError, match="width 9 in a stream of width 8"):
            count(8, 9)
    with pytest.raises(DomainError):
        freedoms.score_freedoms(8, 0)
