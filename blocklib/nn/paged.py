"""A cache in pages: sequences hold lists of pages, so memory is taken as it is used and can be shared.

Kwon et al. 2023 (PagedAttention): a block table maps position p of a sequence to slot ``p mod page_size`` of page
``table[p // page_size]``. A page that several sequences share is copied before one of them writes to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from blocklib.nn.cache import Cache, reserve


class OutOfPages(RuntimeError):
    """The pool has fewer free pages than an update needs; nothing was changed."""


class PagePool:
    """Storage for ``pages`` pages of ``page_size`` tokens in every layer, with a count of owners per page.

    One page id means the same slots in every layer, so a sequence has one table for all layers.

    Args:
        pages: pages in the pool.
        page_size: tokens a page.
        order: the order in which free pages are handed out; default 0, 1, 2 … A permutation of all pages.

    Raises:
        ValueError: pages or page size not positive, or an order that is no permutation of the pages.
    """

    def __init__(self, pages: int, page_size: int = 16, order: Sequence[int] | None = None):
        if pages < 1 or page_size < 1:
            raise ValueError(f"pages and page_size must be positive, found {pages} and {page_size}")
        order = list(range(pages)) if order is None else [int(page) for page in order]
        if sorted(order) != list(range(pages)):
            raise ValueError(f"order must be a permutation of the {pages} pages")
        self.pages, self.page_size = pages, page_size
        self._free = order[::-1]
        self._owners = [0] * pages
        self._store: dict[int, tuple[Tensor, Tensor]] = {}  # layer -> (P, Hkv, page_size, D) each

    @property
    def free(self) -> int:
        """Pages that nobody owns."""
        return len(self._free)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole pool, used or not."""
        return sum(t.nbytes for pair in self._store.values() for t in pair)

    def owners(self, page: int) -> int:
        """Sequences that hold ``page``."""
        return self._owners[page]

    def take(self) -> int:
        """A free page, now owned once.

        Raises:
            OutOfPages: none is free.
        """
        if not self._free:
            raise OutOfPages(f"all {self.pages} pages are in use")
        page = self._free.pop()
        self._owners[page] = 1
        return page

    def share(self, page: int) -> int:
        """One owner more; returns the page.

        Raises:
            ValueError: the page is free.
        """
        if not self._owners[page]:
            raise ValueError(f"page {page} is free and cannot be shared")
        self._owners[page] += 1
        return page

    def release(self, page: int) -> None:
        """One owner less; the last one frees the page.

        Raises:
            ValueError: the page is free already.
        """
        if not self._owners[page]:
            raise ValueError(f"page {page} is free already")
        self._owners[page] -= 1
        if not self._owners[page]:
            self._free.append(page)

    def copy(self, source: int, target: int) -> None:
        """Copy a page's keys and values in every layer."""
        for pair in self._store.values():
            for tensor in pair:
                tensor[target] = tensor[source]

    def layer(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The layer's storage, ``(P, Hkv, page_size, D)`` each; made when first asked for.

        Raises:
            ValueError: heads, widths or dtype differ from what the pool holds.
        """
        shape = [(self.pages, t.shape[1], self.page_size, t.shape[3]) for t in (k, v)]
        if layer not in self._store:
            self._store[layer] = (reserve(k, *shape[0]), reserve(v, *shape[1]))
        store = self._store[layer]
        if [tuple(t.shape) for t in store] != shape or (store[0].dtype, store[1].dtype) != (k.dtype, v.dtype):
            raise ValueError(f"the pool's layer {layer} holds {[tuple(t.shape) for t in store]}, asked for {shape}")
        return store


class PagedCache(Cache):
    """B sequences of equal length over a :class:`PagePool`, which other caches may use as well.

    Promises equality, bit for bit, with :class:`~blocklib.nn.cache.ContiguousCache`: the same numbers are gathered
    in the same order, wherever the pages lie.

    Args:
        pool: where the pages come from.
        batch: sequences B.

    Raises:
        ValueError: the batch is not positive.
    """

    def __init__(self, pool: PagePool, batch: int = 1):
        super().__init__()
        if batch < 1:
            raise ValueError(f"batch must be positive, found {batch}")
        self.pool = pool
        self.tables: list[list[int]] = [[] for _ in range(batch)]

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`~blocklib.nn.cache.KVCache.update`; S is all tokens seen.

        ``(B, Hkv, T, D)`` in, ``(B, Hkv, S, D)`` out.

        The first layer of a pass takes the pages, and copies a shared one before it is written to.

        Raises:
            OutOfPages: the pool is exhausted; the cache is as before.
            ValueError: shape or dtype differ from earlier ones.
        """
        if k.shape[0] != len(self.tables):
            raise ValueError(f"the cache has {len(self.tables)} sequences, the keys {k.shape[0]}")
        self._check(layer, k, v)
        keys, values = self.pool.layer(layer, k, v)
        start = self.seen(layer)
        stop = start + k.shape[2]
        if stop > self.length:
            self._grow(start, stop)
        table = torch.tensor(self.tables, device=k.device).reshape(len(self.tables), -1)  # (B, pages a sequence)
        positions = torch.arange(start, stop, device=k.device)
        page, slot = table[:, positions // self.pool.page_size], positions % self.pool.page_size
        keys[page, :, slot] = k.detach().transpose(1, 2)  # indexed as (B, T, Hkv, D)
        values[page, :, slot] = v.detach().transpose(1, 2)
        self._seen[layer] = stop
        return tuple(store[table].transpose(1, 2).flatten(2, 3)[:, :, :stop] for store in (keys, values))

    def fork(self, copies: int = 1) -> PagedCache:
        """A new cache of ``copies`` times as many sequences that shares every page; sequence b becomes
        ``b · copies … b · copies + copies − 1``. Nothing is copied until one side writes into a shared page.

        Raises:
            ValueError: no copies, or inside a forward pass.
        """
        self._level()
        if copies < 1:
            raise ValueError(f"copies must be positive, found {copies}")
        new = PagedCache(self.pool, len(self.tables) * copies)
        new.tables = [[self.pool.share(p) for p in table] for table in self.tables for _ in range(copies)]
        new._seen = dict(self._seen)
        return new

    def truncate(self, length: int) -> None:
        """As :meth:`Cache.truncate`; pages that fall empty are released."""
        super().truncate(length)
        keep = -(-length // self.pool.page_size)
        for table in self.tables:
            while len(table) > keep:
                self.pool.release(table.pop())

    def free(self) -> None:
        """Give all pages back; the cache is empty and can be used again."""
        self.truncate(0)
        self._seen.clear()
        self._shape.clear()

    @property
    def nbytes(self) -> int:
        """Bytes of the pages that this cache holds; a page shared among k sequences counts 1/k for each."""
        per_page = self.pool.nbytes // self.pool.pages
        return round(sum(per_page / self.pool.owners(page) for table in self.tables for page in table))

    def _grow(self, start: int, stop: int) -> None:
        size = self.pool.page_size
        partial = start // size if start % size else None  # the page that will be written into, if it exists
        shared = []
        if partial is not None:
            # With k owners among our own sequences and no one else, the last writer may keep the original.
            left: dict[int, int] = {}
            for row, table in enumerate(self.tables):
                page = table[partial]
                left.setdefault(page, self.pool.owners(page))
                if left[page] > 1:
                    shared.append(row)
                    left[page] -= 1
        needed = -(-stop // size)
        wanted = len(shared) + sum(needed - len(table) for table in self.tables)
        if wanted > self.pool.free:
            raise OutOfPages(f"{wanted} pages needed, {self.pool.free} of {self.pool.pages} free")
        for row in shared:
            old, new = self.tables[row][partial], self.pool.take()
            self.pool.copy(old, new)
            self.pool.release(old)
            self.tables[row][partial] = new
        for table in self.tables:
            table.extend(self.pool.take() for _ in range(needed - len(table)))
