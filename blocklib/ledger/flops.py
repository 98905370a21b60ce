"""FLOPs of one block, per token, and contexts at which attention costs as much as an FFN.

``forward``, ``decode`` and ``training`` count whole models (:mod:`blocklib.ledger.passes`). Convention: one
multiply-accumulate is two FLOPs; matrix multiplications only (norms, softmax and activations are left out); forward
pass only. ``tokens`` is the number of positions attended to. Scores and the weighted sum of values cost
``2 · tokens · query_width`` each. *Causal average* halves them: over a prompt of T tokens the mean number of visible
positions tends to T/2.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.exact import at_least, plain
from blocklib.facts.registry import fact
from blocklib.ledger import params
from blocklib.ledger.config import Config
from blocklib.ledger.parts import CompressedAttention, GatedDelta, KimiDelta
from blocklib.ledger.passes import (
    Flops,
    Form,
    decode,
    forward,
    index_flops,
    matmul_params,
    per_position,
    training,
)

__all__ = [
    "Flops", "attention_flops", "attention_pieces", "block_matmul_flops", "crossover_tokens_of", "decode",
    "ffn_crossover_tokens", "ffn_crossover_tokens_causal", "ffn_flops", "ffn_flops_of", "forward", "matmul_params",
    "projection_flops", "score_crossover", "score_flops", "solve", "training",
]  # fmt: skip


def projection_flops(config: Config) -> int:
    """Query, key, value and output projections of one full-attention layer, per token."""
    return 2 * params.attention_weights(config)


def score_flops(config: Config, tokens: int) -> int:
    """Scores and weighted sum of one full-attention layer for one query over ``tokens`` positions.

    Raises:
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    return 4 * tokens * config.query_width


def ffn_flops_of(config: Config) -> int:
    """The FFN of one layer, per token."""
    return 2 * params.ffn_weights(config)


def crossover_tokens_of(config: Config) -> int | Fraction:
    """Positions at which one full-attention layer, projections included, costs as many FLOPs as its FFN.

    Negative where the projections alone already cost more than the FFN.
    """
    return plain(Fraction(ffn_flops_of(config) - projection_flops(config), score_flops(config, 1)))


def attention_pieces(config: Config, form: Form = "absorbed") -> tuple[tuple[int | None, Fraction], ...]:
    """FLOPs of scores and values per visible position, of one decoded token: (window or None, FLOPs) pairs.

    Entries that stand for several positions count with their share; cross-attention is left out.
    """
    pieces: dict[int | None, Fraction] = {}
    for layer, times in config.groups.items():
        mixer = layer.mixer
        if not isinstance(mixer, GatedDelta | KimiDelta):
            pieces[mixer.window] = pieces.get(mixer.window, Fraction(0)) + times * sum(per_position(mixer, form))
        if isinstance(mixer, CompressedAttention) and mixer.rate:
            entry = Fraction(4 * mixer.query_width + index_flops(mixer), mixer.rate)
            pieces[None] = pieces.get(None, Fraction(0)) + times * entry
    return tuple(pieces.items())


def score_crossover(config: Config, form: Form = "absorbed") -> Fraction | None:
    """Context at which scores and values of one decoded token cost as much as all FFNs, experts visited included.

    Projections are left out. Averaged over a causal prompt, the crossover is twice as far. None where windows keep
    attention below its FFNs for good, or there is no attention.
    """
    one = forward(config, 1) if config.kind == "encoder" else decode(config, 0, source=0)
    return solve(attention_pieces(config, form), one.ffn + one.experts)


def solve(pieces: tuple[tuple[int | None, Fraction], ...], target: int | Fraction) -> Fraction | None:
    """Where a sum of pieces ``slope · min(T, window)`` reaches ``target``; None where it never does."""
    windows = sorted({window for window, _ in pieces if window is not None})
    for low, high in zip([0, *windows], [*windows, None], strict=True):
        slope = sum((s for w, s in pieces if w is None or w > low), Fraction(0))
        below = sum((s * min(low, w if w is not None else low) for w, s in pieces), Fraction(0))
        if slope > 0 and (high is None or below + slope * (high - low) >= target):
            return low + (Fraction(target) - below) / slope
    return None


@fact(
    unit="FLOP",
    formula="16d²",
    tests=("tests/ledger/test_flops.py::test_block_flops_match_the_flop_counter",),
)
def ffn_flops(d_model: int) -> int:
    """FLOPs of the textbook FFN at this width, forward, per token (a multiply-accumulate is two).

    中文：教科书式 FFN 每 token 前向的 FLOP（一次乘加记两次）。
    """
    at_least("d_model", d_model, 1)
    return ffn_flops_of(params.textbook(d_model))


@fact(
    unit="FLOP",
    formula="8d² + 4 · tokens · d",
    tests=("tests/ledger/test_flops.py::test_block_flops_match_the_flop_counter",),
)
def attention_flops(d_model: int, tokens: int) -> int:
    """FLOPs of textbook attention for one token that attends to this many positions, forward: projections,
    scores and weighted sum (a multiply-accumulate is two).

    中文：教科书式 attention 每 token 前向的 FLOP：投影、打分与加权求和，读这么多个位置（一次乘加记两次）。
    """
    at_least("d_model", d_model, 1)
    config = params.textbook(d_model)
    return projection_flops(config) + score_flops(config, tokens)


@fact(
    unit="FLOP",
    formula="24d²",
    tests=("tests/ledger/test_flops.py::test_block_flops_match_the_flop_counter",),
)
def block_matmul_flops(d_model: int) -> int:
    """FLOPs of a textbook block's weight matrices, forward, per token; attention scores left out.

    中文：教科书式块里权重矩阵每 token 前向的 FLOP；不含 attention 打分。
    """
    return ffn_flops(d_model) + attention_flops(d_model, 0)


@fact(
    formula="(16d² - 8d²) / 4d = 2d",
    tests=(
        "tests/ledger/test_flops.py::test_crossover_is_where_the_costs_meet",
        "tests/claims_evidence/test_block.py::test_ffn_compute_crossover",
    ),
)
def ffn_crossover_tokens(d_model: int) -> int:
    """Positions attended to at which textbook attention costs one token as many FLOPs as the FFN; with fewer the
    FFN costs more.

    中文：读多少个位置时，教科书式 attention 每 token 的 FLOP 与 FFN 相等；少于这个数，FFN 更贵。
    """
    at_least("d_model", d_model, 1)
    return crossover_tokens_of(params.textbook(d_model))


@fact(
    formula="2 · 2d = 4d",
    tests=(
        "tests/ledger/test_flops.py::test_crossover_is_where_the_costs_meet",
        "tests/claims_evidence/test_block.py::test_ffn_compute_crossover",
    ),
)
def ffn_crossover_tokens_causal(d_model: int) -> int:
    """Prompt length at which textbook attention costs a token as many FLOPs as the FFN on average under the
    causal mask, where a token sees half of the prompt.

    中文：因果掩码下取平均，教科书式 attention 与 FFN 的 FLOP 相等时的提示长度；平均每个 token 只看到提示的一半。
    """
    return 2 * ffn_crossover_tokens(d_model)
