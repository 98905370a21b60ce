"""Mixing rows: by hand, and against rows mixed by random matrices."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.theory.mixing import row_similarity, shared_square


def test_one_layer_by_hand():
    """The average of T orthogonal unit rows has size 1/√T: every row shares 1/T with every other, over 1 + 1/T."""
    for tokens in (2, 5, 16):
        assert shared_square(tokens, 0) == row_similarity(tokens, 0) == 0
        assert float(shared_square(tokens, 1)) == pytest.approx(1 / tokens, rel=1e-14)
        assert float(row_similarity(tokens, 1)) == pytest.approx(1 / (tokens + 1), rel=1e-14)
    # Two rows, second layer: 1/2 + (1 + 1/3) / 2 = 7/6.
    assert float(shared_square(2, 2)) == pytest.approx(float(Fraction(7, 6)), rel=1e-14)


@pytest.mark.parametrize("tokens", [4, 16])
def test_against_rows_mixed_by_random_matrices(tokens):
    """Rows of width 1,024 and random orthogonal matrices: what the recursion says to within a few per cent."""
    torch.manual_seed(0)
    d, layers = 1024, 12
    x = torch.linalg.qr(torch.randn(d, tokens))[0].T * d**0.5
    own = x.clone()
    for layer in range(1, layers + 1):
        unit = x / x.square().mean(-1, keepdim=True).sqrt()
        x = x + unit.mean(0) @ torch.linalg.qr(torch.randn(d, d))[0]
        shared = (x - own)[0].square().mean().item()
        cosines = torch.corrcoef(x)[~torch.eye(tokens, dtype=torch.bool)]
        assert shared == pytest.approx(float(shared_square(tokens, layer)), rel=0.12)
        assert cosines.mean().item() == pytest.approx(float(row_similarity(tokens, layer)), abs=0.03)


def test_similarity_creeps_towards_one_and_what_is_apart_is_only_diluted():
    values = [row_similarity(16, layer) for layer in range(0, 400)]
    assert values == sorted(values) and values[-1] < 1
    for layer in (1, 7, 40, 399):
        assert float((1 - row_similarity(16, layer)) * (1 + shared_square(16, layer))) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(("tokens", "layers"), [(1, 3), (0, 3), (4, -1), (4, 5000)])
def test_outside_the_domain(tokens, layers):
    with pytest.raises(DomainError):
        row_similarity(tokens, layers)
