"""A config refuses what cannot be, naming the field and what was found."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from blocklib.ledger.config import Config, ConfigError, Layer, uniform
from blocklib.ledger.parts import (
    FFN,
    MAX_SIZE,
    Attention,
    CompressedAttention,
    GatedDelta,
    KimiDelta,
    LatentAttention,
    MoE,
)

SIZES = dict(
    vocab_size=10, d_model=8, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=3, d_ff=16, ffn="swiglu", norm="rmsnorm",
    tied=False,
)  # fmt: skip
GOOD = uniform(**SIZES)
DELTA = GatedDelta(k_heads=1, k_dim=2, v_heads=2, v_dim=2, conv=4)
MLA = LatentAttention(n_heads=2, q_rank=6, kv_rank=5, nope_dim=4, rope_dim=2, v_dim=3)
V4 = CompressedAttention(n_heads=4, head_dim=3, q_rank=5, o_groups=2, o_rank=3, window=7)
INNER = FFN(16, "swiglu")


def test_derived_widths():
    assert (GOOD.query_width, GOOD.kv_width) == (12, 6)
    assert GOOD.mixers == ("full", "full") and GOOD.full_layers == 2 and GOOD.recurrent_layers == 0
    hybrid = uniform(**SIZES, layers=("gated_delta", "full"), gated_delta=DELTA)
    assert hybrid.mixers == ("gated_delta", "full") and hybrid.full_layers == hybrid.recurrent_layers == 1
    assert hybrid.query_width == 12 and hybrid.gated_delta == DELTA
    assert (DELTA.key_width, DELTA.value_width) == (2, 4)
    sliding = uniform(**SIZES, layers=("sliding", "full"), window=5)
    assert (sliding.full_layers, sliding.sliding_layers, sliding.n_kv_heads) == (1, 1, 2)
    assert uniform(**SIZES, window=5).mixers == ("sliding", "sliding")


def test_what_a_block_of_this_model_is():
    """Windows are set aside where attention could do without; compressed attention cannot."""
    sliding = uniform(**SIZES, window=5, biases={"ffn"})
    assert sliding.block == Layer(replace(sliding.layers[0].mixer, window=None), FFN(16, "swiglu", bias=True))
    assert uniform(**SIZES).block.ffn.bias is False and GOOD.block == GOOD.layers[0]
    compressed = Config(10, 8, (Layer(V4, INNER), Layer(DELTA, INNER)), "rmsnorm", tied=False)
    assert compressed.block.mixer == compressed.softmax == V4 and V4.window == 7
    rated = replace(V4, rate=4, index_heads=1, index_dim=2)
    assert Config(10, 8, (Layer(rated, INNER),), "rmsnorm", tied=False).softmax == V4


def test_inputs_that_a_convolution_still_needs():
    """All but one of its kernel's inputs, for queries, keys and values each."""
    assert KimiDelta(heads=2, dim=3, conv=4, decay_rank=5).conv_elements == (4 - 1) * (6 + 6 + 6) == 54
    assert GatedDelta(k_heads=1, k_dim=2, v_heads=3, v_dim=5, conv=4).conv_elements == (4 - 1) * (2 + 2 + 15) == 57
    assert KimiDelta(2, 3, 1, 5).conv_elements == GatedDelta(1, 2, 3, 5, 1).conv_elements == 0


def test_widths_of_latent_attention():
    config = Config(10, 8, (Layer(MLA, INNER),), "rmsnorm", tied=False)
    assert (config.n_heads, config.head_dim, config.query_width, MLA.value_width) == (2, 6, 12, 6)
    assert config.full_layers == 1
    with pytest.raises(ConfigError, match="latent attention has no key/value heads of its own"):
        _ = config.n_kv_heads


def test_what_differs_between_layers_has_no_single_value():
    moe = MoE(INNER, 4, 2)
    mixed = Config(10, 8, (Layer(MLA, INNER), Layer(MLA, moe), Layer(MLA, moe)), "rmsnorm", tied=False)
    assert mixed.groups == {Layer(MLA, INNER): 1, Layer(MLA, moe): 2}
    assert (mixed.d_ff, mixed.moe, mixed.dense_ffn) == (16, moe, INNER)
    with pytest.raises(ConfigError, match="several kinds of blocks with attention"):
        _ = mixed.block
    two = Config(10, 8, (Layer(MLA, INNER), Layer(Attention(2, 2, 4), INNER)), "rmsnorm", tied=False)
    with pytest.raises(ConfigError, match="several kinds of attention layers"):
        _ = two.n_heads
    recurrent = Config(10, 8, (Layer(DELTA, INNER),), "rmsnorm", tied=False)
    with pytest.raises(ConfigError, match="the model has no attention layers"):
        _ = recurrent.n_heads


def test_compressed_layers_share_their_heads():
    layers = tuple(Layer(mixer, INNER) for mixer in (V4, replace(V4, rate=4, index_heads=2, index_dim=3)))
    config = Config(10, 8, layers, "rmsnorm", tied=False)
    assert (config.n_heads, config.head_dim, config.mixers) == (4, 3, ("window", "compressed"))
    assert replace(V4, rate=9).kind == "heavily compressed" and config.sliding_layers == 1


def test_norms_of_the_stream():
    assert GOOD.stream_norms == 5 and GOOD.norm_widths == (8,)
    assert replace(GOOD, outer_norms=()).stream_norms == 4
    assert replace(GOOD, outer_norms=(8, 3)).stream_norms == 5


def test_a_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        GOOD.d_model = 9


@pytest.mark.parametrize("field", ["vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff"])
@pytest.mark.parametrize("value", [0, -1, 1.0, "8", None, True, MAX_SIZE + 1, 10**4000, float("nan"), [8]])
def test_sizes_are_positive_integers(field, value):
    with pytest.raises(ConfigError, match=f"{field} must be a positive integer"):
        uniform(**SIZES | {field: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_kv_heads": 3}, "n_heads must be a multiple of n_kv_heads, found 4 and 3"),
        ({"ffn": "geglue"}, "unknown ffn 'geglue'"),
        ({"ffn": ["gelu"]}, "unknown ffn"),
        ({"norm": "batchnorm"}, "unknown norm 'batchnorm'"),
        ({"kind": "prefix"}, "unknown kind 'prefix'"),
        ({"tied": 1}, "tied must be true or false"),
        ({"qk_norm": "yes"}, "qk_norm must be true or false"),
        ({"output_gate": None}, "output_gate must be true or false"),
        ({"biases": frozenset({"q", "gate"})}, "unknown bias site 'gate'"),
        ({"learned_positions": -1}, "learned_positions must be an integer from 0 up"),
        ({"learned_positions": 1.5}, "learned_positions must be an integer from 0 up"),
        ({"layers": ("full",)}, "layers names 1 mixers for n_layers = 2"),
        ({"layers": ("full", "window")}, "unknown layer 'window'"),
        ({"layers": ("gated_delta", "full")}, "must be given together"),
        ({"layers": ("sliding", "full")}, "sliding layers and their window must be given together"),
        ({"layers": ("full", "full"), "window": 3}, "sliding layers and their window must be given together"),
        ({"gated_delta": DELTA}, "must be given together"),
        ({"n_layers": 10_001}, "n_layers must be at most 10000"),
        ({"embedding_width": 0}, "embedding_width must be a positive integer"),
        ({"kind": "encoder-decoder"}, "has a stack of encoder layers"),
        ({"encoder": GOOD.layers}, "has a stack of encoder layers"),
        ({"stored_layers": 3}, "3 stored layers cannot serve 2"),
    ],
)
def test_contradictions_are_named(change, message):
    with pytest.raises(ConfigError, match=message):
        uniform(**SIZES | change)


def test_the_largest_stacks():
    assert replace(GOOD, layers=(GOOD.layers[0],) * 10_000).n_layers == uniform(**SIZES | {"n_layers": 10_000}).n_layers
    with pytest.raises(ConfigError, match="at most 10000"):
        replace(GOOD, layers=(GOOD.layers[0],) * 10_001)
    assert replace(GOOD, stored_layers=2).stored_layers == 2  # each block its own, said so


def test_a_stack_holds_layers():
    for layers in ((), ("full",)):
        with pytest.raises(ConfigError):
            replace(GOOD, layers=layers)
    with pytest.raises(ConfigError, match="a layer needs a mixer and an FFN"):
        Layer(INNER, INNER)
    with pytest.raises(ConfigError, match="stored layers"):
        replace(GOOD, layers=(GOOD.layers[0], Layer(DELTA, INNER)), stored_layers=1)


@pytest.mark.parametrize(("part", "change", "message"), [
    (DELTA, {"k_dim": 0}, "k_dim must be a positive integer"),
    (DELTA, {"k_heads": 2, "v_heads": 3}, "multiple of k_heads"),
    (KimiDelta(2, 3, 4, 5), {"decay_rank": 0}, "decay_rank"),
    (MLA, {"q_rank": 0}, "q_rank"), (MLA, {"kv_rank": None}, "kv_rank"), (MLA, {"gate": 1}, "gate must be"),
    (V4, {"window": 0}, "window"), (V4, {"o_groups": 5}, "o_groups must divide"), (V4, {"rate": 0}, "rate"),
    (V4, {"index_heads": 2, "index_dim": 2}, "an indexer needs"), (V4, {"rate": 4, "index_heads": 2}, "an indexer"),
    (MoE(INNER, 4, 2), {"top_k": 5}, "top_k must be at most n_experts, found 5 of 4"),
    (MoE(INNER, 4, 2), {"shared_gate": True}, "shared_gate needs a shared expert"),
    (MoE(INNER, 4, 2), {"latent": 0}, "latent"),
    (Attention(2, 2, 4), {"window": 0}, "window"), (Attention(2, 2, 4), {"qk_norm": True}, "unknown qk_norm True"),
    (Attention(2, 2, 4), {"biases": frozenset({"ffn"})}, "unknown bias site 'ffn'"),
])  # fmt: skip
def test_parts_are_checked(part, change, message):
    with pytest.raises(ConfigError, match=message):
        replace(part, **change)
