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
    found = [[int(cell.strip(",")) for cell in row if cell.strip(",").isdigit()] for row in rows("routed")]
    alone, together = [row[1:] for row in found[:4]], found[4]  # the first number is the token's
    assert [len(row) for row in alone] == [2, 2, 2, 2]
    assert sorted(set(sum(alone, []))) == together and len(together) == 6


def test_one_step():
    fixed, falling = ([float(row[k]) for row in rows("one_step")] for k in (1, 2))
    assert fixed == [0.064, 0.256, 1.024] and falling == [0.064] * 3
