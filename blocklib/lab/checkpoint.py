"""A model of the lab in the usual layout: what :func:`blocklib.nn.load` and Hugging Face's libraries read."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import save

from blocklib.lab import corpus
from blocklib.lab.arms import BASE, Arm
from blocklib.lab.stack import Stack

WEIGHTS = "model.safetensors"


def weights(model: Stack) -> bytes:
    """All parameters in fp16, under Llama's names, as a safetensors file."""
    tensors = {theirs(name): weight.detach().half() for name, weight in model.named_parameters()}
    return save(tensors, metadata={"format": "pt"})


def write(folder: Path, arm: Arm, raw: bytes) -> None:
    """Leave weights, config and tokenizer in a folder.

    Raises:
        ValueError: an arm that has not Llama's design; nothing is written.
    """
    config = llama_config(arm)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(raw)
    shutil.copyfile(corpus.DATA / f"tokenizer-{arm.vocab_size}.json", folder / "tokenizer.json")
    _json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": corpus.END})
    _json(folder / "config.json", config)


def _json(file: Path, data: dict[str, Any]) -> None:
    file.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


_PARTS = {"attention": "self_attn", "ffn": "mlp", "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}  # fmt: skip


def theirs(name: str) -> str:
    """The name of one of our parameters in Llama's layout: ``attention.2.q.weight`` is ``model.layers.2.self_attn.q_proj.weight``."""
    kind, *rest = name.split(".")
    if kind == "embed":
        return "model.embed_tokens.weight"
    if kind == "final_norm":
        return "model.norm.weight"
    part = f"{rest[1]}_proj." if rest[1] != "gain" else ""
    return f"model.layers.{rest[0]}.{_PARTS[kind]}.{part}weight"


def llama_config(arm: Arm) -> dict[str, Any]:
    """``config.json`` of an arm that has Llama's design.

    Raises:
        ValueError: an arm of another design.
    """
    plain = replace(BASE, id=arm.id, label=arm.label, layout=arm.layout, vocab_size=arm.vocab_size, d_model=arm.d_model,
                    n_heads=arm.n_heads, n_kv_heads=arm.n_kv_heads, d_ff=arm.d_ff, steps=arm.steps, batch=arm.batch,
                    seq_len=arm.seq_len, warmup=arm.warmup)  # fmt: skip
    layers = arm.layout.count("A")
    if plain.config() != arm.config() or arm.layout != "AF" * layers:
        raise ValueError(f"arm {arm.id!r} is not of Llama's design")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": arm.vocab_size,
        "hidden_size": arm.d_model,
        "intermediate_size": arm.d_ff,
        "num_hidden_layers": layers,
        "num_attention_heads": arm.n_heads,
        "num_key_value_heads": arm.n_kv_heads,
        "head_dim": arm.d_model // arm.n_heads,
        "hidden_act": "silu",
        "max_position_embeddings": arm.seq_len,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "eos_token_id": 0,
        "dtype": "float16",
    }
