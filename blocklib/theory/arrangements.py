"""Stacks written as their sublayers in order: what they hold, write, cache and compute.

``A`` is attention of the textbook (four square matrices, 4d² weights, every head with its own keys and values), ``F`` a
textbook FFN (8d²), ``f`` one half as wide (4d²); ``P`` is attention and an FFN side by side, one step and one write.
Weights of matrices only; FLOPs forward, for one token that sees a given number of positions, a multiply-accumulate as
two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from blocklib.exact import DomainError, at_least, depth, plain
from blocklib.facts.registry import fact

WEIGHTS = {"A": 4, "F": 8, "f": 4, "P": 12}  # in units of d²


@dataclass(frozen=True)
class Stack:
    """A layout and what follows from it.

    Attributes:
        layout: sublayers in order, of ``A``, ``F``, ``f`` and ``P``.

    Raises:
        DomainError: the layout is empty or has another letter.
    """

    layout: str

    def __post_init__(self) -> None:
        if not self.layout or set(self.layout) - set(WEIGHTS):
            raise DomainError(f"a layout is made of {', '.join(WEIGHTS)}, found {self.layout!r}")

    @property
    def attentions(self) -> int:
        """Attention sublayers."""
        return sum(letter in "AP" for letter in self.layout)

    @property
    def ffns(self) -> int:
        """FFNs, half ones included."""
        return sum(letter in "FfP" for letter in self.layout)

    @property
    def steps(self) -> int:
        """Sublayers that have to wait for one another, and so writes to the stream."""
        return len(self.layout)

    @property
    def weights(self) -> int:
        """Matrix weights in units of d²."""
        return sum(WEIGHTS[letter] for letter in self.layout)

    @property
    def complete(self) -> bool:
        """Whether there is at least one of each kind."""
        return self.attentions > 0 and self.ffns > 0

    def weight_flops(self, d_model: int) -> int:
        """FLOPs of one token in the matrices."""
        at_least("d_model", d_model, 1)
        return 2 * self.weights * d_model**2

    def score_flops(self, d_model: int, tokens: int) -> int:
        """FLOPs of one token that sees ``tokens`` positions, in scores and weighted sums."""
        at_least("d_model", d_model, 1)
        at_least("tokens", tokens, 1)
        return 4 * tokens * d_model * self.attentions

    def cache_elements(self, d_model: int) -> int:
        """Elements that each token adds to the key-value cache."""
        at_least("d_model", d_model, 1)
        return 2 * d_model * self.attentions


# Layouts of equal weights, 240·d²: twenty textbook blocks, and what else the same budget buys.
BUDGET = 240
EQUAL = {
    "one-to-one": "AF" * 20,
    "two-attentions": "AAF" * 15,
    "two-ffns": "AFF" * 12,
    "macaron": "fAf" * 20,
    "sandwich": "A" * 6 + "AF" * 14 + "F" * 6,
    "parallel": "P" * 20,
    "attention-only": "A" * 60,
    "ffn-only": "F" * 30,
}


@fact(formula="blocks · sublayers", tests=("tests/theory/test_arrangements.py::test_writes_by_walking_a_stack",))
def stack_writes(blocks: int, sublayers: int) -> int:
    """Writes to the residual stream in a stack whose blocks have this many sublayers, each with a residual of its own.

    中文：每块有这么多子层、各带一次残差相加时，整摞块向残差流写入的次数。
    """
    depth("blocks", blocks, 0)
    at_least("sublayers", sublayers, 1)
    return blocks * sublayers


@fact(
    formula="(ffns · matrices · d · d_ff) / (attentions · 4d²)",
    tests=("tests/theory/test_arrangements.py::test_ratio_by_counting",),
)
def unit_ratio(attentions: int, ffns: int, kind: Literal["plain", "narrowed", "gated"]) -> (
    int | Fraction
):  # fmt: skip
    """FFN weights over attention weights in a unit of so many sublayers of each kind, textbook attention (4d²): FFNs with
    two matrices at 4d (plain), three at 8d/3 (narrowed), or three at 4d (gated).

    中文：一个单元里各有这么多个子层时，FFN 与 attention 的权重之比；attention 按教科书的 4d² 计，FFN 分别是两个矩阵取 4d（plain）、三个矩阵取 8d/3（narrowed）、
    三个矩阵取 4d（gated）。
    """
    at_least("attentions", attentions, 1)
    at_least("ffns", ffns, 0)
    one = {"plain": 8, "narrowed": 8, "gated": 12}[kind]
    return plain(Fraction(ffns * one, 4 * attentions))
