"""Counts by the Hugging Face classes on the meta device: an oracle that shares nothing with the ledger.

Parameters are sorted into components by their names alone.
"""

from __future__ import annotations

import re
from typing import Any

# first match wins
RULES = (
    ("vision", r"visual|vision"),
    ("skip", r"embed_positions"),  # fixed sinusoids kept as parameters
    ("other", r"_hc\.|hc_head|hc_"),
    ("position", r"wpe|positions_embed|position_embeddings|token_type_embeddings|relative_attention_bias"),
    ("qk_norm", r"\b[qk]_norm"),
    ("norm", r"norm|ln_|LayerNorm|\.n[12]\b|ln\."),
    ("head", r"lm_head|pooler|^cls\.|^predictions"),
    ("embedding", r"wte|embed_tokens|embed_in|shared\.weight|word_embeddings|tokens_embed|embedding_hidden_mapping"),
    ("ffn", r"mlp|DenseReluDense|intermediate|fc[12]|ffn|output\.dense(?=\.)(?<!attention\.output\.dense)"),
    ("attention", r"attn|attention|SelfAttention|EncDecAttention"),
)
COMPONENTS = ("embedding", "position", "attention", "ffn", "norm", "qk_norm", "head", "other")


def component(name: str) -> str:
    """Where a parameter of this name belongs."""
    for found, rule in RULES:
        if re.search(rule, name):
            return found
    raise AssertionError(f"a parameter of unknown place: {name}")


def counted(raw: dict[str, Any], class_name: str) -> dict[str, int]:
    """Component -> parameters of this class built from this config, shared tensors once."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    config_class = transformers.CONFIG_MAPPING[raw["model_type"]]
    config = config_class(**{k: v for k, v in raw.items() if k not in ("model_type", "architectures")})
    with torch.device("meta"):
        model = getattr(transformers, class_name)(config)
    total = dict.fromkeys(COMPONENTS, 0)
    for name, parameter in model.named_parameters():
        place = component(name)
        if place not in ("skip", "vision"):
            total[place] += parameter.numel()
    return total
