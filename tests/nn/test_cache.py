"""Cached attention against the whole sequence, however it is cut; what is refused; what rewinding keeps."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn.cache import ContiguousCache, LayeredCache, SlidingCache
from tests.nn.tiny import TinyLM, close, in_chunks, token_ids

TOKENS = 24
cuts = st.lists(st.integers(1, TOKENS - 1), max_size=TOKENS)
KINDS = {
    "growing": (ContiguousCache, (None, None)),
    "reserved": (lambda: ContiguousCache(TOKENS), (None, None)),
    "sliding": (lambda: SlidingCache(5), (5, 5)),
    "sliding, wider than needed": (lambda: SlidingCache(7), (5, 5)),
    "sliding, never full": (lambda: SlidingCache(TOKENS), (None, None)),
    "sliding of one": (lambda: SlidingCache(1), (1, 1)),
    "alternating": (lambda: LayeredCache([SlidingCache(3), ContiguousCache()]), (3, None)),
}


def same_as_whole(make, model, ids, where) -> bool:
    with torch.no_grad():
        whole = model(ids)
    return close(in_chunks(model, ids, make(), where), whole)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(where=cuts, seed=st.integers(0, 2**31))
def test_cached_equals_full(kind, where, seed):
    make, windows = KINDS[kind]
    assert same_as_whole(make, TinyLM(windows=windows, seed=seed), token_ids(2, TOKENS, seed), where)


@pytest.mark.parametrize("kind", KINDS)
def test_token_by_token_and_all_at_once(kind):
    make, windows = KINDS[kind]
    model, ids = TinyLM(windows=windows), token_ids(3, TOKENS)
    assert same_as_whole(make, model, ids, range(1, TOKENS)) and same_as_whole(make, model, ids, [])


@settings(max_examples=10)
@given(where=cuts.filter(bool), seed=st.integers(0, 2**31))
def test_control_without_causality_earlier_keys_go_stale(where, seed):
    model = TinyLM(causal=False, seed=seed)
    assert not same_as_whole(ContiguousCache, model, token_ids(2, TOKENS, seed), where)
    # The first layer's keys and values depend on their own token only: there the cache stays valid.
    shallow = TinyLM(causal=False, windows=(None,), seed=seed)
    ids, cache = token_ids(1, 6, seed), ContiguousCache()
    in_chunks(shallow, ids, cache, [4])
    once = ContiguousCache()
    in_chunks(shallow, ids, once, [])
    assert all(close(a, b) for a, b in zip(cache.read(0), once.read(0), strict=True))


@pytest.mark.parametrize(("window", "of_model"), [(4, 5), (5, None), (TOKENS - 1, None)])
def test_control_a_window_too_narrow(window, of_model):
    model, ids = TinyLM(windows=(of_model, of_model)), token_ids(2, TOKENS)
    assert not same_as_whole(lambda: SlidingCache(window), model, ids, range(1, TOKENS))


def numbered(start, stop, batch=1, heads=1, width=1):
    """Keys whose every number is the position."""
    return torch.arange(start, stop, dtype=torch.float64).view(1, 1, -1, 1).expand(batch, heads, -1, width)


@settings(max_examples=60)
@given(window=st.integers(1, 9), reserve=st.integers(0, 4), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=9))
def test_the_ring_returns_the_positions_a_window_reads_in_order(window, reserve, sizes):
    cache, seen = SlidingCache(window, reserve), 0
    for size in sizes:
        k, v = cache.update(0, numbered(seen, seen + size), -numbered(seen, seen + size, width=3))
        first = max(0, seen - window + 1)
        seen += size
        assert k.flatten().tolist() == list(range(first, seen)) and torch.equal(v, -k.expand(-1, -1, -1, 3))
        assert cache.length == seen


def test_the_ring_does_not_grow():
    cache = SlidingCache(8, reserve=2)
    cache.update(0, numbered(0, 100, 2, 3, 4), numbered(0, 100, 2, 3, 4))
    assert cache.nbytes == 2 * 2 * 3 * 10 * 4 * 8


@settings(max_examples=60)
@given(
    window=st.integers(1, 6),
    reserve=st.integers(0, 5),
    moves=st.lists(st.tuples(st.integers(1, 7), st.integers(0, 9)), min_size=1, max_size=8),
)
def test_rewinding_a_ring_gives_what_was_there_or_says_no(window, reserve, moves):
    """Each move adds tokens, then goes back; where the ring allows it, the window is whole and of the right tokens."""
    cache, truth, stamp, furthest = SlidingCache(window, reserve), [], 0, 0
    for add, back in moves:
        fresh = [stamp + i for i in range(add)]
        stamp += add
        k, _ = cache.update(0, *(torch.tensor(fresh, dtype=torch.float64).view(1, 1, -1, 1),) * 2)
        expected = truth[max(0, len(truth) - window + 1) :] + fresh
        assert k.flatten().tolist() == expected
        truth += fresh
        furthest = max(furthest, len(truth))
        to = max(0, len(truth) - back)
        try:
            cache.truncate(to)
        except ValueError as error:
            assert furthest - to > reserve + 1 and "larger reserve" in str(error)
        else:
            truth = truth[:to]
        assert cache.length == len(truth)


@pytest.mark.parametrize("make", [ContiguousCache, lambda: LayeredCache([ContiguousCache(), SlidingCache(4, 6)])])
def test_rewound_equals_never_taken(make):
    model, ids, other = TinyLM(windows=(None, None)), token_ids(2, 12), token_ids(2, 6, seed=9)
    if isinstance(make(), LayeredCache):
        model.windows = (None, 4)
    cache = make()
    in_chunks(model, torch.cat([ids[:, :7], other], dim=1), cache, [5, 10])
    cache.truncate(7)
    with torch.no_grad():
        assert close(model(ids[:, 7:], cache=cache), model(ids)[:, 7:])
    with pytest.raises(ValueError, match="cannot truncate to 13"):
        make().truncate(13)


def test_growth_keeps_what_was_returned():
    cache = ContiguousCache()
    first, _ = cache.update(0, numbered(0, 3), numbered(0, 3))
    sizes = {cache.nbytes}
    for position in range(3, 40):
        sizes.add(cache.nbytes)
        k, _ = cache.update(0, numbered(position, position + 1), numbered(position, position + 1))
        assert k.flatten().tolist() == list(range(position + 1))
    assert first.flatten().tolist() == [0, 1, 2]
    assert {size // 16 for size in sizes} == {3, 6, 12, 24, 48}  # copied four times, not forty


def test_layers_are_counted_apart_and_length_is_the_furthest():
    cache = ContiguousCache()
    cache.update(0, numbered(0, 3), numbered(0, 3))
    assert (cache.length, cache.seen(0), cache.seen(1)) == (3, 3, 0)
    with pytest.raises(ValueError, match="not inside a forward pass"):
        cache.update(1, numbered(0, 2), numbered(0, 2)), cache.truncate(1)


@pytest.mark.parametrize("make", [ContiguousCache, lambda: SlidingCache(4)])
def test_what_does_not_fit_is_refused(make):
    cache = make()
    cache.update(0, torch.ones(2, 3, 1, 4), torch.ones(2, 3, 1, 5))  # widths of keys and values may differ
    for k, v in (
        (torch.ones(1, 3, 1, 4), torch.ones(1, 3, 1, 5)),
        (torch.ones(2, 1, 1, 4), torch.ones(2, 1, 1, 5)),
        (torch.ones(2, 3, 1, 5), torch.ones(2, 3, 1, 5)),
        (torch.ones(2, 3, 1, 4).half(), torch.ones(2, 3, 1, 5).half()),
    ):
        with pytest.raises(ValueError, match="layer 0 caches"):
            cache.update(0, k, v)
    with pytest.raises(ValueError, match="should both be"):
        cache.update(0, torch.ones(2, 3, 1, 4), torch.ones(2, 3, 2, 5))
    assert cache.length == 1


def test_a_full_reservation_is_an_error_not_a_wrap():
    cache = ContiguousCache(4)
    cache.update(0, numbered(0, 3), numbered(0, 3))
    with pytest.raises(ValueError, match="5 tokens exceed the cache's capacity of 4"):
        cache.update(0, numbered(3, 5), numbered(3, 5))
    assert cache.length == 3 and cache.nbytes == 2 * 4 * 8


def test_nothing_keeps_the_graph():
    k = torch.ones(1, 1, 2, 2, requires_grad=True)
    for cache in (ContiguousCache(), SlidingCache(2)):
        assert not any(t.requires_grad for t in cache.update(0, k, k))


@pytest.mark.parametrize("make", [lambda: ContiguousCache(0), lambda: SlidingCache(0), lambda: SlidingCache(2, -1)])
def test_sizes_are_positive(make):
    with pytest.raises(ValueError, match="positive"):
        make()


def test_two_layers_cannot_share_a_cache():
    cache = ContiguousCache()
    with pytest.raises(ValueError, match="share a cache"):
        LayeredCache([cache, cache])
