"""What the exhibits on projections, shared queries and one token show, against other ways to work it out."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.charts.design import one_token, qkv, shared_qk
from blocklib.charts.discover import load
from blocklib.nn.attention import SingleHeadAttention


def state(id: str, **settings_):
    return load(id).function(**settings_)


def test_three_roles_by_hand():
    bare, projected = qkv.reading(False), qkv.reading(True)
    e = [math.exp(s / 2) for s in (0, 2, 0)]  # "hunts" with cat, itself, mouse, over √4
    assert bare[1][0] == pytest.approx([v / sum(e) for v in e])
    assert all(max(weights) == weights[i] for i, (weights, _) in enumerate(bare))
    asks = [math.exp(s / math.sqrt(2)) for s in (6 * math.sqrt(2), 0, 4 * math.sqrt(2))]
    cat, hunts, mouse = projected[1][0]
    assert [cat, hunts, mouse] == pytest.approx([v / sum(asks) for v in asks])
    assert projected[1][1] == pytest.approx([0, 0, 3 * cat, -3 * mouse])
    assert projected[0][0] == projected[2][0] == pytest.approx([1 / 3] * 3)
    assert "It reads itself most" in state("three-roles", projected=False, reader=2).sentence.en
    assert "“cat” most" in state("three-roles", projected=True, reader=1).sentence.en


def test_heads_split_numbers():
    shown = state("heads-split", n_heads=8, d_model=512)
    assert all(f"**{n}**" in shown.sentence.en for n in ("1,048,576", "64", "8,388,608", "25.8"))
    assert "BLEU" not in state("heads-split", n_heads=2, d_model=512).sentence.en  # not among the paper's rows
    assert "BLEU" not in state("heads-split", n_heads=8, d_model=4096).sentence.en
    assert [row[-1] for row in shown.table.rows] == ["24.9", "—", "25.5", "25.8", "25.8", "25.4", "—"]


def test_head_removal_prints_what_the_papers_print():
    single = state("head-removal", study="single")
    assert [row[1] for row in single.table.rows] == [
        "−0.53",
        "−0.33",
        "−0.31",
        "−0.31",
        "+0.15",
        "+0.20",
        "+0.21",
        "+0.24",
    ]
    assert "**88**" in single.sentence.en
    joint = state("head-removal", study="joint")
    assert [row[1] for row in joint.table.rows] == ["20%", "40%", "79.2%"] and "−0.15" in joint.sentence.zh
    speed = state("head-removal", study="speed")
    assert [row[1] for row in speed.table.rows] == ["1.9%", "2.7%", "17.5%", "17.5%"]


def test_score_symmetry_ends():
    scores, weights = shared_qk.dog_bites_man(Fraction(0))
    for i, j in shared_qk.PAIRS:
        assert scores[i][j] == pytest.approx(scores[j][i]) and weights[i][j] != pytest.approx(weights[j][i])
    assert shared_qk.trip(weights, 0, 1, 2, 0) == pytest.approx(shared_qk.trip(weights, 0, 2, 1, 0))
    free, chances = shared_qk.dog_bites_man(Fraction(1))
    assert abs(free[0][1] - free[1][0]) > 2
    assert shared_qk.trip(chances, 0, 2, 1, 0) > 3 * shared_qk.trip(chances, 0, 1, 2, 0)
    halfway = shared_qk.dog_bites_man(Fraction(1, 2))[0]  # scores are linear in the key matrix
    assert halfway[0][1] == pytest.approx((scores[0][1] + free[0][1]) / 2)


def test_position_symmetry_verdicts():
    kinds = {s: shared_qk.kind_of(s, True).en for s in shared_qk.SCHEMES}
    equal = {s for s, words in kinds.items() if words == "both ways agree everywhere"}
    assert equal == {"none", "learned", "sinusoidal", "rope", "alibi"}
    assert "offset alone" in kinds["t5"] and "with the words" in kinds["shaw"] and "with the words" in kinds["xpos"]
    assert all("with the words" in shared_qk.kind_of(s, False).en for s in shared_qk.SCHEMES)
    d = shared_qk.asymmetry("shaw", True)
    assert all(d[i][j] == pytest.approx(-d[j][i]) for i in range(5) for j in range(5))


def test_score_freedoms_sentence():
    shown = state("score-freedoms", step=1, d_model=4096).sentence.en
    assert all(n in shown for n in ("1,048,576", "1,032,192", "516,160", "516,032", "8,386,560"))
    assert "full rank" in state("score-freedoms", step=6, d_model=512).sentence.en


points = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=9, unique=True)


@given(points)
@settings(max_examples=60)
def test_hull_against_all_lines(these):
    """A point is a corner exactly if it lies in no triangle or segment of the others."""
    corners = one_token.hull([(float(x), float(y)) for x, y in these])

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    def between(p, a, b):
        return cross(a, b, p) == 0 and min(a, b) <= p <= max(a, b)

    def enclosed(p, rest):
        if any(between(p, a, b) for a in rest for b in rest if a != b):
            return True
        turns = [
            (cross(a, b, p), cross(b, c, p), cross(c, a, p), cross(a, b, c)) for a in rest for b in rest for c in rest
        ]
        return any(t[3] > 0 and min(t[:3]) >= 0 for t in turns)

    expected = {p for p in these if not enclosed(p, [q for q in these if q != p])}
    assert {(int(x), int(y)) for x, y in corners} == expected


@pytest.mark.parametrize("sharpness", [s for s, _ in one_token.SHARPNESS])
def test_value_hull_reads_inside(sharpness):
    values, weights, read = one_token.reading(sharpness)
    for place, out in enumerate(read):
        seen = values[: place + 1]
        assert sum(weights[place]) == pytest.approx(1) and not any(weights[place][place + 1 :])
        for angle in range(0, 360, 15):
            u = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            assert out[0] * u[0] + out[1] * u[1] <= max(p[0] * u[0] + p[1] * u[1] for p in seen) + 1e-12
    assert read[0] == pytest.approx(values[0])


@pytest.mark.parametrize("kind", list(one_token.KINDS))
def test_collapse_step_is_the_attention_layer(kind):
    """Carrying shared and apart separately gives what the layer gives, at differences large enough to see."""
    torch.manual_seed(1)
    d, tokens = one_token.WIDTH, 5
    shared, apart = torch.randn(d, dtype=torch.float64), torch.randn(tokens, d, dtype=torch.float64)
    apart = apart - apart.mean(0)
    matrices = [torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))[0] for _ in range(3)]
    layer = SingleHeadAttention(d, causal=kind == "causal").double()
    with torch.no_grad():
        for part, matrix in zip((layer.q, layer.k, layer.v), matrices, strict=True):
            part.weight.copy_(matrix.T)
        layer.o.weight.copy_(torch.eye(d, dtype=torch.float64))
        expected = layer((shared + apart)[None])[0]
    there, far = one_token.step(shared, apart, matrices, kind)
    assert torch.allclose(there + far, expected)
    assert torch.allclose(far.mean(0), torch.zeros(d, dtype=torch.float64), atol=1e-12)


def test_collapse_sentences():
    assert "cube" in state("collapse-speed", kind="bare", start=0.2).sentence.en
    falling = one_token.spreads("bare", 0.05)
    assert falling[4] < 1e-100 and one_token.left(falling[5]) == "< 10⁻³⁰⁰"
    assert one_token.size(torch.zeros(3)) == 0.0
    assert one_token.size(torch.tensor([3e-200, 4e-200], dtype=torch.float64)) == pytest.approx(5e-200)
