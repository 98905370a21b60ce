"""DeepNet's two constants for very deep post-norm stacks (Wang et al. 2022): neither is learned.

The residual becomes LN(alpha · x + G(x)): alpha is a factor on the skip. Beta scales the initial weights of the FFN,
of the values and of the output matrix. For a stack that is an encoder or a decoder alone.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import Exact, depth, quotient, root
from blocklib.facts.registry import fact


@fact(formula="(2 · blocks)^(1/4)", grade="cited", origin="wang2022, summary table",
      tests=("tests/theory/test_deepnet.py::test_constants_power_back",))  # fmt: skip
def deepnet_alpha(blocks: int) -> Exact:
    """DeepNet's factor on the skip connection of every sublayer, for an encoder or decoder of this many blocks.

    中文：DeepNet 乘在每个子层捷径上的系数；适用于只有编码器或只有解码器的一摞块。
    """
    depth("blocks", blocks, 1)
    return root(2 * blocks, 4)


@fact(formula="(8 · blocks)^(-1/4)", grade="cited", origin="wang2022, summary table",
      tests=("tests/theory/test_deepnet.py::test_constants_power_back",))  # fmt: skip
def deepnet_beta(blocks: int) -> Exact:
    """DeepNet's factor on the initial weights of the FFN, the values and the output matrix, for an encoder or decoder of
    this many blocks.

    中文：DeepNet 乘在 FFN、value 与输出矩阵初始权重上的系数；适用于只有编码器或只有解码器的一摞块。
    """
    depth("blocks", blocks, 1)
    return quotient(Fraction(1), root(8 * blocks, 4))
