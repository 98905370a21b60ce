"""GPT-1, GPT-2, GPT-NeoX/Pythia, BLOOM and Falcon: biased or bias-free blocks with LayerNorm and a two-matrix FFN."""

from __future__ import annotations

from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, Attention, ConfigError
from blocklib.ledger.reader.common import (
    ANYWHERE,
    CONTEXT,
    FIXED,
    LM,
    NONE,
    PLAIN,
    causal,
    head,
    layer_count,
    width_of_head,
)
from blocklib.ledger.reader.fields import REQUIRED, Family, choice, flag, size

ALL = frozenset("qkvo")
_SUMMARY = {
    name: "a classification head that the supported classes do not have"
    for name in ("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels")
}
_SCALE = {
    name: "scales or orders a computation without parameters"
    for name in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn")
}
_GPT = {
    "vocab_size": size(),
    "n_positions": size(1024, "max_position_embeddings"),
    "n_embd": size(REQUIRED, "hidden_size"),
    "n_layer": size(REQUIRED, "num_hidden_layers"),
    "n_head": size(REQUIRED, "num_attention_heads"),
    "tie_word_embeddings": flag(True),
}


def _stack(layers: int, attention: Attention, ffn: FFN, norms: int = 2) -> tuple[Layer, ...]:
    return (Layer(attention, ffn, norms),) * layer_count(layers)


def _gpt2(v: SimpleNamespace) -> Config:
    attention = Attention(v.n_head, v.n_head, width_of_head(v.n_embd, v.n_head), biases=ALL)
    ffn = FFN(v.n_inner or 4 * v.n_embd, v.activation_function, bias=True)
    return Config(v.vocab_size, v.n_embd, _stack(v.n_layer, attention, ffn), "layernorm",
                  learned_positions=v.n_positions, **head(v))  # fmt: skip


def _gpt1(v: SimpleNamespace) -> Config:
    attention = Attention(v.n_head, v.n_head, width_of_head(v.n_embd, v.n_head), biases=ALL)
    ffn = FFN(4 * v.n_embd, v.afn, bias=True)
    return Config(v.vocab_size, v.n_embd, _stack(v.n_layer, attention, ffn), "layernorm",
                  learned_positions=v.n_positions, outer_norms=(), **head(v))  # fmt: skip


def _neox(v: SimpleNamespace) -> Config:
    attention = Attention(v.num_attention_heads, v.num_attention_heads,
                          width_of_head(v.hidden_size, v.num_attention_heads),
                          biases=ALL if v.attention_bias else frozenset())  # fmt: skip
    ffn = FFN(v.intermediate_size, v.hidden_act, bias=True)
    layers = _stack(v.num_hidden_layers, attention, ffn)
    return Config(v.vocab_size, v.hidden_size, layers, "layernorm", **head(v))


def _bloom(v: SimpleNamespace) -> Config:
    attention = Attention(v.n_head, v.n_head, width_of_head(v.hidden_size, v.n_head), biases=ALL)
    layers = _stack(v.n_layer, attention, FFN(4 * v.hidden_size, "gelu", bias=True))
    return Config(v.vocab_size, v.hidden_size, layers, "layernorm",
                  outer_norms=(v.hidden_size, v.hidden_size), **head(v))  # fmt: skip


def _falcon(v: SimpleNamespace) -> Config:
    heads = v.num_attention_heads
    if v.new_decoder_architecture:
        kv = v.num_kv_heads or heads
    else:
        kv = 1 if v.multi_query else heads
        if v.num_kv_heads not in (None, kv, heads):
            raise ConfigError(f"num_kv_heads is {v.num_kv_heads}, the older decoder shape has {kv}")
    attention = Attention(heads, kv, width_of_head(v.hidden_size, heads), biases=ALL if v.bias else frozenset())
    ffn = FFN(v.ffn_hidden_size or 4 * v.hidden_size, v.activation, bias=v.bias)
    in_parallel = v.num_ln_in_parallel_attn or (2 if v.new_decoder_architecture else 1)
    if in_parallel > 2:
        raise ConfigError(f"num_ln_in_parallel_attn must be 1 or 2, found {in_parallel}")
    norms = in_parallel if v.parallel_attn else 2
    layers = _stack(v.num_hidden_layers, attention, ffn, norms)
    return Config(v.vocab_size, v.hidden_size, layers, "layernorm", **head(v))


FAMILIES = (
    Family(
        "gpt2", {"GPT2LMHeadModel": LM, "GPT2Model": NONE}, build=_gpt2, fixed=FIXED,
        read=_GPT | {"n_inner": size(None), "activation_function": choice(PLAIN, "gelu")},
        inert=ANYWHERE | _SUMMARY | _SCALE | {"n_ctx": "an older name of n_positions, which the class ignores"},
    ),
    Family(
        "openai-gpt", {"OpenAIGPTLMHeadModel": LM, "OpenAIGPTModel": NONE}, build=_gpt1, fixed=FIXED,
        read=_GPT | {"n_positions": size(512, "max_position_embeddings"), "afn": choice(PLAIN, "gelu")},
        inert=ANYWHERE | _SUMMARY | {
            "n_ctx": "an older name of n_positions, which the class ignores",
            "n_special": "special tokens are rows of the vocabulary", "predict_special_tokens": "no parameters",
        },
    ),
    Family(
        "gpt_neox", causal("GPTNeoX"), build=_neox, fixed=FIXED,
        read={
            "vocab_size": size(), "hidden_size": size(), "num_hidden_layers": size(), "num_attention_heads": size(),
            "intermediate_size": size(), "hidden_act": choice(PLAIN, "gelu"), "attention_bias": flag(True),
            "tie_word_embeddings": flag(False),
        },
        inert=ANYWHERE | CONTEXT | {"use_parallel_residual": "both sublayers keep a norm of their own either way"},
    ),
    Family(
        "bloom", causal("Bloom"), build=_bloom, fixed=FIXED | {"n_inner": (None,)},
        read={
            "vocab_size": size(), "hidden_size": size(REQUIRED, "n_embed"),
            "n_layer": size(REQUIRED, "num_hidden_layers"), "n_head": size(REQUIRED, "num_attention_heads"),
            "tie_word_embeddings": flag(True),
        },
        inert=ANYWHERE | CONTEXT | {
            "apply_residual_connection_post_layernorm": "where the residual branches off", "slow_but_exact": "run time",
            "attention_softmax_in_fp32": "run time", "masked_softmax_fusion": "run time",
            "bias_dropout_fusion": "run time", "skip_bias_add": "run time", "skip_bias_add_qkv": "run time",
            "offset_alibi": "positions are computed", "hidden_act": "the class has one activation",
        },
    ),
    Family(
        "falcon", causal("Falcon"), build=_falcon, fixed=FIXED,
        read={
            "vocab_size": size(), "hidden_size": size(REQUIRED, "n_embed"), "num_hidden_layers": size(),
            "num_attention_heads": size(), "num_kv_heads": size(None), "ffn_hidden_size": size(None),
            "num_ln_in_parallel_attn": size(None), "new_decoder_architecture": flag(False), "multi_query": flag(True),
            "parallel_attn": flag(True), "bias": flag(False), "activation": choice(PLAIN, "gelu"),
            "tie_word_embeddings": flag(True),
        },
        inert=ANYWHERE | CONTEXT | {
            "ff_factor": "ffn_hidden_size is the one that is read", "alibi": "positions are computed either way",
            "apply_residual_connection_post_layernorm": "where the residual branches off",
        },
    ),
)  # fmt: skip
