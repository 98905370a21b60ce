"""Gradients through a chain of layers, with and without residual connections and norms.

The model is scalar: every branch scales the gradient by ``gain``, every norm by ``norm_factor``. A product over
layers is then exact; what real layers do differs in direction as well as size, which the pages say.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import DomainError, Exact, depth, fraction, plain, root
from blocklib.facts.registry import fact


@fact(
    formula="gain^layers",
    tests=(
        "tests/theory/test_residual.py::test_chains_match_layer_by_layer_products",
        "tests/claims_evidence/test_residuals.py::test_bare_chain_shrinks",
    ),
)
def bare_gradient(gain: Fraction, layers: int) -> int | Fraction:
    """Share of the gradient that reaches the first layer of a chain without residual connections, when every
    layer scales it by the same gain.

    中文：没有残差的链条里，每层把梯度乘上同一个增益，传到第一层还剩的比例。
    """
    return _power(fraction(gain), layers)


@fact(
    formula="(1 + gain)^layers",
    tests=(
        "tests/theory/test_residual.py::test_chains_match_layer_by_layer_products",
        "tests/claims_evidence/test_residuals.py::test_whole_product_grows",
    ),
)
def residual_gradient(gain: Fraction, layers: int) -> int | Fraction:
    """The whole product for a chain of residual layers: identity path and all branches together.

    中文：残差链条的整个连乘：恒等路径与全部支路合在一起。
    """
    return _power(1 + fraction(gain), layers)


@fact(
    formula="(skip + gain)^layers",
    tests=("tests/theory/test_residual.py::test_a_scaled_skip_is_a_knob",),
)
def scaled_skip_gradient(skip: Fraction, gain: Fraction, layers: int) -> int | Fraction:
    """The whole product when the skip connection carries this factor: zero gives the bare chain, one the
    residual chain.

    中文：捷径带一个系数时的整个连乘：系数为零就是裸链条，为一就是残差链条。
    """
    return _power(fraction(skip) + fraction(gain), layers)


@fact(
    formula="0.5^(1/layers)",
    tests=("tests/theory/test_residual.py::test_half_gain_leaves_one_half",),
)
def bare_half_gain(layers: int) -> Exact:
    """The gain per layer at which a chain without residual connections keeps exactly half of its gradient;
    below it most is lost.

    中文：每层的增益取这个值，裸链条恰好剩下一半梯度；再低，就丢掉大半。
    """
    depth("layers", layers, 1)
    return root(Fraction(1, 2), layers)


@fact(
    formula="(norm_factor · (1 + gain))^layers",
    tests=(
        "tests/theory/test_residual.py::test_norm_chains_match_layer_by_layer_products",
        "tests/claims_evidence/test_pre_post_norm.py::test_post_norm_scales_skip",
    ),
)
def post_norm_gradient(norm_factor: Fraction, gain: Fraction, layers: int) -> int | Fraction:
    """The whole product for post-norm layers: the norm stands after the sum, so it scales skip and branch alike.

    中文：post-norm 链条的整个连乘：归一化在求和之后，捷径与支路都被它缩放。
    """
    return _power(fraction(norm_factor) * (1 + fraction(gain)), layers)


@fact(
    formula="(1 + norm_factor · gain)^layers",
    tests=(
        "tests/theory/test_residual.py::test_norm_chains_match_layer_by_layer_products",
        "tests/claims_evidence/test_pre_post_norm.py::test_pre_norm_identity_path",
    ),
)
def pre_norm_gradient(norm_factor: Fraction, gain: Fraction, layers: int) -> int | Fraction:
    """The whole product for pre-norm layers: the norm stands inside the branch and leaves the skip alone.

    中文：pre-norm 链条的整个连乘：归一化在支路里面，不碰捷径。
    """
    return _power(1 + fraction(norm_factor) * fraction(gain), layers)


@fact(
    formula="norm_factor^layers",
    tests=("tests/theory/test_residual.py::test_identity_shares",),
)
def post_norm_identity(norm_factor: Fraction, layers: int) -> int | Fraction:
    """What is left of the identity path of a post-norm chain: the norm's factor once per layer.

    中文：post-norm 链条里恒等路径剩下的份额：每层乘一次归一化的因子。
    """
    return _power(fraction(norm_factor), layers)


@fact(
    formula="1 / norm_factor - 1",
    tests=("tests/theory/test_residual.py::test_cancelling_gain_keeps_the_product_at_one",),
)
def cancelling_gain(norm_factor: Fraction) -> int | Fraction:
    """The branch gain at which a post-norm chain neither shrinks nor grows: the branch makes up for the norm.

    中文：支路的增益取这个值，post-norm 链条既不缩也不涨：支路恰好补上归一化收走的部分。

    Raises:
        DomainError: ``norm_factor`` is not positive.
    """
    exact = fraction(norm_factor)
    if exact <= 0:
        raise DomainError(f"norm_factor must be above zero, found {norm_factor}")
    return plain(1 / exact - 1)


@fact(
    formula="√(1/2)",
    tests=("tests/theory/test_residual.py::test_norm_factor_of_unit_writes",),
)
def unit_write_norm_factor() -> Exact:
    """Factor of one post-norm when stream and branch are uncorrelated and both of unit size: the sum has variance
    two, so the norm divides by the root of two.

    中文：残差流与支路都是单位大小且不相关时，一次 post-norm 的因子：和的方差是二，归一化除以根号二。
    """
    return root(Fraction(1, 2))


@fact(
    formula="(√(1/2))^(2 · blocks) = 2^-blocks",
    tests=("tests/theory/test_residual.py::test_norm_factor_of_unit_writes",),
)
def post_norm_identity_blocks(blocks: int) -> int | Fraction:
    """What is left of the identity path of a post-norm stack at initialisation, when stream and writes are
    uncorrelated and of unit size: two norms per block, each dividing by the root of two.

    中文：初始化时 post-norm 整摞块的恒等路径剩下的份额，支路写入与残差流都是单位大小且不相关：每块两次归一化，各除以根号二。
    """
    depth("blocks", blocks, 0)
    return plain(Fraction(1, 2) ** blocks)


@fact(
    formula="1 / sd",
    tests=(
        "tests/theory/test_residual.py::test_identity_shares",
        "tests/claims_evidence/test_pre_post_norm.py::test_layernorm_jacobian",
    ),
)
def layernorm_gain(sd: Fraction) -> int | Fraction:
    """Factor by which LayerNorm (gain one, epsilon zero) scales a gradient orthogonal to the all-ones direction
    and to its own output, for an input of this population standard deviation.

    中文：LayerNorm（增益为一、ε 为零）把梯度放大或缩小到几倍，由输入的总体标准差决定；限于与全一方向及自身输出都正交的梯度。

    Raises:
        DomainError: ``sd`` is not positive.
    """
    exact = fraction(sd)
    if exact <= 0:
        raise DomainError(f"sd must be above zero, found {sd}")
    return plain(1 / exact)


def _power(base: Fraction, layers: int) -> int | Fraction:
    depth("layers", layers, 0)
    return plain(base**layers)
