"""What pages quote about the inner vectors that an FFN keeps for the backward pass, as multiples of its input's width."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.exact import plain
from blocklib.facts.registry import fact
from blocklib.ledger.activations import inner_elements
from blocklib.ledger.parts import FFN, ConfigError

BASE = 3  # a width that three divides, so that both FFNs come out whole
WIDTHS = {"matched": {2: 4 * BASE, 3: 8 * BASE // 3}, "same": {2: 4 * BASE, 3: 4 * BASE}}


@fact(
    formula="inner vectors kept · d_ff / d_model",
    tests=(
        "tests/ledger/test_activation_facts.py::test_multiples_are_what_autograd_saves",
        "tests/claims_evidence/test_design_swiglu.py::test_gated_ffn_keeps_more",
    ),
)
def ffn_saved_widths(
    kind: Literal["relu", "gelu", "relu2", "reglu", "geglu", "swiglu"],
    width: Literal["matched", "same"],
    keep: Literal["all", "recompute"],
) -> int | Fraction:
    """Elements of inner vectors that one FFN keeps per token for the backward pass in eager autograd, over the width
    of its input (which is not counted); inner width 4d, or 8d/3 with a gate where the parameters are to match;
    "recompute" keeps only what the first matrices made.

    中文：一个 FFN 每个 token 为反向传播留下的中间元素，除以输入的宽度（输入本身不计）；按逐操作执行的自动微分计。
    内部宽度取 4d，要求参数对齐时带门的取 8d/3；recompute 表示只留前几个矩阵的输出，其余反向时重算。

    Raises:
        ConfigError: ``width`` or ``kind`` is unknown.
    """
    if width not in WIDTHS:
        raise ConfigError(f"unknown width {width!r}; known: {', '.join(WIDTHS)}")
    d_ff = WIDTHS[width][FFN(BASE, kind).matrices]
    return plain(Fraction(inner_elements(FFN(d_ff, kind), keep == "recompute"), BASE))


@fact(
    formula="ffn_saved_widths(kind) / ffn_saved_widths(other) - 1",
    tests=("tests/ledger/test_activation_facts.py::test_multiples_are_what_autograd_saves",),
)
def ffn_saved_excess(
    kind: Literal["relu", "gelu", "relu2", "reglu", "geglu", "swiglu"],
    other: Literal["relu", "gelu", "relu2", "reglu", "geglu", "swiglu"],
    keep: Literal["all", "recompute"],
) -> int | Fraction:
    """By what share the first FFN keeps more inner elements for the backward pass than the second, at matched
    parameters; negative when it keeps fewer.

    中文：参数对齐时，前一种 FFN 为反向传播留下的中间元素比后一种多出的比例；负数表示更少。
    """
    return plain(Fraction(ffn_saved_widths(kind, "matched", keep), ffn_saved_widths(other, "matched", keep)) - 1)
