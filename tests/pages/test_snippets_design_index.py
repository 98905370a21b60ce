"""The executed block of the essay's opening."""

from tests.pages.running import output


def test_take_out():
    d, d_ff = 64, 160
    found = [line.split() for line in output("design/index/take_out.py")[2:]]
    matrices, norms = 4 * d * d + 3 * d * d_ff, 2 * d
    assert [int(row[-3].replace(",", "")) for row in found] == [
        matrices + norms,
        matrices + norms - 3 * d * d,
        matrices + norms,
        matrices,
        4 * d * d + d,
        matrices + norms - d * d_ff,
        matrices + norms + 3 * d * d_ff + d,
    ]
    assert {(row[-2], row[-1]) for row in found} == {("1×8×64", "✓")}
