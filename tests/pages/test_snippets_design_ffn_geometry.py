"""What the blocks of the essay's chapter on the inside of the FFN print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_collapse(run_snippet, lang):
    lines = run_snippet("design/ffn_geometry/collapse.py", lang)
    missed = {line.split()[0]: float(line.split()[-1].rstrip("%")) for line in lines[2:5]}
    assert missed["identity"] == 0 and 30 < missed["gelu"] < missed["relu"] < 90
    assert [line.split()[-1] for line in lines[7:]] == ["8", "8", "8"]
    assert ["(32, 8)" in lines[7], "(8, 32)" in lines[8], "(8, 8)" in lines[9]] == [True] * 3


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_regions(run_snippet, lang):
    rows = [line.split() for line in run_snippet("design/ffn_geometry/regions.py", lang)[2:]]
    assert rows == [["1", "2", "2"], ["2", "4", "4"], ["4", "11", "11"], ["8", "37", "37"]]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_dead(run_snippet, lang):
    rows = {
        line.split()[0]: [float(v) for v in line.split()[1:]]
        for line in run_snippet("design/ffn_geometry/dead.py", lang)[2:]
    }
    assert all(largest < 0 for largest, _ in rows.values())  # no input passes the threshold
    assert rows["relu"][1] == 0 < rows["gelu"][1] < rows["silu"][1]
