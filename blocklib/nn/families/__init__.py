"""Families of published checkpoints, by the ``model_type`` of their ``config.json``."""

from __future__ import annotations

from blocklib.nn.families import gemma, gpt2, gpt_oss, llama, mixtral, olmo2
from blocklib.nn.families.family import Family

FAMILIES: dict[str, Family] = {
    "gpt2": gpt2.FAMILY,
    "llama": llama.LLAMA,
    "mistral": llama.MISTRAL,
    "qwen2": llama.QWEN2,
    "qwen3": llama.QWEN3,
    "mixtral": mixtral.FAMILY,
    "olmo2": olmo2.FAMILY,
    "gemma2": gemma.GEMMA2,
    "gemma3_text": gemma.GEMMA3,
    "gpt_oss": gpt_oss.FAMILY,
}
