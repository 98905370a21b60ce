"""What the blocks of the chapter on one matrix for queries and keys print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_tied(run_snippet, lang):
    one, two = zip(
        *(map(float, line.split()[-2:]) for line in run_snippet("design/shared_qk/tied.py", lang)[2:]), strict=True
    )
    assert one[0] == one[1] and one[4] == one[5]  # scores agree, round trips agree …
    assert one[3] > 4 * one[2]  # … and the weights do not
    assert abs(two[0] - two[1]) > 2 and two[5] > 3 * two[4]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_word_order(run_snippet, lang):
    rows = [[float(c) for c in line.split()[-4:]] for line in run_snippet("design/shared_qk/word_order.py", lang)[2:]]
    none, added, rope = rows
    assert none[0] == none[1]  # shared, without positions: one number for both sentences
    assert added[0] != added[1] and rope[0] != rope[1]  # positions tell them apart
    assert all(abs(row[2] - row[3]) > 1 for row in rows)  # two matrices do so by themselves


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_freedoms(run_snippet, lang):
    rows = [[int(c) for c in line.split()] for line in run_snippet("design/shared_qk/freedoms.py", lang)[2:]]
    for d, r, entries, separate, formula, tied, tied_formula in rows:
        assert (separate, tied) == (formula, tied_formula)
        assert entries - separate == r * r
        assert r < d or separate - tied == d * (d - 1) // 2
