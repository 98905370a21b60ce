"""The record of mutation testing is in step with the code: every survivor still stands where the record says."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mutants import ROOT, SETTINGS, modules, record

LISTED = record.survivors()
TOTALS = record.totals()
HOW = "run `make mutate only=MODULE`"


def lines_of(source: str, function: str) -> list[str]:
    """The lines of a function or class by its dotted name (``<module>``: of the file), without indentation."""
    lines = source.split("\n")
    if function != "<module>":
        node = ast.parse(source)
        for name in function.split("."):
            node = next(n for n in ast.walk(node) if getattr(n, "name", "") == name and hasattr(n, "body"))
        lines = lines[node.lineno - 1 : node.end_lineno]
    return [line.strip() for line in lines]


def test_every_module_has_its_totals_and_no_other():
    assert sorted(TOTALS) == modules(), HOW


def test_totals_and_survivors_agree():
    for module, row in TOTALS.items():
        survive = sum(entry["times"] for key, entry in LISTED.items() if key[0] == module)
        assert row["mutants"] - row["killed"] == survive, f"{module}: {HOW}"
    assert {key[0] for key in LISTED} <= set(TOTALS)


def test_enough_are_killed():
    assert record.share(TOTALS) >= SETTINGS["least"] >= 0.95


@pytest.mark.parametrize("file", sorted({key[0] for key in LISTED}))
def test_every_survivor_stands_where_the_record_says(file):
    source = (ROOT / file).read_text("utf-8")
    for (name, function, line, mutant), entry in LISTED.items():
        if name == file:
            assert line in lines_of(source, function), f"{function}: {line}: {HOW}"
            assert mutant != line and len(entry["reason"]) > 10
