"""Bytes of weights by format, activations against what torch's autograd really saves, elementwise traffic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from blocklib.exact import DomainError
from blocklib.ledger import activations, bytes
from blocklib.ledger.config import Config, ConfigError, Layer, uniform
from blocklib.ledger.parts import FFN, Attention, MoE
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward, Gated, GatedFeedForward
from blocklib.nn.moe import Experts, SoftmaxThenTopK
from blocklib.nn.moe import MoE as Mixture

LLAMA = uniform(vocab_size=128_256, d_model=4096, n_layers=32, n_heads=32, n_kv_heads=8, head_dim=128, d_ff=14_336,
                ffn="swiglu", norm="rmsnorm", tied=False)  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("fp32", 32_121_044_992), ("bf16", 16_060_522_496), ("fp16", 16_060_522_496), ("fp8", 8_030_261_248),
     ("int8", 8_030_261_248), ("int4", 4_015_130_624), ("mxfp4", 4_015_130_624 + 250_945_664)],
)  # fmt: skip
def test_weights_by_format(dtype, expected):
    assert bytes.weight_bytes(LLAMA, dtype) == expected


def test_bits_with_their_share_of_a_scale():
    assert bytes.Format(5, scale_bits=8).bits_per_weight == 5 and bytes.Format(4, 32).bits_per_weight == 4
    assert bytes.format_of("mxfp4").bits_per_weight == 4 + Fraction(8, 32)


def test_part_of_a_byte_counts_as_one():
    assert bytes.bytes_of(3, "int4") == 2 and bytes.bytes_of(1, "mxfp4") == 1 and bytes.bytes_of(32, "mxfp4") == 17
    with pytest.raises(ConfigError, match=r"unknown dtype 'mxfp'.*did you mean mxfp4"):
        bytes.bytes_of(1, "mxfp")


def saved_elements(run) -> dict[torch.dtype, int]:
    """Elements of the distinct storages that autograd keeps while ``run()`` computes, parameters left out."""
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out, weights = run()
        held = {p.untyped_storage().data_ptr() for p in weights}
        sizes: dict[torch.dtype, int] = {}
        for pointer, tensor in kept.items():
            if pointer not in held:
                elements = tensor.untyped_storage().nbytes() // tensor.element_size()
                sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + elements
    del out
    return sizes


FFNS = {
    "relu": lambda d, f: FeedForward(d, f, "relu"), "gelu": lambda d, f: FeedForward(d, f, "gelu"),
    "silu": lambda d, f: FeedForward(d, f, "silu"), "relu2": lambda d, f: FeedForward(d, f, "relu2"),
    "reglu": lambda d, f: GatedFeedForward(d, f, Gated("reglu")),
    "geglu": lambda d, f: GatedFeedForward(d, f, Gated("geglu")),
    "swiglu": lambda d, f: GatedFeedForward(d, f, Gated("swiglu")),
}  # fmt: skip


@pytest.mark.parametrize("kind", FFNS)
@pytest.mark.parametrize(("d", "width", "tokens"), [(8, 24, 5), (16, 40, 3)])
def test_an_ffn_keeps_what_autograd_saves(kind, d, width, tokens):
    module = FFNS[kind](d, width)
    x = torch.randn(tokens, d, requires_grad=True)
    found = saved_elements(lambda: (module(x), list(module.parameters())))
    assert found == {torch.float32: tokens * (d + activations.inner_elements(FFN(width, kind)))}


def test_gated_and_ungated_at_equal_parameters():
    """Shazeer's comparison: 4d against 8d/3. All tensors: 8d against 10.67d; with recomputation 4d against 5.33d."""
    d = 3 * 1024
    gelu, swiglu = FFN(4 * d, "gelu"), FFN(8 * d // 3, "swiglu")
    assert activations.inner_elements(gelu) == 8 * d and 3 * activations.inner_elements(swiglu) == 32 * d
    assert activations.inner_elements(gelu, recompute=True) == 4 * d
    assert 3 * activations.inner_elements(swiglu, recompute=True) == 16 * d


class Heads(nn.Module):
    """Attention through torch's own kernel, written out or fused, with shared key heads."""

    def __init__(self, d, heads, kv_heads, width, fused):
        super().__init__()
        self.heads, self.kv_heads, self.width, self.fused = heads, kv_heads, width, fused
        self.q, self.k, self.v = (nn.Linear(d, n * width, bias=False) for n in (heads, kv_heads, kv_heads))
        self.o = nn.Linear(heads * width, d, bias=False)

    def forward(self, x):
        q, k, v = (
            m(x).unflatten(-1, (n, self.width)).transpose(1, 2)
            for m, n in ((self.q, self.heads), (self.k, self.kv_heads), (self.v, self.kv_heads))
        )
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v, enable_gqa=self.heads != self.kv_heads)
        else:
            mixed = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.o(mixed.transpose(1, 2).flatten(2))


class OneKernelRMS(torch.autograd.Function):
    """RMSNorm as a fused kernel keeps it: its input and one number (torch's own CPU path is composed of steps)."""

    @staticmethod
    def forward(ctx, x, gain):
        scale = x.square().mean(-1, keepdim=True).rsqrt()
        ctx.save_for_backward(x, scale, gain)
        return x * scale * gain

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


class RMS(nn.RMSNorm):
    def forward(self, x):
        return OneKernelRMS.apply(x, self.weight)


NORMS = {"layernorm": nn.LayerNorm, "rmsnorm": RMS}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("ffn", ["relu", "gelu", "swiglu"])
# Written out, shared key heads would be repeated into copies.
@pytest.mark.parametrize(("attention", "heads", "kv_heads"), [("fused", 4, 4), ("fused", 4, 2), ("written", 4, 4)])
def test_a_block_keeps_what_autograd_saves(attention, norm, ffn, heads, kv_heads):
    d, width, f, tokens = 16, 4, 40, 6
    core = Heads(d, heads, kv_heads, width, attention == "fused")
    block = PreNormBlock(d, core, FFNS[ffn](d, f), NORMS[norm])
    x = torch.randn(1, tokens, d, requires_grad=True)
    found = saved_elements(lambda: (block(x), list(block.parameters())))
    config = uniform(vocab_size=7, d_model=d, n_layers=1, n_heads=heads, n_kv_heads=kv_heads, head_dim=width, d_ff=f,
                     ffn=ffn, norm=norm, tied=True)  # fmt: skip
    assert sum(found.values()) == tokens * activations.block(config, config.layers[0], tokens, attention).total


class Dressed(Heads):
    """The same with norms of queries and keys (of each head, or of all together) and a gate on its output."""

    def __init__(self, d, heads, kv_heads, width, qk_norm, gated):
        super().__init__(d, heads, kv_heads, width, True)
        self.whole, self.gate = qk_norm == "full", nn.Linear(d, heads * width, bias=False) if gated else None
        self.norms = (
            nn.ModuleList(RMS(width * (n if self.whole else 1)) for n in (heads, kv_heads)) if qk_norm else None
        )

    def forward(self, x):
        made = [m(x) for m in (self.q, self.k, self.v)]
        for i, norm in enumerate(self.norms or ()):
            made[i] = norm(made[i] if self.whole else made[i].unflatten(-1, (-1, self.width))).flatten(2)
        q, k, v = (t.unflatten(-1, (-1, self.width)).transpose(1, 2) for t in made)
        mixed = F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2).flatten(2)
        return self.o(mixed if self.gate is None else mixed * self.gate(x).sigmoid())


class Parallel(nn.Module):
    """Both sublayers read one norm."""

    def __init__(self, d, core, ffn):
        super().__init__()
        self.norm, self.core, self.ffn = nn.LayerNorm(d), core, ffn

    def forward(self, x):
        normed = self.norm(x)
        return x + self.core(normed) + self.ffn(normed)


@pytest.mark.parametrize("qk_norm", [None, "head", "full"])
@pytest.mark.parametrize(("gated", "norms"), [(False, 2), (True, 2), (False, 1), (True, 1)])
def test_gates_norms_of_queries_and_side_by_side(qk_norm, gated, norms):
    d, heads, kv_heads, width, f, tokens = 16, 4, 2, 4, 40, 6
    core, ffn = Dressed(d, heads, kv_heads, width, qk_norm, gated), FFNS["relu"](d, f)
    block = PreNormBlock(d, core, ffn, nn.LayerNorm) if norms == 2 else Parallel(d, core, ffn)
    x = torch.randn(1, tokens, d, requires_grad=True)
    found = saved_elements(lambda: (block(x), list(block.parameters())))
    layer = Layer(Attention(heads, kv_heads, width, qk_norm=qk_norm, gate=gated), FFN(f, "relu"), norms)
    config = Config(7, d, (layer,), "layernorm", True)
    assert sum(found.values()) == tokens * activations.block(config, layer, tokens).total


def test_a_gate_in_any_form_keeps_four_vectors():
    kept = ("gate before its activation", "gate behind it", "value", "product")
    for kind in ("geglu", "swiglu", "situglu"):
        assert activations.inner_elements(FFN(5, kind)) == 5 * len(kept)


def test_without_a_head_no_logits_are_kept():
    with_head, bare = (activations.saved(replace(LLAMA, lm_head=lm_head), 8).rows for lm_head in (True, False))
    assert {row: with_head[row] - bare[row] for row in bare if with_head[row] != bare[row]} == {
        "logits": 128_256, "inputs": 4096}  # fmt: skip


def test_a_whole_step_keeps_the_loss_too():
    d, tokens, vocab = 16, 6, 31
    embed = nn.Embedding(vocab, d)
    blocks = [PreNormBlock(d, Heads(d, 4, 4, 4, True), FFNS["gelu"](d, 40), nn.LayerNorm) for _ in range(2)]
    norm, head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
    ids = torch.arange(tokens)[None]
    modules = [embed, *blocks, norm, head]

    def step():
        x = embed(ids)
        for block in blocks:
            x = block(x)
        logits = head(norm(x))[0]
        return F.cross_entropy(logits, ids[0]), [p for m in modules for p in m.parameters()]

    config = uniform(vocab_size=vocab, d_model=d, n_layers=2, n_heads=4, n_kv_heads=4, head_dim=4, d_ff=40, ffn="gelu",
                     norm="layernorm", tied=False)  # fmt: skip
    found = saved_elements(step)
    total = activations.saved(config, tokens).total
    # The loss also keeps its sum of weights: one number a step.
    assert found.pop(torch.int64, 0) <= tokens and sum(found.values()) - tokens * total in (0, 1)


def test_experts_keep_a_copy_of_the_input_and_their_output():
    d, f, tokens, experts, top_k = 8, 12, 5, 4, 2
    module = Mixture(d, Experts(experts, d, f), SoftmaxThenTopK(top_k, renormalise=False))
    x = torch.randn(tokens, d, requires_grad=True)
    found = saved_elements(lambda: (module(x), list(module.parameters())))[torch.float32]
    config = Config(7, d, (Layer(Attention(1, 1, 8), MoE(FFN(f, "swiglu"), experts, top_k)),), "rmsnorm", True)
    rows = activations.block(config, config.layers[0], tokens)
    scattered = top_k * d  # index_add keeps what it adds, for its shape alone
    assert found == tokens * (d + rows.experts + scattered) and rows.ffn == 0


def test_activation_bytes_keep_statistics_in_four():
    rows = activations.saved(LLAMA, 4096)
    assert rows.rows["scores"] == 0 and rows.ffn == 32 * 4 * 14_336 and rows.logits == 128_256
    assert rows.bytes("bf16") == 2 * (rows.total - rows.statistics) + 4 * rows.statistics
    written = activations.saved(LLAMA, 4096, "written")
    assert written.scores == 32 * 32 * 4096 and written.statistics == rows.statistics - 32 * 32


def test_what_is_not_itemised_is_refused():
    from blocklib.ledger.parts import GatedDelta, LatentAttention

    for mixer in (LatentAttention(4, None, 8, 4, 2, 4), GatedDelta(2, 4, 4, 4, 4)):
        with pytest.raises(ConfigError, match="not itemised"):
            activations.saved(replace(LLAMA, layers=(Layer(mixer, FFN(8, "gelu")),)), 4)
    with pytest.raises(ConfigError, match="unknown attention 'flash'"):
        activations.saved(LLAMA, 4, "flash")
    with pytest.raises(DomainError, match="tokens"):
        activations.saved(LLAMA, 0)


def test_experts_touched_by_a_batch():
    mixtral = [round(bytes.experts_touched(8, 2, b), 2) for b in (1, 2, 4, 8, 16, 32)]
    assert mixtral == [2.00, 3.50, 5.47, 7.20, 7.92, 8.00]
    deepseek = [round(bytes.experts_touched(256, 8, b), 1) for b in (1, 4, 16, 64, 128)]
    assert deepseek == [8.0, 30.5, 102.0, 222.4, 251.6]
    # By counting: two tokens, each on one of two experts, share it half of the time.
    assert bytes.experts_touched(2, 1, 2) == (1 + 2 + 2 + 1) / 4
    assert bytes.experts_touched(8, 2, 0) == 0
    layer = Layer(Attention(1, 1, 8), MoE(FFN(4, "swiglu"), 2, 1))
    config = Config(7, 8, (layer,) * 3, "rmsnorm", True)
    assert bytes.expert_params(config) == 3 * 2 * 96 and bytes.expert_params(LLAMA) == 0
    assert bytes.further_expert_params(config, 1) is bytes.further_expert_params(config, 0) == 0
    assert bytes.further_expert_params(config, 2) == 3 * 0.5 * 96


def test_elementwise_traffic():
    rows = bytes.elementwise(LLAMA).rows
    assert rows == {"norms": 65 * 2 * 4096 * 2, "residuals": 64 * 3 * 4096 * 2, "activations": 32 * 6 * 14_336 * 2,
                    "fused_activations": 32 * 2 * 14_336 * 2}  # fmt: skip
    layer = Layer(Attention(1, 1, 8), MoE(FFN(4, "swiglu"), 8, 2, shared=FFN(6, "gelu")))
    mixed = bytes.elementwise(Config(7, 8, (layer,), "rmsnorm", True), "fp32")
    assert mixed.activations == 4 * (2 * 4 * 6 + 6 * 3) and mixed.fused_activations == 4 * (2 * 4 * 2 + 6 * 2)
    assert bytes.logits_bytes(LLAMA, 8192) == 8192 * 128_256 * 4 and bytes.logits_bytes(LLAMA, 1, "bf16") == 256_512
    with pytest.raises(DomainError, match="tokens"):
        bytes.logits_bytes(LLAMA, -1)
