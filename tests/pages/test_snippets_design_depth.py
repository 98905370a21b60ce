"""The executed blocks of the chapter on depth."""

from tests.pages.running import output


def rows(name: str) -> list[list[str]]:
    return [line.split() for line in output(f"design/depth/{name}.py")[2:]]


def test_pieces():
    found = [[int(v) for v in row] for row in rows("pieces")]
    assert found == [[2 * n, 2 * n + 1, 2**n] for n in range(1, 7)]


def test_shared():
    own, shared = (row[-3:] for row in rows("shared"))
    weights = [int(row[0].replace(",", "")) for row in (own, shared)]
    assert weights[0] == 12 * weights[1] and own[1:] == shared[1:]


def test_routed():
    marks = [[cell for cell in row if cell in "#."] for row in rows("routed")]
    assert all(len(row) == 8 for row in marks) and [row.count("#") for row in marks[:4]] == [2, 2, 2, 2]
    together = ["#" if "#" in column else "." for column in zip(*marks[:4], strict=True)]
    assert marks[4] == together and together.count("#") == 6


def test_one_step():
    fixed, falling = ([float(row[k]) for row in rows("one_step")] for k in (1, 2))
    assert fixed == [0.064, 0.256, 1.024] and falling == [0.064] * 3
