"""What widening buys between two matrices: hinges. Counts of pieces and of weights."""

from __future__ import annotations

from math import comb

from blocklib.exact import DomainError, at_least
from blocklib.facts.registry import fact

MOST = 4096  # neurons and inputs: beyond it the exact count has too many digits to be of use


@fact(
    formula="C(neurons, 0) + C(neurons, 1) + … + C(neurons, inputs)",
    tests=(
        "tests/theory/test_hinges.py::test_regions_against_patterns_found",
        "tests/claims_evidence/test_design_ffn_geometry.py::test_hinges_cut_regions",
    ),
)
def linear_regions(neurons: int, inputs: int) -> int:
    """Most pieces into which the hinges of one layer of ReLU neurons can cut a space of this many inputs; reached when
    they lie in general position. On each piece the layer is affine.

    中文：一层 ReLU 神经元的折线最多能把这么多维的输入空间切成几块；一般位置时取到。每一块上这一层都是仿射函数。

    Raises:
        DomainError: a count is negative, or too large for the sum to be written out.
    """
    at_least("neurons", neurons, 0)
    at_least("inputs", inputs, 0)
    if max(neurons, inputs) > MOST:
        raise DomainError(f"neurons and inputs must be at most {MOST:,}, found {neurons:,} and {inputs:,}")
    return sum(comb(neurons, k) for k in range(inputs + 1))


@fact(
    formula="d_model²",
    tests=(
        "tests/theory/test_hinges.py::test_weight_counts_against_layers",
        "tests/claims_evidence/test_design_ffn_geometry.py::test_no_activation_collapses",
    ),
)
def collapsed_weights(d_model: int) -> int:
    """Weights of the single matrix that an FFN without an activation is equal to.

    中文：去掉激活函数之后，FFN 等于一个矩阵；这个矩阵的权重数。
    """
    at_least("d_model", d_model, 1)
    return d_model**2


@fact(formula="8 · d_model² + 5 · d_model", tests=("tests/theory/test_hinges.py::test_weight_counts_against_layers",))
def ffn_params_with_biases(d_model: int) -> int:
    """Parameters of the textbook FFN with the biases of both matrices.

    中文：教科书 FFN 的参数数，含两个矩阵的偏置。
    """
    at_least("d_model", d_model, 1)
    return 8 * d_model**2 + 5 * d_model
