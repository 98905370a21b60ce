"""Totals in closed form, one flat formula a family, typed from the papers and without the ledger's parts.

``total(raw)`` takes a valid ``config.json`` with a head over the vocabulary (or a pooler) and knows only its fields.
"""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]


def total(raw: Raw) -> int:
    """All parameters of the model that this file describes."""
    return FORMULAS[raw["model_type"]](raw)


def get(raw: Raw, name: str, default: Any) -> Any:
    """A field, or the default where it is absent or null."""
    value = raw.get(name)
    return default if value is None else value


def head(raw: Raw, tied: bool) -> int:
    size = raw["vocab_size"] * get(raw, "hidden_size", raw.get("n_embd"))
    return 0 if get(raw, "tie_word_embeddings", tied) else size


def gpt(raw: Raw) -> int:
    d, f = raw["n_embd"], get(raw, "n_inner", 4 * raw["n_embd"])
    positions = get(raw, "n_positions", 1024 if raw["model_type"] == "gpt2" else 512)
    block = 4 * d * d + 4 * d + 2 * d * f + f + d + 4 * d
    final = 2 * d if raw["model_type"] == "gpt2" else 0
    return (raw["vocab_size"] + positions) * d + raw["n_layer"] * block + final + head(raw, True)


def bert(raw: Raw) -> int:
    d, f, e = raw["hidden_size"], raw["intermediate_size"], raw["hidden_size"]
    stored, projection = raw["num_hidden_layers"], 0
    if raw["model_type"] == "albert":
        e = get(raw, "embedding_size", 128)
        stored = get(raw, "num_hidden_groups", 1) * get(raw, "inner_group_num", 1)
        projection = e * d + d
    rows = raw["vocab_size"] + get(raw, "max_position_embeddings", 512) + get(raw, "type_vocab_size", 2)
    return rows * e + 2 * e + projection + stored * (4 * d * d + 4 * d + 2 * d * f + f + d + 4 * d) + d * d + d


def t5(raw: Raw) -> int:
    d, inner, f = raw["d_model"], raw["num_heads"] * get(raw, "d_kv", 64), raw["d_ff"]
    matrices = 3 if get(raw, "feed_forward_proj", "relu").startswith("gated") else 2
    encoder, decoder = raw["num_layers"], get(raw, "num_decoder_layers", raw["num_layers"])
    attentions, ffns, norms = encoder + 2 * decoder, encoder + decoder, 2 * encoder + 3 * decoder + 2
    tables = 1 if get(raw, "tie_word_embeddings", True) else 2
    bias = 2 * get(raw, "relative_attention_num_buckets", 32) * raw["num_heads"]
    return tables * raw["vocab_size"] * d + bias + attentions * 4 * d * inner + ffns * matrices * d * f + norms * d


def marian(raw: Raw) -> int:
    d, encoder, decoder = raw["d_model"], raw["encoder_layers"], raw["decoder_layers"]
    shared, target = get(raw, "share_encoder_decoder_embeddings", True), get(raw, "decoder_vocab_size",
                                                                           raw["vocab_size"])  # fmt: skip
    rows = raw["vocab_size"] + (0 if shared else target) + (0 if get(raw, "tie_word_embeddings", True) else target)

    def ffn(f: int) -> int:
        return 2 * d * f + f + d

    attention, norm = 4 * d * d + 4 * d, 2 * d
    return (rows * d + encoder * (attention + ffn(raw["encoder_ffn_dim"]) + 2 * norm)
            + decoder * (2 * attention + ffn(raw["decoder_ffn_dim"]) + 3 * norm))  # fmt: skip


def neox(raw: Raw) -> int:
    d, f = raw["hidden_size"], raw["intermediate_size"]
    biases = 4 * d if get(raw, "attention_bias", True) else 0
    block = 4 * d * d + biases + 2 * d * f + f + d + 4 * d
    return raw["vocab_size"] * d + raw["num_hidden_layers"] * block + 2 * d + head(raw, False)


# model_type -> default key/value heads, head width, tying; norms a block, vectors a norm, biases of q, k, v and o
LINE = {
    "llama": (None, None, False, 2, 1, ""), "mistral": (8, None, False, 2, 1, ""), "qwen2": (32, None, False, 2, 1, "qkv"),
    "qwen3": (32, 128, False, 2, 1, ""), "cohere": (None, None, True, 1, 1, ""), "gemma2": (4, 256, True, 4, 1, ""),
    "gemma3_text": (4, 256, True, 4, 1, ""), "nanochat": (None, None, False, 2, 0, ""),
    "mixtral": (8, None, False, 2, 1, ""), "gpt_oss": (8, 64, False, 2, 1, "qkvo"), "qwen3_next": (2, 256, False, 2, 1, ""),
    "qwen3_5_text": (4, 256, False, 2, 1, ""),
}  # fmt: skip


def line(raw: Raw) -> int:
    kind = raw["model_type"]
    kv_default, width_default, tied, norms, vectors, biased = LINE[kind]
    d, heads, layers = raw["hidden_size"], get(raw, "num_attention_heads", 8), raw["num_hidden_layers"]
    kv_heads = raw["num_key_value_heads"] if "num_key_value_heads" in raw else kv_default
    width = (raw["head_dim"] if "head_dim" in raw else width_default) or d // heads  # null: shared out evenly
    q, kv = heads * width, (kv_heads or heads) * width
    if "attention_bias" in raw and kind not in ("qwen2", "mistral", "mixtral"):
        biased = "qkvo" if raw["attention_bias"] else ""
    gate = 2 if kind in ("qwen3_next", "qwen3_5_text") else 1
    bias = {"q": gate * q, "k": kv, "v": kv, "o": d}
    attention = d * (gate * q + 2 * kv) + q * d + sum(bias[site] for site in biased)
    if kind in ("qwen3", "gemma3_text", "qwen3_next", "qwen3_5_text"):
        attention += 2 * width
    if kind == "cohere" and get(raw, "use_qk_norm", False):
        attention += q + kv
    if kind == "gpt_oss":
        attention += heads
    full = layers
    if kind in ("qwen3_next", "qwen3_5_text"):
        kinds = raw.get("layer_types")
        full = kinds.count("full_attention") if kinds else layers // get(raw, "full_attention_interval", 4)
    vocab = get(raw, "vocab_size", 262208)
    embedding = vocab * d * (1 if get(raw, "tie_word_embeddings", tied) else 2)
    return (embedding + full * attention + (layers - full) * (delta(raw) if full < layers else 0)
            + ffns(raw, layers, d) + (norms * layers + 1) * vectors * d)  # fmt: skip


def delta(raw: Raw) -> int:
    d, n_v, d_v = raw["hidden_size"], get(raw, "linear_num_value_heads", 32), get(raw, "linear_value_head_dim", 128)
    k, v = get(raw, "linear_num_key_heads", 16) * get(raw, "linear_key_head_dim", 128), n_v * d_v
    mixed = 2 * k + v
    return d * (mixed + v + 2 * n_v + v) + mixed * get(raw, "linear_conv_kernel_dim", 4) + 2 * n_v + d_v


def ffns(raw: Raw, layers: int, d: int) -> int:
    kind, f = raw["model_type"], raw.get("intermediate_size")
    if kind == "nanochat":
        return layers * 2 * d * f
    if kind == "mixtral":
        e = get(raw, "num_local_experts", 8)
        return layers * (e * 3 * d * f + e * d)
    if kind == "gpt_oss":
        e = get(raw, "num_local_experts", 128)
        return layers * (e * (3 * d * f + 2 * f + d) + e * d + e)
    if kind == "qwen3_next":
        e, m, s = (get(raw, "num_experts", 512), get(raw, "moe_intermediate_size", 512),
                   get(raw, "shared_expert_intermediate_size", 512))  # fmt: skip
        dense_only, step = set(get(raw, "mlp_only_layers", [])), get(raw, "decoder_sparse_step", 1)
        sparse = sum(i not in dense_only and (i + 1) % step == 0 for i in range(layers))
        return sparse * (e * 3 * d * m + e * d + 3 * d * s + d) + (layers - sparse) * 3 * d * f
    bias = 2 * f + d if get(raw, "mlp_bias", False) else 0
    return layers * (3 * d * f + bias)


def latent(raw: Raw) -> int:
    d, h, layers = raw["hidden_size"], raw["num_attention_heads"], raw["num_hidden_layers"]
    q_rank = raw.get("q_lora_rank", 1536)
    c, r = get(raw, "kv_lora_rank", 512), get(raw, "qk_rope_head_dim", 64)
    nope, v = get(raw, "qk_nope_head_dim", 128), get(raw, "v_head_dim", 128)
    query = d * h * (nope + r) if q_rank is None else d * q_rank + q_rank + q_rank * h * (nope + r)
    attention = query + d * (c + r) + c + c * h * (nope + v) + h * v * d
    if get(raw, "attention_bias", False):
        attention += (q_rank or 0) + c + r + d
    e, m, s = (get(raw, "n_routed_experts", 256), get(raw, "moe_intermediate_size", 2048),
               get(raw, "n_shared_experts", 1))  # fmt: skip
    dense = min(get(raw, "first_k_dense_replace", 3), layers)
    sparse = (layers - dense) * (e * 3 * d * m + e * d + 3 * d * m * s)
    return (raw["vocab_size"] * d + head(raw, False) + layers * (attention + 2 * d) + d + sparse
            + dense * 3 * d * raw["intermediate_size"])  # fmt: skip


def v4(raw: Raw) -> int:
    d, h, w, q = (
        raw["hidden_size"],
        raw["num_attention_heads"],
        get(raw, "head_dim", 512),
        get(raw, "q_lora_rank", 1024),
    )
    layers, m, e = raw["num_hidden_layers"], raw["moe_intermediate_size"], get(raw, "n_routed_experts", 256)
    groups, o = get(raw, "o_groups", 8), get(raw, "o_lora_rank", 1024)
    n_i, d_i, s = get(raw, "index_n_heads", 64), get(raw, "index_head_dim", 128), get(raw, "hc_mult", 4)
    rates = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128} | get(raw, "compress_rates", {})
    csa, hca = rates["compressed_sparse_attention"], rates["heavily_compressed_attention"]
    extra = {
        "sliding_attention": 0,
        "heavily_compressed_attention": 2 * d * w + hca * w + w,
        "compressed_sparse_attention": 4 * d * w + 2 * csa * w + w + 4 * d * d_i + 2 * csa * d_i + d_i
        + q * n_i * d_i + d * n_i,
    }  # fmt: skip
    base = d * q + q + q * h * w + d * w + w + h * w * o + groups * o * d + h
    streams = 2 * ((s * s + 2 * s) * (s * d + 1) + 3)
    shared = 3 * d * m + (2 * m + d if get(raw, "mlp_bias", False) else 0)
    block = base + 2 * d + streams + e * 3 * d * m + e * d + shared
    kinds = raw.get("layer_types") or [
        "heavily_compressed_attention" if i < 2 or i % 2 == 0 else "compressed_sparse_attention" for i in range(layers)
    ]
    return (raw["vocab_size"] * d + head(raw, False) + layers * block + sum(extra[k] for k in kinds) + d
            + s * (s * d + 1) + 1)  # fmt: skip


def wrapped(raw: Raw) -> int:
    text = {"model_type": raw["model_type"] + "_text"} | raw["text_config"]
    if "tie_word_embeddings" in raw:
        text = {"tie_word_embeddings": raw["tie_word_embeddings"]} | text
    return total(text)


FORMULAS = {
    "gpt2": gpt, "openai-gpt": gpt, "bert": bert, "albert": bert, "t5": t5, "marian": marian, "gpt_neox": neox,
    "deepseek_v3": latent, "deepseek_v4": v4, "qwen3_5": wrapped, **dict.fromkeys(LINE, line),
}  # fmt: skip
