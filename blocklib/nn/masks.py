"""Who may read whom: boolean masks ``(T, S)`` of T queries over S keys, aligned to the newest position.

A pattern is a callable ``(queries, keys, device) -> mask``; :func:`causal_mask` is one, and None stands for no mask.
The last query always stands at the last key, so one query over a cache sees what the newest position sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Pattern = Callable[[int, int, torch.device | None], Tensor]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Boolean ``(T, S)``, true where a query may read a key.

    Aligned to the bottom right: the last query is the newest position and sees every key, so one query over a
    cache sees all of it.

    Raises:
        ValueError: fewer keys than queries.
    """
    if keys < queries:
        raise ValueError(f"{queries} queries need at least as many keys, found {keys}")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


@dataclass(frozen=True)
class SlidingWindow:
    """Causal, and not further back than ``window`` positions, the query's own included. Beltagy et al. 2020.

    Raises:
        ValueError: the window is not positive.
    """

    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window must be positive, found {self.window}")

    def __call__(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """The mask ``(T, S)``; raises as :func:`causal_mask`."""
        return causal_mask(queries, keys, device).triu(keys - queries - self.window + 1)


@dataclass(frozen=True)
class Prefix:
    """Causal, but the first ``length`` positions are seen by all, by each other too. Raffel et al. 2020, §3.2.1.

    Counted from the first key, so the keys must start at position 0.
    """

    length: int

    def __call__(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """The mask ``(T, S)``; raises as :func:`causal_mask`."""
        mask = causal_mask(queries, keys, device)
        mask[:, : self.length] = True
        return mask


def visible(
    pattern: Pattern | None, padding: Tensor | None, queries: int, keys: int, device: torch.device | None
) -> Tensor | None:
    """Pattern and padding in one mask, broadcastable to ``(B, H, T, S)``; None where everything is visible.

    A row that would see nothing (a query that is padding itself) sees everything: its output is never read, and
    must be finite.

    Args:
        pattern: as above, or None.
        padding: boolean, broadcastable to ``(B, H, T, S')`` with S' ≥ S, true at tokens; the last S columns count.
    """
    if pattern is None or (pattern is causal_mask and queries == 1):
        mask = None
    else:
        mask = pattern(queries, keys, device)
    if padding is None:
        return mask
    padding = padding[..., -keys:]
    mask = padding if mask is None else mask & padding
    return mask | ~mask.any(-1, keepdim=True)
