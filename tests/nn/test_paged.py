"""Pages against one piece of memory, wherever they lie; sharing, copying on write, giving back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn.cache import ContiguousCache
from blocklib.nn.paged import OutOfPages, PagedCache, PagePool
from tests.nn.tiny import TinyLM, close, in_chunks, token_ids

TOKENS = 20
cuts = st.lists(st.integers(1, TOKENS - 1), max_size=TOKENS)


def shuffled(pages, size, seed=0):
    order = torch.randperm(pages, generator=torch.Generator().manual_seed(seed)).tolist()
    return PagePool(pages, size, order)


def fragmented(pages, size, seed):
    """A pool in which another sequence holds some pages, so that ours lie scattered."""
    pool = shuffled(pages + 8, size, seed)
    other = PagedCache(pool, 2)
    other.update(0, torch.full((2, 2, 2 * size, 4), torch.nan).double(), torch.full((2, 2, 2 * size, 4), 9.0).double())
    return pool


@settings(max_examples=40)
@given(where=cuts, size=st.integers(1, 9), seed=st.integers(0, 2**31))
def test_paged_equals_contiguous_bit_for_bit(where, size, seed):
    pool, generator = fragmented(64, size, seed), torch.Generator().manual_seed(seed)
    paged, contiguous = PagedCache(pool, 2), ContiguousCache()
    edges = [0, *sorted(set(where)), TOKENS]
    for start, stop in zip(edges, edges[1:], strict=False):
        for layer in range(2):
            k, v = torch.randn(2, 2, 2, stop - start, 4, generator=generator, dtype=torch.float64)
            for ours, theirs in zip(paged.update(layer, k, v), contiguous.update(layer, k, v), strict=True):
                assert torch.equal(ours, theirs)
    assert [len(table) for table in paged.tables] == [-(-TOKENS // size)] * 2


@settings(max_examples=15)
@given(where=cuts, size=st.integers(1, 9), seed=st.integers(0, 2**31))
def test_cached_equals_full(where, size, seed):
    model, ids = TinyLM(seed=seed), token_ids(2, TOKENS, seed)
    with torch.no_grad():
        assert close(in_chunks(model, ids, PagedCache(fragmented(64, size, seed), 2), where), model(ids))


def test_control_a_table_read_in_order_of_memory():
    """Pages sorted by where they lie, as if shuffling did not matter: keys come back at wrong positions."""

    class Sorted(PagedCache):
        def update(self, layer, k, v):
            super().update(layer, k, v)
            keep, self.tables = self.tables, [sorted(table) for table in self.tables]
            out = [store[torch.tensor(self.tables)].transpose(1, 2) for store in self.pool.layer(layer, k, v)]
            self.tables = keep
            return tuple(t.flatten(2, 3)[:, :, : self.seen(layer)] for t in out)

    model, ids = TinyLM(), token_ids(1, TOKENS)
    with torch.no_grad():
        whole = model(ids)
    assert close(in_chunks(model, ids, Sorted(PagePool(10, 4), 1), [7]), whole)  # in order it happens to work
    assert not close(in_chunks(model, ids, Sorted(shuffled(10, 4, seed=3), 1), [7]), whole)


def test_a_pool_hands_out_its_order_and_takes_back():
    pool = PagePool(3, 4, order=[2, 0, 1])
    assert [pool.take() for _ in range(3)] == [2, 0, 1] and pool.free == 0
    with pytest.raises(OutOfPages, match="all 3 pages"):
        pool.take()
    pool.release(0)
    assert pool.take() == 0
    pool.release(1)
    for wrong in (pool.release, pool.share):
        with pytest.raises(ValueError, match="page 1 is free"):
            wrong(1)
    with pytest.raises(ValueError, match="permutation"):
        PagePool(3, 4, order=[0, 1, 1])


@settings(max_examples=25)
@given(prefix=st.integers(1, 13), size=st.integers(1, 6), copies=st.integers(1, 3), seed=st.integers(0, 2**31))
def test_forks_share_the_prefix_and_never_see_each_other(prefix, size, copies, seed):
    model, pool = TinyLM(seed=seed), fragmented(96, size, seed)
    before = pool.free
    ids = token_ids(1, prefix, seed)
    parent = PagedCache(pool, 1)
    in_chunks(model, ids, parent, [])
    used = before - pool.free
    child = parent.fork(copies)
    assert before - pool.free == used == -(-prefix // size)  # nothing was copied

    theirs, ours = token_ids(copies, 6, seed + 1), token_ids(1, 6, seed + 2)
    child_logits, parent_logits = [], []
    for at in range(6):  # in turn, so that either could overwrite the other
        child_logits.append(in_chunks(model, theirs[:, at : at + 1], child, []))
        parent_logits.append(in_chunks(model, ours[:, at : at + 1], parent, []))
    with torch.no_grad():
        assert close(torch.cat(child_logits, 1), model(torch.cat([ids.expand(copies, -1), theirs], 1))[:, prefix:])
        assert close(torch.cat(parent_logits, 1), model(torch.cat([ids, ours], 1))[:, prefix:])
    whole = prefix // size
    assert all(table[:whole] == parent.tables[0][:whole] for table in child.tables)
    assert before - pool.free == whole + (1 + copies) * (-(-(prefix + 6) // size) - whole)
    parent.free(), child.free()
    assert pool.free == before and parent.length == child.length == 0


def test_control_without_copying_on_write_a_fork_overwrites_its_parent():
    class Careless(PagePool):
        def owners(self, page):
            return 1

    model, ids, pool = TinyLM(), token_ids(1, 6), Careless(20, 4)
    parent = PagedCache(pool, 1)
    in_chunks(model, ids, parent, [])
    child = parent.fork()
    in_chunks(model, token_ids(1, 1, seed=5), child, [])
    next_one = token_ids(1, 2, seed=6)
    in_chunks(model, next_one[:, :1], parent, [])
    child_second = in_chunks(model, next_one[:, 1:], child, [])
    with torch.no_grad():
        right = model(torch.cat([ids, token_ids(1, 1, seed=5), next_one[:, 1:]], 1))[:, -1:]
    assert not close(child_second, right)


def test_the_last_owner_keeps_the_page():
    pool = PagePool(8, 4)
    one = PagedCache(pool, 1)
    k = torch.ones(1, 1, 2, 2)
    one.update(0, k, k)
    both = one.fork(2)
    one.free()
    both.update(0, k[:, :, :1].expand(2, -1, -1, -1), k[:, :, :1].expand(2, -1, -1, -1))
    assert pool.free == 6 and len({table[0] for table in both.tables}) == 2


def test_exhaustion_changes_nothing():
    pool = PagePool(3, 4)
    cache = PagedCache(pool, 2)
    k = torch.randn(2, 1, 3, 2)
    cache.update(0, k, k)
    with pytest.raises(OutOfPages, match="2 pages needed, 1 of 3 free"):
        cache.update(0, k, k)
    assert cache.length == 3 and pool.free == 1 and [len(t) for t in cache.tables] == [1, 1]
    again, _ = cache.update(0, k[:, :, :1], k[:, :, :1])
    assert torch.equal(again, torch.cat([k, k[:, :, :1]], dim=2))


def test_truncation_releases_pages_and_forgets():
    model, ids, pool = TinyLM(), token_ids(2, 12), shuffled(40, 3)
    cache = PagedCache(pool, 2)
    in_chunks(model, torch.cat([ids[:, :7], token_ids(2, 9, seed=8)], 1), cache, [4])
    assert pool.free == 40 - 2 * 6
    cache.truncate(7)
    assert pool.free == 40 - 2 * 3
    with torch.no_grad():
        assert close(model(ids[:, 7:], cache=cache), model(ids)[:, 7:])


def test_truncating_a_fork_leaves_the_parent_whole():
    model, ids, pool = TinyLM(), token_ids(1, 9), PagePool(20, 4)
    parent = PagedCache(pool, 1)
    in_chunks(model, ids[:, :8], parent, [])
    child = parent.fork()
    child.truncate(3)
    in_chunks(model, token_ids(1, 3, seed=4), child, [])
    with torch.no_grad():
        assert close(model(ids[:, 8:], cache=parent), model(ids)[:, 8:])


def test_memory_is_what_is_held():
    """Waste is at most one page less a token per sequence; a shared page is paid for once."""
    pool = PagePool(10, 4)
    cache = PagedCache(pool, 1)
    k = torch.zeros(1, 2, 9, 8)
    cache.update(0, k, k)
    token = 2 * 2 * 8 * 4
    assert cache.nbytes == 12 * token and pool.nbytes == 40 * token
    fork = cache.fork(2)
    assert abs(cache.nbytes + fork.nbytes - 12 * token) <= 2


def test_what_does_not_fit_is_refused():
    pool = PagePool(4, 4)
    PagedCache(pool, 1).update(0, torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
    with pytest.raises(ValueError, match="the pool's layer 0 holds"):
        PagedCache(pool, 1).update(0, torch.ones(1, 2, 1, 8), torch.ones(1, 2, 1, 8))
    with pytest.raises(ValueError, match="1 sequences, the keys 2"):
        PagedCache(pool, 1).update(0, torch.ones(2, 2, 1, 4), torch.ones(2, 2, 1, 4))
    for make in (lambda: PagePool(0), lambda: PagePool(1, 0), lambda: PagedCache(pool, 0)):
        with pytest.raises(ValueError, match="positive"):
            make()
