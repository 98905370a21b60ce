"""What the blocks of the essay's chapter on normalisation print, and what the chapter says of it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_no_norms(run_snippet, lang):
    rows = [line.replace(",", "").split() for line in run_snippet("design/normalization/no_norms.py", lang)[2:]]
    assert [row[0] for row in rows] == ["1", "2", "4", "8", "24"]
    for blocks, bare, kept in rows:
        assert float(bare) == pytest.approx(2 ** int(blocks), rel=0.1)
        assert float(kept) == pytest.approx((1 + 2 * int(blocks)) ** 0.5, rel=0.03)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_balance(run_snippet, lang):
    rows = [line.split()[-2:] for line in run_snippet("design/normalization/balance.py", lang)[2:]]
    skip, ratio = ([float(row[i]) for row in rows] for i in range(2))
    assert skip == pytest.approx([1.25**-12, 5.0**-12, 2.0**-12, 4.5e-4], rel=0.2)  # 24 sublayers, so twelfth powers
    assert ratio[:2] == pytest.approx([1, 1], abs=0.15)  # handing back what was written
    assert ratio[2] == pytest.approx(0.75**12, rel=0.3) and ratio[3] > 1e4  # less; far more


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_final_norm(run_snippet, lang):
    rows = [
        [float(cell.rstrip("%")) for cell in line.split()]
        for line in run_snippet("design/normalization/final_norm.py", lang)[2:]
    ]
    assert [row[0] for row in rows] == [1, 12, 96]
    assert rows[0][1] < 10 < 50 < rows[1][1] < 60 and rows[2][1] > 80  # sharper with every block
    assert all(row[2] == pytest.approx(1.65, abs=0.1) for row in rows)  # the same at any depth
