"""The split into heads against layers that are built, run and counted."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.cache import ContiguousCache
from blocklib.theory import heads


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16])
def test_weights_do_not_depend_on_the_split(n_heads):
    layer = MultiHeadAttention(16, n_heads)
    counted = sum(p.numel() for p in layer.parameters())
    assert heads.split_attention_params(16, n_heads) == counted == 4 * 16**2


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_rank_of_one_head(n_heads):
    torch.manual_seed(n_heads)
    layer, x = MultiHeadAttention(16, n_heads).double(), torch.randn(40, 16, dtype=torch.float64)
    q, k = (p(x).unflatten(-1, (n_heads, -1))[:, 0] for p in (layer.q, layer.k))
    assert torch.linalg.matrix_rank(q @ k.T) == heads.head_rank(16, n_heads)


@pytest.mark.parametrize(("n_heads", "tokens"), [(1, 3), (4, 5), (8, 7)])
def test_scores_are_counted(n_heads, tokens):
    layer = MultiHeadAttention(16, n_heads, causal=False)
    assert layer.weights(torch.randn(1, tokens, 16)).numel() == heads.score_count(n_heads, tokens)


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(8, 8), (8, 4), (8, 2), (8, 1)])
def test_shared_heads_shrink_a_cache(n_heads, n_kv_heads):
    def entries(shared: int) -> int:
        cache = ContiguousCache()
        MultiHeadAttention(32, n_heads, n_kv_heads=shared)(torch.randn(1, 6, 32), cache=cache)
        return sum(part.numel() for part in cache.read(0))

    assert heads.kv_sharing(n_heads, n_kv_heads) == Fraction(entries(n_kv_heads), entries(n_heads))


def test_refusals():
    with pytest.raises(DomainError, match="does not divide into 3 heads"):
        heads.head_rank(16, 3)
    for shared in (0, 3, 16):
        with pytest.raises(DomainError):
            heads.kv_sharing(8, shared)
