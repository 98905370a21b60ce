"""Attention against torch's own, its mask against chunks, its shared heads against copies."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from blocklib.nn.attention import MultiHeadAttention, attention_weights, causal_mask
from blocklib.theory.masks import causal_mask as mask_rows


def by_torch(attention: MultiHeadAttention, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """The same layer through ``F.scaled_dot_product_attention``."""

    def heads(y, n):
        return y.view(*y.shape[:2], n, attention.head_dim).transpose(1, 2)

    q = heads(attention.q(x), attention.n_heads)
    k, v = (heads(p(memory), attention.n_kv_heads) for p in (attention.k, attention.v))
    mask = None
    if attention.causal:
        mask = torch.tensor(mask_rows(x.shape[1], memory.shape[1]))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return attention.o(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim"), [(1, 1, None), (4, 4, None), (4, 2, 6), (6, 1, 3), (3, 3, 16)]
)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tokens", [1, 7])
def test_equals_torch(heads, kv_heads, head_dim, causal, tokens):
    attention = MultiHeadAttention(12, heads, kv_heads, head_dim, bias=True, causal=causal).double()
    memory = torch.randn(2, 9, 12, dtype=torch.float64)
    x = memory[:, -tokens:]
    torch.testing.assert_close(attention(x, memory), by_torch(attention, x, memory), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(attention(memory), by_torch(attention, memory, memory), rtol=1e-10, atol=1e-12)


def test_mask_is_aligned_to_the_newest_position():
    assert causal_mask(1, 8).tolist() == [[True] * 8]
    assert causal_mask(3, 8).tolist() == [list(row) for row in mask_rows(3, 8)]
    assert causal_mask(4, 4).tolist() == [list(row) for row in mask_rows(4)]
    with pytest.raises(ValueError, match="3 queries need at least as many keys, found 2"):
        causal_mask(3, 2)


def test_a_chunk_reads_what_it_would_in_the_whole():
    attention = MultiHeadAttention(12, 4, 2).double()
    x = torch.randn(2, 8, 12, dtype=torch.float64)
    torch.testing.assert_close(attention(x)[:, 5:], attention(x[:, 5:], x), rtol=1e-12, atol=1e-12)


def test_neighbouring_query_heads_share_a_key_head():
    """Four query and two key/value heads: 0, 0, 1, 1 and not 0, 1, 0, 1."""
    shared = MultiHeadAttention(8, 4, 2, head_dim=3, causal=False).double()
    full = MultiHeadAttention(8, 4, 4, head_dim=3, causal=False).double()
    with torch.no_grad():
        full.q.weight.copy_(shared.q.weight)
        full.o.weight.copy_(shared.o.weight)
        for ours, theirs in ((shared.k, full.k), (shared.v, full.v)):
            first, second = ours.weight[:3], ours.weight[3:]
            theirs.weight.copy_(torch.cat([first, first, second, second]))
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(shared(x), full(x), rtol=1e-12, atol=1e-12)


def test_weights_are_a_distribution_over_what_is_visible():
    pattern = MultiHeadAttention(12, 3).double().weights(torch.randn(2, 6, 12, dtype=torch.float64))
    assert pattern.shape == (2, 3, 6, 6)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(2, 3, 6, dtype=torch.float64))
    assert (pattern.triu(1) == 0).all() and (pattern.tril() > 0).sum() == 2 * 3 * 21


def test_scores_are_scaled_by_the_root_of_the_head_width():
    q = torch.ones(1, 4, dtype=torch.float64)
    k = torch.stack([torch.ones(4), torch.zeros(4)]).double()
    expected = torch.tensor([[2.0, 0.0]], dtype=torch.float64).softmax(-1)  # 4 / √4
    torch.testing.assert_close(attention_weights(q, k), expected)


@pytest.mark.parametrize(("arguments", "message"), [((10, 3), "give head_dim"), ((12, 4, 3), "not a multiple")])
def test_heads_must_divide(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(*arguments)


def test_query_width_may_exceed_the_stream():
    attention = MultiHeadAttention(8, 3, head_dim=16)
    assert attention.q.weight.shape == (48, 8) and attention(torch.randn(1, 2, 8)).shape == (1, 2, 8)
