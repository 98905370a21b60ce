"""What the blocks of the page on normalisation print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_two_norms(run_snippet, lang):
    *table, last = run_snippet("primer/normalization/two_norms.py", lang)
    # mean 3, population deviation 4, so a root mean square of 5; the mean left by RMSNorm is 3/5
    assert [line.split()[-2:] for line in table[2:]] == [["3.000", "5.000"], ["0.000", "1.000"], ["0.600", "1.000"]]
    assert last.endswith("True")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_ops(run_snippet, lang):
    *table, last = run_snippet("primer/normalization/ops.py", lang)
    rows = [line.split()[-2:] for line in table[2:]]
    assert rows[-1] == ["86,016", "49,152"]
    assert [row[0] for row in rows[:-1]] == ["12,288"] * 7
    assert [row[1] for row in rows[:-1]] == ["0", "0", "12,288", "12,288", "12,288", "12,288", "0"]
    assert last.endswith("0.0014%")
