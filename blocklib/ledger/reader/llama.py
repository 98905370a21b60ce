"""Dense decoders in Llama's line: Llama, Mistral, Qwen2/2.5, Qwen3, OLMo 2, Gemma 2 and 3, Command R, nanochat."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, Attention, ConfigError
from blocklib.ledger.reader.common import (
    ANYWHERE,
    CONTEXT,
    FIXED,
    GATED,
    LAYER_TYPES,
    LM,
    NONE,
    SOFTCAP,
    causal,
    every,
    head,
    layer_count,
    pattern,
    width_of_head,
)
from blocklib.ledger.reader.fields import Family, choice, flag, names, size

QKV, ALL, NO = frozenset("qkv"), frozenset("qkvo"), frozenset()
BASE = {
    "vocab_size": size(), "hidden_size": size(), "intermediate_size": size(), "num_hidden_layers": size(),
    "num_attention_heads": size(), "num_key_value_heads": size(None), "head_dim": size(None),
    "hidden_act": choice(GATED, "silu"), "tie_word_embeddings": flag(False),
}  # fmt: skip
ATTENTION_BIAS = {"attention_bias": flag(False)}
WINDOWS = {
    "use_sliding_window": flag(False), "sliding_window": size(4096, null=True), "max_window_layers": size(28),
    "layer_types": names(LAYER_TYPES),
}  # fmt: skip
INERT = ANYWHERE | CONTEXT


def attention(v: SimpleNamespace, **more: object) -> Attention:
    """Attention of the sizes every family here names alike."""
    width = width_of_head(v.hidden_size, v.num_attention_heads, v.head_dim)
    return Attention(v.num_attention_heads, v.num_key_value_heads or v.num_attention_heads, width, **more)


def assemble(v: SimpleNamespace, layers: tuple[Layer, ...], norm: str = "rmsnorm") -> Config:
    """Embedding, layers, one final norm and a head."""
    return Config(v.vocab_size, v.hidden_size, layers, norm, **head(v))


def by_kind(kinds: tuple[str, ...], full: Layer, window: int | None) -> tuple[Layer, ...]:
    """The layer once for each kind, ``"full"`` or ``"sliding"``.

    Raises:
        ConfigError: layers slide, but no window is given.
    """
    if "sliding" not in kinds:
        return (full,) * layer_count(len(kinds))
    if window is None:
        raise ConfigError("layer_types names sliding layers, but no sliding_window is in use")
    made = {"full": full, "sliding": replace(full, mixer=replace(full.mixer, window=window))}
    return tuple(made[kind] for kind in kinds)


def _biases(v: SimpleNamespace) -> frozenset[str]:
    return ALL if v.attention_bias else NO


def _llama(v: SimpleNamespace) -> Config:
    layer = Layer(attention(v, biases=_biases(v)), FFN(v.intermediate_size, v.hidden_act, bias=v.mlp_bias))
    return assemble(v, (layer,) * layer_count(v.num_hidden_layers))


def _mistral(v: SimpleNamespace) -> Config:
    layer = Layer(attention(v, window=v.sliding_window), FFN(v.intermediate_size, v.hidden_act))
    return assemble(v, (layer,) * layer_count(v.num_hidden_layers))


def windows(v: SimpleNamespace, layer: Layer) -> tuple[Layer, ...]:
    """Qwen's rule: layers from ``max_window_layers`` on slide, if ``use_sliding_window`` and nothing is listed."""
    window = v.sliding_window if v.use_sliding_window else None
    rest = layer_count(v.num_hidden_layers)
    full = rest if window is None else min(v.max_window_layers, rest)
    return by_kind(pattern(v, ("full",) * full + ("sliding",) * (rest - full)), layer, window)


def _qwen2(v: SimpleNamespace) -> Config:
    return assemble(v, windows(v, Layer(attention(v, biases=QKV), FFN(v.intermediate_size, v.hidden_act))))


def _qwen3(v: SimpleNamespace) -> Config:
    mixer = attention(v, biases=_biases(v), qk_norm="head")
    return assemble(v, windows(v, Layer(mixer, FFN(v.intermediate_size, v.hidden_act))))


def _olmo2(v: SimpleNamespace) -> Config:
    mixer = attention(v, biases=_biases(v), qk_norm="full")
    return assemble(v, (Layer(mixer, FFN(v.intermediate_size, v.hidden_act)),) * layer_count(v.num_hidden_layers))


def _cohere(v: SimpleNamespace) -> Config:
    mixer = attention(v, biases=_biases(v), qk_norm="heads" if v.use_qk_norm else None)
    layer = Layer(mixer, FFN(v.intermediate_size, v.hidden_act), norms=1)
    return assemble(v, (layer,) * layer_count(v.num_hidden_layers), "layernorm-gain")


def _nanochat(v: SimpleNamespace) -> Config:
    layer = Layer(attention(v, biases=_biases(v)), FFN(v.intermediate_size, v.hidden_act))
    return assemble(v, (layer,) * layer_count(v.num_hidden_layers), "rmsnorm-plain")


def _gemma2(v: SimpleNamespace) -> Config:
    layer = Layer(attention(v, biases=_biases(v)), FFN(v.intermediate_size, v.hidden_activation), norms=4)
    return assemble(v, by_kind(pattern(v, every(v.num_hidden_layers, 2, "sliding", "full")), layer, v.sliding_window))


def _gemma3(v: SimpleNamespace) -> Config:
    mixer = attention(v, biases=_biases(v), qk_norm="head")
    layer = Layer(mixer, FFN(v.intermediate_size, v.hidden_activation), norms=4)
    kinds = pattern(v, every(v.num_hidden_layers, v.sliding_window_pattern, "sliding", "full"))
    return assemble(v, by_kind(kinds, layer, v.sliding_window))


_GEMMA = BASE | ATTENTION_BIAS | {
    "num_key_value_heads": size(4), "head_dim": size(256), "tie_word_embeddings": flag(True),
    "hidden_activation": choice(GATED, "gelu_pytorch_tanh"), "sliding_window": size(4096),
    "layer_types": names(LAYER_TYPES),
}  # fmt: skip
_GEMMA.pop("hidden_act")
_GEMMA_INERT = INERT | SOFTCAP | {
    "hidden_act": "hidden_activation is the one that is read",
    "rope_local_base_freq": "rotary positions are computed, not learned",
    "_sliding_window_pattern": "a note of the library; layer_types and sliding_window_pattern are read",
}  # fmt: skip
_CAUSAL = FIXED | {"use_bidirectional_attention": (False, None)}
# Published Gemma 3 files with a vision tower leave these to the class.
_GEMMA3 = _GEMMA | {
    "vocab_size": size(262208), "num_attention_heads": size(8), "sliding_window_pattern": size(6),
}  # fmt: skip

FAMILIES = (
    Family("llama", causal("Llama"), BASE | ATTENTION_BIAS | {"mlp_bias": flag(False)}, _llama, INERT, FIXED),
    Family(
        "mistral", causal("Mistral"), BASE | {
            "num_key_value_heads": size(8, null=True), "sliding_window": size(4096, null=True),
        }, _mistral, INERT, FIXED,
    ),
    Family("qwen2", causal("Qwen2"), BASE | WINDOWS | {"num_key_value_heads": size(32, null=True)}, _qwen2, INERT,
           FIXED),
    Family(
        "qwen3", causal("Qwen3"), BASE | WINDOWS | ATTENTION_BIAS | {
            "num_key_value_heads": size(32, null=True), "head_dim": size(128),
        }, _qwen3, INERT, FIXED,
    ),
    Family("olmo2", causal("Olmo2"), BASE | ATTENTION_BIAS, _olmo2, INERT, FIXED),
    Family(
        "cohere", causal("Cohere"), BASE | ATTENTION_BIAS | {
            "tie_word_embeddings": flag(True), "use_qk_norm": flag(False),
        }, _cohere, INERT | SOFTCAP, FIXED,
    ),
    Family(
        "nanochat", causal("NanoChat"), BASE | ATTENTION_BIAS | {"hidden_act": choice({"relu2": "relu2"}, "relu2")},
        _nanochat, INERT | SOFTCAP, FIXED,
    ),
    Family("gemma2", causal("Gemma2"), _GEMMA, _gemma2, _GEMMA_INERT, _CAUSAL),
    Family("gemma3_text", {"Gemma3ForCausalLM": LM, "Gemma3TextModel": NONE}, _GEMMA3, _gemma3, _GEMMA_INERT, _CAUSAL),
    Family(
        "gemma3", {"Gemma3ForConditionalGeneration": LM, "Gemma3Model": NONE}, {}, None, fixed=FIXED, text="gemma3_text",
        inert=ANYWHERE | {name: "images: how they enter the text" for name in (
            "vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index",
            "boi_token_id", "eoi_token_id", "image_token_id")},
    ),
)  # fmt: skip
