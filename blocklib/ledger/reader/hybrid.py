"""Qwen3-Next and the Qwen3.5–3.8 hybrids: Gated DeltaNet layers with gated full attention between them."""

from __future__ import annotations

from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, GatedDelta, Mixer, MoE
from blocklib.ledger.reader.common import (
    ANYWHERE,
    DRAFT,
    FIXED,
    LM,
    NONE,
    ROUTING,
    causal,
    every,
    layer_count,
    pattern,
    sparse_layers,
)
from blocklib.ledger.reader.fields import Family, Field, integers, names, size
from blocklib.ledger.reader.llama import ALL, ATTENTION_BIAS, BASE, INERT, NO, assemble, attention


def _mixers(v: SimpleNamespace) -> tuple[Mixer, ...]:
    delta = GatedDelta(v.linear_num_key_heads, v.linear_key_head_dim, v.linear_num_value_heads,
                       v.linear_value_head_dim, v.linear_conv_kernel_dim)  # fmt: skip
    full = attention(v, biases=ALL if v.attention_bias else NO, qk_norm="head", gate=True)
    layer_count(v.num_hidden_layers)
    kinds = pattern(v, every(v.num_hidden_layers, v.full_attention_interval, "delta", "full"))
    return tuple(full if kind == "full" else delta for kind in kinds)


def _experts(v: SimpleNamespace) -> MoE:
    shared = FFN(v.shared_expert_intermediate_size, v.hidden_act)
    return MoE(FFN(v.moe_intermediate_size, v.hidden_act), v.num_experts, v.num_experts_per_tok, shared,
               shared_gate=True)  # fmt: skip


def _stack(mixers: tuple[Mixer, ...], ffns: list[FFN | MoE]) -> tuple[Layer, ...]:
    # One object for each shape: comparing and hashing shapes is slow.
    keys = [(id(mixer), id(ffn)) for mixer, ffn in zip(mixers, ffns, strict=True)]
    shapes = dict(zip(keys, zip(mixers, ffns, strict=True), strict=True))
    made = {key: Layer(*shape) for key, shape in shapes.items()}
    return tuple(made[key] for key in keys)


def _next(v: SimpleNamespace) -> Config:
    mixers, sparse, dense = _mixers(v), _experts(v), FFN(v.intermediate_size, v.hidden_act)
    return assemble(v, _stack(mixers, [sparse if is_sparse else dense for is_sparse in sparse_layers(v)]))


def _dense(v: SimpleNamespace) -> Config:
    mixers = _mixers(v)
    return assemble(v, _stack(mixers, [FFN(v.intermediate_size, v.hidden_act)] * len(mixers)))


def _sparse(v: SimpleNamespace) -> Config:
    mixers = _mixers(v)
    return assemble(v, _stack(mixers, [_experts(v)] * len(mixers)))


def _linear(**changed: Field) -> dict[str, Field]:
    return BASE | ATTENTION_BIAS | {
        "head_dim": size(256), "linear_conv_kernel_dim": size(4), "linear_key_head_dim": size(128),
        "linear_value_head_dim": size(128), "linear_num_key_heads": size(16), "linear_num_value_heads": size(32),
        "layer_types": names({"full_attention": "full", "linear_attention": "delta"}),
        "full_attention_interval": size(4),
    } | changed  # fmt: skip


def _mixture(experts: int, chosen: int) -> dict[str, Field]:
    return {
        "moe_intermediate_size": size(512), "shared_expert_intermediate_size": size(512),
        "num_experts": size(experts, "num_local_experts"), "num_experts_per_tok": size(chosen),
    }  # fmt: skip


_INERT = INERT | ROUTING | DRAFT | {
    "mamba_ssm_dtype": "stored precision of the recurrent state",
    "mrope_section": "rotary positions are computed, not learned",
    "mrope_interleaved": "rotary positions are computed, not learned",
}  # fmt: skip
_FIXED = FIXED | {"attn_output_gate": (True,), "use_sliding_window": (False,), "sliding_window": (None,)}
_KV2 = size(2)
_VISION = ANYWHERE | {
    name: "images and video: how they enter the text" for name in (
        "vision_config", "image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id",
        "language_model_only")
}  # fmt: skip
_MOE_TEXT = _linear(num_key_value_heads=_KV2, **_mixture(256, 8))
del _MOE_TEXT["intermediate_size"]


def _wrapped(prefix: str) -> dict[str, str]:
    return {f"{prefix}ForConditionalGeneration": LM, f"{prefix}ForCausalLM": LM, f"{prefix}Model": NONE}


def _text(prefix: str) -> dict[str, str]:
    return {f"{prefix}ForCausalLM": LM, f"{prefix}ForConditionalGeneration": LM, f"{prefix}TextModel": NONE}


FAMILIES = (
    Family(
        "qwen3_next", causal("Qwen3Next"),
        _linear(num_key_value_heads=_KV2, decoder_sparse_step=size(1), mlp_only_layers=integers(),
                **_mixture(512, 10)),
        _next, _INERT, _FIXED,
    ),
    Family("qwen3_5_text", _text("Qwen3_5"), _linear(num_key_value_heads=size(4)), _dense, _INERT, _FIXED),
    Family("qwen3_5_moe_text", _text("Qwen3_5Moe"), _MOE_TEXT, _sparse,
           _INERT | {"intermediate_size": "no layer is dense"}, _FIXED),
    Family("qwen3_5", _wrapped("Qwen3_5"), {}, None, _VISION, FIXED, text="qwen3_5_text"),
    Family("qwen3_5_moe", _wrapped("Qwen3_5Moe"), {}, None, _VISION, FIXED, text="qwen3_5_moe_text"),
)  # fmt: skip
