"""Bounds against searches: what a formula says happens at a batch or context, happens there and not before."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from blocklib.exact import DomainError
from blocklib.ledger import bytes, cache, flops, params
from blocklib.ledger.config import Config, ConfigError, Layer, uniform
from blocklib.ledger.parts import FFN, Attention, GatedDelta, LatentAttention, MoE
from blocklib.ledger.roofline import Bound, Machine, Roofline, transfer_time

BASE = uniform(vocab_size=100, d_model=64, n_layers=4, n_heads=8, n_kv_heads=2, head_dim=8, d_ff=160, ffn="swiglu",
               norm="rmsnorm", tied=False)  # fmt: skip
LAYER = BASE.layers[0]
BOX = Machine("box", peak=1_000_000_000, bandwidth=10_000_000, memory=2_000_000, link=500_000)


def mixed(*mixers) -> Config:
    return replace(BASE, layers=tuple(replace(LAYER, mixer=mixer) for mixer in mixers))


SLIDING = replace(LAYER.mixer, window=8)
SHORT = replace(LAYER.mixer, window=3)
DELTA = GatedDelta(2, 4, 4, 8, 4)
LATENT = LatentAttention(8, None, 6, 4, 2, 4)
SHAPES = {
    "full": BASE, "windows": mixed(SLIDING, SLIDING, SHORT, SHORT), "some windows": mixed(SLIDING, LAYER.mixer),
    "hybrid": mixed(DELTA, DELTA, LAYER.mixer), "latent": mixed(LATENT, LATENT), "recurrent": mixed(DELTA, DELTA),
}  # fmt: skip


def step_by_hand(config, machine, batch, context, weights):
    """Seconds of compute and of memory of one decoding step, from its definition."""
    kept = cache.describe(config)
    per_sequence = kept.elements(context) * 2 + 2 * kept.state * 4
    return (Fraction(batch * flops.decode(config, context).total, machine.peak),
            Fraction(weights + batch * per_sequence, machine.bandwidth))  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("context", [0, 1, 3, 5, 8, 40])
def test_a_decoding_step_by_its_definition(name, batch, context):
    config, line = SHAPES[name], Roofline(SHAPES[name], BOX)
    every, read = params.count(config).total * 2, flops.matmul_params(config) * 2
    for weights, size in (("all", every), ("read", read)):
        bound = line.decode(batch, context, weights)
        assert (bound.compute, bound.memory) == step_by_hand(config, BOX, batch, context, size)
        assert bound.seconds == max(bound.compute, bound.memory)


def test_the_limit_has_a_name():
    assert Bound(Fraction(2), Fraction(1)).limit == Bound(Fraction(1), Fraction(1)).limit == "compute"
    assert Bound(Fraction(1), Fraction(2)).limit == "memory" and Bound(Fraction(1), Fraction(2)).seconds == 2


MACHINES = [BOX, replace(BOX, peak=40_000_000), replace(BOX, peak=20_000_000_000), replace(BOX, peak=150_000_000)]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{float(m.ridge):g}")
@pytest.mark.parametrize("name", SHAPES)
def test_the_compute_bound_batch_and_the_last_context_by_search(name, machine):
    line = Roofline(SHAPES[name], machine)
    last = line.last_compute_bound_context
    for context in (0, 1, 2, 4, 7, 9, 30, 200, 3000):
        enough = line.compute_bound_batch(context)
        if enough is not None:
            below, above = int(enough), int(enough) + 1
            assert line.decode(above, context, "all").limit == "compute"
            assert below == 0 or below == enough or line.decode(below, context, "all").limit == "memory"
        else:
            assert line.decode(10**9, context, "all").limit == "memory"
        assert enough is not None or context >= last or last == inf
        assert enough is None or context < last


def test_last_contexts_of_every_kind():
    def last(name, peak):
        return Roofline(SHAPES[name], replace(BOX, peak=peak)).last_compute_bound_context

    assert last("full", 10**6) == inf and last("recurrent", 10**6) == inf
    assert 0 < last("full", 2 * 10**9) < 100 and last("recurrent", 10**11) == 0 == last("hybrid", 10**11)
    # Within the windows, not only where everything grows.
    inside = {last("windows", peak) for peak in range(10**9, 12 * 10**9, 10**8)} - {inf, 0}
    assert any(value < 3 for value in inside) and any(3 < value < 8 for value in inside)
    assert {last("windows", peak) for peak in (10**8, 10**12)} >= {inf}


def test_the_cache_reaches_the_weights_where_it_weighs_as_much():
    line = Roofline(BASE, BOX)
    where = line.tokens_where_cache_reaches()
    assert where * cache.kv_bytes_per_token(BASE, "bf16") == line.weight_bytes
    assert Roofline(BASE, BOX, "int8", "fp32").tokens_where_cache_reaches() == where / 4
    assert line.tokens_where_cache_reaches(256) == Fraction(256, 4 * 2 * 16 * 2)
    assert Roofline(SHAPES["windows"], BOX).tokens_where_cache_reaches() is None
    bent = Roofline(SHAPES["some windows"], BOX)
    where = bent.tokens_where_cache_reaches(128 * 20)
    assert where == 32 and cache.kv_bytes(SHAPES["some windows"], "bf16", 32) == 128 * 20 / 2 + 64 * 40 - 64 * 20
    assert Roofline(SHAPES["recurrent"], BOX).tokens_where_cache_reaches() is None


@pytest.mark.parametrize(("heads", "kv_heads"), [(8, 8), (8, 2), (8, 1)])
def test_intensity_of_the_cache_is_heads_per_key_head(heads, kv_heads):
    config = mixed(replace(LAYER.mixer, n_heads=heads, n_kv_heads=kv_heads))
    assert Roofline(config, BOX).cache_intensity == Fraction(heads, kv_heads)
    assert Roofline(config, BOX, kv_dtype="fp8").cache_intensity == 2 * Fraction(heads, kv_heads)
    assert Roofline(SHAPES["windows"], BOX).cache_intensity is None
    absorbed, expanded = (Roofline(SHAPES["latent"], BOX, form=form) for form in ("absorbed", "expanded"))
    assert absorbed.cache_intensity == Fraction(2 * 8 * (6 + 2 + 6), 8 * 2)
    assert expanded.cache_intensity == Fraction(2 * 8 * (4 + 2 + 4), 8 * 2)


def test_intensity_of_the_weights_is_the_batch():
    assert [Roofline(BASE, BOX).weights_intensity(b) for b in (1, 5, 64)] == [1, 5, 64]
    assert Roofline(BASE, BOX, "fp8").weights_intensity(5) == 10
    moe = replace(BASE, layers=(replace(LAYER, ffn=MoE(FFN(160, "swiglu"), 8, 2)),))
    assert Roofline(moe, BOX).weights_intensity(1) == 1 and Roofline(moe, BOX).weights_intensity(8) < 8


def test_experts_are_read_as_far_as_tokens_visit_them():
    moe = replace(BASE, layers=(replace(LAYER, ffn=MoE(FFN(160, "swiglu"), 8, 2)),) * 3)
    line, expert = Roofline(moe, BOX), 3 * 64 * 160 * 2
    read = line.weights_read(1)
    assert read == 2 * flops.matmul_params(moe)
    assert line.weights_read(2) - read == pytest.approx(3 * 1.5 * expert)  # the second token finds 1.5 new ones
    assert line.weights_read(10**6) - read == pytest.approx(3 * 6 * expert)
    norms_and_embedding = 2 * (100 * 64 + 7 * 64)
    assert line.weights_read(1, "all") - line.weights_read(10**6) == pytest.approx(norms_and_embedding)


def test_prefill():
    line = Roofline(BASE, BOX)
    bound = line.prefill(100, batch=3)
    assert bound.compute == Fraction(3 * flops.forward(BASE, 100).total, BOX.peak)
    written = 3 * cache.kv_bytes(BASE, "bf16", 100)
    assert bound.memory == Fraction(2 * flops.matmul_params(BASE) + written, BOX.bandwidth)
    assert line.prefill(100, logits="last").compute < line.prefill(100).compute
    assert line.prefill(1).limit == "memory" and line.prefill(1000).limit == "compute"


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("context", [1, 5, 64])
def test_what_fits(name, context):
    config, line = SHAPES[name], Roofline(SHAPES[name], BOX)
    kept, room = cache.describe(config), BOX.memory * Fraction(9, 10) - line.weight_bytes
    one = kept.elements(context) * 2 + kept.state * 4
    found = line.sequences_that_fit(context)
    assert found * one <= room < (found + 1) * one
    tokens = line.tokens_that_fit()
    if name == "recurrent":
        assert tokens is None
    else:
        assert tokens * kept.per_token * 2 == room
    assert line.sequences_that_fit(context, Fraction(1)) >= found
    full = Roofline(config, replace(BOX, memory=line.weight_bytes))
    assert full.tokens_that_fit() is None and full.sequences_that_fit(context) == 0


def test_formats():
    line = Roofline(BASE, BOX, "mxfp4", "fp8")
    assert line.weight_bytes == bytes.weight_bytes(BASE, "mxfp4")
    assert line.weights_read(1) == flops.matmul_params(BASE) * Fraction(17, 32)
    assert line.sequence_bytes(3) == cache.kv_bytes(BASE, "fp8", 3)
    wide = Roofline(SHAPES["hybrid"], BOX, state_dtype="fp32").sequence_bytes(0)
    assert wide == 2 * Roofline(SHAPES["hybrid"], BOX, state_dtype="bf16").sequence_bytes(0) > 0


def test_an_encoder_decoder_reads_its_source_and_not_its_encoder():
    block = Layer(Attention(4, 4, 8), FFN(64, "relu"))
    config = Config(50, 32, (replace(block, norms=3, cross=block.mixer),) * 2, "rmsnorm", True, kind="encoder-decoder",
                    encoder=(block,) * 3)  # fmt: skip
    line = Roofline(config, BOX)
    assert line.sequence_flops(5) == flops.decode(config, 5).total
    assert line.sequence_bytes(5) == 2 * 2 * 5 * 2 * 2 * 32
    assert line.weights_read(1) == 2 * (2 * (4 * 32 * 32 + 2 * 32 * 32 + 2 * 32 * 64) + 50 * 32)


def test_transfers():
    assert transfer_time(1_000_000, BOX) == 2 and transfer_time(Fraction(1, 2), BOX) == Fraction(1, 10**6)
    with pytest.raises(ConfigError, match="box has no link rate"):
        transfer_time(1, replace(BOX, link=None))


def test_refusals():
    encoder = replace(BASE, kind="encoder")
    with pytest.raises(ConfigError, match="does not decode"):
        Roofline(encoder, BOX)
    for wrong in ({"dtype": "x"}, {"kv_dtype": "x"}, {"state_dtype": "x"}):
        with pytest.raises(ConfigError, match="unknown dtype 'x'"):
            Roofline(BASE, BOX, **wrong)
    line = Roofline(BASE, BOX)
    for call in (lambda: line.decode(0, 1), lambda: line.decode(1, -1), lambda: line.prefill(0),
                 lambda: line.prefill(1, 0), lambda: Machine("m", 0, 1, 1), lambda: Machine("m", 1, 1, 0)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
    assert BOX.ridge == 100


def test_where_both_times_are_equal_no_batch_helps():
    """At T∞ itself, and where compute and memory of a sequence weigh the same at every context."""
    line = Roofline(BASE, replace(BOX, peak=2 * 10**9))
    assert line.compute_bound_batch(line.last_compute_bound_context) is None
    assert line.compute_bound_batch(line.last_compute_bound_context - Fraction(1, 100)) > 0
    flat = Roofline(SHAPES["recurrent"], BOX)
    even = Machine("even", int(flat.sequence_flops(0)), int(flat.sequence_bytes(0)), 1)
    assert Roofline(SHAPES["recurrent"], even).last_compute_bound_context == 0
    assert Roofline(SHAPES["recurrent"], replace(even, bandwidth=even.bandwidth + 1)).last_compute_bound_context == inf


def test_the_last_context_inside_windows_is_where_the_surplus_ends():
    for peak in range(10**9, 12 * 10**9, 10**8):
        line = Roofline(SHAPES["windows"], replace(BOX, peak=peak))
        last = line.last_compute_bound_context
        if last not in (0, inf):
            assert line.compute_bound_batch(last) is None and line.compute_bound_batch(last - Fraction(1, 10**6)) > 0


def test_no_room_and_the_last_bytes_of_room():
    line = Roofline(BASE, BOX)
    per_token = cache.kv_bytes_per_token(BASE, "bf16")
    for more, fits in ((-1, None), (0, None), (1, Fraction(1, per_token)), (5 * per_token, 5)):
        share = Fraction(line.weight_bytes + more, BOX.memory)
        assert line.tokens_that_fit(share) == fits
        assert line.sequences_that_fit(1, share) == int(fits or 0)
    assert line.sequences_that_fit(0) == 0 and isinstance(line.sequences_that_fit(1), int)


def test_the_least_machine():
    assert Machine("least", 1, 1, 1).ridge == 1
    for name in ("peak", "bandwidth", "memory"):
        with pytest.raises(DomainError, match=name):
            replace(BOX, **{name: 0})
