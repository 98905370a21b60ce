"""One pass over blocks against softmax over everything: any block size, any mask, rows that see nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn import online
from blocklib.nn.online import merge, online_attention, online_attention_lse


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def two_pass(q, k, v, mask=None, causal=False, scale=None):
    """Softmax attention with the whole matrix of scores."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if causal:
        queries, keys = scores.shape[-2:]
        scores = scores.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries), -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def inputs(queries, keys, seed, spread=3.0):
    q, k = normal(2, 3, queries, 8, seed=seed) * spread, normal(2, 3, keys, 8, seed=seed + 1) * spread
    return q, k, normal(2, 3, keys, 5, seed=seed + 2)


@settings(max_examples=80)
@given(
    keys=st.integers(1, 40),
    queries=st.integers(1, 40),
    block=st.integers(1, 45),
    kind=st.sampled_from(["none", "causal", "boolean", "bias", "bias with -inf", "boolean and causal", "by key"]),
    seed=st.integers(0, 2**31),
)
def test_equals_softmax_attention(keys, queries, block, kind, seed):
    causal = "causal" in kind
    queries = min(queries, keys) if causal else queries
    q, k, v = inputs(queries, keys, seed)
    random = torch.rand(2, 1, queries, keys, generator=torch.Generator().manual_seed(seed))
    mask = {
        "boolean": random < 0.4,  # some rows see nothing
        "boolean and causal": random < 0.6,
        "bias": random.double() * 9,
        "bias with -inf": random.double().masked_fill(random < 0.5, -torch.inf),
        "by key": (random < 0.5)[:, :, :1],
    }.get(kind)
    ours = online_attention(q, k, v, mask, causal=causal, block=block)
    torch.testing.assert_close(ours, two_pass(q, k, v, mask, causal), rtol=1e-11, atol=1e-12)


def test_equals_torch():
    q, k, v = inputs(7, 7, 0)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    torch.testing.assert_close(online_attention(q, k, v, causal=True, block=3, scale=0.3), theirs)


@pytest.mark.parametrize(("block", "wrong"), [(1, True), (4, True), (15, True), (16, False), (100, False)])
def test_control_without_the_rescaling_only_one_block_is_right(block, wrong, monkeypatch):
    q, k, v = inputs(5, 16, 0)
    monkeypatch.setattr(online, "rescale", lambda old, new: torch.ones_like(old))
    off = (online_attention(q, k, v, block=block) - two_pass(q, k, v)).abs().max()
    assert (off > 1e-2) if wrong else (off < 1e-12)


def test_rows_that_see_nothing_are_zero_and_spoil_no_gradient():
    q, k, v = (t.requires_grad_() for t in inputs(4, 12, 0))
    mask = torch.ones(4, 12, dtype=torch.bool)
    mask[1] = False  # nothing at all
    mask[2, :8] = False  # nothing in the first two blocks
    mask[3, 4:] = False  # nothing in the last two
    out, lse = online_attention_lse(q, k, v, mask, block=4)
    assert (out[..., 1, :] == 0).all() and (lse[..., 1] == -torch.inf).all()
    torch.testing.assert_close(out, two_pass(q, k, v, mask), rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(lse[..., 0], (q @ k.transpose(-2, -1) / 8**0.5).logsumexp(-1)[..., 0])
    (grads, expected) = (
        torch.autograd.grad(out[..., [0, 2, 3], :].square().sum(), (q, k, v)),
        torch.autograd.grad(two_pass(q, k, v, mask)[..., [0, 2, 3], :].square().sum(), (q, k, v)),
    )
    for ours, theirs in zip(grads, expected, strict=True):
        assert torch.isfinite(ours).all()
        torch.testing.assert_close(ours, theirs.nan_to_num(0.0), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e3, 1e5])
def test_large_scores_do_not_overflow(shift):
    """Control: exponentials without the maximum taken off are infinite or all zero."""
    q, k, v = inputs(3, 20, 0)
    bias = torch.full((3, 20), shift, dtype=torch.float64)
    torch.testing.assert_close(online_attention(q, k, v, bias, block=6), two_pass(q, k, v, bias), rtol=1e-9, atol=1e-9)
    if shift:
        naive = (q @ k.transpose(-2, -1) / 8**0.5 + bias).exp()
        assert not torch.isfinite(naive / naive.sum(-1, keepdim=True)).all()


def test_accuracy_over_many_keys():
    """4,096 keys in blocks of 64: rounding of the order of the two-pass form's own."""
    q, k, v = normal(1, 4, 64), normal(1, 4096, 64, seed=1), normal(1, 4096, 64, seed=2)
    exact = two_pass(q, k, v)

    def error(dtype):
        ours = online_attention(q.to(dtype), k.to(dtype), v.to(dtype), block=64)
        return ((ours.double() - exact).norm() / exact.norm()).item()

    assert error(torch.float64) < 1e-14 and error(torch.float32) < 2e-6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_sums_in_float32(dtype):
    """A thousand equal weights: a running sum in bfloat16 would stop growing at 256."""
    q, k = torch.zeros(1, 4, dtype=dtype), torch.zeros(1000, 4, dtype=dtype)
    out = online_attention(q, k, torch.ones(1000, 2, dtype=dtype), block=1)
    assert out.dtype == dtype and (out == 1).all()


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 20), max_size=4), seed=st.integers(0, 2**31))
def test_parts_merge_into_the_whole(cuts, seed):
    """Disjoint sets of keys attended to apart, empty and invisible ones among them."""
    q, k, v = inputs(4, 20, seed)
    mask = torch.rand(4, 20, generator=torch.Generator().manual_seed(seed)) < 0.3
    edges = [0, *sorted(cuts), 20]
    parts = [
        online_attention_lse(q, k[..., a:b, :], v[..., a:b, :], mask[:, a:b], block=3)
        for a, b in zip(edges, edges[1:], strict=False)
    ]
    merged = merge(*zip(*parts, strict=True))
    torch.testing.assert_close(merged, two_pass(q, k, v, mask), rtol=1e-11, atol=1e-12)


def test_control_a_plain_mean_of_the_parts_is_something_else():
    q, k, v = inputs(4, 20, 0)
    halves = [online_attention(q, k[..., a : a + 10, :], v[..., a : a + 10, :]) for a in (0, 10)]
    assert ((halves[0] + halves[1]) / 2 - two_pass(q, k, v)).abs().max() > 0.1


def test_one_key_head_may_serve_several_query_heads():
    q, k, v = inputs(4, 9, 0)
    ours = online_attention(q, k[:, :1], v[:, :1], block=4)
    torch.testing.assert_close(ours, two_pass(q, k[:, :1], v[:, :1]))


def test_what_makes_no_sense_is_refused():
    q, k, v = inputs(4, 3, 0)
    with pytest.raises(ValueError, match="4 queries need at least as many keys, found 3"):
        online_attention(q, k, v, causal=True)
    with pytest.raises(ValueError, match="block must be positive"):
        online_attention(q, k, v, block=0)
