"""Tables of published and hand-computed figures, typed in as they were printed: the ledger reproduces every digit.

The figures were computed apart from this library, from closed forms of each model; a value agrees if it rounds to
what is printed.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from math import inf

import pytest

from blocklib.atlas import load, load_chip
from blocklib.ledger import bytes, communication, flops, params, steps
from blocklib.ledger.cache import kv_bytes_per_token, state_elements
from blocklib.ledger.config import Config, uniform
from blocklib.ledger.roofline import Roofline, attention_weight_bytes, ffn_weight_bytes, transfer_time

NAMES = ("gpt2-small", "llama-2-7b", "llama-2-70b", "llama-3-8b", "llama-3-70b", "mistral-7b", "mixtral-8x7b",
         "qwen3.8-27b", "deepseek-v3")  # fmt: skip
# The tables count DeepSeek-V3's balancing biases, 256 in each of 58 layers; the ledger leaves buffers out.
BUFFERS = {"deepseek-v3": 58 * 256}


@cache
def shape(name: str) -> Config:
    """The model; the tables let Mistral's 4,096-token window be full attention."""
    config = load(name).config
    return replace(config, layers=tuple(
        replace(layer, mixer=replace(layer.mixer, window=None)) if layer.mixer.window else layer
        for layer in config.layers
    ))  # fmt: skip


@cache
def line(name: str, chip: str) -> Roofline:
    return Roofline(shape(name), load_chip(chip).machine())


def prints(value, printed: str, unit: float = 1) -> bool:
    """Whether ``value`` in that unit, rounded half away from zero, is the number printed."""
    digits = Decimal(printed.replace(",", ""))
    exact = Fraction(value) / Fraction(unit)
    rounded = (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(digits, ROUND_HALF_UP)
    return rounded == digits


def test_printing_control():
    assert prints(2.5, "3") and prints(1949, "1.9", 1000) and not prints(1951, "1.9", 1000)
    assert not prints(2.4, "3") and prints(Fraction(1, 3), "0.33") and not prints(Fraction(1, 3), "0.34")


# total, active, cache bytes a token, weights in GB, tokens where the cache equals the weights, FLOP a cache byte
SIZES = {
    "gpt2-small": ("124,439,808", "124,439,808", "36,864", "0.25", "6,751", "1"),
    "llama-2-7b": ("6,738,415,616", "6,738,415,616", "524,288", "13.48", "25,705", "1"),
    "llama-2-70b": ("68,976,648,192", "68,976,648,192", "327,680", "137.95", "421,000", "8"),
    "llama-3-8b": ("8,030,261,248", "8,030,261,248", "131,072", "16.06", "122,532", "4"),
    "llama-3-70b": ("70,553,706,496", "70,553,706,496", "327,680", "141.11", "430,626", "8"),
    "mistral-7b": ("7,241,732,096", "7,241,732,096", "131,072", "14.48", "110,500", "4"),
    "mixtral-8x7b": ("46,702,792,704", "12,879,925,248", "131,072", "93.41", "712,628", "4"),
    "qwen3.8-27b": ("26,895,998,464", "26,895,998,464", "65,536", "53.79", "820,801", "6"),
    "deepseek-v3": ("671,026,419,200", "37,552,297,472", "70,272", "1342.05", "19,097,974", "242"),
}


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_cache(name):
    total, active, kv, weights, equal, intensity = SIZES[name]
    config, at = shape(name), line(name, "h100")
    assert prints(params.count(config).total + BUFFERS.get(name, 0), total)
    assert prints(params.active(config).with_embeddings + BUFFERS.get(name, 0), active)
    assert prints(kv_bytes_per_token(config, "bf16"), kv) and prints(bytes.weight_bytes(config, "fp16"), weights, 1e9)
    assert prints(at.tokens_where_cache_reaches(), equal) and prints(at.cache_intensity, intensity)


def test_sizes_of_windows_and_states():
    mistral, qwen = load("mistral-7b").config, shape("qwen3.8-27b")
    assert Roofline(mistral, load_chip("h100").machine()).tokens_where_cache_reaches() is None
    state = state_elements(qwen) * 4
    assert state == 150_994_944 and state == 2304 * kv_bytes_per_token(qwen, "bf16")
    assert prints(line("deepseek-v3", "h100").cache_intensity, "241.8")


# projections, FFN, head, attention at 1k, 8k, 32k, 128k (GFLOP); attention's share at 8k and 128k (%); contexts where
# attention equals the FFN at decoding and over a causal prompt, and where it equals all matrices
WORK = {
    "gpt2-small": ("0.06 0.11 0.08 0.04 0.30 1.21 4.8", "55.0 95.1", "3,072 6,144 6,702"),
    "llama-2-7b": ("4.29 8.66 0.26 0.54 4.29 17.18 68.7", "24.5 83.9", "16,512 33,024 25,204"),
    "llama-2-70b": ("24.16 112.74 0.52 2.68 21.47 85.90 343.6", "13.5 71.4", "43,008 86,016 52,424"),
    "llama-3-8b": ("2.68 11.27 1.05 0.54 4.29 17.18 68.7", "22.2 82.1", "21,504 43,008 28,628"),
    "llama-3-70b": ("24.16 112.74 2.10 2.68 21.47 85.90 343.6", "13.4 71.2", "43,008 86,016 53,026"),
    "mistral-7b": ("2.68 11.27 0.26 0.54 4.29 17.18 68.7", "23.2 82.9", "21,504 43,008 27,124"),
    "mixtral-8x7b": ("2.68 22.55 0.26 0.54 4.29 17.18 68.7", "14.4 72.9", "43,008 86,016 48,632"),
    "qwen3.8-27b": ("14.48 34.23 2.54 0.40 3.22 12.88 51.5", "5.9 50.1", "87,040 174,080 130,330"),
    "deepseek-v3": ("22.83 48.36 1.85 17.40 139.18 556.74 2226.9", "65.5 96.8", "2,846 5,692 4,311"),
}


@pytest.mark.parametrize("name", NAMES)
def test_work_of_a_decoded_token(name):
    config, (parts, shares, contexts) = shape(name), WORK[name]
    rows = {tokens: flops.decode(config, tokens * 1024) for tokens in (1, 8, 32, 128)}
    found = [rows[1].projections, rows[1].ffn + rows[1].experts, rows[1].head]
    found += [row.attention for row in rows.values()]
    matrices = 2 * flops.matmul_params(config)
    for value, printed in zip(found, parts.split(), strict=True):
        assert prints(value, printed, 1e9)
    for tokens, printed in zip((8, 128), shares.split(), strict=True):
        assert prints(Fraction(100 * rows[tokens].attention, rows[tokens].attention + matrices), printed)
    crossing = flops.score_crossover(config)
    everything = flops.solve(flops.attention_pieces(config), matrices)
    for value, printed in zip((crossing, 2 * crossing, everything), contexts.split(), strict=True):
        assert prints(value, printed)


def test_work_of_latent_attention_expanded():
    crossing = flops.score_crossover(shape("deepseek-v3"), "expanded")
    assert prints(crossing, "9,677") and prints(2 * crossing, "19,354")


# batches that make decoding compute-bound at T -> 0, 128, 512, 1k, 2k; T beyond which none does; milliseconds a token
# at batch 1; cached tokens that fit
NONE = ("-",) * 4
BOUNDS = {
    ("gpt2-small", "h100"): ("298", *NONE, "23", "0.07", "1,946,374"),
    ("gpt2-small", "h200"): ("208", *NONE, "33", "0.05", "3,435,632"),
    ("llama-2-7b", "h100"): ("301", *NONE, "86", "3.94", "111,624"),
    ("llama-2-7b", "h200"): ("210", *NONE, "123", "2.75", "216,338"),
    ("llama-2-70b", "h100"): ("296", "325", "457", "994", "-", "1,460", "41.02", "-"),
    ("llama-2-70b", "h200"): ("207", "220", "273", "401", "6,366", "2,117", "28.63", "-"),
    ("llama-3-8b", "h100"): ("316", "469", "-", "-", "-", "393", "4.48", "426,784"),
    ("llama-3-8b", "h200"): ("221", "285", "2,291", "-", "-", "567", "3.13", "845,638"),
    ("llama-3-70b", "h100"): ("300", "328", "459", "979", "-", "1,476", "41.49", "-"),
    ("llama-3-70b", "h200"): ("209", "223", "275", "401", "4,812", "2,141", "28.96", "-"),
    ("mistral-7b", "h100"): ("301", "458", "-", "-", "-", "372", "4.25", "438,816"),
    ("mistral-7b", "h200"): ("210", "276", "4,548", "-", "-", "537", "2.96", "857,670"),
    ("mixtral-8x7b", "h100"): ("1,082", "1,339", "4,640", "-", "-", "668", "7.61", "-"),
    ("mixtral-8x7b", "h200"): ("755", "871", "1,613", "-", "-", "962", "5.31", "255,542"),
    ("qwen3.8-27b", "h100"): ("-", *NONE, "0", "15.30", "277,832"),
    ("qwen3.8-27b", "h200"): ("-", *NONE, "0", "10.68", "1,115,540"),
    ("deepseek-v3", "h100"): ("5,411", "5,447", "5,557", "5,712", "6,048", "19,460", "21.87", "-"),
    ("deepseek-v3", "h200"): ("3,777", "3,760", "3,712", "3,649", "3,529", "inf", "15.26", "-"),
}


@pytest.mark.parametrize(("name", "chip"), BOUNDS)
def test_bounds(name, chip):
    *batches, last, floor, fits = BOUNDS[name, chip]
    at = line(name, chip)
    for context, printed in zip((0, 128, 512, 1024, 2048), batches, strict=True):
        found = at.compute_bound_batch(context)
        assert found is None if printed == "-" else prints(found, printed)
    assert at.last_compute_bound_context == inf if last == "inf" else prints(at.last_compute_bound_context, last)
    # A step's floor reads the matrices of the active path; the tables leave the recurrent state out of it.
    assert prints(at.weights_read(1) / at.machine.bandwidth * 1000, floor)
    assert at.tokens_that_fit() is None if fits == "-" else prints(at.tokens_that_fit(), fits)


def test_bounds_on_an_a100_and_with_a_small_state():
    found = [line(name, "a100").last_compute_bound_context for name in ("llama-2-7b", "llama-3-8b", "llama-3-70b")]
    assert all(map(prints, found, ("166", "768", "2,925")))
    qwen = shape("qwen3.8-27b")
    assert Roofline(qwen, load_chip("h100").machine(), state_dtype="bf16").last_compute_bound_context > 0


def test_details_of_llama_3_8b():
    config, at = shape("llama-3-8b"), line("llama-3-8b", "h100")
    assert at.tokens_where_cache_reaches(attention_weight_bytes(config, "bf16")) == 20_480
    assert at.tokens_where_cache_reaches(ffn_weight_bytes(config, "bf16")) == 86_016
    for tokens, printed, unit, share in ((1, "15.8", 1e-3, "1.8"), (8, "142", 1e-3, "12.5"), (32, "0.78", 1, "36.4"),
                                         (128, "6.54", 1, "69.6")):  # fmt: skip
        bound, rows = at.prefill(tokens * 1024), flops.forward(config, tokens * 1024)
        assert bound.limit == "compute" and prints(bound.compute, printed, Fraction(unit).limit_denominator(1000))
        assert prints(Fraction(100 * rows.attention, rows.total), share)
    for tokens, printed in ((1, "4.83"), (8, "5.11"), (32, "6.08"), (128, "9.92")):
        bound = at.decode(1, tokens * 1024, weights="all")
        assert bound.limit == "memory" and prints(bound.seconds * 1000, printed)


def test_elementwise_details_of_llama_3_8b():
    config, machine = shape("llama-3-8b"), load_chip("h100").machine()
    one, rows = flops.decode(config, 0).total, bytes.elementwise(config)
    compute = Fraction(one, machine.peak)
    assert prints(compute, "15.17", Fraction(1, 10**6)) and config.stream_norms == 65
    assert prints(Fraction(100 * 65 * 4 * 4096, one), "0.0071")
    for moved, megabytes, share in ((rows.norms, "1.06", "2.1"), (rows.residuals, "1.57", "3.1"),
                                    (rows.activations, "5.51", "10.8"),
                                    (rows.fused_activations, "1.84", "3.6")):  # fmt: skip
        assert prints(moved, megabytes, 10**6)
        assert prints(100 * (Fraction(moved, machine.bandwidth) / compute), share)
    assert prints(Fraction(rows.norms, machine.bandwidth), "0.318", Fraction(1, 10**6))
    assert prints(Fraction(rows.residuals, machine.bandwidth), "0.470", Fraction(1, 10**6))
    assert prints(bytes.logits_bytes(config, 8192), "4.20", 10**9)
    assert prints(bytes.logits_bytes(config, 1), "0.5", 10**6)


@pytest.mark.parametrize(
    ("name", "share"), [("gpt2-small", "31.0"), ("llama-2-7b", "1.9"), ("llama-3-8b", "6.5"), ("qwen3.8-27b", "4.7")]
)
def test_the_head_as_a_share(name, share):
    config = shape(name)
    assert prints(Fraction(100 * config.vocab_size * config.d_model, params.count(config).total), share)
    if name == "llama-3-8b":
        assert prints(Fraction(100 * flops.decode(config, 0).head, flops.decode(config, 0).total), "7.0")


def test_tokens_passed_with_and_without_a_cache():
    assert steps.token_forwards(1024, cached=False) == 524_800 and steps.token_forwards(1024, cached=True) == 1024
    assert Fraction(524_800, 1024) == Fraction(1024 + 1, 2) == Fraction("512.5")


def test_communication():
    small, large, deepseek = shape("llama-3-8b"), shape("llama-3-70b"), shape("deepseek-v3")
    assert communication.tensor_parallel(small, 8).all_reduces == 64
    tensor = communication.tensor_parallel(large, 8)
    assert tensor.all_reduces == 160 and prints(tensor.sent, "4.59", 10**6)
    assert prints(communication.tensor_parallel(small, 8).sent, "0.92", 10**6)
    prompt = communication.tensor_parallel(large, 8, tokens=8192).sent
    machine = load_chip("h100").machine()
    assert prints(prompt, "37.6", 10**9) and prints(transfer_time(prompt, machine), "83.5", Fraction(1, 1000))
    # Compute is split over the eight; the table counts the products with weights and half of the square.
    assert prints(line("llama-3-70b", "h100").prefill(8192).compute / 8, "155", Fraction(1, 1000))
    boundary = communication.pipeline_bytes(large)
    assert boundary == 16_384 and tensor.sent / boundary == 280
    expert = communication.expert_parallel(deepseek)
    assert all(map(prints, (expert.dispatch, expert.combine, expert.total), ("3.33", "6.65", "9.98"), (10**6,) * 3))
    assert communication.kv_bytes_per_token(large, 8) == 40_960
    assert communication.kv_bytes_per_token(deepseek, 8) == 70_272


def test_ridge_points():
    found = [load_chip(chip).machine().ridge for chip in ("a100", "h100", "h200")]
    assert all(map(prints, found, ("153.0", "295.3", "206.1")))


def test_closed_forms():
    """T* is 1.5·k·d_ff for gated FFNs where all heads together are as wide as the stream, d_ff for ungated ones."""
    assert flops.score_crossover(shape("llama-2-7b")) == Fraction(3, 2) * 11_008
    assert flops.score_crossover(shape("mixtral-8x7b")) == Fraction(3, 2) * 2 * 14_336
    assert flops.score_crossover(shape("gpt2-small")) == 3072
    grouped = uniform(vocab_size=9, d_model=64, n_layers=2, n_heads=32, n_kv_heads=4, head_dim=2, d_ff=7, ffn="gelu",
                      norm="rmsnorm", tied=True)  # fmt: skip
    full = uniform(vocab_size=9, d_model=64, n_layers=2, n_heads=32, n_kv_heads=32, head_dim=2, d_ff=7, ffn="gelu",
                   norm="rmsnorm", tied=True)  # fmt: skip
    assert kv_bytes_per_token(grouped, "bf16") * 8 == kv_bytes_per_token(full, "bf16")
    machine = load_chip("h100").machine()
    assert Roofline(grouped, machine).cache_intensity == 8 and Roofline(full, machine).cache_intensity == 1
