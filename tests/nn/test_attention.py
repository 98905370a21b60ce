"""Attention against torch's own, its mask against chunks, its shared heads against copies."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from blocklib.nn.attention import (
    GatedAttention,
    MultiHeadAttention,
    Prefix,
    SingleHeadAttention,
    SlidingWindow,
    attention_weights,
    causal_mask,
)
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.masks import visible
from blocklib.nn.norm import PerHeadQKNorm
from blocklib.nn.position import ALiBi, RoPE, T5Bias
from blocklib.nn.scores import Biased, DotProduct, FusedDotProduct, SoftCapped, WithSinks
from blocklib.nn.tied import SharedQuery, TiedKeyValue, TiedQueryKey
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


def varied(core=None, kind=MultiHeadAttention, **options) -> MultiHeadAttention:
    """Grouped attention with RoPE and normed heads, all weights random, in float64."""
    made = kind(
        12, 4, 2, head_dim=6, bias=True, rope=RoPE(rope_frequencies(6, 50.0)), qk_norm=PerHeadQKNorm(6), core=core, **options
    ).double()  # fmt: skip
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0.3, 0.5)
    return made


CORES = [
    lambda: DotProduct(),
    lambda: DotProduct(0.7),
    lambda: FusedDotProduct(),
    lambda: FusedDotProduct(0.7),
    lambda: SoftCapped(0.8),
    lambda: WithSinks(4),
    lambda: Biased(ALiBi(4)),
    lambda: Biased(T5Bias(4, 8, 20), scale=1.0),
]
PATTERNS = [causal_mask, SlidingWindow(3), SlidingWindow(1), SlidingWindow(100)]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("pattern", PATTERNS)
@torch.no_grad()
def test_cached_is_full(core, pattern):
    attention, x = varied(core(), pattern=pattern), torch.randn(2, 9, 12, dtype=torch.float64)
    full = attention(x)
    for chunks in ([1] * 9, [4, 1, 3, 1]):
        cache = ContiguousCache()
        parts = [attention(part, cache=cache) for part in x.split(chunks, 1)]
        torch.testing.assert_close(torch.cat(parts, 1), full, rtol=1e-9, atol=1e-10)
    # Control: a cache that forgets is not full.
    cache = ContiguousCache()
    attention(x[:, :4], cache=cache)
    cache.truncate(3)
    assert pattern == SlidingWindow(1) or (attention(x[:, 4:], cache=cache) - full[:, 4:]).abs().max() > 1e-3


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("pattern", [*PATTERNS, Prefix(3), None])
@torch.no_grad()
def test_nobody_reads_the_future(core, pattern):
    attention = varied(core(), pattern=pattern, causal=pattern is not None)
    x = torch.randn(1, 8, 12, dtype=torch.float64)
    other = torch.cat([x[:, :5], torch.randn(1, 3, 12, dtype=torch.float64)], 1)
    moved = (attention(x) - attention(other)).abs().amax((0, 2)) > 1e-12
    expected = [pattern is None] * 5 + [True] * 3  # control: without a mask all move
    assert moved.tolist() == expected


def test_patterns_by_hand():
    def rows(mask):
        return ["".join(".#"[cell] for cell in row) for row in mask.tolist()]

    assert rows(SlidingWindow(2)(4, 4)) == ["#...", "##..", ".##.", "..##"]
    assert rows(SlidingWindow(2)(2, 4)) == [".##.", "..##"]
    assert rows(SlidingWindow(1)(2, 3)) == [".#.", "..#"]
    assert rows(Prefix(3)(4, 4)) == ["###.", "###.", "###.", "####"]
    assert rows(Prefix(3)(1, 4)) == ["####"] and rows(Prefix(0)(2, 2)) == ["#.", "##"]
    with pytest.raises(ValueError, match="window must be positive"):
        SlidingWindow(0)


def test_padding_joins_the_pattern():
    padding = torch.tensor([[False, True, True], [True, True, True]])[:, None, None, :]
    mask = visible(causal_mask, padding, 3, 3, None)
    assert mask[0, 0].int().tolist() == [[1, 1, 1], [0, 1, 0], [0, 1, 1]]  # the row of padding reads anything
    assert mask[1, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert visible(causal_mask, padding, 1, 2, None)[0, 0].tolist() == [[True, True]]  # the last columns count
    assert visible(None, None, 3, 3, None) is None and visible(causal_mask, None, 1, 9, None) is None


@pytest.mark.parametrize("core", CORES)
@torch.no_grad()
def test_padding_is_not_read(core):
    attention, x = varied(core()), torch.randn(2, 7, 12, dtype=torch.float64)
    mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    mask[0, ..., :3] = False
    positions = torch.stack([torch.arange(7) - 3, torch.arange(7)]).clamp(min=0)
    out = attention(x, positions=positions, mask=mask)
    torch.testing.assert_close(out[0, 3:], attention(x[:1, 3:])[0], rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(out[1], attention(x[1:])[0], rtol=1e-9, atol=1e-10)
    assert out.isfinite().all()


@pytest.mark.parametrize("pattern", [*PATTERNS, None])
@pytest.mark.parametrize("queries", [1, 4, 9])
def test_fused_is_the_same(pattern, queries):
    plain, fused = DotProduct(0.4), FusedDotProduct(0.4)
    for kv_heads in (1, 2, 4):
        q = torch.randn(2, 4, queries, 6, dtype=torch.float64, requires_grad=True)
        k, v = torch.randn(2, 2, kv_heads, 9, 6, dtype=torch.float64)
        padding = torch.rand(2, 1, 1, 9) > 0.4
        for mask in (None, padding):
            a, b = plain(q, k, v, pattern, mask), fused(q, k, v, pattern, mask)
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
            (grad_a,), (grad_b,) = (torch.autograd.grad(y.square().sum(), q) for y in (a, b))
            torch.testing.assert_close(grad_a, grad_b, rtol=1e-9, atol=1e-11)


def test_capped_scores():
    q, k = 5 * torch.randn(1, 2, 4, 6).double(), torch.randn(1, 2, 4, 6).double()
    products = q @ k.transpose(-2, -1) / 6**0.5
    capped = SoftCapped(2.0).scores(q, k)
    torch.testing.assert_close(capped, 2 * torch.tanh(products / 2))
    assert capped.abs().max() < 2 < products.abs().max()
    # The cap comes before the mask: a masked key keeps weight zero.
    assert (SoftCapped(2.0).weights(q, k, causal_mask, None).triu(1) == 0).all()


def test_sinks_are_a_key_with_value_zero():
    core = WithSinks(3).double()
    torch.nn.init.normal_(core.sinks)
    q, k, v = torch.randn(3, 2, 3, 5, 6, dtype=torch.float64)
    weights = core.weights(q, k, causal_mask, None)
    scores = (q @ k.transpose(-2, -1) / 6**0.5).masked_fill(~causal_mask(5, 5), -torch.inf)
    total = scores.exp().sum(-1) + core.sinks.exp()[:, None]
    torch.testing.assert_close(weights, scores.exp() / total[..., None])
    torch.testing.assert_close(1 - weights.sum(-1), core.sinks.exp()[:, None] / total)
    torch.nn.init.constant_(core.sinks, -1e9)  # control: an unreachable sink changes nothing
    torch.testing.assert_close(core(q, k, v, causal_mask, None), DotProduct()(q, k, v, causal_mask, None))


def test_bias_is_added_to_scaled_scores():
    bias = T5Bias(3, 8, 20).double()
    q, k = torch.randn(2, 2, 3, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(Biased(bias, 0.3).scores(q, k), 0.3 * q @ k.transpose(-2, -1) + bias(5, 5, q))


def test_gqa_is_mha_with_tied_heads():
    grouped = varied()
    full = MultiHeadAttention(12, 4, 4, 6, bias=True, rope=grouped.rope, qk_norm=grouped.qk_norm).double()

    def repeated(rows: torch.Tensor, order: list[int]) -> torch.Tensor:
        return torch.cat([rows[6 * head : 6 * head + 6] for head in order])

    x = torch.randn(2, 5, 12, dtype=torch.float64)
    with torch.no_grad():
        full.q.load_state_dict(grouped.q.state_dict())
        full.o.load_state_dict(grouped.o.state_dict())
        for order, equal in (([0, 0, 1, 1], True), ([0, 1, 0, 1], False)):  # control: tiled, not repeated
            for theirs, ours in ((full.k, grouped.k), (full.v, grouped.v)):
                theirs.weight.copy_(repeated(ours.weight, order))
                theirs.bias.copy_(repeated(ours.bias, order))
            assert torch.allclose(full(x), grouped(x), rtol=1e-9, atol=1e-9) == equal


def test_single_head_step_by_step():
    head = SingleHeadAttention(6, 4).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    stages = head.stages(x)
    assert list(stages) == ["q", "k", "v", "scores", "weights", "mixed", "output"]
    q, k, v = (x @ p.weight.T for p in (head.q, head.k, head.v))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(stages["mixed"], expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(head(x), expected @ head.o.weight.T)
    torch.testing.assert_close(stages["weights"].sum(-1), torch.ones(2, 5, dtype=torch.float64))
    many = MultiHeadAttention(6, 1, head_dim=4).double()
    many.load_state_dict(head.state_dict())
    torch.testing.assert_close(many(x), head(x))
    many.pattern, head.causal = None, False
    torch.testing.assert_close(many(x), head(x))


def test_gate():
    gated, x = varied(kind=GatedAttention), torch.randn(2, 5, 12, dtype=torch.float64)
    plain = varied()
    plain.load_state_dict({n: w for n, w in gated.state_dict().items() if not n.startswith("gate")})
    plain.o, mixed_of = torch.nn.Identity(), None
    mixed_of = plain(x)
    expected = gated.o(mixed_of * torch.sigmoid(x @ gated.gate.weight.T + gated.gate.bias))
    torch.testing.assert_close(gated(x), expected)
    torch.nn.init.zeros_(gated.gate.weight)
    torch.nn.init.constant_(gated.gate.bias, 1e9)  # an open gate is none
    torch.testing.assert_close(gated(x), gated.o(mixed_of))


def numel(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_tied_projections():
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    full = MultiHeadAttention(12, 4).double()
    same_qk, same_kv, one_query = (kind(12, 4).double() for kind in (TiedQueryKey, TiedKeyValue, SharedQuery))
    one_pair = MultiHeadAttention(12, 4, n_kv_heads=1)
    assert [numel(m) for m in (full, same_qk, same_kv, one_query, one_pair)] == [576, 432, 432, 468, 360]
    for tied, ties in ((same_qk, {"k": "q"}), (same_kv, {"v": "k"})):
        with torch.no_grad():
            for name in "qkvo":
                getattr(full, name).weight.copy_(getattr(tied, ties.get(name, name)).weight)
        torch.testing.assert_close(full(x), tied(x))
    with torch.no_grad():
        for name in "kvo":
            getattr(full, name).weight.copy_(getattr(one_query, name).weight)
        full.q.weight.copy_(one_query.q.projection.weight.repeat(4, 1))
    torch.testing.assert_close(full(x), one_query(x))
    with pytest.raises(ValueError, match="need as many heads, found 4 and 2"):
        TiedQueryKey(12, 4, 2)


def test_scores_of_tied_queries_and_keys_are_symmetric():
    x = torch.randn(1, 5, 12, dtype=torch.float64)
    for kind, symmetric in ((TiedQueryKey, True), (MultiHeadAttention, False)):
        attention = kind(12, 4, causal=False).double()
        logits = attention.weights(x).log()
        # Softmax takes a constant off each row; second differences see through it.
        odd = logits - logits.transpose(-2, -1)
        rank_one = odd - odd[..., :1] - odd[..., :1, :] + odd[..., :1, :1]
        assert (rank_one.abs().max() < 1e-9) == symmetric


def test_memory_with_rope_continues_positions():
    attention, x = varied(), torch.randn(2, 8, 12, dtype=torch.float64)
    torch.testing.assert_close(attention(x)[:, 5:], attention(x[:, 5:], x), rtol=1e-10, atol=1e-12)
    shifted = attention(x, positions=torch.arange(8) + 1000)
    torch.testing.assert_close(shifted, attention(x), rtol=1e-8, atol=1e-9)
    with pytest.raises(ValueError, match="either memory or a cache"):
        attention(x[:, 5:], x, cache=ContiguousCache())


def test_half_precision_softmax_is_wide():
    scores = torch.zeros(1, 1, 1, 4096, dtype=torch.bfloat16)
    weights = DotProduct().normalise(scores, None)
    assert weights.dtype == torch.bfloat16 and weights.float().sum().item() == pytest.approx(1, rel=1e-3)
