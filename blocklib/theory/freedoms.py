"""How many numbers a head's scoring rule really has: freedoms of the form A = W_Q W_Kᵀ at rank r.

A head of width r in a stream of width d scores a pair of tokens by the bilinear form A, a d × d matrix of rank at
most r. Two matrices with 2dr entries make it, but W_Q G and W_K G⁻ᵀ make the same A for every invertible G, so r² of
these entries are bookkeeping. With one matrix for both, A = W Wᵀ is symmetric and positive semidefinite, and only
rotations of W leave it alone. Counted at full rank r, r at most d.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, at_least, plain
from blocklib.facts.registry import fact

JACOBIAN = "tests/theory/test_freedoms.py::test_counts_are_ranks_of_jacobians"


def _check(d_model: int, head_dim: int) -> None:
    at_least("head_dim", head_dim, 1)
    if head_dim > d_model:
        raise DomainError(f"a head of width {head_dim} in a stream of width {d_model}: its rank is at most {d_model}")


@fact(formula="2 · d_model · head_dim", tests=("tests/theory/test_freedoms.py::test_entries_are_counted",))
def score_entries(d_model: int, head_dim: int) -> int:
    """Entries of one head's query and key projections together.

    中文：一个头的 query 与 key 两个投影合计的矩阵元素数。
    """
    _check(d_model, head_dim)
    return 2 * d_model * head_dim


@fact(formula="head_dim²", tests=(JACOBIAN,))
def score_gauge(head_dim: int) -> int:
    """Entries of one head's query and key projections that change nothing in its scores: any invertible matrix may
    be multiplied onto one and divided out of the other.

    中文：一个头的 query 与 key 投影里不影响得分的自由度：给一边乘任意可逆矩阵，再从另一边除掉，得分不变。
    """
    at_least("head_dim", head_dim, 1)
    return head_dim**2


@fact(formula="r · (2d − r)", tests=(JACOBIAN,))
def score_freedoms(d_model: int, head_dim: int) -> int:
    """Degrees of freedom of one head's scoring form with separate query and key projections: of all matrices whose
    rank is the head's width.

    中文：query 与 key 各有投影时，一个头的打分双线性型的自由度，也就是秩等于头宽的全部矩阵的维数。
    """
    _check(d_model, head_dim)
    return head_dim * (2 * d_model - head_dim)


@fact(formula="r · (2d − r + 1) / 2", tests=(JACOBIAN,))
def tied_score_freedoms(d_model: int, head_dim: int) -> int:
    """Degrees of freedom of one head's scoring form when queries and keys come from one matrix: of all positive
    semidefinite matrices whose rank is the head's width.

    中文：query 与 key 共用一个矩阵时，一个头的打分双线性型的自由度，也就是秩等于头宽的全部半正定矩阵的维数。
    """
    _check(d_model, head_dim)
    return head_dim * (2 * d_model - head_dim + 1) // 2


@fact(formula="d · r − r · (r + 1) / 2", tests=(JACOBIAN, "tests/theory/test_freedoms.py::test_gap_at_full_rank"))
def untying_freedoms(d_model: int, head_dim: int) -> int:
    """Degrees of freedom that one head's scoring form gains when queries and keys get a matrix each.

    中文：query 与 key 从共用改为各有一个矩阵，一个头的打分双线性型多出的自由度。
    """
    return score_freedoms(d_model, head_dim) - tied_score_freedoms(d_model, head_dim)


@fact(formula="d · (d − 1) / 2", tests=("tests/theory/test_freedoms.py::test_gap_at_full_rank",))
def antisymmetric_freedoms(d_model: int) -> int:
    """Degrees of freedom of an antisymmetric matrix of this size: what untying would gain a head as wide as the
    stream.

    中文：这么大的反对称矩阵的自由度：头宽等于流宽时，拆开 query 与 key 才会多出这么多。
    """
    at_least("d_model", d_model, 1)
    return d_model * (d_model - 1) // 2


@fact(
    formula="d(d − 1)/2 ÷ (dr − r(r + 1)/2)",
    tests=("tests/theory/test_freedoms.py::test_gap_at_full_rank",),
)
def full_rank_overstatement(d_model: int, head_dim: int) -> int | Fraction:
    """How many times too large the gain from untying comes out when the head is taken to be as wide as the stream.

    中文：把头宽当成流宽来数，拆开 query 与 key 的所得会被夸大多少倍。
    """
    return plain(Fraction(antisymmetric_freedoms(d_model), untying_freedoms(d_model, head_dim)))


@fact(formula="d² / 4d²", tests=("tests/theory/test_freedoms.py::test_tying_saves_one_matrix",))
def tying_share_of_attention() -> Fraction:
    """Share of a textbook attention layer's weights that one matrix for queries and keys saves.

    中文：query 与 key 共用一个矩阵，省下教科书 attention 层权重的几分之几。
    """
    return Fraction(1, 4)


@fact(formula="d² / 12d²", tests=("tests/theory/test_freedoms.py::test_tying_saves_one_matrix",))
def tying_share_of_block() -> Fraction:
    """Share of a textbook block's matrix weights that one matrix for queries and keys saves.

    中文：query 与 key 共用一个矩阵，省下教科书的块权重矩阵的几分之几。
    """
    return Fraction(1, 12)
