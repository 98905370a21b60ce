"""Reading any supported model's ``config.json`` into an exact shape, or refusing it in one sentence.

``read(path)`` for a file or folder, ``from_text`` for JSON text, ``from_dict`` for an object already parsed. What a
family's table neither reads nor lists as inert is refused by name, never ignored. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from blocklib.ledger.config import Config
from blocklib.ledger.parts import ConfigError, shown
from blocklib.ledger.reader import plain
from blocklib.ledger.reader.common import in_the_files_words
from blocklib.ledger.reader.fields import Family, account, head_of, nearest, same, values_of
from blocklib.ledger.reader.source import check_depth, parse_object, read_object

__all__ = ["Config", "ConfigError", "MODEL_TYPES", "families", "family_of", "from_dict", "from_text", "read"]


# module -> the model types it reads; a file asks for one, so only its module is loaded
HOMES = {
    "gpt": ("gpt2", "openai-gpt", "gpt_neox", "bloom", "falcon"),
    "encoders": ("bert", "albert", "t5", "marian"),
    "llama": (
        "llama", "mistral", "qwen2", "qwen3", "olmo2", "cohere", "nanochat", "gemma2", "gemma3_text", "gemma3",
    ),
    "moe": ("mixtral", "qwen3_moe", "gpt_oss"),
    "deepseek": ("deepseek_v2", "deepseek_v3", "kimi_k2", "deepseek_v4"),
    "hybrid": ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_5", "qwen3_5_moe"),
}  # fmt: skip
MODEL_TYPES = tuple(name for names in HOMES.values() for name in names)


@cache
def _module(home: str) -> dict[str, Family]:
    # Written out, so that whoever follows imports to see what a result depends on sees these.
    if home == "gpt":
        from blocklib.ledger.reader import gpt as found
    elif home == "encoders":
        from blocklib.ledger.reader import encoders as found
    elif home == "llama":
        from blocklib.ledger.reader import llama as found
    elif home == "moe":
        from blocklib.ledger.reader import moe as found
    elif home == "deepseek":
        from blocklib.ledger.reader import deepseek as found
    else:
        from blocklib.ledger.reader import hybrid as found
    return {family.name: family for family in found.FAMILIES}


def family_of(model_type: str) -> Family:
    """The table of one family. Raises :class:`ConfigError` for a model type that none reads."""
    for home, names in HOMES.items():
        if model_type in names:
            return _module(home)[model_type]
    raise ConfigError(f"model_type {shown(model_type)} is not supported",
                      remedy=nearest(model_type, MODEL_TYPES) or f"supported: {', '.join(MODEL_TYPES)}")  # fmt: skip


def families() -> dict[str, Family]:
    """Every family by its ``model_type``, those that wrap a text model too."""
    return {name: family_of(name) for name in MODEL_TYPES}


def read(path: str | Path) -> Config:
    """The shape in a ``config.json`` (or in the folder that holds one).

    Raises:
        ConfigError: the file cannot be read, is no such file, or describes a model that is not supported or cannot be.
    """
    raw = read_object(path)
    try:
        return from_dict(raw)
    except ConfigError as error:
        raise ConfigError(error.message, where=str(path), remedy=error.remedy) from error


def from_text(text: str | bytes) -> Config:
    """The shape in this JSON text. Raises :class:`ConfigError` as :func:`read`."""
    return from_dict(parse_object(text))


def from_dict(raw: Mapping[str, Any]) -> Config:
    """The shape in this object. Raises :class:`ConfigError` as :func:`read`."""
    check_depth(raw)
    kind = raw.get("model_type")
    if kind == plain.NAME:
        return plain.build(raw)
    if kind is None:
        raise ConfigError("model_type is missing", remedy=f"one of {', '.join(MODEL_TYPES)}")
    if not isinstance(kind, str):
        raise ConfigError(f"model_type {shown(kind)} is not supported", remedy=f"supported: {', '.join(MODEL_TYPES)}")
    family = family_of(kind)
    return _built(family, values_of(family, raw), raw) if family.text is None else _wrapped(family, raw)


def _built(family: Family, values: SimpleNamespace, raw: Mapping[str, Any]) -> Config:
    try:
        return family.build(values)
    except ConfigError as error:
        raise in_the_files_words(error, raw) from error


def _wrapped(outer: Family, raw: Mapping[str, Any]) -> Config:
    """A text model under ``text_config``; what stands around it (vision) is left out of every count."""
    inner = family_of(outer.text)
    text = raw.get("text_config")
    if not isinstance(text, dict):
        raise ConfigError("text_config is missing" if text is None else f"text_config must be an object, found "
                          f"{shown(text)}")  # fmt: skip
    account(
        outer, raw, {"model_type", "architectures", "text_config", "tie_word_embeddings", *outer.inert, *outer.fixed}
    )
    if text.get("model_type", inner.name) != inner.name:
        raise ConfigError(f"text_config.model_type must be {inner.name}, found {shown(text['model_type'])}")
    text = {name: value for name, value in text.items() if name != "architectures"}
    if "tie_word_embeddings" in raw:
        if not same(text.setdefault("tie_word_embeddings", raw["tie_word_embeddings"]), raw["tie_word_embeddings"]):
            raise ConfigError("tie_word_embeddings differs between the file and its text_config")
    values = values_of(inner, text)
    values.head = head_of(outer, raw)
    return _built(inner, values, text)
