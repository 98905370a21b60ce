"""Evidence for the chapter on three projections and many heads."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load, model_facts, sharing_facts
from blocklib.facts.registry import evaluate
from blocklib.ledger import cache
from blocklib.nn.attention import MultiHeadAttention, SingleHeadAttention, attention_weights
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.norm import RMSNorm
from blocklib.nn.position import RoPE
from blocklib.nn.tied import SharedQuery
from blocklib.theory import heads
from tests.claims_evidence.support import Case, cases, fails, gap, holds, over


def layer(d: int, n_heads: int, kind: type = MultiHeadAttention, **options) -> MultiHeadAttention:
    """Attention with random weights of unit size, no mask unless asked for, in float64."""
    made = kind(d, n_heads, **{"causal": False, **options}).double()
    for weight in made.parameters():
        nn.init.normal_(weight, 0.0, d**-0.5)
    return made


def bare(x: Tensor) -> Tensor:
    """The weights of attention without projections, ``(B, T, T)``."""
    return attention_weights(x, x)


def preferred_to_self(case: Case, equal: bool) -> float:
    """By how much the most favoured other token outweighs the reader itself, the largest over the readers."""
    x = RMSNorm(case.d, eps=0.0, affine=False)(case.x)
    if not equal:
        x[:, 1] = 2 * x[:, 0]
    weights = bare(x)
    others = weights.masked_fill(torch.eye(case.tokens, dtype=torch.bool), -1.0)
    own = weights.diagonal(dim1=-2, dim2=-1)
    return max(0.0, (others.amax(-1) - own).max().item())


@pytest.mark.claim("bare-attention-reads-itself")
def test_bare_attention_reads_itself():
    holds(over(cases(), preferred_to_self, True), tolerance=0.0)


@pytest.mark.claim("bare-attention-reads-itself", control=True)
def test_bare_attention_reads_itself_control():
    """A neighbour that is longer and points the same way is preferred; so lengths must be equal."""
    fails(over(cases(), preferred_to_self, False))


def beyond_hull(points: Tensor, found: Tensor, directions: int = 256) -> float:
    """How far ``found (…, d)`` reaches beyond the convex hull of ``points (…, n, d)`` in the worst of many directions.

    A point lies in the hull exactly if no direction tells it from all the points at once.
    """
    d = points.shape[-1]
    u = torch.cat([torch.randn(d, directions, dtype=points.dtype), torch.eye(d, dtype=points.dtype)], 1)
    return max(0.0, (found @ u - (points @ u).amax(-2, keepdim=True)).max().item())


def leaves_inputs(case: Case, values: Tensor | None) -> float:
    """How far attention without query and key projections reaches beyond the inputs; values projected or not."""
    v = case.x if values is None else case.x @ values
    return beyond_hull(case.x, bare(case.x) @ v)


@pytest.mark.claim("bare-output-in-hull")
def test_bare_output_in_hull():
    holds(over(cases(), leaves_inputs, None))


@pytest.mark.claim("bare-output-in-hull", control=True)
def test_bare_output_in_hull_control():
    fails([leaves_inputs(case, 3 * torch.randn(case.d, case.d, dtype=torch.float64)) for case in cases()])


def moved(case: Case, changed: tuple[str, ...], shared: bool) -> tuple[float, float]:
    """How much the weights and the values move when the named projections are drawn anew."""
    attention = layer(case.d, 1)
    if shared:
        attention.k = attention.v = attention.q

    def both() -> tuple[Tensor, Tensor]:
        return attention.weights(case.x), attention.v(case.x)

    weights, values = (t.clone() for t in both())
    with torch.no_grad():
        for name in changed:
            nn.init.normal_(getattr(attention, name).weight)
        return tuple(gap(a, b) for a, b in zip(both(), (weights, values), strict=True))


@pytest.mark.claim("roles-are-separate")
def test_roles_are_separate():
    found = [(moved(case, ("v", "o"), False), moved(case, ("q", "k"), False)) for case in cases()]
    holds([by_values[0] for by_values, _ in found], tolerance=0.0)
    holds([by_scores[1] for _, by_scores in found], tolerance=0.0)
    fails([by_values[1] for by_values, _ in found])
    fails([by_scores[0] for _, by_scores in found])


@pytest.mark.claim("roles-are-separate", control=True)
def test_roles_are_separate_control():
    """With one matrix in all three places, a change to it moves the weights and the values together."""
    found = [moved(case, ("q",), True) for case in cases()]
    fails([weights for weights, _ in found])
    fails([values for _, values in found])


def added_rank(seed: int, function) -> float:
    """Independent columns that a map of many token vectors adds to the vectors themselves."""
    torch.manual_seed(seed)
    d = 4 + seed % 5
    x, w = torch.randn(8 * d, d, dtype=torch.float64), torch.randn(d, 2 * d, dtype=torch.float64)
    both = torch.cat([x, function(x @ w)], 1)
    return float(torch.linalg.matrix_rank(both, rtol=1e-9) - torch.linalg.matrix_rank(x, rtol=1e-9))


@pytest.mark.claim("projection-adds-no-information")
def test_projection_adds_no_information():
    holds([added_rank(seed, lambda y: y) for seed in range(8)], tolerance=0.0)


@pytest.mark.claim("projection-adds-no-information", control=True)
def test_projection_adds_no_information_control():
    fails([added_rank(seed, torch.relu) for seed in range(8)], clearly=0.5)


def moved_by_gauge(case: Case, both_sides: bool, rope: bool = False) -> float:
    """How much the output moves when each head's query and value projections are multiplied by invertible matrices,
    which its key and output projections undo, or do not."""
    turn = RoPE(rope_frequencies(4)) if rope else None
    attention = layer(case.d, case.heads, head_dim=4, rope=turn)
    before = attention(case.x)
    with torch.no_grad():
        q, k, v = (p.weight.view(case.heads, 4, case.d) for p in (attention.q, attention.k, attention.v))
        o = attention.o.weight.view(case.d, case.heads, 4)
        for h in range(case.heads):
            g = torch.randn(4, 4, dtype=torch.float64) + 3 * torch.eye(4, dtype=torch.float64)
            inverse = torch.linalg.inv(g)
            q[h] = g @ q[h]
            v[h] = g @ v[h]
            o[:, h] = o[:, h] @ inverse
            if both_sides:
                k[h] = inverse.T @ k[h]
        return gap(attention(case.x), before)


@pytest.mark.claim("only-products-count")
def test_only_products_count():
    holds(over(cases(), moved_by_gauge, True))


@pytest.mark.claim("only-products-count", control=True)
def test_only_products_count_control():
    """Not undone, or with positions turned in between, the change is seen."""
    fails(over(cases(), moved_by_gauge, False))
    fails(over(cases(), moved_by_gauge, True, True))


def head_scores(q: Tensor, k: Tensor) -> Tensor:
    """Scores ``(B, H, T, T)`` of queries and keys ``(B, T, H, D)``."""
    return torch.einsum("bthd,bshd->bhts", q, k)


def alike(case: Case, share_query: bool, share_key: bool) -> float:
    """How far apart the patterns of the first two of four heads are."""
    attention = layer(16, 4, kind=SharedQuery if share_query else MultiHeadAttention, n_kv_heads=1 if share_key else 4)
    weights = attention.weights(torch.randn(2, case.tokens + 2, 16, dtype=torch.float64) * 2)
    return gap(weights[:, 0], weights[:, 1])


def off_transpose(case: Case) -> float:
    """How far the scores of heads that share a query are from the transposes of scores of heads that share a key,
    when the two layers swap their matrices."""
    d, n = case.d, case.heads
    one = torch.randn(d, 1, 4, dtype=torch.float64)
    many = torch.randn(d, n, 4, dtype=torch.float64)
    single, several = (torch.einsum("btd,dhe->bthe", case.x, w) for w in (one.expand(-1, n, -1), many))
    return gap(head_scores(single, several), head_scores(several, single).transpose(-2, -1))


@pytest.mark.claim("shared-query-heads-differ")
def test_shared_query_heads_differ():
    fails(over(cases(), alike, True, False))
    fails(over(cases(), alike, False, True))
    holds(over(cases(), off_transpose))


@pytest.mark.claim("shared-query-heads-differ", control=True)
def test_shared_query_heads_differ_control():
    holds(over(cases(), alike, True, True))


def beyond_rank(seed: int, n_heads: int) -> float:
    """Share of the score matrix's size that lies beyond as many directions as a head is wide, of four heads' width."""
    torch.manual_seed(seed)
    attention, x = layer(16, n_heads), torch.randn(40, 16, dtype=torch.float64)
    q, k = (p(x).unflatten(-1, (n_heads, -1))[:, 0] for p in (attention.q, attention.k))
    sizes = torch.linalg.svdvals(q @ k.T)
    return (sizes[4] / sizes[0]).item()


@pytest.mark.claim("head-rank-is-its-width")
def test_head_rank_is_its_width():
    holds([beyond_rank(seed, 4) for seed in range(8)])


@pytest.mark.claim("head-rank-is-its-width", control=True)
def test_head_rank_is_its_width_control():
    """A single head of the whole width is not bound to four directions."""
    fails([beyond_rank(seed, 1) for seed in range(8)])


@pytest.mark.claim("heads-cost-no-weights")
@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16])
def test_heads_cost_no_weights(n_heads):
    """Counted in a layer that is built, and torch's counter on a pass that is run."""
    tokens, d = 12, 32
    attention = MultiHeadAttention(d, n_heads, causal=False)
    assert sum(p.numel() for p in attention.parameters()) == heads.split_attention_params(d, n_heads) == 4 * d**2
    x = torch.randn(1, tokens, d)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        attention(x)
    assert counter.get_total_flops() == tokens * (8 * d**2 + 4 * tokens * d)
    assert attention.weights(x).numel() == heads.score_count(n_heads, tokens) == n_heads * tokens**2


@pytest.mark.claim("cache-follows-kv-heads")
def test_cache_follows_kv_heads():
    """Bytes of a cache that is filled, at every way to share; and the ledger's bytes of real models."""
    sizes = {}
    for n_kv_heads in (8, 4, 2, 1):
        attention, store = MultiHeadAttention(64, 8, n_kv_heads=n_kv_heads), ContiguousCache()
        attention(torch.randn(1, 10, 64), cache=store)
        sizes[n_kv_heads] = store.nbytes
    assert {n: Fraction(size, sizes[8]) for n, size in sizes.items()} == {n: heads.kv_sharing(8, n) for n in sizes}
    assert heads.kv_sharing(32, 4) == Fraction(1, 8)
    for model in ("llama-3-8b", "llama-2-70b"):
        c = load(model).config
        assert cache.kv_bytes_per_token(c, "bf16") == 2 * c.n_layers * c.n_kv_heads * c.head_dim * 2
        assert c.n_kv_heads < c.n_heads


@pytest.mark.claim("gqa-is-architecture")
def test_gqa_is_architecture():
    """Weights counted in layers that are built without memory: sharing heads leaves smaller matrices."""
    for model in ("llama-2-70b", "llama-3-8b", "mistral-7b"):
        shape = load(model).config
        with torch.device("meta"):
            shared = MultiHeadAttention(shape.d_model, shape.n_heads, shape.n_kv_heads, shape.head_dim)
            whole = MultiHeadAttention(shape.d_model, shape.n_heads, shape.n_heads, shape.head_dim)
        count, full = (sum(p.numel() for p in m.parameters()) for m in (shared, whole))
        assert count == model_facts.model_attention_weights(model) < full
        assert full == sharing_facts.attention_weights_unshared(model)


@pytest.mark.claim("one-head-moves-bleu")
def test_one_head_moves_bleu():
    """Eight significant heads, half of them better gone; the tables agree with each other."""
    changes = [evaluate(f"michel_removal?rank={side}-{i}").value for side in ("worst", "best") for i in range(1, 5)]
    assert len(changes) == evaluate("michel_encoder_heads?which=significant").value == 8
    assert sum(c > 0 for c in changes) == sum(c < 0 for c in changes) == 4
    assert evaluate("michel_encoder_heads?which=all").value == 6 * 16
    assert evaluate("michel_removal?rank=worst-1").value == Fraction("-0.53")


@pytest.mark.claim("most-heads-can-go")
def test_most_heads_can_go():
    every, pruned = (evaluate(f"voita_encoder_heads?which={w}").value for w in ("all", "pruned"))
    assert (every, pruned) == (48, 38)
    assert evaluate("michel_joint_pruning?model=bert-mnli").value < Fraction(pruned, every)


def test_single_head_is_the_layer_with_one_head():
    """The head that is written out for reading and the layer that models are made of are the same function."""
    torch.manual_seed(0)
    one, many = SingleHeadAttention(8).double(), MultiHeadAttention(8, 1).double()
    many.load_state_dict(one.state_dict())
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    assert gap(one(x), many(x)) < 1e-12
