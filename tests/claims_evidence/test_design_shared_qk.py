"""Evidence for the chapter on one matrix for queries and keys."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from torch import Tensor, nn

from blocklib.charts.design.position_schemes import scheme_scores
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.norm import PerHeadQKNorm
from blocklib.nn.position import RoPE
from blocklib.nn.scores import DotProduct
from blocklib.nn.tied import TiedQueryKey
from blocklib.theory import freedoms
from tests.claims_evidence.support import Case, cases, fails, gap, holds, over
from tests.theory.test_freedoms import rank_of_jacobian


def layer(case: Case, tied: bool, **options) -> MultiHeadAttention:
    """Attention of the case's shape with random weights, in float64; no mask unless asked for."""
    kind = TiedQueryKey if tied else MultiHeadAttention
    made = kind(case.d, case.heads, **{"causal": False, **options}).double()
    for weight in made.parameters():
        nn.init.normal_(weight, 1.0 * (weight.dim() == 1), 0.5 * case.d**-0.5 if weight.dim() > 1 else 0.3)
    return made


def scores(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """Scores before mask and softmax, ``(B, H, T, T)``."""
    q, k, _ = attention._projected(x, None, None, None)
    return DotProduct().scores(q, k)


def not_a_gram_matrix(case: Case, tied: bool) -> float:
    """How far the scores are from symmetric, or their smallest eigenvalue is below zero, whichever is worse."""
    s = scores(layer(case, tied), case.x)
    lowest = torch.linalg.eigvalsh((s + s.mT) / 2).amin()
    return max(gap(s, s.mT), max(0.0, -lowest.item()))


@pytest.mark.claim("tied-scores-symmetric")
def test_tied_scores_symmetric():
    holds(over(cases(), not_a_gram_matrix, True))


@pytest.mark.claim("tied-scores-symmetric", control=True)
def test_tied_scores_symmetric_control():
    fails(over(cases(), not_a_gram_matrix, False))


def off_antisymmetric_part(case: Case) -> float:
    """How far score minus reversed score is from what the antisymmetric part of the form gives alone."""
    w_q, w_k = torch.randn(2, case.d, 3, dtype=torch.float64)
    a, x = w_q @ w_k.T, case.x[0]
    s = (x @ w_q) @ (x @ w_k).T
    return gap(s - s.T, x @ (a - a.T) @ x.T)


def asymmetry_of(case: Case, mix: Tensor) -> float:
    """Asymmetry of the scores when keys are the queries multiplied by a matrix."""
    q = case.x[0] @ torch.randn(case.d, 3, dtype=torch.float64)
    s = q @ (q @ mix).T
    return gap(s, s.T)


@pytest.mark.claim("symmetry-without-tying")
def test_symmetry_without_tying():
    """Keys that are the queries times any symmetric matrix, minus one among them, keep the scores symmetric."""
    m = torch.randn(3, 3, dtype=torch.float64)
    holds(over(cases(), asymmetry_of, m + m.T))
    holds(over(cases(), asymmetry_of, -torch.eye(3, dtype=torch.float64)))
    holds(over(cases(), off_antisymmetric_part))


@pytest.mark.claim("symmetry-without-tying", control=True)
def test_symmetry_without_tying_control():
    m = torch.randn(3, 3, dtype=torch.float64)
    fails(over(cases(), asymmetry_of, m - m.T))


def mutual_preference(case: Case, opposite: bool) -> float:
    """By how much two tokens score each other above what each of them scores itself, the largest over the pairs."""
    x = case.x.clone()
    x[:, 1] = -x[:, 0]
    attention = layer(case, True)
    s = scores(attention, x) * (-1 if opposite else 1)
    own = s.diagonal(dim1=-2, dim2=-1)
    best = torch.maximum(own[..., :, None], own[..., None, :])
    return max(0.0, (torch.minimum(s, s.mT) - best).max().item())


@pytest.mark.claim("no-mutual-preference")
def test_no_mutual_preference():
    holds(over(cases(), mutual_preference, False))


@pytest.mark.claim("no-mutual-preference", control=True)
def test_no_mutual_preference_control():
    """Keys that are minus the queries have symmetric scores too, but no such bound."""
    fails(over(cases(), mutual_preference, True))


def stationary(p: Tensor) -> Tensor:
    """The distribution that a chain with positive transition matrix ``(T, T)`` leaves as it is, found by elimination."""
    n = len(p)
    system = torch.cat([p.T - torch.eye(n, dtype=p.dtype), torch.ones(1, n, dtype=p.dtype)])
    target = torch.zeros(n + 1, 1, dtype=p.dtype)
    target[-1] = 1
    return torch.linalg.lstsq(system, target).solution[:, 0]


def not_reversible(case: Case, tied: bool) -> tuple[float, float, float]:
    """How far flows between two tokens differ, how far round trips differ by direction, how far eigenvalues are from
    real; the worst over the heads. With one matrix the first also holds the distribution against the row sums."""
    x = torch.randn(1, case.tokens + 2, case.d, dtype=torch.float64)
    attention = layer(case, tied)
    s, weights = scores(attention, x)[0], attention.weights(x)[0]
    flows, round_trips, unreal = 0.0, 0.0, 0.0
    for score, p in zip(s, weights, strict=True):
        pi = stationary(p)
        flow = pi[:, None] * p
        trips = [((p[i, j] * p[j, k] * p[k, i]).log() - (p[i, k] * p[k, j] * p[j, i]).log()).abs().item()
                 for i, j, k in permutations(range(len(p)), 3)]  # fmt: skip
        flows, round_trips = max(flows, gap(flow, flow.T)), max(round_trips, *trips)
        unreal = max(unreal, torch.linalg.eigvals(p).imag.abs().max().item())
        if tied:
            z = score.exp().sum(-1)
            flows = max(flows, gap(pi, z / z.sum()))
    return flows, round_trips, unreal


@pytest.mark.claim("tied-attention-reversible")
def test_tied_attention_reversible():
    holds([max(found) for found in over(cases(), not_reversible, True)], tolerance=1e-7)


@pytest.mark.claim("tied-attention-reversible", control=True)
def test_tied_attention_reversible_control():
    """With two matrices flows and round trips differ in every case, and some eigenvalues are complex."""
    flows, round_trips, unreal = zip(*over(cases(), not_reversible, False), strict=True)
    fails(list(flows), clearly=1e-3)
    fails(list(round_trips))
    assert max(unreal) > 1e-3


def weights_asymmetry(case: Case) -> float:
    p = layer(case, True).weights(case.x * 2)
    return gap(p, p.mT)


def test_tied_weights_are_not_symmetric():
    fails(over(cases(), weights_asymmetry), clearly=1e-3)


def pair_differs(case: Case, tied: bool, scheme: str) -> float:
    """How far apart the score that the later of two neighbouring words gives the earlier one is in two sentences,
    ``a b c`` and ``c b a``."""
    torch.manual_seed(case.d)
    words = torch.randn(3, 8, dtype=torch.float64)
    there = scheme_scores(scheme, words, tied, seed=case.tokens)
    back = scheme_scores(scheme, words.flip(0), tied, seed=case.tokens)
    return abs((there[1, 0] - back[2, 1]).item())


@pytest.mark.claim("pair-score-ignores-order")
def test_pair_score_ignores_order():
    holds(over(cases(), pair_differs, True, "none"))


@pytest.mark.claim("pair-score-ignores-order", control=True)
def test_pair_score_ignores_order_control():
    """Two matrices tell the sentences apart, and so do positions with one matrix."""
    fails(over(cases(), pair_differs, False, "none"), clearly=1e-3)
    for scheme in ("sinusoidal", "learned", "rope"):
        fails(over(cases(), pair_differs, True, scheme), clearly=1e-4)


def words_move(case: Case, causal: bool) -> tuple[float, float]:
    """How much the output differs between ``a b c`` and ``c b a`` at the middle word, and at most over the three words;
    tied, no positions."""
    words = torch.randn(1, 3, case.d, dtype=torch.float64)
    attention = layer(case, True, causal=causal)
    there, back = attention(words), attention(words.flip(1)).flip(1)
    return gap(there[:, 1], back[:, 1]), gap(there, back)


@pytest.mark.claim("mask-tells-order")
def test_mask_tells_order():
    fails([middle for middle, _ in over(cases(), words_move, True)])


@pytest.mark.claim("mask-tells-order", control=True)
def test_mask_tells_order_control():
    """Without mask and positions every word reads the same set in both sentences."""
    holds([largest for _, largest in over(cases(), words_move, False)])


KEEP = ("none", "learned", "sinusoidal", "rope", "alibi")
BREAK = ("t5", "shaw", "xpos")


def asymmetry(case: Case, scheme: str, tied: bool = True) -> float:
    """Asymmetry of the scores of random tokens under a position scheme."""
    s = scheme_scores(scheme, torch.randn(case.tokens + 1, 8, dtype=torch.float64), tied, seed=case.d)
    return gap(s, s.T)


@pytest.mark.claim("positions-keep-symmetry")
@pytest.mark.parametrize("scheme", KEEP)
def test_positions_keep_symmetry(scheme):
    holds(over(cases(), asymmetry, scheme))


@pytest.mark.claim("positions-keep-symmetry", control=True)
@pytest.mark.parametrize("scheme", BREAK)
def test_positions_keep_symmetry_control(scheme):
    """Schemes that tell before from after break it."""
    fails(over(cases(), asymmetry, scheme), clearly=1e-3)


def qk_normed_asymmetry(case: Case, tied: bool, shared_gains: bool, rope: bool) -> float:
    """Asymmetry of the scores when queries and keys are normed per head, and turned by position or not."""
    turn = RoPE(rope_frequencies(4)) if rope else None
    attention = layer(case, tied, qk_norm=PerHeadQKNorm(case.d // case.heads), rope=turn)
    if shared_gains:
        attention.qk_norm.k = attention.qk_norm.q
    s = scores(attention, case.x)
    return gap(s, s.mT)


def test_qk_norm_leaves_the_symmetry():
    """With shared gains, turned or not; with gains of their own as long as nothing is turned behind the norm."""
    for shared_gains, rope in ((True, True), (True, False), (False, False)):
        holds(over(cases(), qk_normed_asymmetry, True, shared_gains, rope))
        fails(over(cases(), qk_normed_asymmetry, False, shared_gains, rope))


def test_qk_norm_with_gains_of_its_own_and_rope_breaks_the_symmetry():
    fails(over(cases(), qk_normed_asymmetry, True, False, True), clearly=1e-3)


def off_offsets(case: Case, tied: bool) -> float:
    """How far score minus reversed score, under T5's two-sided bias, is from a function of the offset alone: it must
    be constant along diagonals, and the same for other tokens."""

    def difference() -> Tensor:
        s = scheme_scores("t5", torch.randn(6, 8, dtype=torch.float64), tied, seed=case.d)
        return s - s.T

    first, second = difference(), difference()
    along = max(gap(first.diagonal(k)[1:], first.diagonal(k)[:-1]) for k in range(1, 5))
    return max(along, gap(first, second))


@pytest.mark.claim("bias-knows-no-words")
def test_bias_knows_no_words():
    holds(over(cases(), off_offsets, True))


@pytest.mark.claim("bias-knows-no-words", control=True)
def test_bias_knows_no_words_control():
    fails(over(cases(), off_offsets, False))


@pytest.mark.claim("freedoms-of-a-head")
@pytest.mark.parametrize(("d", "r"), [(3, 1), (5, 2), (6, 6), (8, 4), (10, 3)])
def test_freedoms_of_a_head(d, r):
    separate = rank_of_jacobian(lambda q, k: q @ k.T, (d, r), (d, r))
    tied = rank_of_jacobian(lambda w: w @ w.T, (d, r))
    assert (separate, tied) == (freedoms.score_freedoms(d, r), freedoms.tied_score_freedoms(d, r))
    assert 2 * separate - 2 * tied == 2 * d * r - r * (r + 1)


@pytest.mark.claim("tying-saves-a-quarter")
def test_tying_saves_a_quarter():
    def weights(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    for d in (16, 64):
        whole, tied, ffn = weights(MultiHeadAttention(d, 4)), weights(TiedQueryKey(d, 4)), weights(FeedForward(d))
        assert (whole - tied) / whole == 1 / 4 and (whole - tied) / (whole + ffn) == 1 / 12
