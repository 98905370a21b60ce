"""Chips: published figures as literals, each with its source; names found, and broken files named."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.atlas import CHIP_IDS, AtlasError, find_chip, load_chip
from blocklib.atlas.chips import FOLDER, parse_chip
from blocklib.facts.registry import FactError, convert
from blocklib.ledger.config import ConfigError

# bf16 peak, memory bandwidth, memory, link in both directions
PUBLISHED = {
    "a100": (312e12, 2.039e12, 80e9, 600e9), "h100": (989.4e12, 3.35e12, 80e9, 900e9),
    "h200": (989.4e12, 4.8e12, 141e9, 900e9),
}  # fmt: skip


@pytest.mark.parametrize("chip_id", CHIP_IDS)
def test_published_figures(chip_id):
    chip, (peak, bandwidth, memory, link) = load_chip(chip_id), PUBLISHED[chip_id]
    assert (chip.peak(), chip.bandwidth, chip.memory, 2 * chip.link) == (peak, bandwidth, memory, link)
    assert all(isinstance(entry.value, int) and entry.source for entry in chip.values.values())
    machine = chip.machine()
    assert (machine.peak, machine.bandwidth, machine.memory, machine.link) == (peak, bandwidth, memory, link / 2)
    assert machine.name == chip.name and isinstance(chip.link, int)


@pytest.mark.parametrize(
    ("chip_id", "units", "clock", "flop"), [("a100", 108, 1410e6, 2048), ("h100", 132, 1830e6, 4096)]
)
def test_peaks_are_dense(chip_id, units, clock, flop):
    """Units times clock times FLOP a cycle: the doubled figure with sparsity would be far off."""
    assert units * clock * flop == pytest.approx(load_chip(chip_id).peak(), rel=5e-4)


def test_precisions():
    h100, a100 = load_chip("h100"), load_chip("a100")
    assert h100.machine("fp8").peak == 1_978_900_000_000_000 and a100.machine("fp8").peak == a100.peak()
    for dtype in ("fp16", "int8", "int4", "mxfp4"):
        assert h100.machine(dtype).peak == h100.peak("bf16")
    with pytest.raises(AtlasError, match="no peak for fp32 is stated; stated: bf16, fp8"):
        h100.machine("fp32")
    with pytest.raises(AtlasError, match="no peak for bandwidth"):
        h100.peak("bandwidth")
    with pytest.raises(ConfigError, match="unknown dtype 'x'"):
        h100.machine("x")


@pytest.mark.parametrize("chip_id", CHIP_IDS)
def test_every_name_finds_its_chip(chip_id):
    chip = load_chip(chip_id)
    for name in (chip_id, chip.name, chip.full_name, *chip.aliases, chip.name.lower(), f" {chip.name} sxm "):
        assert find_chip(name) == chip_id


@pytest.mark.parametrize(("name", "words"), [("h10", "did you mean H100"), ("H300", "did you mean"), ("zzz", "known:")])
def test_an_unknown_name_hears_the_nearest(name, words):
    with pytest.raises(AtlasError, match=words) as error:
        find_chip(name)
    assert "known: a100, h100, h200" in str(error.value)
    with pytest.raises(AtlasError, match="unknown chip id"):
        load_chip(name)


def test_facts_take_chips_by_name():
    from blocklib.facts.discover import Param

    chip = Param("chip", "chip")
    assert convert("some_fact", chip, "H100 SXM") == "h100"
    with pytest.raises(FactError, match="unknown chip 'h10'"):
        convert("some_fact", chip, "h10")


BROKEN = {
    'value = 80_000_000_000': ('value = "80 GB"', "'memory' is unknown or no positive integer"),
    'memory = { value': ('memory = { val', "'value' is missing"),
    'nvlink = {': ('nvlinks = {', "'nvlinks' is unknown"),
    'source = "clock"': ('source = "clocks"', "'clocks' is missing"),
    '[values]': ('spare = "?"\n[values]', "no value uses the source 'spare'"),
    'name = "H100"': ('name = ', "not valid TOML"),
    'vendor = "NVIDIA"': ('', "'vendor' is missing"),
    'aliases = [': ('aliases = 5 #', "a table has the wrong shape"),
    'bf16 = {': ('fp8 = {', "not valid TOML"),
    'value = 3_350_000_000_000': ('value = 0', "'bandwidth' is unknown or no positive integer"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), [(old, *rest) for old, rest in BROKEN.items()])
def test_a_broken_file_is_named(old, new, words):
    text = (FOLDER / "h100.toml").read_text("utf-8")
    assert old in text and parse_chip("h100", text, "h100.toml") == load_chip("h100")
    with pytest.raises(AtlasError, match=words) as error:
        parse_chip("h100", text.replace(old, new), "h100.toml")
    assert str(error.value).startswith("h100.toml")


def test_the_least_value_is_one():
    text = (FOLDER / "h100.toml").read_text("utf-8").replace("value = 3_350_000_000_000", "value = 1")
    assert parse_chip("h100", text, "h100.toml").bandwidth == 1


def test_a_file_without_bf16_is_refused():
    text = "\n".join(line for line in (FOLDER / "h100.toml").read_text("utf-8").splitlines()
                     if not line.startswith("bf16"))  # fmt: skip
    with pytest.raises(AtlasError, match="'bf16' is missing"):
        parse_chip("h100", text, "h100.toml")


def test_ridges_in_order():
    ridges = [load_chip(chip).machine().ridge for chip in ("a100", "h200", "h100")]
    assert ridges == sorted(ridges) and ridges[0] == Fraction(312_000, 2_039)
