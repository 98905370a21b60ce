"""Chips: dense peaks, memory and bandwidth, each value with its source.

A file ``chips/<id>.toml`` holds ``name``, ``full_name``, ``aliases``, ``vendor``, ``note``, a table of ``[sources]``,
and ``[values]``, where each value names its source: peaks in FLOP/s by precision (dense; fp16 runs at bf16's),
``bandwidth`` and ``nvlink`` in bytes/s (the link both ways together), ``memory`` in bytes.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from blocklib.atlas.files import AtlasError, refusals, refuse_unused_sources
from blocklib.atlas.models import Value
from blocklib.ledger.parts import ConfigError, shown
from blocklib.ledger.roofline import Machine
from blocklib.problems import nearest

FOLDER = Path(__file__).parent / "chips"
CHIP_IDS = ("a100", "h100", "h200")
PRECISIONS = ("bf16", "fp8")
_OTHER = ("bandwidth", "memory", "nvlink")
# Formats of weights to the precision their products run at: what is narrower than bf16 and no fp8 is widened first.
_RUNS_AT = {"bf16": "bf16", "fp16": "bf16", "int8": "bf16", "int4": "bf16", "mxfp4": "bf16"}


@dataclass(frozen=True)
class Chip:
    """A chip as its maker describes it.

    Attributes:
        id: file name without ending, stable.
        name, full_name: what pages print, and which product exactly.
        aliases: other names that :func:`find_chip` accepts.
        vendor: who makes it.
        note: what a reader of its figures should know.
        values: value name to value and source, in the order of the file.
    """

    id: str
    name: str
    full_name: str
    aliases: tuple[str, ...]
    vendor: str
    note: str
    values: MappingProxyType[str, Value]

    @property
    def bandwidth(self) -> int:
        """Bytes/s of the memory."""
        return self.values["bandwidth"].value

    @property
    def memory(self) -> int:
        """Bytes."""
        return self.values["memory"].value

    @property
    def link(self) -> int:
        """Bytes/s to neighbouring chips, one way: half of what the maker prints."""
        return self.values["nvlink"].value // 2

    def peak(self, precision: str = "bf16") -> int:
        """Dense FLOP/s at this precision.

        Raises:
            AtlasError: the chip's file states none.
        """
        if precision not in PRECISIONS or precision not in self.values:
            stated = [name for name in self.values if name in PRECISIONS]
            raise AtlasError(f"{self.name}: no peak for {precision} is stated; stated: {', '.join(stated)}")
        return self.values[precision].value

    def machine(self, dtype: str = "bf16") -> Machine:
        """The chip for a roofline of weights in this format. fp8 runs at the fp8 peak where the chip has one, else,
        as everything narrower than bf16, at the bf16 peak.

        Raises:
            AtlasError: the chip's file states no peak for it (fp32).
            ConfigError: the format is unknown.
        """
        precision = "fp8" if dtype == "fp8" and "fp8" in self.values else _RUNS_AT.get(dtype, "bf16")
        if dtype == "fp32":
            precision = "fp32"
        elif dtype != "fp8" and dtype not in _RUNS_AT:
            raise ConfigError(f"unknown dtype {dtype!r}")
        return Machine(self.name, self.peak(precision), self.bandwidth, self.memory, self.link)


@cache
def load_chip(chip_id: str) -> Chip:
    """The chip of this id.

    Raises:
        AtlasError: there is no such id, or its file is not valid TOML or lacks a value or a source.
    """
    if chip_id not in CHIP_IDS:
        raise AtlasError(f"unknown chip id {chip_id!r}", remedy=f"known: {', '.join(CHIP_IDS)}")
    path = FOLDER / f"{chip_id}.toml"
    return parse_chip(chip_id, path.read_text(encoding="utf-8"), where=path.name)


def parse_chip(chip_id: str, text: str, where: str) -> Chip:
    """Read the text of a chip file; ``where`` names it in messages. Raises :class:`AtlasError` as :func:`load_chip`."""
    with refusals(where):
        raw = tomllib.loads(text)
        values = {}
        for key, entry in raw["values"].items():
            number = entry["value"]
            if key not in (*PRECISIONS, *_OTHER) or not isinstance(number, int) or number < 1:
                raise AtlasError(f"value {key!r} is unknown or no positive integer", where=where)
            values[key] = Value(number, raw["sources"][entry["source"]])
        for key in ("bf16", *_OTHER):
            values[key]
        refuse_unused_sources(raw, where)
        return Chip(chip_id, raw["name"], raw["full_name"], tuple(raw["aliases"]), raw["vendor"], raw["note"],
                    MappingProxyType(values))  # fmt: skip


def find_chip(name: str) -> str:
    """The id of the chip that ``name`` means: an id, a name or an alias, in any case and spacing.

    Raises:
        AtlasError: no chip has that name; the nearest are named.
    """
    names = _names()
    found = names.get(_plain(name))
    if found is None:
        close = nearest(name, [*CHIP_IDS, *(load_chip(chip).name for chip in CHIP_IDS)], cutoff=0.5)
        known = ", ".join(CHIP_IDS)
        remedy = f"did you mean {close[0]}? known: {known}" if close else f"known: {known}"
        raise AtlasError(f"unknown chip {shown(name)}", remedy=remedy)
    return found


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = {}
    for chip_id in CHIP_IDS:
        chip = load_chip(chip_id)
        for spelling in (chip_id, chip.name, chip.full_name, *chip.aliases):
            if names.setdefault(_plain(spelling), chip_id) != chip_id:
                raise AtlasError(f"two chips are called {spelling!r}: {names[_plain(spelling)]} and {chip_id}")
    return names


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
