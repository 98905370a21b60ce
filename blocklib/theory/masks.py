"""Which positions a position may read, and what generating one token at a time reads and recomputes.

Positions are counted from zero. A query always reads itself. With more keys than queries (a cache) the mask is
aligned to the bottom right: the last query is the newest position.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, at_least, plain
from blocklib.facts.registry import fact


def causal_mask(queries: int, keys: int | None = None) -> tuple[tuple[bool, ...], ...]:
    """Rows of the causal mask: ``mask[q][k]`` is true where query ``q`` may read key ``k``.

    ``keys`` defaults to ``queries``; with ``keys > queries`` the earlier keys are a cache that all queries see.

    Raises:
        DomainError: no query, or fewer keys than queries.
    """
    keys = queries if keys is None else keys
    at_least("queries", queries, 1)
    if keys < queries:
        raise DomainError(f"{queries} queries need at least as many keys, found {keys}")
    past = keys - queries
    return tuple(tuple(k <= past + q for k in range(keys)) for q in range(queries))


@fact(
    formula="position + 1",
    tests=("tests/theory/test_masks.py::test_visible_positions_count_a_row",),
)
def visible_positions(position: int) -> int:
    """Positions that this position reads under the causal mask, itself included; the first position is number
    zero.

    中文：因果掩码下这个位置能读到的位置数，含自己；位置从零数起。
    """
    at_least("position", position, 0)
    return position + 1


@fact(
    formula="positions · (positions + 1) / 2",
    tests=(
        "tests/theory/test_masks.py::test_cells_match_the_mask",
        "tests/claims_evidence/test_model.py::test_causal_cells",
    ),
)
def causal_cells(positions: int) -> int:
    """Cells of the attention grid that the causal mask leaves open.

    中文：attention 方格里因果掩码放行的格数。
    """
    at_least("positions", positions, 0)
    return positions * (positions + 1) // 2


@fact(formula="positions²", tests=("tests/theory/test_masks.py::test_cells_match_the_mask",))
def grid_cells(positions: int) -> int:
    """Cells of the attention grid without a mask: every position with every position.

    中文：没有掩码时 attention 方格的总格数：每个位置对每个位置。
    """
    at_least("positions", positions, 0)
    return positions**2


@fact(
    formula="(positions + 1) / (2 · positions)",
    tests=("tests/theory/test_masks.py::test_cells_match_the_mask",),
)
def causal_share(positions: int) -> int | Fraction:
    """Share of the attention grid that the causal mask leaves open; it falls towards one half.

    中文：因果掩码放行的格占整个方格的比例；序列越长越接近一半。
    """
    at_least("positions", positions, 1)
    return plain(Fraction(causal_cells(positions), grid_cells(positions)))


@fact(
    formula="tokens · (tokens + 1) / 2",
    tests=(
        "tests/theory/test_masks.py::test_generation_matches_a_counted_loop",
        "tests/claims_evidence/test_model.py::test_cache_trades_reads_for_recompute",
    ),
)
def generation_reads(tokens: int) -> int:
    """Cached positions read in all, per layer, while this many tokens pass one at a time through a model with a
    key-value cache: the token at position t reads t + 1.

    中文：有 KV 缓存、逐个处理这么多 token 时，每层总共读取的缓存位置数：位置 t 读 t+1 个。
    """
    return causal_cells(tokens)


@fact(
    formula="tokens · (tokens + 1) / 2",
    tests=(
        "tests/theory/test_masks.py::test_generation_matches_a_counted_loop",
        "tests/claims_evidence/test_model.py::test_cache_trades_reads_for_recompute",
    ),
)
def recomputed_positions(tokens: int) -> int:
    """Passes of a token through the stack that generating this many tokens takes without a cache: each new token
    reruns the whole prefix. With a cache it is one pass per token.

    中文：没有缓存、生成这么多 token 时，token 过整摞块的次数：每个新 token 都把前缀重算一遍。有缓存时每 token 一次。
    """
    at_least("tokens", tokens, 0)
    return sum(range(1, tokens + 1))


@fact(
    formula="(tokens + 1) / 2",
    tests=("tests/theory/test_masks.py::test_generation_matches_a_counted_loop",),
)
def recompute_factor(tokens: int) -> int | Fraction:
    """How many times more token passes generation takes without a cache than with one.

    中文：没有缓存时的 token 前向次数是有缓存时的多少倍。
    """
    at_least("tokens", tokens, 1)
    return plain(Fraction(recomputed_positions(tokens), tokens))


@fact(
    formula="tokens · (tokens + 1) · (tokens + 2) / 6",
    tests=(
        "tests/theory/test_masks.py::test_generation_matches_a_counted_loop",
        "tests/claims_evidence/test_model.py::test_cache_trades_reads_for_recompute",
    ),
)
def uncached_score_cells(tokens: int) -> int:
    """Attention cells computed in all, per layer and head, while generating this many tokens without a cache,
    when each step computes the causal grid of the whole prefix anew.

    中文：没有缓存、生成这么多 token 时，每层每头总共计算的 attention 格数：每一步都重算整个前缀的因果方格。
    """
    at_least("tokens", tokens, 0)
    return tokens * (tokens + 1) * (tokens + 2) // 6
