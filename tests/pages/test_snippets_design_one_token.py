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
    # from the second layer on each spread is of the order of the cube of the last, down to what doubles can tell
    for before, after in zip(alone[1:3], alone[2:4], strict=True):
        assert before**3 / 20 < after < before**3 * 5
    assert alone[4] < 1e-15
    assert causal[3] > 0.05 and causal[4] < 0.05  # slower by far, and still downwards
    assert min(skip) > 0.5
    assert ffn[3] < 1e-8  # an FFN without a skip does not stop it
