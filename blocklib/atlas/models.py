"""Model files: finding one by the name a reader would use, and reading it into a shape.

A file ``data/<id>.toml`` holds ``name``, ``aliases``, ``organisation``, ``year``, perhaps ``cite`` (the work that
describes the model, a key of docs/sources.bib), a table of ``[sources]`` and ``[values]``, where each value names the
source it was taken from. ``layers`` may give one period of a repeating pattern. The order of models is that of their first publication, small to large within a family.
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

from blocklib.ledger.config import Config, GatedDelta, uniform
from blocklib.problems import BlocklibError

FOLDER = Path(__file__).parent / "data"

MODEL_IDS = (
    "gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b", "llama-7b", "llama-2-7b", "llama-2-70b",
    "mistral-7b", "llama-3-8b", "llama-3-70b", "qwen2.5-7b", "qwen3.8-27b",
)  # fmt: skip

# Values that a file may state beyond the fields of Config.
_BESIDE_CONFIG = ("context_length",)


class AtlasError(BlocklibError):
    """A model that the atlas does not hold, or a model file that cannot be read."""


@dataclass(frozen=True)
class Value:
    """One value of a model file and the words for where it comes from."""

    value: Any
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
        context_length: positions the model was released for.
        values: value name to :class:`Value`, in the order of the file.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    organisation: str
    year: int
    config: Config
    context_length: int
    values: MappingProxyType[str, Value]


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
    try:
        raw = tomllib.loads(text)
        values = {key: _value(raw["sources"], key, entry, where) for key, entry in raw["values"].items()}
        unused = set(raw["sources"]) - {entry["source"] for entry in raw["values"].values()}
        header = (raw["name"], tuple(raw["aliases"]), raw["organisation"], raw["year"])
        context = values["context_length"].value
        config = _config({key: value.value for key, value in values.items() if key not in _BESIDE_CONFIG})
    except tomllib.TOMLDecodeError as error:
        raise AtlasError(f"not valid TOML: {error}", where=where) from error
    except KeyError as error:
        raise AtlasError(f"{error.args[0]!r} is missing", where=where) from error
    except TypeError as error:
        raise AtlasError(f"the values do not make a model shape: {error}", where=where) from error
    if unused:
        raise AtlasError(f"no value uses the source {sorted(unused)[0]!r}", where=where)
    return Model(model_id, *header, config, context, MappingProxyType(values))


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


def _config(values: dict[str, Any]) -> Config:
    values = dict(values)
    values["biases"] = frozenset(values["biases"])
    if "gated_delta" in values:
        values["gated_delta"] = GatedDelta(**values["gated_delta"])
    if "layers" in values:
        period = tuple(values["layers"])
        repeats, rest = divmod(values["n_layers"], len(period))
        values["layers"] = period * repeats + period[:rest]
    return uniform(**values)


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
