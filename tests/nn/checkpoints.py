"""Tiny random checkpoints of every family, made by the published classes, and the measure of agreement."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from torch import Tensor

D, HEADS, KV, HEAD, D_FF, VOCAB, LAYERS, WINDOW, T = 32, 4, 2, 12, 48, 61, 3, 4, 11
USUAL = {
    "vocab_size": VOCAB, "hidden_size": D, "intermediate_size": D_FF, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
OWN_HEAD = {**USUAL, "head_dim": HEAD}
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}


@dataclass(frozen=True)
class Kind:
    """One config of one family."""

    name: str
    stem: str
    options: dict[str, Any] = field(default_factory=dict)
    head: str = "ForCausalLM"
    config: str = ""

    def make(self, seed: int = 0) -> torch.nn.Module:
        """The published model with random weights, norms and biases included."""
        config = getattr(hf, f"{self.config or self.stem}Config")(**self.options)
        torch.manual_seed(seed)
        model = getattr(hf, f"{self.stem}{self.head}")._from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                spread = 0.3 if weight.dim() == 1 else 0.5 if "embed" in name or "wte" in name else 0.25
                weight.add_(torch.randn_like(weight) * spread)
        return model


GPT2 = {"vocab_size": VOCAB, "n_embd": D, "n_head": HEADS, "n_layer": LAYERS, "n_positions": 40, "bos_token_id": 1,
        "eos_token_id": 2}  # fmt: skip
KINDS = [
    Kind("gpt2", "GPT2", GPT2, "LMHeadModel"),
    Kind("gpt2-odd", "GPT2", {**GPT2, "n_inner": 56, "activation_function": "gelu", "tie_word_embeddings": False,
                              "scale_attn_by_inverse_layer_idx": True, "layer_norm_epsilon": 1e-3}, "LMHeadModel"),
    Kind("llama", "Llama", USUAL),
    Kind("llama-3.1", "Llama", {**OWN_HEAD, "rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    Kind("llama-biases", "Llama", {**USUAL, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu",
                                   "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}}),
    Kind("mistral", "Mistral", {**OWN_HEAD, "sliding_window": WINDOW}),
    Kind("mistral-full", "Mistral", {**USUAL, "sliding_window": None}),
    Kind("qwen2", "Qwen2", USUAL),
    Kind("qwen2-windows", "Qwen2", {**USUAL, "use_sliding_window": True, "sliding_window": WINDOW,
                                    "max_window_layers": 1, "rope_parameters": YARN}),
    Kind("qwen2-patterned", "Qwen2", {**USUAL, "use_sliding_window": True, "sliding_window": WINDOW,
                                      "max_window_layers": 1}),
    Kind("qwen3", "Qwen3", {**OWN_HEAD, "tie_word_embeddings": True}),
    Kind("qwen3-windows", "Qwen3", {**OWN_HEAD, "attention_bias": True, "use_sliding_window": True,
                                    "sliding_window": WINDOW, "layer_types": MIXED}),
    Kind("mixtral", "Mixtral", {**USUAL, "num_local_experts": 5, "num_experts_per_tok": 2}),
    Kind("mixtral-window", "Mixtral", {**OWN_HEAD, "num_local_experts": 4, "num_experts_per_tok": 3,
                                       "sliding_window": WINDOW}),
    Kind("olmo2", "Olmo2", USUAL),
    Kind("gemma2", "Gemma2", {**OWN_HEAD, "sliding_window": WINDOW, "query_pre_attn_scalar": 20,
                              "attn_logit_softcapping": 3.0, "final_logit_softcapping": 5.0}),
    Kind("gemma2-uncapped", "Gemma2", {**OWN_HEAD, "sliding_window": WINDOW, "attn_logit_softcapping": None,
                                       "final_logit_softcapping": None, "layer_types": MIXED[::-1]}),
    Kind("gemma3", "Gemma3", {**OWN_HEAD, "sliding_window": WINDOW, "layer_types": MIXED}, config="Gemma3Text"),
    Kind("gemma3-patterned", "Gemma3", {**OWN_HEAD, "sliding_window": WINDOW, "num_hidden_layers": 7}, config="Gemma3Text"),
    Kind("gemma3-scaled", "Gemma3", {**OWN_HEAD, "sliding_window": WINDOW, "layer_types": MIXED, "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}, config="Gemma3Text"),
    Kind("gpt-oss", "GptOss", {**OWN_HEAD, "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": WINDOW,
                               "swiglu_limit": 1.5}),
    Kind("gpt-oss-plain", "GptOss", {**OWN_HEAD, "num_local_experts": 4, "num_experts_per_tok": 1, "sliding_window":
                                     WINDOW, "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}),
]  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}


def saved(kind: Kind, folder: Path, **options) -> torch.nn.Module:
    """The published model, saved to the folder."""
    model = kind.make()
    model.save_pretrained(folder, **options)
    return model


def error(ours: Tensor, theirs: Tensor) -> float:
    """Largest difference over the spread of the reference."""
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


@cache
def checkpoint(name: str) -> tuple[Path, torch.nn.Module]:
    """Folder and published model of a kind, made once a session; not to be changed."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, saved(BY_NAME[name], folder)


def altered(
    folder: Path,
    name: str,
    config: Callable[[dict], object] = lambda values: None,
    tensors: Callable[[dict], object] = lambda state: None,
) -> Path:
    """A copy of a kind's checkpoint in ``folder``, its config, its tensors or both changed in place."""
    source, _ = checkpoint(name)
    values = json.loads((source / "config.json").read_text())
    state = load_file(source / "model.safetensors")
    config(values)
    tensors(state)
    (folder / "config.json").write_text(json.dumps(values))
    save_file({key: value.contiguous() for key, value in state.items()}, folder / "model.safetensors")
    return folder


def ids(batch: int = 2, tokens: int = T) -> Tensor:
    """Token ids, the same at every call."""
    return torch.randint(3, VOCAB, (batch, tokens), generator=torch.Generator().manual_seed(5))
