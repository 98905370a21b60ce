"""The size of the residual stream of a pre-norm stack."""

from __future__ import annotations

from blocklib.exact import Exact, depth, root
from blocklib.facts.registry import fact


@fact(
    formula="√(1 + 2 · blocks)",
    tests=(
        "tests/theory/test_stream.py::test_known_values",
        "tests/claims_evidence/test_pre_post_norm.py::test_stream_grows",
    ),
)
def stream_rms(blocks: int) -> Exact:
    """Root mean square of the residual stream after this many pre-norm blocks, when the input and each of the
    two writes per block have unit size and are uncorrelated.

    中文：输入与每块两次写入都是单位大小、互不相关时，经过这么多 pre-norm 块之后残差流的均方根。
    """
    depth("blocks", blocks, 0)
    return root(1 + 2 * blocks)


@fact(
    formula="2 · blocks",
    tests=("tests/theory/test_stream.py::test_known_values",),
)
def residual_writes(blocks: int) -> int:
    """How many times a stack of blocks adds to the residual stream: attention once and FFN once per block.

    中文：一摞块往残差流里写入的次数：每块 attention 一次、FFN 一次。
    """
    depth("blocks", blocks, 0)
    return 2 * blocks
