"""The position schemes of the exhibit against loops, complex arithmetic and what each scheme promises."""

from __future__ import annotations

import math

import pytest
import torch

from blocklib.charts.design.position_schemes import (
    HEAD_DIM,
    SCHEMES,
    XPOS_GAMMA,
    XPOS_STRETCH,
    scheme_scores,
    xpos_sizes,
)
from blocklib.nn.frequencies import rope_frequencies

TOKENS, WIDTH = 6, 8


def rows(seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(TOKENS, WIDTH, dtype=torch.float64)


def projections(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    w_q, w_k = torch.randn(2, WIDTH, HEAD_DIM, dtype=torch.float64) / math.sqrt(WIDTH)
    return w_q, w_k


@pytest.mark.parametrize("tied", [True, False])
def test_none_is_the_plain_product(tied):
    x, (w_q, w_k) = rows(), projections(3)
    expected = [[float((a @ w_q) @ (b @ (w_q if tied else w_k))) / 2 for b in x] for a in x]
    assert torch.allclose(scheme_scores("none", x, tied, seed=3), torch.tensor(expected, dtype=torch.float64))


def test_shaw_adds_a_vector_of_the_offset_to_the_key():
    """The table that explains one pair of an offset explains every other pair of it."""
    x, (w_q, _) = rows(), projections(3)
    extra = scheme_scores("shaw", x, True, seed=3) - scheme_scores("none", x, True, seed=3)
    for offset in range(-(TOKENS - HEAD_DIM), TOKENS - HEAD_DIM + 1):
        pairs = [i for i in range(TOKENS) if 0 <= i + offset < TOKENS]
        q = torch.stack([x[i] @ w_q for i in pairs])
        seen = torch.stack([extra[i, i + offset] for i in pairs])
        solved = torch.linalg.lstsq(q[:HEAD_DIM], seen[:HEAD_DIM, None]).solution[:, 0]
        assert torch.allclose(q @ solved, seen)


def test_xpos_against_complex_numbers():
    x, (w_q, w_k) = rows(), projections(3)
    found = scheme_scores("xpos", x, False, seed=3)
    half, turns = HEAD_DIM // 2, rope_frequencies(HEAD_DIM)
    for i in range(TOKENS):
        for j in range(TOKENS):
            q, k, total = x[i] @ w_q, x[j] @ w_k, 0.0
            for p in range(half):
                shrink = ((p / half + XPOS_GAMMA) / (1 + XPOS_GAMMA)) ** ((i - j) / XPOS_STRETCH)
                pair = complex(q[p], q[p + half]) * complex(k[p], k[p + half]).conjugate()
                angle = float(turns[p]) * (i - j)
                total += shrink * (pair * complex(math.cos(angle), math.sin(angle))).real
            assert float(found[i, j]) == pytest.approx(total / 2, abs=1e-6)
    assert xpos_sizes(1).tolist() == [[1.0] * HEAD_DIM]


@pytest.mark.parametrize("scheme", ["rope", "alibi", "t5", "shaw", "xpos"])
def test_relative_schemes_see_offsets_alone(scheme):
    """Equal tokens everywhere: the score is then a function of the offset."""
    s = scheme_scores(scheme, rows()[:1].expand(TOKENS, WIDTH), False)
    assert all(torch.allclose(s.diagonal(k), s.diagonal(k)[:1]) for k in range(1 - TOKENS, TOKENS))
    assert not torch.allclose(s[0, :1], s[0, 1:2])


@pytest.mark.parametrize("scheme", ["learned", "sinusoidal"])
def test_absolute_schemes_see_places(scheme):
    s = scheme_scores(scheme, rows()[:1].expand(TOKENS, WIDTH), False)
    assert not torch.allclose(s.diagonal(1), s.diagonal(1)[:1])


def test_seeds_and_names():
    x = rows()
    before = torch.random.get_rng_state()
    assert torch.equal(scheme_scores("t5", x, True, seed=1), scheme_scores("t5", x, True, seed=1))
    assert torch.equal(before, torch.random.get_rng_state())
    assert len({tuple(scheme_scores(s, x, True).flatten().tolist()) for s in SCHEMES}) == len(SCHEMES)
    with pytest.raises(KeyError):
        scheme_scores("abacus", x, True)
