"""One attention layer split into heads: what the split leaves alone and what it changes.

H heads of width d/H share a stream of width d. Weights do not notice the split, the rank of a head's scores and the
number of scores do.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, at_least, plain
from blocklib.facts.registry import fact


def split(d_model: int, n_heads: int) -> int:
    """Width of one of ``n_heads`` equal heads.

    Raises:
        DomainError: the width does not divide into that many heads.
    """
    at_least("n_heads", n_heads, 1)
    if d_model % n_heads:
        raise DomainError(f"width {d_model} does not divide into {n_heads} heads")
    return d_model // n_heads


@fact(
    formula="4 · H · d · (d / H) = 4d²",
    tests=("tests/theory/test_heads.py::test_weights_do_not_depend_on_the_split",),
)
def split_attention_params(d_model: int, n_heads: int) -> int:
    """Weights of an attention layer whose heads split the width evenly, keys and values per head; no biases.

    中文：把宽度平均分给各头（每头自有 K、V）的 attention 层的权重数，不含偏置。
    """
    return 4 * n_heads * d_model * split(d_model, n_heads)


@fact(formula="d / H", tests=("tests/theory/test_heads.py::test_rank_of_one_head",))
def head_rank(d_model: int, n_heads: int) -> int:
    """Largest rank that the scores of one head can have, before the softmax, when the heads split the width evenly.

    中文：把宽度平均分给各头时，一个头的得分矩阵（softmax 之前）最高的秩。
    """
    return split(d_model, n_heads)


@fact(formula="H · T²", tests=("tests/theory/test_heads.py::test_scores_are_counted",))
def score_count(n_heads: int, tokens: int) -> int:
    """Scores that one attention layer computes for a sequence of this length, all heads together, no mask.

    中文：一个 attention 层对这么长的序列算出的得分个数，所有头合计，不加掩码。
    """
    at_least("n_heads", n_heads, 1)
    at_least("tokens", tokens, 1)
    return n_heads * tokens**2


@fact(formula="n_kv_heads / n_heads", tests=("tests/theory/test_heads.py::test_shared_heads_shrink_a_cache",))
def kv_sharing(n_heads: int, n_kv_heads: int) -> int | Fraction:
    """Size of the key-value cache when query heads share this many key/value heads, as a share of what one
    key/value head for each query head would need; everything else equal.

    中文：query 头共用这么多个 KV 头时，KV 缓存是每个 query 头各配一个 KV 头时的几分之几；其余条件相同。

    Raises:
        DomainError: ``n_kv_heads`` is not positive or does not divide ``n_heads``.
    """
    at_least("n_kv_heads", n_kv_heads, 1)
    if n_kv_heads > n_heads or n_heads % n_kv_heads:
        raise DomainError(f"{n_heads} query heads cannot share {n_kv_heads} key/value heads evenly")
    return plain(Fraction(n_kv_heads, n_heads))
