"""DeepSeek-V2, V3/R1 and Kimi K2 (latent attention), DeepSeek-V4 (compressed attention, hyper-connections)."""

from __future__ import annotations

from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, CompressedAttention, ConfigError, LatentAttention, MoE
from blocklib.ledger.reader.common import (
    ANYWHERE,
    CONTEXT,
    DRAFT,
    FIXED,
    GATED,
    ROUTING,
    causal,
    head,
    layer_count,
    pattern,
)
from blocklib.ledger.reader.fields import REQUIRED, Family, choice, count, flag, integers, names, size, sizes


def _derived(v: SimpleNamespace, name: str, value: int) -> None:
    if getattr(v, name) not in (None, value):
        raise ConfigError(f"{name} is {getattr(v, name)}, the other fields make it {value}")


def _latent(v: SimpleNamespace) -> Config:
    layer_count(v.num_hidden_layers)
    _derived(v, "qk_head_dim", v.qk_nope_head_dim + v.qk_rope_head_dim)
    _derived(v, "head_dim", v.qk_rope_head_dim)
    bias = getattr(v, "mlp_bias", False)
    mixer = LatentAttention(v.num_attention_heads, v.q_lora_rank, v.kv_lora_rank, v.qk_nope_head_dim,
                            v.qk_rope_head_dim, v.v_head_dim, bias=v.attention_bias)  # fmt: skip
    shared = FFN(v.moe_intermediate_size * v.n_shared_experts, v.hidden_act, bias)
    experts = MoE(FFN(v.moe_intermediate_size, v.hidden_act), v.n_routed_experts, v.num_experts_per_tok, shared)
    dense = Layer(mixer, FFN(v.intermediate_size, v.hidden_act, bias))
    first = min(v.first_k_dense_replace, v.num_hidden_layers)
    layers = (dense,) * first + (Layer(mixer, experts),) * (v.num_hidden_layers - first)
    return Config(v.vocab_size, v.hidden_size, layers, "rmsnorm", **head(v))


_SLIDE, _SPARSE, _HEAVY = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"
_RATIOS = {0: _SLIDE, 4: _SPARSE, 128: _HEAVY}
_RATES = {_SPARSE: 4, _HEAVY: 128}


def _v4(v: SimpleNamespace) -> Config:
    n = layer_count(v.num_hidden_layers)
    rates = _RATES | v.compress_rates
    for kind in rates.keys() - _RATES.keys():
        raise ConfigError(f"compress_rates names {kind[:60]!r}; known: {', '.join(_RATES)}")
    for name, kind in (("compress_rate_csa", _SPARSE), ("compress_rate_hca", _HEAVY)):
        rates[kind] = getattr(v, name) or rates[kind]
    kinds = pattern(v, _v4_pattern(v, n))
    if v.mlp_layer_types is not None:
        pattern(v, (), "mlp_layer_types")
    indexed = {"index_heads": v.index_n_heads, "index_dim": v.index_head_dim}
    mixers = {
        kind: CompressedAttention(
            v.num_attention_heads, v.head_dim, v.q_lora_rank, v.o_groups, v.o_lora_rank, v.sliding_window,
            rates.get(kind), **(indexed if kind == _SPARSE else {}),
        )
        for kind in (_SLIDE, _SPARSE, _HEAVY)
    }  # fmt: skip
    if v.n_shared_experts != 1:
        raise ConfigError(f"n_shared_experts must be 1 for deepseek_v4, found {v.n_shared_experts}")
    shared = FFN(v.moe_intermediate_size, v.hidden_act, v.mlp_bias)
    experts = MoE(FFN(v.moe_intermediate_size, v.hidden_act), v.n_routed_experts, v.num_experts_per_tok, shared)
    streams, wide = v.hc_mult, v.hc_mult * v.hidden_size
    mixing = streams * (streams + 2)  # from the streams, to the streams, and between them
    other = 2 * (mixing * (wide + 1) + 3)  # before each sublayer: a matrix, an offset, three scales
    made = {kind: Layer(mixer, experts, other=other) for kind, mixer in mixers.items()}
    return Config(v.vocab_size, v.hidden_size, tuple(made[kind] for kind in kinds), "rmsnorm",
                  other=streams * (wide + 1) + 1, **head(v))  # fmt: skip


def _v4_pattern(v: SimpleNamespace, n: int) -> tuple[str, ...]:
    if v.compress_ratios is None:
        return (_HEAVY,) * min(n, 2) + tuple(_SPARSE if i % 2 else _HEAVY for i in range(n - 2))
    if len(v.compress_ratios) < n:
        raise ConfigError(f"compress_ratios names {len(v.compress_ratios)} layers, num_hidden_layers is {n}")
    for ratio in v.compress_ratios:
        if ratio not in _RATIOS:
            raise ConfigError(f"compress_ratios holds {ratio}; known: {', '.join(map(str, _RATIOS))}")
    return tuple(_RATIOS[ratio] for ratio in v.compress_ratios[:n])


_V3 = {
    "vocab_size": size(), "hidden_size": size(), "intermediate_size": size(), "num_hidden_layers": size(),
    "num_attention_heads": size(), "q_lora_rank": size(1536, null=True), "kv_lora_rank": size(512),
    "qk_nope_head_dim": size(128), "qk_rope_head_dim": size(64), "v_head_dim": size(128), "qk_head_dim": size(None),
    "head_dim": size(None), "n_routed_experts": size(256, "num_local_experts"), "n_shared_experts": size(1),
    "num_experts_per_tok": size(8), "moe_intermediate_size": size(2048), "first_k_dense_replace": count(3),
    "hidden_act": choice(GATED, "silu"), "attention_bias": flag(False), "tie_word_embeddings": flag(False),
}  # fmt: skip
_V2 = _V3 | {
    "n_routed_experts": size(64, "num_experts"), "n_shared_experts": size(2), "num_experts_per_tok": size(),
    "moe_intermediate_size": size(1407), "first_k_dense_replace": count(0), "mlp_bias": flag(False),
}  # fmt: skip
_INERT = ANYWHERE | CONTEXT | ROUTING | DRAFT | {
    "num_key_value_heads": "latent attention has no key/value heads to count",
}  # fmt: skip
_FIXED = FIXED | {"moe_layer_freq": (1,)}

FAMILIES = (
    Family("deepseek_v2", causal("DeepseekV2"), _V2, _latent, _INERT, _FIXED),
    Family("deepseek_v3", causal("DeepseekV3"), _V3, _latent, _INERT, _FIXED),
    Family("kimi_k2", causal("DeepseekV3"), _V3, _latent, _INERT, _FIXED),
    Family(
        "deepseek_v4", causal("DeepseekV4"), {
            "vocab_size": size(), "hidden_size": size(), "num_hidden_layers": size(), "num_attention_heads": size(),
            "moe_intermediate_size": size(REQUIRED, "intermediate_size"), "head_dim": size(512),
            "q_lora_rank": size(1024), "num_experts_per_tok": size(6),
            "n_routed_experts": size(256, "num_local_experts"), "n_shared_experts": size(1),
            "layer_types": names({kind: kind for kind in _RATIOS.values()}), "compress_ratios": integers(),
            "compress_rates": sizes({}), "compress_rate_csa": size(None), "compress_rate_hca": size(None),
            "hc_mult": size(4), "mlp_layer_types": names({"moe": "moe", "hash_moe": "moe"}),
            "sliding_window": size(128), "o_groups": size(8), "o_lora_rank": size(1024), "index_n_heads": size(64),
            "index_head_dim": size(128), "hidden_act": choice(GATED, "silu"), "mlp_bias": flag(False),
            "tie_word_embeddings": flag(False),
        }, _v4, ANYWHERE | CONTEXT | ROUTING | DRAFT | {
            "compress_rope_theta": "rotary positions are computed, not learned",
            "qk_rope_head_dim": "how many of a head's dimensions rotate",
            "index_topk": "how many compressed entries a query reads; the indexer's size does not depend on it",
            "hc_sinkhorn_iters": "steps of a computation without parameters", "hc_eps": "a small number in it",
            "num_hash_layers": "hash-routed layers keep the router's matrix; their token table is a buffer",
        }, FIXED | {"num_key_value_heads": (1,), "attention_bias": (False,)},
    ),
)  # fmt: skip
