"""Model files: finding one by the name a reader would use, and reading it into a shape.

A file ``data/<id>.toml`` holds ``name``, ``aliases``, ``organisation``, ``year``, perhaps ``cite`` (the work that
describes the model, a key of docs/sources.bib), ``note`` and ``unverified`` (values that nothing beside their source
confirms), a table of ``[sources]``, ``[values]``, where each value names the source it was taken from, and
``[[published]]`` figures as their publishers print them. ``layers`` may give one period of a repeating pattern. The
shape itself is read from ``data/configs/<id>.json``, the fields of the model's config.json that matter; the values of
the model file must agree with it. The order of models is that of their first publication, small to large within a
family.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blocklib.atlas.described import described
from blocklib.atlas.files import AtlasError, refusals, refuse_unused_sources
from blocklib.ledger import reader
from blocklib.ledger.config import Config

FOLDER = Path(__file__).parent / "data"

MODEL_IDS = (
    "transformer-base", "gpt-1", "bert-base-uncased", "gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl",
    "albert-base-v2", "t5-base", "gpt3-175b", "gpt-neox-20b", "palm-540b", "llama-7b", "llama-2-7b", "llama-2-70b",
    "mistral-7b", "deepseek-llm-67b", "mixtral-8x7b", "llama-3-8b", "llama-3-70b", "gemma-2-9b", "llama-3.1-405b",
    "qwen2.5-7b", "smollm2-1.7b", "deepseek-v3", "gemma-3-1b", "qwen3-8b", "kimi-k2", "gpt-oss-20b",
    "qwen3-next-80b-a3b", "nanochat-d20-2025", "qwen3.8-27b", "deepseek-v4-flash", "kimi-k3", "nanochat-d20-head",
)  # fmt: skip

# The models that the primer compares.
PRIMER_IDS = (
    "gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b", "llama-7b", "llama-2-7b", "llama-2-70b",
    "mistral-7b", "llama-3-8b", "llama-3-70b", "qwen2.5-7b", "qwen3.8-27b",
)  # fmt: skip

# Values that a file may state beyond those of the shape.
_BESIDE_CONFIG = ("context_length",)


@dataclass(frozen=True)
class Value:
    """One value of a model file and the words for where it comes from."""

    value: Any
    source: str


@dataclass(frozen=True)
class Published:
    """A figure as the publisher prints it: ``kind`` (total, active), the text, where it stands."""

    kind: str
    value: str
    source: str


@dataclass(frozen=True)
class Model:
    """A real model: names, the shape that counts depend on, and each value with its source.

    Attributes:
        id: file name without ending, stable.
        name: what pages and charts print.
        aliases: other names that :func:`find` accepts.
        organisation, year: publisher and year of first publication.
        config: the validated shape.
        context_length: positions the model was released for, None where none is stated.
        values: value name to :class:`Value`, in the order of the file.
        unverified: names of values that nothing beside their source confirms.
        note: what a count of this model includes or cannot settle.
        published: figures as printed.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    organisation: str
    year: int
    config: Config
    context_length: int | None
    values: MappingProxyType[str, Value]
    unverified: tuple[str, ...] = ()
    note: str = ""
    published: tuple[Published, ...] = ()


@cache
def load(model_id: str) -> Model:
    """The model of this id.

    Raises:
        AtlasError: there is no such id, or its file is not valid TOML or lacks a value or a source.
        ConfigError: its values contradict each other.
    """
    if model_id not in MODEL_IDS:
        raise AtlasError(f"unknown model id {model_id!r}", remedy=_nearest(model_id, MODEL_IDS))
    path = FOLDER / f"{model_id}.toml"
    return parse(model_id, path.read_text(encoding="utf-8"), where=path.name)


def parse(model_id: str, text: str, where: str) -> Model:
    """Read the text of a model file; ``where`` names it in messages.

    Raises:
        AtlasError, ConfigError: as :func:`load`.
    """
    with refusals(where):
        raw = tomllib.loads(text)
        values = {key: _value(raw["sources"], key, entry, where) for key, entry in raw["values"].items()}
        header = (raw["name"], tuple(raw["aliases"]), raw["organisation"], raw["year"])
        published = tuple(Published(**figure) for figure in raw.get("published", ()))
        refuse_unused_sources(raw, where)
    config = reader.read(FOLDER / "configs" / f"{model_id}.json")
    _agree(values, config, where)
    unverified = tuple(raw.get("unverified", ()))
    for name in unverified:
        if name not in values:
            raise AtlasError(f"unverified names {name!r}, which is no value", where=where)
    context = values["context_length"].value if "context_length" in values else None
    return Model(
        model_id, *header, config, context, MappingProxyType(values), unverified, raw.get("note", ""), published
    )


def find(name: str) -> str:
    """The id of the model that ``name`` means: an id, a display name or an alias, in any case and spacing.

    Letters and digits are compared as runs, so ``GPT-2 small`` is ``gpt2-small`` but ``Llama-27B`` is not
    ``Llama-2-7B``.

    Raises:
        AtlasError: no model has that name; the nearest are named.
    """
    names = _names()
    found = names.get(_runs(name))
    if found is None:
        known = [*MODEL_IDS, *map(display_name, MODEL_IDS)]
        raise AtlasError(f"unknown model {name!r}", remedy=_nearest(name, known))
    return found


def display_name(model_id: str) -> str:
    """What pages and charts call the model of this id.

    Raises:
        AtlasError: there is no such id.
    """
    return load(model_id).name


def _value(sources: dict[str, str], key: str, entry: dict[str, Any], where: str) -> Value:
    if entry["source"] not in sources:
        raise AtlasError(f"value {key!r} names the unknown source {entry['source']!r}", where=where)
    return Value(entry["value"], sources[entry["source"]])


def _agree(values: dict[str, Value], config: Config, where: str) -> None:
    """Refuse a value that the config does not have, or has otherwise; types count (4096.0 is not 4096)."""
    shape = described(config)
    for key, entry in values.items():
        if key in _BESIDE_CONFIG:
            continue
        if key not in shape:
            raise AtlasError(f"{key!r} is no value of this shape", where=where, remedy=_nearest(key, tuple(shape)))
        value = entry.value
        if key == "layers" and isinstance(value, list) and value:
            period = [*value]
            value = [period[i % len(period)] for i in range(config.n_layers)]
        if repr(value) != repr(shape[key]):
            raise AtlasError(f"{key} is {entry.value!r} here and {shape[key]!r} in the config", where=where)
    for key in shape:
        if key not in values:
            raise AtlasError(f"{key!r} is missing", where=where)


@cache
def _names() -> dict[tuple[str, ...], str]:
    names: dict[tuple[str, ...], str] = {}
    for model_id in MODEL_IDS:
        model = load(model_id)
        for spelling in (model_id, model.name, *model.aliases):
            if names.setdefault(_runs(spelling), model_id) != model_id:
                raise AtlasError(f"two models are called {spelling!r}: {names[_runs(spelling)]} and {model_id}")
    return names


def _runs(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[0-9]+|[^\W\d_]+", name.casefold()))


def _nearest(name: str, known: tuple[str, ...] | list[str]) -> str:
    folded = {spelling.casefold(): spelling for spelling in known}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    return f"did you mean {', '.join(folded[c] for c in close)}?" if close else f"known: {', '.join(known)}"
