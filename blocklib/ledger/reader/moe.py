"""Mixtures of experts with ordinary attention: Mixtral, Qwen3-MoE, gpt-oss."""

from __future__ import annotations

from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, MoE
from blocklib.ledger.reader.common import (
    FIXED,
    LAYER_TYPES,
    ROUTING,
    causal,
    every,
    layer_count,
    pattern,
    sparse_layers,
)
from blocklib.ledger.reader.fields import Family, flag, integers, names, size
from blocklib.ledger.reader.llama import ALL, ATTENTION_BIAS, BASE, INERT, NO, assemble, attention, by_kind


def _mixtral(v: SimpleNamespace) -> Config:
    experts = MoE(FFN(v.intermediate_size, v.hidden_act), v.num_local_experts, v.num_experts_per_tok)
    layer = Layer(attention(v, window=v.sliding_window), experts)
    return assemble(v, (layer,) * layer_count(v.num_hidden_layers))


def _qwen3_moe(v: SimpleNamespace) -> Config:
    layer_count(v.num_hidden_layers)
    mixer = attention(v, biases=ALL if v.attention_bias else NO, qk_norm="head",
                      window=v.sliding_window if v.use_sliding_window else None)  # fmt: skip
    dense = Layer(mixer, FFN(v.intermediate_size, v.hidden_act))
    experts = MoE(FFN(v.moe_intermediate_size, v.hidden_act), v.num_experts, v.num_experts_per_tok)
    sparse = Layer(mixer, experts)
    return assemble(v, tuple(sparse if is_sparse else dense for is_sparse in sparse_layers(v)))


def _gpt_oss(v: SimpleNamespace) -> Config:
    expert = FFN(v.intermediate_size, v.hidden_act, bias=True)
    experts = MoE(expert, v.num_local_experts, v.num_experts_per_tok, router_bias=True)
    layer = Layer(attention(v, biases=ALL if v.attention_bias else NO, sinks=True), experts)
    return assemble(v, by_kind(pattern(v, every(v.num_hidden_layers, 2, "sliding", "full")), layer, v.sliding_window))


FAMILIES = (
    Family(
        "mixtral", causal("Mixtral"), BASE | {
            "num_key_value_heads": size(8, null=True), "sliding_window": size(None),
            "num_local_experts": size(8, "num_experts"), "num_experts_per_tok": size(2),
        }, _mixtral, INERT | ROUTING, FIXED,
    ),
    Family(
        "qwen3_moe", causal("Qwen3Moe"), BASE | ATTENTION_BIAS | {
            "num_key_value_heads": size(4, null=True), "use_sliding_window": flag(False),
            "sliding_window": size(4096, null=True), "decoder_sparse_step": size(1), "mlp_only_layers": integers(),
            "moe_intermediate_size": size(768), "num_experts": size(128, "num_local_experts"),
            "num_experts_per_tok": size(8),
        }, _qwen3_moe, INERT | ROUTING | {"max_window_layers": "the class lets all layers slide or none"}, FIXED,
    ),
    Family(
        "gpt_oss", causal("GptOss"), BASE | {
            "num_key_value_heads": size(8, null=True), "head_dim": size(64, null=True), "sliding_window": size(128),
            "attention_bias": flag(True), "layer_types": names(LAYER_TYPES),
            "num_local_experts": size(128, "num_experts"), "num_experts_per_tok": size(4, "experts_per_token"),
        }, _gpt_oss, INERT | ROUTING, FIXED,
    ),
)  # fmt: skip
