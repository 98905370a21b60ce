"""Differences between the published scores of FFNs with and without a gate (Shazeer 2020, Table 1)."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal

from blocklib.exact import DIGITS, plain
from blocklib.facts.registry import evaluate, fact

_WIDE = Context(prec=DIGITS + 10)


def log_perplexity(activation: str, steps: str) -> Fraction:
    """The published held-out log-perplexity, in nats per token."""
    return Fraction(str(evaluate(f"glu_log_perplexity?run={activation}-{steps}").value))


@fact(
    formula="log-perplexity of the one minus that of the other",
    tests=("tests/theory/test_glu_evidence.py::test_gaps_of_the_published_scores",),
)
def glu_log_gap(
    worse: Literal["relu", "gelu", "swish", "glu", "bilinear", "geglu", "swiglu", "reglu"],
    better: Literal["relu", "gelu", "swish", "glu", "bilinear", "geglu", "swiglu", "reglu"],
    steps: Literal["short", "full"],
) -> int | Fraction:
    """Difference of two published log-perplexities, in nats; short is 65,536 steps, full 524,288.

    中文：两个已发表的对数困惑度之差，单位 nat；short 为 65,536 步，full 为 524,288 步。
    """
    return plain(log_perplexity(worse, steps) - log_perplexity(better, steps))


@fact(
    formula="e^(log-perplexity of the one) - e^(that of the other)",
    tests=("tests/theory/test_glu_evidence.py::test_gaps_of_the_published_scores",),
)
def glu_perplexity_gap(
    worse: Literal["relu", "gelu", "swish", "glu", "bilinear", "geglu", "swiglu", "reglu"],
    better: Literal["relu", "gelu", "swish", "glu", "bilinear", "geglu", "swiglu", "reglu"],
    steps: Literal["short", "full"],
) -> Decimal:
    """Difference of the two perplexities that belong to published log-perplexities.

    中文：两个已发表的对数困惑度换算成困惑度之后的差。
    """

    def perplexity(activation: str) -> Decimal:
        value = log_perplexity(activation, steps)
        return _WIDE.exp(_WIDE.divide(Decimal(value.numerator), Decimal(value.denominator)))

    return Context(prec=DIGITS).plus(_WIDE.subtract(perplexity(worse), perplexity(better)))
