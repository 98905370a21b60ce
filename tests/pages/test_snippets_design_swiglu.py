"""The executed blocks of the chapter on gated FFNs."""

from tests.pages.running import output


def cells(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_product():
    body = cells(output("design/swiglu/product.py"))[2:]
    assert [[int(v) for v in row] for row in body] == [[t, t, t * t] for t in (1, 2, 4, 8)]


def test_two_channels():
    for row in cells(output("design/swiglu/two_channels.py"))[2:]:
        gate, up, one, two, out = map(float, row)
        assert out == gate * up and abs(one + two - out) <= 1e-3


def test_gain():
    lines = output("design/swiglu/gain.py")
    assert lines[0].endswith("(1, 2, 16)")
    gains = [float(v) for row in cells(lines[3:]) for v in row[1:]]
    assert min(gains) < 0 and min(gains) >= -0.28 and max(gains) > 1
    turned = [row for row in cells(lines[3:]) if float(row[1]) < 0 < float(row[2])]
    assert turned, "some channel is loud on one token and reversed on the other"


def test_saved():
    body = cells(output("design/swiglu/saved.py"))[2:]
    assert [row[0] for row in body] == ["ReLU", "GELU", "SwiGLU"]
    assert [row[2] for row in body] == ["4.00", "8.00", "10.67"]
    assert len({row[1] for row in body}) == 1
