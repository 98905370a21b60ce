"""What the blocks of the chapter on projections and heads print."""

from __future__ import annotations

import math

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_identity(run_snippet, lang):
    *table, scores, weights, inside = run_snippet("design/qkv/identity.py", lang)
    rows = [[float(cell) for cell in line.split()[-3:]] for line in table[2:]]
    for i, row in enumerate(rows):
        assert sum(row) == pytest.approx(1, abs=0.02)
        assert max(row) == row[i]  # everyone reads itself most
    # noun·noun 2, noun·other noun 1, noun·verb 0, over √4
    top, side, none = (math.exp(s / 2) for s in (2, 1, 0))
    assert rows[0] == pytest.approx([v / (top + side + none) for v in (top, none, side)], abs=0.006)
    assert (scores[-4:], weights[-5:], inside[-4:]) == ("True", "False", "True")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_three_roles(run_snippet, lang):
    lines = run_snippet("design/qkv/three_roles.py", lang)
    cat, chases, mouse = (float(cell) for cell in lines[2].split()[-3:])
    assert cat > mouse > chases == 0.0  # the verb reads the nouns, the big one first, and not itself
    assert cat / mouse == pytest.approx(math.exp(2), rel=0.06)  # √2 · 2 more in the product, over √2
    received = [float(v) for v in lines[3].split()[-2:]]
    assert received == pytest.approx([3 * cat, -3 * mouse], abs=0.03)
    assert max(received) > math.sqrt(2)  # beyond every entry of the inputs


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_heads(run_snippet, lang):
    rows = [line.split() for line in run_snippet("design/qkv/heads.py", lang)[2:]]
    assert [row[0] for row in rows] == ["1", "4", "16"]
    assert {row[1] for row in rows} == {"16,384"}
    assert [row[2] for row in rows] == ["10,000", "40,000", "160,000"]
    assert [row[3] for row in rows] == ["64", "16", "4"]
