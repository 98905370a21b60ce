"""What families share: inert fields and their reasons, activations, heads, layer patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from blocklib.ledger.config import MAX_LAYERS
from blocklib.ledger.parts import ConfigError

LM, NONE = "lm", "none"

_WHY = {
    "tokens: which id means what": (
        "bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id unk_token_id "
        "decoder_start_token_id forced_bos_token_id forced_eos_token_id prefix bad_words_ids suppress_tokens "
        "begin_suppress_tokens tokenizer_class"
    ),
    "bookkeeping of the library that wrote the file": (
        "_name_or_path name_or_path transformers_version auto_map torchscript return_dict return_dict_in_generate "
        "output_hidden_states output_attentions output_scores output_past use_return_dict finetuning_task "
        "task_specific_params _commit_hash _attn_implementation _attn_implementation_autoset attn_implementation "
        "_attn_implementation_internal transformers.js_config unsloth_version unsloth_fixed is_llama_config"
    ),
    "labels of a classifier, which the supported classes do not have": (
        "id2label label2id num_labels _num_labels problem_type classifier_dropout classifier_dropout_prob"
    ),
    "stored precision: how many bytes a weight has, not how many weights there are": (
        "dtype torch_dtype quantization_config compression_config use_bfloat16 expert_dtype"
    ),
    "run time: how a pass is computed": (
        "use_cache chunk_size_feed_forward cache_implementation pretraining_tp gradient_checkpointing use_flash_attn"
    ),
    "defaults for generating text": (
        "max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k "
        "top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
        "num_return_sequences remove_invalid_values exponential_decay_length_penalty"
    ),
    "training: initial values and dropout": (
        "initializer_range initializer_factor init_std attention_dropout hidden_dropout dropout activation_dropout "
        "attention_probs_dropout_prob hidden_dropout_prob dropout_rate resid_pdrop embd_pdrop attn_pdrop "
        "summary_first_dropout encoder_layerdrop decoder_layerdrop layerdrop embedding_dropout resid_dropout "
        "attn_dropout"
    ),
    "the small number inside a norm": "rms_norm_eps layer_norm_eps layer_norm_epsilon norm_epsilon norm_eps",
    "rotary positions are computed, not learned": (
        "rope_theta rope_scaling rope_parameters partial_rotary_factor rope_interleave rotary_pct rotary_emb_base "
        "rotary rope_ratio rope_interleaved use_mrope"
    ),
    "layout of a checkpoint over devices": "ep_size tensor_parallel base_model_tp_plan base_model_pp_plan",
}
ANYWHERE = {name: reason for reason, found in _WHY.items() for name in found.split()}
CONTEXT = {
    name: "longest context of training; no table is as long as it"
    for name in ("max_position_embeddings", "max_sequence_length", "seq_length", "n_ctx", "initial_context_length", "model_max_length",
                 "original_max_position_embeddings")
}  # fmt: skip
SOFTCAP = {
    name: "squashes scores or logits without parameters"
    for name in ("final_logit_softcapping", "attn_logit_softcapping", "logit_scale", "query_pre_attn_scalar")
}
ROUTING = {
    name: "how the router's logits are used or trained; its size does not depend on it"
    for name in (
        "output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "norm_topk_prob", "scoring_func",
        "routed_scaling_factor", "topk_method", "n_group", "topk_group", "aux_loss_alpha", "seq_aux", "swiglu_limit",
        "swiglu_alpha",
    )
}  # fmt: skip
DRAFT = {
    name: "a draft head, which counts of the model leave out"
    for name in ("num_nextn_predict_layers", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings", "num_mtp_layers")
}

# What would change the shape in ways no family here follows, must be absent or as given.
FIXED = {
    "is_encoder_decoder": (False,), "is_decoder": (False,), "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,), "tie_encoder_decoder": (False,), "pruned_heads": ({}, None),
}  # fmt: skip

# The ledger's words -> what files call them, for messages.
WORDS = {
    "d_model": ("hidden_size", "n_embd", "n_embed", "d_model"),
    "n_heads": ("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads", "decoder_attention_heads"),
    "n_kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "top_k": ("num_experts_per_tok", "experts_per_token"),
    "n_experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "v_heads": ("linear_num_value_heads",), "k_heads": ("linear_num_key_heads",),
    "d_ff": ("intermediate_size", "n_inner", "ffn_hidden_size", "moe_intermediate_size", "n_shared_experts"),
    "relative_bias": ("relative_attention_num_buckets", "num_heads"),
    "stored_layers": ("num_hidden_groups", "inner_group_num"),
}  # fmt: skip

GATED = {
    "silu": "swiglu", "swish": "swiglu", "gelu": "geglu", "gelu_new": "geglu", "gelu_pytorch_tanh": "geglu",
    "gelu_fast": "geglu", "quick_gelu": "geglu", "relu": "reglu",
}  # fmt: skip
PLAIN = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu",
    "gelu_python": "gelu", "gelu_10": "gelu", "quick_gelu": "gelu", "silu": "silu", "swish": "silu", "relu2": "relu2",
}  # fmt: skip
LAYER_TYPES = {"full_attention": "full", "sliding_attention": "sliding"}


def causal(prefix: str) -> dict[str, str]:
    """Classes of a decoder: with a head over the vocabulary (the default), and the bare model."""
    return {f"{prefix}ForCausalLM": LM, f"{prefix}Model": NONE}


def head(v: SimpleNamespace) -> dict[str, bool]:
    """The two fields of a Config that say whether there is a head and whether it is the embedding table."""
    return {"lm_head": v.head == LM, "tied": v.tie_word_embeddings}


def width_of_head(d_model: int, n_heads: int, head_dim: int | None = None) -> int:
    """Width of a head: as given, else the stream shared out evenly. Raises :class:`ConfigError`."""
    if head_dim is not None:
        return head_dim
    if d_model % n_heads:
        raise ConfigError(f"d_model {d_model} is not a multiple of n_heads {n_heads}, and no head_dim is given")
    return d_model // n_heads


def layer_count(n_layers: int, name: str = "num_hidden_layers") -> int:
    """A number of layers that can be laid out one by one. Raises :class:`ConfigError`."""
    if n_layers > MAX_LAYERS:
        raise ConfigError(f"{name} must be at most {MAX_LAYERS}, found {n_layers}")
    return n_layers


def pattern(v: SimpleNamespace, default: tuple[str, ...], field: str = "layer_types") -> tuple[str, ...]:
    """Kinds of the layers as listed, else ``default``. Raises :class:`ConfigError` where the length is wrong."""
    given = getattr(v, field)
    if given is None:
        return default
    if len(given) != v.num_hidden_layers:
        raise ConfigError(f"{field} names {len(given)} layers, num_hidden_layers is {v.num_hidden_layers}")
    return given


def in_the_files_words(error: ConfigError, raw: Mapping[str, Any]) -> ConfigError:
    """The same refusal, with the fields of this file that the ledger's words in it stand for."""
    said = set(re.findall(r"\w+", error.message))
    meant = [name for word, names in WORDS.items() if word in said for name in names if name in raw]
    missing = [name for name in meant if name not in said]
    if error.remedy or not missing:
        return error
    return ConfigError(error.message, where=error.where, remedy=f"in this file: {', '.join(missing)}")


def every(n_layers: int, period: int, usual: str, special: str) -> tuple[str, ...]:
    """``special`` at each ``period``-th layer, ``usual`` elsewhere."""
    return tuple(usual if (i + 1) % period else special for i in range(layer_count(n_layers)))


def sparse_layers(v: SimpleNamespace) -> tuple[bool, ...]:
    """Which layers are mixtures of experts by ``mlp_only_layers`` and ``decoder_sparse_step``.

    Raises:
        ConfigError: ``mlp_only_layers`` names a layer that is not there.
    """
    dense = v.mlp_only_layers or ()
    if any(i >= v.num_hidden_layers for i in dense):
        raise ConfigError(f"mlp_only_layers names layer {max(dense)} of {v.num_hidden_layers}")
    return tuple(i not in dense and (i + 1) % v.decoder_sparse_step == 0 for i in range(v.num_hidden_layers))
