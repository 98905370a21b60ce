"""FLOPs of whole passes against torch's own counter on modules that run, and against counting positions one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from blocklib.exact import DomainError
from blocklib.ledger import flops
from blocklib.ledger.config import Config, ConfigError, Layer, Linear, uniform
from blocklib.ledger.parts import FFN, Attention, CompressedAttention, GatedDelta, KimiDelta, LatentAttention, MoE
from blocklib.nn.attention import GatedAttention, MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward, Gated, GatedFeedForward
from blocklib.nn.mla import MultiHeadLatentAttention
from blocklib.nn.model import DecoderLM
from blocklib.nn.moe import Experts, SoftmaxThenTopK
from blocklib.nn.moe import MoE as Mixture
from blocklib.nn.norm import RMSNorm


def counted(run) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


# d_model, heads, key/value heads, head_dim, FFN, d_ff, layers, gate
SHAPES = [
    (8, 2, 2, 4, "gelu", 32, 1, False), (16, 4, 2, 4, "swiglu", 40, 2, False), (24, 3, 1, 8, "relu", 96, 1, False),
    (32, 4, 4, 16, "geglu", 24, 3, False), (16, 4, 2, 8, "swiglu", 48, 2, True), (20, 5, 5, 4, "relu2", 20, 2, False),
    (12, 6, 3, 2, "reglu", 30, 1, False), (48, 8, 2, 6, "silu", 64, 2, False), (64, 2, 1, 32, "swiglu", 172, 1, True),
]  # fmt: skip


def shape(d, heads, kv_heads, width, ffn, d_ff, layers, gate, vocab=29) -> tuple[Config, DecoderLM]:
    config = uniform(vocab_size=vocab, d_model=d, n_layers=layers, n_heads=heads, n_kv_heads=kv_heads, head_dim=width,
                     d_ff=d_ff, ffn=ffn, norm="rmsnorm", tied=True, output_gate=gate)  # fmt: skip
    attend = GatedAttention if gate else MultiHeadAttention

    def block():
        inner = FeedForward(d, d_ff, ffn) if config.dense_ffn.matrices == 2 else GatedFeedForward(d, d_ff, Gated(ffn))
        return PreNormBlock(d, attend(d, heads, kv_heads, width), inner, RMSNorm)

    return config, DecoderLM(vocab, d, [block() for _ in range(layers)], RMSNorm)


@pytest.mark.parametrize("sizes", SHAPES)
def test_a_pass_costs_what_the_flop_counter_sees(sizes):
    config, model = shape(*sizes)
    ids = torch.zeros(1, 7, dtype=torch.long)
    with torch.no_grad():
        assert counted(lambda: model(ids)) == flops.forward(config, 7, square=True).total
        cache = ContiguousCache()
        model(ids, cache=cache)
        assert counted(lambda: model(ids[:, :1], cache=cache)) == flops.decode(config, 8).total
        chunk = counted(lambda: model(ids[:, :3], cache=cache))
    assert chunk == flops.forward(config, 3, past=8, square=True).total


@pytest.mark.parametrize("sizes", SHAPES)
def test_training_costs_three_passes(sizes):
    config, model = shape(*sizes)
    ids = torch.zeros(1, 5, dtype=torch.long)
    found = counted(lambda: F.cross_entropy(model(ids)[0], ids[0]).backward())
    assert found == flops.training(config, 5, square=True).total == 3 * flops.forward(config, 5, square=True).total
    assert flops.training(config, 5).total < found  # half of the square


@pytest.mark.parametrize("q_rank", [None, 10])
@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_latent_attention_in_both_forms(q_rank, form):
    d, heads, kv_rank, nope, rope, v = 24, 3, 8, 4, 2, 6
    module = MultiHeadLatentAttention(d, heads, kv_rank, q_rank, nope, rope, v, absorbed=form == "absorbed")
    mixer = LatentAttention(heads, q_rank, kv_rank, nope, rope, v)
    config = Config(5, d, (Layer(mixer, FFN(1, "gelu")),), "rmsnorm", True)

    def part(made):
        return made.projections + made.attention

    cache, x = ContiguousCache(), torch.zeros(1, 6, d)
    with torch.no_grad():
        found = counted(lambda: module(x, cache=cache))
        assert found == part(flops.forward(config, 6, form=form, square=True))
        step = counted(lambda: module(x[:, :1], cache=cache))
        assert step == part(flops.decode(config, 7, form=form))
        chunk = counted(lambda: module(x[:, :2], cache=cache))
        assert chunk == part(flops.forward(config, 2, past=7, form=form, square=True))


@pytest.mark.parametrize(("experts", "top_k", "shared"), [(4, 1, False), (4, 2, True), (8, 3, False), (5, 5, True)])
def test_experts_cost_only_where_tokens_go(experts, top_k, shared):
    d, f, tokens = 16, 12, 9
    inner = GatedFeedForward(d, 2 * f) if shared else None
    module = Mixture(d, Experts(experts, d, f), SoftmaxThenTopK(top_k), inner)
    moe = MoE(FFN(f, "swiglu"), experts, top_k, FFN(2 * f, "swiglu") if shared else None)
    config = Config(5, d, (Layer(Attention(2, 2, 8), moe),), "rmsnorm", True)
    rows = flops.forward(config, tokens)
    with torch.no_grad():
        found = counted(lambda: module(torch.randn(tokens, d)))
    assert found == rows.ffn + rows.router + rows.experts
    dense = tokens * experts * 2 * 3 * d * f
    assert rows.experts * experts == dense * top_k


class Recurrence(nn.Module):
    """A gated delta rule, one token at a time, every product written as a product of matrices."""

    def __init__(self, delta: GatedDelta, d: int):
        super().__init__()
        self.delta, width = delta, 2 * delta.key_width + delta.value_width
        self.qkv, self.gate = nn.Linear(d, width, bias=False), nn.Linear(d, delta.value_width, bias=False)
        self.two = nn.Linear(d, 2 * delta.v_heads, bias=False)
        self.conv = nn.Conv1d(width, width, delta.conv, groups=width, bias=False)
        self.o = nn.Linear(delta.value_width, d, bias=False)

    def forward(self, x):  # (T, d)
        c = self.delta
        mixed = self.conv(F.pad(self.qkv(x).T[None], (c.conv - 1, 0)))[0].T
        q, k, v = mixed.split([c.key_width, c.key_width, c.value_width], dim=-1)
        per_key = c.v_heads // c.k_heads
        q, k = (t.unflatten(-1, (c.k_heads, c.k_dim)).repeat_interleave(per_key, 1) for t in (q, k))
        v = v.unflatten(-1, (c.v_heads, c.v_dim))
        decay, beta = self.two(x).sigmoid().split(c.v_heads, dim=-1)
        state, out = torch.zeros(c.v_heads, c.k_dim, c.v_dim), []
        for t in range(len(x)):
            state = state * decay[t, :, None, None]
            old = k[t, :, None] @ state
            state = state + k[t, :, :, None] @ (beta[t, :, None, None] * (v[t, :, None] - old))
            out.append((q[t, :, None] @ state).flatten())
        return self.o(torch.stack(out) * self.gate(x).sigmoid())


@pytest.mark.parametrize(
    "delta", [GatedDelta(2, 4, 4, 6, 3), GatedDelta(1, 8, 1, 4, 4), GatedDelta(3, 2, 3, 2, 2)], ids=str
)
def test_recurrent_mixers_token_by_token(delta):
    d, tokens = 12, 5
    config = Config(5, d, (Layer(delta, FFN(1, "gelu")),), "rmsnorm", True)
    with torch.no_grad():
        found = counted(lambda: Recurrence(delta, d)(torch.zeros(tokens, d)))
    rows = flops.forward(config, tokens)
    assert found == rows.projections + rows.recurrent
    assert rows.recurrent == tokens * flops.decode(config, 99).recurrent  # whatever the context


def test_kimi_delta_rows():
    config = Config(5, 12, (Layer(KimiDelta(2, 4, 3, 5), FFN(1, "gelu")),), "rmsnorm", True)
    rows = flops.forward(config, 1)
    # q, k, v, gate and output; a beta per head; decays through a rank of 5.
    assert rows.projections == 2 * (5 * 12 * 8 + 12 * 2 + 12 * 5 + 5 * 8)
    assert rows.recurrent == 3 * 2 * 2 * 4 * 4 + 2 * 3 * 3 * 8


def seen(tokens, past, window=None):
    return sum(min(p + 1, window or p + 1) for p in range(past, past + tokens))


@pytest.mark.parametrize(("tokens", "past"), [(0, 0), (1, 0), (6, 0), (1, 9), (4, 3), (9, 30)])
@pytest.mark.parametrize("window", [None, 1, 4, 9, 100])
def test_visible_positions_one_by_one(tokens, past, window):
    mixer = Attention(2, 1, 4, window=window)
    config = Config(5, 8, (Layer(mixer, FFN(1, "gelu")),), "rmsnorm", True)
    rows = flops.forward(config, tokens, past=past)
    assert rows.scores == rows.values == seen(tokens, past, window) * 2 * 8


@pytest.mark.parametrize(("tokens", "past"), [(0, 0), (1, 0), (7, 0), (1, 11), (5, 6), (30, 17)])
@pytest.mark.parametrize(("rate", "index"), [(4, 0), (4, 3), (1, 0), (7, 2)])
def test_compressed_entries_one_by_one(tokens, past, rate, index):
    mixer = CompressedAttention(4, 6, 5, 2, 3, 8, rate, index, 5 if index else 0)
    config = Config(5, 8, (Layer(mixer, FFN(1, "gelu")),), "rmsnorm", True)
    rows = flops.forward(config, tokens, past=past)
    entries = sum((p + 1) // rate for p in range(past, past + tokens))
    local = seen(tokens, past, 8)
    assert rows.values == (local + entries) * 2 * 24
    assert rows.scores == (local + entries) * 2 * 24 + entries * 2 * index * (5 + 1)
    per_token = 5 * (8 + 24) + 8 * 6 + 24 * 3 + 2 * 3 * 8 + 2 * 8 * 6 * (2 if index else 1)
    per_token += (4 * 8 * 5 + 5 * index * 5 + 8 * index) if index else 0
    assert rows.projections == 2 * tokens * per_token
    square = flops.forward(config, tokens, past=past, square=True)
    assert square.values == tokens * ((past + tokens) + (past + tokens) // rate) * 2 * 24


def test_an_encoder_decoder_runs_its_encoder_once():
    d = 12
    attention = Attention(3, 3, 4)
    block = Layer(attention, FFN(24, "relu"))
    config = Config(17, d, (replace(block, norms=3, cross=attention),) * 2, "rmsnorm", True, kind="encoder-decoder",
                    encoder=(block,) * 3)  # fmt: skip
    own, across = MultiHeadAttention(d, 3), MultiHeadAttention(d, 3, causal=False)
    free, ffn, head = MultiHeadAttention(d, 3, causal=False), FeedForward(d, 24, "relu"), nn.Linear(d, 17, bias=False)
    source, target = torch.zeros(1, 9, d), torch.zeros(1, 5, d)

    def run():
        for _ in range(3):
            ffn(free(source))
        for _ in range(2):
            own(target)
            q = across.q(target)
            k, v = across.k(source), across.v(source)
            (q.view(1, 5, 3, 4).transpose(1, 2) @ k.view(1, 9, 3, 4).permute(0, 2, 3, 1)) @ v.view(
                1, 9, 3, 4
            ).transpose(1, 2)
            across.o(target)
            ffn(target)
        head(target)

    with torch.no_grad():
        assert counted(run) == flops.forward(config, 5, square=True, source=9).total
    step = flops.decode(config, 6, source=9)
    later = flops.forward(config, 1, past=5, source=9)
    assert step == later and step.ffn == 2 * 2 * 2 * d * 24
    assert step.scores == 2 * (6 + 9) * 2 * d and step.projections == 2 * (4 + 2) * 2 * d * d


def test_an_encoder_sees_all_and_pools_once():
    block = Layer(Attention(2, 2, 4), FFN(32, "gelu"))
    config = Config(11, 8, (block,), "layernorm", True, kind="encoder", embedding_width=4, lm_head=True,
                    extra_head=(Linear(8, 8), Linear(8, 4), Linear(8, 2), Linear(0, 11)))  # fmt: skip
    rows = flops.forward(config, 5)
    assert rows.scores == 5 * 5 * 2 * 8 and rows.other == 5 * 2 * 4 * 8
    assert rows.head == 2 * (5 * (11 * 4 + 8 * 4) + 8 * 8 + 8 * 2)
    bare = replace(config, lm_head=False, extra_head=(Linear(8, 8),))
    assert flops.forward(bare, 5).head == 2 * 8 * 8
    with pytest.raises(ConfigError, match="does not decode"):
        flops.decode(config, 5)
    assert flops.matmul_params(config) == 4 * 8 * 8 + 2 * 8 * 32 + 4 * 8 + (11 * 4 + 8 * 4) + 8 * 8 + 8 * 2


def test_the_head_may_run_on_the_last_position_only():
    config, _ = shape(*SHAPES[0])
    every, last = flops.forward(config, 6), flops.forward(config, 6, logits="last")
    assert every.head == 6 * last.head and last.total == every.total - 5 * last.head
    assert flops.forward(config, 0, logits="last").total == 0


def test_latent_experts_and_shared_gates():
    moe = MoE(FFN(6, "swiglu"), 4, 2, FFN(10, "gelu"), shared_gate=True, latent=5)
    rows = flops.forward(Config(7, 8, (Layer(Attention(1, 1, 8), moe, other=3),), "rmsnorm", True, other=11), 1)
    assert rows.experts == 2 * (2 * 3 * 5 * 6 + 2 * 8 * 5) and rows.ffn == 2 * 2 * 8 * 10
    assert rows.router == 2 * 8 * (4 + 1) and rows.other == 2 * 3


def test_rows_add_up():
    config, _ = shape(*SHAPES[1])
    rows = flops.decode(config, 9)
    assert rows.total == sum(rows.components.values()) == rows.weights + rows.attention + rows.recurrent
    assert (rows + rows).total == (rows * 2).total == 2 * rows.total
    assert flops.decode(config, 0).attention == 0 and flops.decode(config, 0).weights == rows.weights
    assert 2 * flops.matmul_params(config) == rows.weights


def test_matmul_params_hold_the_convolutions():
    delta = GatedDelta(2, 4, 4, 6, 3)
    config = Config(5, 12, (Layer(delta, FFN(1, "gelu")),), "rmsnorm", True)
    assert flops.matmul_params(config) == flops.decode(config, 1).weights // 2 + 3 * (2 * 8 + 24)


def test_crossover_by_search():
    base, _ = shape(*SHAPES[1])
    sliding = replace(base, layers=(replace(base.layers[0], mixer=replace(base.layers[0].mixer, window=6)),
                                    base.layers[1]))  # fmt: skip
    for config in (base, sliding):
        where = flops.score_crossover(config)
        goal = flops.decode(config, 0).ffn
        below, above = int(where), int(where) + 1
        assert flops.decode(config, below).attention <= goal < flops.decode(config, above).attention
    never = replace(base, layers=(sliding.layers[0],))
    assert flops.score_crossover(never) is None
    full = replace(never, layers=(replace(sliding.layers[0], mixer=replace(sliding.layers[0].mixer, window=600)),))
    assert flops.score_crossover(full) == 60  # 6·16·40 / (4·16)


def test_solving_pieces():
    assert flops.solve(((3, 2), (None, 1)), 9) == 3 and flops.solve(((3, 2), (None, 1)), 10) == 4
    assert flops.solve(((3, 2),), 6) == 3 and flops.solve(((3, 2),), 7) is None and flops.solve((), 1) is None
    assert flops.solve(((2, 1), (5, 1)), 6) == 4 and flops.solve(((None, 4),), 0) == 0


def test_refusals():
    config, _ = shape(*SHAPES[0])
    for call in (lambda: flops.forward(config, -1), lambda: flops.forward(config, 1, past=-1),
                 lambda: flops.decode(config, -1), lambda: flops.forward(config, 1, source=-1)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
    for name in ("form", "logits"):
        with pytest.raises(ConfigError, match=f"unknown {name} 'x'"):
            flops.forward(config, 1, **{name: "x"})


def test_an_encoder_sees_all_of_its_source_and_a_decoder_what_is_before():
    attention, cross, inner = Attention(4, 2, 6), Attention(4, 4, 6), FFN(10, "relu")
    config = Config(9, 16, (Layer(attention, inner, 3, cross),) * 2, "rmsnorm", True, "encoder-decoder",
                    (Layer(attention, inner),) * 3)  # fmt: skip
    tokens, source, width = 5, 7, 24
    pairs = 3 * source * source + 2 * tokens * (tokens + 1) // 2 + 2 * tokens * source
    counted = flops.forward(config, tokens, source=source)
    assert counted.scores == counted.values == 2 * width * pairs
    square = flops.forward(config, tokens, source=source, square=True)
    assert square.scores == 2 * width * (3 * source * source + 2 * tokens * tokens + 2 * tokens * source)


def test_a_gate_on_latent_attention_is_one_more_matrix():
    plain, gated = (
        flops.forward(
            Config(9, 16, (Layer(LatentAttention(4, 6, 5, 3, 2, 7, gate=gate), FFN(10, "relu")),), "rmsnorm", True), 3
        )
        for gate in (False, True)
    )
    assert (
        gated.projections - plain.projections == 2 * 3 * 16 * (4 * 7) and gated.total - plain.total == 2 * 3 * 16 * 28
    )
