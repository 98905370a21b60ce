"""What the blocks of the chapter on one token print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_last_token(run_snippet, lang):
    *table, first = run_snippet("design/one_token/last_token.py", lang)
    rows = [line.split() for line in table[2:]]
    values = [[float(c) for c in row[4:6]] for row in rows]
    for position, row in enumerate(rows):
        weights = [0.0 if cell == "·" else float(cell) for cell in row[1:4]]
        assert row[1:4].count("·") == 2 - position and sum(weights) == pytest.approx(1, abs=0.011)
        expected = [sum(w * v[k] for w, v in zip(weights, values, strict=True)) for k in (0, 1)]
        assert [float(c) for c in row[6:8]] == pytest.approx(expected, abs=0.03)
    assert rows[0][4:6] == rows[0][6:8] and first.endswith("True")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_collapse(run_snippet, lang):
    rows = [[float(c) for c in line.split()[-5:]] for line in run_snippet("design/one_token/collapse.py", lang)[2:]]
    alone, causal, skip, ffn = rows
    # what is left of the differences is cubed, so from the second layer on the digits triple, down to what doubles hold
    for before, after in zip(alone[1:3], alone[2:4], strict=True):
        assert 2.7 < after / before < 3.6
    assert 15 < alone[4] < 17
    assert 1 < causal[4] < 3  # slower by far, and still on the way
    assert max(skip) < 0.3
    assert ffn[3] > 8  # an FFN without a skip does not stop it
