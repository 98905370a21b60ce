"""The executed blocks of the chapter on the ratio of the sublayers."""

from tests.pages.running import output


def test_one_kind():
    rows = {row.split()[0]: [float(v) for v in row.split()[1:]] for row in output("design/one_to_one/one_kind.py")[2:]}
    assert rows["FFFFFF"][0] == 0 and rows["FFFFFF"][1] > 1e-3
    assert rows["AAAAAA"][0] > 1e-3 and rows["AAAAAA"][1] < 1e-12
    mixed = [values for layout, values in rows.items() if len(set(layout)) == 2]
    assert len(mixed) == 4 and all(min(values) > 1e-3 for values in mixed)


def test_side_by_side():
    beside, after = (float(line.split()[-1]) for line in output("design/one_to_one/side_by_side.py"))
    assert beside < 1e-12 < 1e-3 < after


def test_writes():
    rows = [[float(v) for v in line.split()] for line in output("design/one_to_one/writes.py")[2:]]
    assert [row[:2] for row in rows] == [[2, 64], [3, 96]]
    for _, writes, pre, post in rows:
        assert abs(pre / (1 + writes) ** 0.5 - 1) < 0.03 and post == 1.0
