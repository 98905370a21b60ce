"""Quotients of published training budgets."""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import plain
from blocklib.facts.registry import evaluate, fact


@fact(
    formula="tokens / parameters",
    tests=("tests/claims_evidence/test_design_depth.py::test_chinchilla_quotient",),
)
def chinchilla_tokens_per_parameter() -> int | Fraction:
    """Training tokens of Chinchilla for each of its parameters: a quotient of the paper's two figures.

    中文：Chinchilla 每个参数对应的训练 token 数：论文里两个数相除。
    """
    tokens, parameters = (Fraction(str(evaluate(f"chinchilla?what={what}").value)) for what in ("tokens", "parameters"))
    return plain(tokens / parameters)
