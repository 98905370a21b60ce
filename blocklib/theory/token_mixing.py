"""Weights of ways to let positions meet that are not attention: a matrix over positions, and one over everything.

Counts are of weight matrices only, no biases.
"""

from __future__ import annotations

from blocklib.exact import at_least
from blocklib.facts.registry import fact


@fact(
    formula="2 · expansion · tokens²",
    tests=(
        "tests/theory/test_token_mixing.py::test_counts_against_layers",
        "tests/claims_evidence/test_design_why_ffn.py::test_stored_mixing_grows_with_length",
    ),
)
def token_mixing_weights(tokens: int, expansion: int) -> int:
    """Weights of a token-mixing MLP (two matrices across positions, the same for every channel) for texts of this many
    tokens, when its inner width is this many times the number of tokens.

    中文：跨位置的 MLP（两个矩阵，所有通道共用）的权重数：文本长这么多 token，内部宽度是 token 数的这么多倍。
    """
    at_least("tokens", tokens, 1)
    at_least("expansion", expansion, 1)
    return 2 * expansion * tokens**2


@fact(
    formula="8 · (tokens · d_model)²",
    tests=(
        "tests/theory/test_token_mixing.py::test_counts_against_layers",
        "tests/claims_evidence/test_design_why_ffn.py::test_flat_map_pays_for_every_pair",
    ),
)
def flat_map_weights(tokens: int, d_model: int) -> int:
    """Weights of one textbook FFN over a whole text laid out as a single vector: every component of every position may
    meet every other.

    中文：把整段文本铺成一个向量，用一个教科书 FFN 处理它所需的权重数：任何位置的任何分量都能相遇。
    """
    at_least("tokens", tokens, 1)
    at_least("d_model", d_model, 1)
    return 8 * (tokens * d_model) ** 2
