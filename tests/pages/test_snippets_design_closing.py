"""The executed block of the essay's closing: each part leaves its mark, and the mark goes with it."""

from tests.pages.running import output


def test_one_by_one():
    found = [[float(cell) for cell in line.split()[-2:]] for line in output("design/closing/one_by_one.py")[2:]]
    (skew, tied), (masked, leak), (bend, straight), (gated, plain), (unlike, alike), (kept, grown) = found
    assert skew > 1 and tied < 1e-12
    assert masked == 0 and leak > 0.1
    assert bend > 0.1 and straight < 1e-12
    assert plain == 2 and gated > 3
    assert unlike > 0.1 and alike < 1e-12
    assert kept < 2 * (1 + 12) ** 0.5 and grown > 2 * kept
