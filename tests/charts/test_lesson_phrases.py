"""The exhibits of the lessons on four phrases and on a single token, against torch."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.charts.discover import load
from blocklib.charts.lessons import batch_of_one, phrases
from blocklib.charts.payload import cell
from blocklib.text import LANGS, Text
from tests.charts.test_lesson_deep_net import apart_everywhere

X = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
NAMES = ("tasty", "not tasty", "awful", "not awful")


def table(id: str, **settings) -> dict[str, list[str]]:
    return {cell(first, "en"): [cell(v, "en") for v in rest] for first, *rest in load(id).state(**settings).table.rows}


def figures(row: list[str]) -> list[float]:
    return [float(v.replace("−", "-")) for v in row]


def test_the_line_and_its_fold_are_what_torch_computes():
    for negated, bad, bias in ((-1, -1, 1), (0.5, -1, 0), (0, 0, 0.5)):
        line = X @ torch.tensor([negated, bad], dtype=torch.float64) + bias
        settings = {"negated": Fraction(negated), "bad": Fraction(bad), "bias": Fraction(bias)}
        straight = table("four-phrases", **settings)
        folded = table("four-phrases", **settings, folded=True)
        for i, name in enumerate(NAMES):
            assert figures(straight[name])[1:] == [line[i].item()] * 2
            one, two = torch.relu(line[i]).item(), torch.relu(-line[i]).item()
            assert figures(folded[name])[1:] == [line[i].item(), one, two, one + two]


def test_at_its_default_three_are_right_and_the_fold_mends_the_fourth():
    exhibit = load("four-phrases")
    assert "Mean squared error **1**; a straight line gets to **0.25** at best." in exhibit.state().sentence.en
    assert "Mean squared error **0**, all of them right." in exhibit.state(folded=True).sentence.en
    half = exhibit.state(negated=Fraction(0), bad=Fraction(0), bias=Fraction(1, 2))
    assert "Mean squared error **0.25**" in half.sentence.en
    best = min(Fraction(cell(exhibit.at(i).table.rows[-1][-1], "en")) for i in exhibit.indices() if i[3] == 0)
    assert best == Fraction(1, 4)  # no setting of the straight line does better


@pytest.mark.parametrize("read", [read for read, _ in phrases.READ])
def test_a_neuron_writes_what_relu_gives(read):
    for threshold in phrases.VALUES:
        for write in (1, -1):
            rows = table("read-threshold-write", read=read, threshold=threshold, write=write)
            reading = X @ torch.tensor(read, dtype=torch.float64)
            written = write * torch.relu(reading - float(threshold))
            for i, name in enumerate(NAMES):
                found = figures(rows[name])
                assert found[0] == reading[i].item() and found[2] == written[i].item()


def test_the_hinge_lies_where_the_reading_equals_the_threshold():
    for read, _ in phrases.READ:
        for threshold in phrases.VALUES:
            for x, y in phrases.hinge(read, threshold):
                assert read[0] * x + read[1] * y == pytest.approx(float(threshold))
    assert len(phrases.hinge((1, 1), Fraction(1))) == 2 and phrases.hinge((0, 1), Fraction(-1)) == []


@pytest.mark.parametrize("batch", batch_of_one.BATCHES)
@pytest.mark.parametrize("draw", [0, 1, 2])
def test_batchnorm_is_torch_s(batch, draw):
    rows = torch.tensor([batch_of_one.VECTOR, *batch_of_one.neighbours(draw)], dtype=torch.float64)
    norm = torch.nn.BatchNorm1d(rows.shape[1], momentum=1.0).double()
    if batch > 1:
        assert torch.allclose(norm(rows[:batch])[0], torch.tensor(batch_of_one.normalised(batch, draw, False)).double())
    else:
        assert batch_of_one.normalised(1, draw, False) == (0.0,) * rows.shape[1]
    norm(torch.tensor(batch_of_one.neighbours(0), dtype=torch.float64))
    stored = norm.eval()(rows[:1])[0]
    assert torch.allclose(stored, torch.tensor(batch_of_one.normalised(batch, draw, True)).double())


def test_shares_of_starts_are_exact():
    state = phrases.found_chart([(Text("甲", "a"), 10), (Text("乙", "b"), 100)], 100)
    assert "a **10%**; b **100%**" in state.sentence.en and state.table.rows[0][1:] == (10, "10%")


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("id", ["four-phrases", "read-threshold-write", "batchnorm-one-token"])
def test_no_words_collide_or_leave_the_picture(id, lang, narrow):
    apart_everywhere(id, lang, narrow)
