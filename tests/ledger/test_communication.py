"""Bytes between devices against a ring that is played out, and against sharding played out head by head."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from blocklib.atlas import load
from blocklib.exact import DomainError
from blocklib.ledger import communication
from blocklib.ledger.cache import kv_bytes_per_token
from blocklib.ledger.config import Config, ConfigError, Layer, uniform
from blocklib.ledger.parts import FFN, Attention, CompressedAttention, LatentAttention, MoE


def shape(**changed) -> Config:
    sizes = dict(vocab_size=9, d_model=24, n_layers=3, n_heads=8, n_kv_heads=4, head_dim=5, d_ff=7, ffn="gelu",
                 norm="rmsnorm", tied=True) | changed  # fmt: skip
    return uniform(**sizes)


def ring(ways: int, numbers: int) -> list[int]:
    """Numbers that each device of a ring sends to add up vectors held by all: scatter the sums, then gather them."""
    vectors = [[device + i for i in range(numbers)] for device in range(ways)]
    chunk, sent = numbers // ways, [0] * ways
    for phase in range(2):
        for step in range(ways - 1):
            moves = []
            for device in range(ways):
                at = (device - step + phase) % ways
                moves.append((device, at, vectors[device][at * chunk:(at + 1) * chunk]))  # fmt: skip
            for device, at, part in moves:
                sent[device] += len(part)
                target = vectors[(device + 1) % ways]
                for i, number in enumerate(part):
                    target[at * chunk + i] = number + (target[at * chunk + i] if phase == 0 else 0)
    summed = [sum(device + i for device in range(ways)) for i in range(numbers)]
    assert vectors == [summed] * ways
    return sent


@pytest.mark.parametrize("ways", [2, 3, 4, 8])
def test_a_ring_sends_what_is_stated(ways):
    config = shape()
    found = communication.tensor_parallel(config, ways, tokens=5, dtype="fp32")
    assert found.all_reduces == 2 * 3 and found.payload == 6 * 5 * 24 * 4
    assert ring(ways, 24) == [found.sent / (6 * 5 * 4)] * ways


def test_one_device_sends_nothing():
    found = communication.tensor_parallel(shape(), 1)
    assert (found.all_reduces, found.payload, found.sent) == (0, 0, 0)
    assert communication.tensor_parallel(shape(), 2, tokens=0).sent == 0


def test_collectives_of_other_blocks():
    config = shape()
    layer = config.layers[0]
    parallel = replace(config, layers=(replace(layer, norms=1),) * 3)
    assert communication.tensor_parallel(parallel, 4).all_reduces == 3
    both = replace(config, layers=(replace(layer, norms=3, cross=layer.mixer),) * 3, kind="encoder-decoder",
                   encoder=(layer,) * 2)  # fmt: skip
    assert communication.tensor_parallel(both, 4).all_reduces == 3 * 3 + 2 * 2


def test_pipeline_and_experts():
    assert communication.pipeline_bytes(shape(), 7, "bf16") == 7 * 24 * 2
    moe = Layer(Attention(2, 2, 4), MoE(FFN(6, "swiglu"), 8, 3))
    narrow = replace(moe, ffn=replace(moe.ffn, latent=10))
    dense = replace(moe, ffn=FFN(6, "swiglu"))
    config = Config(9, 24, (dense, moe, moe, narrow), "rmsnorm", True)
    sent = communication.expert_parallel(config, 5)
    assert sent.dispatch == 5 * 3 * (24 + 24 + 10) and sent.combine == 2 * sent.dispatch
    assert sent.total == 3 * sent.dispatch
    assert communication.expert_parallel(config, 1, "bf16", "fp32").combine == 4 * 3 * 58


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16])
def test_heads_are_shared_out(ways):
    config = shape()
    # Each device holds some query heads; the key/value heads they need are what it must keep.
    needed = {q * 4 // 8 for q in range(max(1, 8 // ways))} if ways <= 8 else {0}
    assert communication.kv_bytes_per_token(config, ways) == 3 * 2 * 5 * 2 * len(needed)
    if ways <= 4:
        assert communication.kv_bytes_per_token(config, ways) * ways == kv_bytes_per_token(config, "bf16")


def test_what_all_heads_read_stands_everywhere():
    latent = Config(9, 24, (Layer(LatentAttention(8, None, 6, 4, 2, 4), FFN(7, "gelu")),) * 2, "rmsnorm", True)
    compressed = Config(
        9, 24, (Layer(CompressedAttention(4, 6, 5, 2, 3, 8, 4, 2, 5), FFN(7, "gelu")),), "rmsnorm", True
    )
    for config in (latent, compressed):
        assert communication.kv_bytes_per_token(config, 4) == kv_bytes_per_token(config, "bf16")
    assert communication.kv_bytes_per_token(compressed, 4) == 2 * (6 + Fraction(6 + 5, 4))
    sliding = shape(window=3)
    assert communication.kv_bytes_per_token(sliding, 2) * 2 == kv_bytes_per_token(sliding, "bf16")
    encoder = replace(shape(), kind="encoder")
    assert communication.kv_bytes_per_token(encoder, 2) == 0


def test_refusals():
    for call in (lambda: communication.tensor_parallel(shape(), 0), lambda: communication.pipeline_bytes(shape(), -1),
                 lambda: communication.tensor_parallel(shape(), 2, tokens=-1),
                 lambda: communication.kv_bytes_per_token(shape(), 0)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
    with pytest.raises(ConfigError, match="no experts"):
        communication.expert_parallel(shape())
    with pytest.raises(ConfigError, match="4 key/value heads cannot be shared out over 3 devices"):
        communication.kv_bytes_per_token(shape(), 3)
    with pytest.raises(ConfigError, match="unknown dtype"):
        communication.pipeline_bytes(shape(), 1, "x")


def test_nothing_is_sent_for_no_token_and_one_device_holds_everything():
    config = load("mixtral-8x7b").config
    assert communication.pipeline_bytes(config, 0) == communication.expert_parallel(config, 0).total == 0
    assert communication.tensor_parallel(config, 1, 5).sent == communication.tensor_parallel(config, 8, 0).sent == 0
    for model, size in (("gemma-3-1b", 26 * 1024), ("llama-3-8b", 131_072), ("deepseek-v3", 70_272)):
        assert communication.kv_bytes_per_token(load(model).config, 1) == size


def test_both_ways_cost_the_same_in_one_format():
    there_and_back = communication.expert_parallel(load("mixtral-8x7b").config, 3, "fp32", "fp32")
    assert there_and_back.dispatch == there_and_back.combine == 3 * 32 * 2 * 4096 * 4
