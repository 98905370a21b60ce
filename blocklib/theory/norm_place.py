"""Sizes with and without norms, and what a post-norm sublayer does to a gradient.

The model: the stream and what a sublayer writes are uncorrelated, forwards and backwards, so their mean squares add.
``write`` is the size of the write over that of the stream it is added to; ``gain`` is what the branch multiplies the
size of a gradient by on its way back. A linear branch has one number for both.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import Exact, at_least, depth, fraction, plain, quotient, root
from blocklib.facts.registry import fact


@fact(
    formula="(√2)^(2 · blocks) = 2^blocks",
    tests=(
        "tests/theory/test_norm_place.py::test_streams_match_random_stacks",
        "tests/claims_evidence/test_design_normalization.py::test_norms_turn_growth_additive",
    ),
)
def unnormed_stream_rms(blocks: int) -> int:
    """Root mean square of the stream after this many blocks without norms, when each of the two writes per block is as
    large as the stream it is added to and uncorrelated with it; the input has unit size.

    中文：没有归一化、每次写入都和当时的残差流一样大且不相关时，经过这么多块之后残差流的均方根；输入是单位大小。
    """
    depth("blocks", blocks, 0)
    return 2**blocks


@fact(
    formula="1 / (1 + 2 · blocks)",
    tests=(
        "tests/theory/test_norm_place.py::test_embedding_share_by_adding_writes",
        "tests/claims_evidence/test_design_normalization.py::test_embedding_fades_in_stream",
    ),
)
def embedding_variance_share(blocks: int) -> int | Fraction:
    """Share of the stream's variance that is still the embedding after this many plain pre-norm blocks, when the
    embedding and every write have unit size and are uncorrelated.

    中文：embedding 与每次写入都是单位大小且互不相关时，经过这么多个普通的 pre-norm 块，embedding 还占残差流方差的比例。
    """
    depth("blocks", blocks, 0)
    return plain(Fraction(1, 1 + 2 * blocks))


@fact(
    formula="1 / √(1 + write²)",
    tests=("tests/theory/test_norm_place.py::test_norm_factor_on_a_sum",),
)
def write_norm_factor(write: Fraction) -> Exact:
    """Factor that a post-norm multiplies the skip by, when what is added to a unit stream has this size.

    中文：往单位大小的残差流里加上这么大的一份写入之后，post-norm 给捷径乘上的因子。
    """
    at_least("write", fraction(write), 0)
    return quotient(1, root(1 + fraction(write) ** 2))


@fact(
    formula="(1 / √(1 + write²))^layers",
    tests=("tests/theory/test_norm_place.py::test_post_norm_gradient_matches_random_stacks",),
)
def post_norm_skip_share(write: Fraction, layers: int) -> Exact:
    """What is left of the identity path after this many post-norm sublayers that each write this much.

    中文：经过这么多个 post-norm 子层、每个写入这么大，恒等路径剩下的份额。
    """
    depth("layers", layers, 0)
    return root(Fraction(1) / (1 + fraction(write) ** 2) ** layers)


@fact(
    formula="((1 + gain²) / (1 + write²))^(layers / 2)",
    tests=(
        "tests/theory/test_norm_place.py::test_post_norm_gradient_matches_random_stacks",
        "tests/claims_evidence/test_design_normalization.py::test_post_norm_balances_when_gains_agree",
    ),
)
def post_norm_total(write: Fraction, gain: Fraction, layers: int) -> Exact:
    """Size of the gradient at the first of this many post-norm sublayers over that at the last.

    One when branches hand back what they write; below one when they hand back less, above one when more.

    中文：梯度在第一个 post-norm 子层处的大小与最后一个之比：支路写多少就传回多少时是一，传回得少就小于一，多就大于一。
    """
    depth("layers", layers, 0)
    at_least("write", fraction(write), 0)
    at_least("gain", fraction(gain), 0)
    return root(((1 + fraction(gain) ** 2) / (1 + fraction(write) ** 2)) ** layers)
