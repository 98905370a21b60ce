"""``blocklib.nn.load``: a checkpoint on disk as a module of ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from blocklib.nn.families import FAMILIES
from blocklib.nn.families.fields import CheckpointError, Fields, read_json
from blocklib.nn.families.weights import Rule, Tensors, fill, open_tensors
from blocklib.nn.model import DecoderLM

CONFIG = "config.json"


def load(folder: str | Path, dtype: torch.dtype = torch.float32) -> DecoderLM:
    """The model of a checkpoint in the usual layout: ``config.json`` and safetensors, in one file or in shards.

    ``model(ids)`` gives logits ``(B, T, V)`` equal to those of the published implementation, on the CPU and in
    evaluation mode. Nothing is downloaded, nothing in the folder is executed, and nothing is ignored: a field that
    is neither read nor known to change nothing, and a tensor without a place, are refused by name.

    Args:
        folder: the checkpoint; families: GPT-2, Llama, Mistral, Qwen2, Qwen3, Mixtral, OLMo 2, Gemma 2, Gemma 3
            (text), gpt-oss.
        dtype: of the weights, whatever the files hold.

    Raises:
        CheckpointError: anything in the folder that is missing, unknown, broken, or at odds with the rest.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckpointError("no such folder", where=str(folder))
    fields = Fields(read_json(folder / CONFIG), CONFIG)
    if fields.given("quantization_config"):
        raise CheckpointError("quantization_config: quantised weights are not read", where=CONFIG)
    family = fields.choice("model_type", FAMILIES)
    model = family.model(fields)
    tied = model.head.weight is model.embed.weight
    with open_tensors(folder) as tensors:
        _plausible(model, tensors)
        bare = _bare(family.prefix, tensors)
        rules = [_renamed(rule, bare) for rule in family.rules(model)]
        spares = [replace(spare, name=spare.name.removeprefix(bare)) for spare in family.spares(model)]
        fill(model, rules, spares, tensors, dtype, str(folder))
    if tied:
        model.head.weight = model.embed.weight
    return model


def _plausible(model: DecoderLM, tensors: Tensors) -> None:
    """Refuse sizes that the files cannot hold, before names are made for millions of tensors that are not there."""
    described = sum(weight.numel() for weight in model.parameters())
    if described > tensors.nbytes:
        raise CheckpointError(
            f"describes {described:,} parameters, but the tensors hold {tensors.nbytes:,} bytes", where=CONFIG
        )


def _bare(prefix: str, tensors: Tensors) -> str:
    """The prefix, if no tensor has it: then the names stand without, as in the first GPT-2 files."""
    return "" if any(name.startswith(prefix) for name in tensors.files) else prefix


def _renamed(rule: Rule, bare: str) -> Rule:
    return replace(rule, theirs=tuple(name.removeprefix(bare) for name in rule.theirs))
