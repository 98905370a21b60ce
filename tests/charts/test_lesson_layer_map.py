"""The way through a model and the walk through a layer: counts against the meta device's, writes by counting."""

from __future__ import annotations

import pytest

from blocklib.charts.lessons.layer_map import COURSE, LESSONS, stages, steps
from blocklib.facts.fingerprint import ROOT
from blocklib.text import LANGS
from tests.atlas.counts import COUNTS
from tests.charts.test_lesson_deep_net import apart_everywhere
from tests.charts.test_lesson_where_it_goes import said, table


def test_stages_hold_every_parameter_once():
    *_, total = COUNTS[COURSE]
    assert sum(stage.count for stage in stages()) == total == 26_895_998_464
    counts = {name: int(cells[1].replace(",", "")) for name, cells in table("data-flow-map").items()}
    assert counts["6 FFN"] == 17_112_760_320 and counts["0 embedding"] == counts["9 head"] == 1_271_398_400
    assert counts["3 output gate"] == 64 * 5120 * 6144 and counts["8 final norm"] == 5120
    assert counts["1 norm"] == counts["5 norm"] == 64 * 5120 and counts["4 add"] == counts["7 add"] == 0


def test_shapes_along_the_way():
    shapes = [cells[0] for cells in table("data-flow-map").values()]
    assert shapes[0] == "T → T × 5,120" and set(shapes[1:9]) == {"T × 5,120 → T × 5,120"}
    assert shapes[9] == "T × 5,120 → T × 248,320"


def test_the_lessons_bear_their_titles():
    folder = ROOT / "docs/lab/lessons"
    for slug, title in zip(("four-phrases", "deep-net", "invariances", "gate", "where-it-goes"), LESSONS, strict=True):
        front = (folder / f"{slug}.py").read_text(encoding="utf-8").splitlines()
        assert f"# title.zh: {title.zh}" in front and f"# title.en: {title.en}" in front


def test_every_stage_is_new_once_and_then_known():
    order = {"still to come": 0, "new": 1, "known by then": 2}
    columns = [[order[cells[2]] for cells in table("data-flow-map", lesson=k).values()] for k in range(len(LESSONS))]
    for stage, seen in enumerate(zip(*columns, strict=True)):
        assert list(seen) == sorted(seen) and seen.count(1) == (stage not in (2, 10)), stage
    assert "what is new there: FFN." in said("data-flow-map", lesson=0)
    assert "what is new there: norm, final norm." in said("data-flow-map", lesson=2)


@pytest.mark.parametrize(("kind", "mixer"), [("full", 104_857_600 + 512), ("gated_delta", 115_876_064)])
def test_a_layer_step_by_step(kind, mixer):
    walk = steps(kind)
    assert [s.count for s in walk[:7]] == [0, 5120, mixer, 0, 5120, 267_386_880, 0]
    assert [s.writes for s in walk] == [0, 0, 0, 1, 1, 1, 2, 64 * 2]
    assert walk[7].count == 26_895_998_464 - 2 * 1_271_398_400 - 5120
    last = said("layer-walk", step=7, kind=kind)
    assert "written to 128 times" in last and "11.358" in last
    assert "there is nothing but addition" in said("layer-walk", step=3, kind=kind)
    assert all(cells[0] == "T × 5,120" for cells in table("layer-walk", kind=kind).values())


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("id", ["data-flow-map", "layer-walk"])
def test_no_words_collide_or_leave_the_picture(id, lang, narrow):
    apart_everywhere(id, lang, narrow)
