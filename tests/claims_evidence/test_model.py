"""Evidence for the page on the whole model."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.atlas import load, model_facts
from blocklib.nn.attention import MultiHeadAttention, attention_weights, causal_mask
from blocklib.nn.model import DecoderLM
from blocklib.theory import masks
from tests.claims_evidence.support import Case, block, cases, fails, gap, holds, over

VOCAB = 13


def moved_by_the_future(case: Case, causal: bool) -> float:
    """How much the logits of a prefix move when every later token is replaced, the largest over all prefixes."""
    model = DecoderLM(VOCAB, case.d, [block(case, causal=causal) for _ in range(2)], positions=case.tokens).double()
    ids = torch.randint(VOCAB, (1, case.tokens))
    logits, worst = model(ids), 0.0
    for length in range(1, case.tokens):
        changed = ids.clone()
        changed[:, length:] = (ids[:, length:] + 1 + torch.randint(VOCAB - 1, (1, case.tokens - length))) % VOCAB
        worst = max(worst, gap(model(changed)[:, :length], logits[:, :length]))
        worst = max(worst, gap(model(ids[:, :length]), logits[:, :length]))
    return worst


@pytest.mark.claim("causal-prefix")
def test_causal_prefix():
    holds(over(cases(), moved_by_the_future, True))


@pytest.mark.claim("causal-prefix", control=True)
def test_causal_prefix_control():
    fails(over(cases(), moved_by_the_future, False))


@pytest.mark.claim("causal-cells")
@pytest.mark.parametrize("positions", [1, 2, 6, 17, 64])
def test_causal_cells(positions):
    """The cells that carry weight in the pattern of a real attention layer, counted."""
    attention = MultiHeadAttention(8, 1).double()
    pattern = attention.weights(torch.randn(1, positions, 8, dtype=torch.float64))[0, 0]
    opened = pattern > 0
    assert opened.sum().item() == masks.causal_cells(positions) == causal_mask(positions, positions).sum().item()
    assert opened.sum(1).tolist() == [masks.visible_positions(i) for i in range(positions)]
    assert opened.numel() == masks.grid_cells(positions)


@pytest.mark.claim("tied-head")
@pytest.mark.parametrize("model", ["gpt2-small", "llama-3-8b", "qwen3.8-27b"])
def test_tied_head(model):
    """The embedding and head of the published shape, built both ways: parameters differ, head FLOPs do not."""
    c = load(model).config
    parameters, flops = {}, {}
    for tied in (True, False):
        with torch.device("meta"):
            lm = DecoderLM(c.vocab_size, c.d_model, [], tied=tied)
            ids = torch.zeros(1, 2, dtype=torch.long)
        parameters[tied] = sum(p.numel() for p in lm.parameters())
        with FlopCounterMode(display=False) as counter:
            lm(ids)
        flops[tied] = counter.get_total_flops()
    assert parameters[False] - parameters[True] == c.vocab_size * c.d_model == model_facts.tied_saving(model)
    assert flops[True] == flops[False] == 2 * 2 * c.vocab_size * c.d_model


class Tally(nn.Module):
    """Counts the rows that pass through a projection."""

    def __init__(self, projection: nn.Linear):
        super().__init__()
        self.projection, self.rows = projection, 0

    def forward(self, x):
        self.rows += x.shape[1]
        return self.projection(x)


@pytest.mark.claim("cache-trades-reads-for-recompute")
@pytest.mark.parametrize("tokens", [1, 2, 9, 20])
def test_cache_trades_reads_for_recompute(tokens):
    """One attention layer generates with and without a cache; rows computed and rows read are counted."""
    attention = MultiHeadAttention(8, 1).double()
    attention.k = tally = Tally(attention.k)
    x = torch.randn(1, tokens, 8, dtype=torch.float64)

    without = [attention(x[:, : t + 1])[:, -1] for t in range(tokens)]
    computed_without = tally.rows
    cells = sum(causal_mask(t + 1, t + 1).sum().item() for t in range(tokens))

    tally.rows, reads, with_cache = 0, 0, []
    keys, values = [], []
    for t in range(tokens):
        now = x[:, t : t + 1]
        keys.append(attention.k(now))
        values.append(attention.v(now))
        k, v = torch.cat(keys, 1), torch.cat(values, 1)
        reads += k.shape[1]
        with_cache.append(attention.o(attention_weights(attention.q(now), k) @ v)[:, -1])
    assert gap(torch.stack(without), torch.stack(with_cache)) < 1e-12
    assert tally.rows == tokens and computed_without == masks.recomputed_positions(tokens)
    assert computed_without == masks.recompute_factor(tokens) * tally.rows
    assert reads == masks.generation_reads(tokens) and cells == masks.uncached_score_cells(tokens)
