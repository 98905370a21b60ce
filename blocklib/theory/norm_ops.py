"""Operations of one normalisation of one vector, step by step.

Convention: every elementwise addition or multiplication and every element that enters a reduction counts
once; the affine part (gain, and bias for LayerNorm) is included. Work done once per vector, whatever its
width (dividing a sum by d, adding epsilon, one reciprocal root), is not counted. So LayerNorm takes 7d and
RMSNorm 4d. The *core* leaves gain and bias out: 5d and 3d.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from blocklib.exact import Exact, at_least, fraction, plain, quotient, root
from blocklib.facts.registry import fact
from blocklib.text import Text

Kind = Literal["layernorm", "rmsnorm"]
KINDS = ("layernorm", "rmsnorm")


class Step(NamedTuple):
    """One row of the ledger of a norm: what is done, how often, and whether it is part of the core."""

    name: Text
    operations: int
    core: bool


_MEAN = Text("求和，得均值", "sum for the mean")
_CENTRE = Text("减去均值", "subtract the mean")
_SQUARE = Text("逐个平方", "square each element")
_SUM = Text("平方求和", "sum of the squares")
_SCALE = Text("除以尺度", "divide by the scale")
_GAIN = Text("乘增益", "multiply by the gain")
_BIAS = Text("加偏置", "add the bias")

_STEPS = {
    "layernorm": ((_MEAN, True), (_CENTRE, True), (_SQUARE, True), (_SUM, True), (_SCALE, True),
                  (_GAIN, False), (_BIAS, False)),
    "rmsnorm": ((_SQUARE, True), (_SUM, True), (_SCALE, True), (_GAIN, False)),
}  # fmt: skip


def norm_steps(kind: Kind, d_model: int) -> tuple[Step, ...]:
    """The ledger of one norm of one vector of width ``d_model``, in the order of execution.

    Raises:
        DomainError: ``d_model`` is below one.
        KeyError: ``kind`` is neither ``"layernorm"`` nor ``"rmsnorm"``.
    """
    at_least("d_model", d_model, 1)
    return tuple(Step(name, d_model, core) for name, core in _STEPS[kind])


@fact(
    formula="7d (LayerNorm), 4d (RMSNorm)",
    tests=("tests/theory/test_norm_ops.py::test_counts_match_an_instrumented_norm",),
)
def norm_ops(kind: Literal["layernorm", "rmsnorm"], d_model: int) -> int:
    """Elementwise operations of one norm of one vector, gain and bias included: every elementwise addition or
    multiplication and every element of a sum counts once.

    中文：对一个向量做一次归一化的逐元素运算数，含增益与偏置：逐元素加、乘与求和的每个元素各计一次。
    """
    return sum(step.operations for step in norm_steps(kind, d_model))


@fact(
    formula="5d (LayerNorm), 3d (RMSNorm)",
    tests=("tests/theory/test_norm_ops.py::test_counts_match_an_instrumented_norm",),
)
def norm_core_ops(kind: Literal["layernorm", "rmsnorm"], d_model: int) -> int:
    """Elementwise operations of the core of one norm of one vector, without gain and bias.

    中文：对一个向量做一次归一化的核心运算数，不含增益与偏置。
    """
    return sum(step.operations for step in norm_steps(kind, d_model) if step.core)


@fact(
    formula="7d - 4d = 3d",
    tests=("tests/theory/test_norm_ops.py::test_gaps_are_differences",),
)
def norm_ops_gap(d_model: int) -> int:
    """Operations that RMSNorm saves on one vector against LayerNorm, gain and bias included.

    中文：对一个向量，RMSNorm 比 LayerNorm 少做的逐元素运算数（含增益与偏置）。
    """
    return norm_ops("layernorm", d_model) - norm_ops("rmsnorm", d_model)


@fact(
    formula="5d - 3d = 2d",
    tests=("tests/theory/test_norm_ops.py::test_gaps_are_differences",),
)
def norm_core_gap(d_model: int) -> int:
    """Operations that RMSNorm saves on one vector against LayerNorm, gain and bias left out.

    中文：对一个向量，RMSNorm 比 LayerNorm 少做的核心运算数（不含增益与偏置）。
    """
    return norm_core_ops("layernorm", d_model) - norm_core_ops("rmsnorm", d_model)


@fact(
    formula="3d / 5d",
    tests=("tests/theory/test_norm_ops.py::test_ratios_do_not_depend_on_width",),
)
def norm_core_ratio(d_model: int) -> int | Fraction:
    """Core operations of RMSNorm as a share of those of LayerNorm; the same at every width.

    中文：RMSNorm 的核心运算数占 LayerNorm 的比例；任何宽度都一样。
    """
    return plain(Fraction(norm_core_ops("rmsnorm", d_model), norm_core_ops("layernorm", d_model)))


@fact(
    formula="2 · 2d / 24d² = 1/(6d)",
    tests=(
        "tests/theory/test_norm_ops.py::test_gap_share_is_the_gap_over_the_block",
        "tests/claims_evidence/test_normalization.py::test_op_count_is_not_speed",
    ),
)
def norm_gap_share(d_model: int) -> Fraction:
    """What RMSNorm saves in the two norms of a block, as a share of the block's matrix-multiplication FLOPs
    per token (24d², forward, attention scores left out; core operations).

    中文：一个块的两次归一化改用 RMSNorm，每 token 省下的核心运算占该块前向矩阵乘法 FLOP（24d²，不含 attention 打分）的比例。
    """
    at_least("d_model", d_model, 1)
    return Fraction(2 * norm_core_gap(d_model), 24 * d_model**2)


@fact(
    formula="mean / √(mean² + sd²)",
    tests=("tests/theory/test_norm_ops.py::test_rmsnorm_output_mean_on_a_vector",),
)
def rmsnorm_output_mean(mean: Fraction, sd: Fraction) -> Exact:
    """Mean of RMSNorm's output (gain one, epsilon zero) for an input with this mean and population standard
    deviation: the input's mean divided by its root mean square.

    中文：输入的均值与总体标准差给定时，RMSNorm 输出（增益为一、ε 为零）的均值：输入均值除以均方根。
    """
    exact_mean, exact_sd = fraction(mean), fraction(sd)
    at_least("sd", exact_sd, 0)
    return quotient(exact_mean, root(exact_mean**2 + exact_sd**2))
