"""The lab's exhibits at every stage of the lab: nothing run, half of it, everything; and numbers from an independent reading."""

from __future__ import annotations

import re
from statistics import mean

import pytest
from scipy import stats

from blocklib.charts.discover import load
from blocklib.charts.html import static_html
from blocklib.charts.lab import acceptance, common, noise_floor, rate_sweep, replay
from blocklib.charts.rules import broken_rules
from blocklib.lab import report
from blocklib.lab.arms import ARMS
from blocklib.lab.questions import QUESTIONS
from blocklib.text import LANGS
from tests.charts.labdata import EXHIBITS, NEVER, SOMETIMES, staged
from tests.charts.test_primer_exhibits import rows, said
from tests.charts.words import collisions

FED = [ident for ident in EXHIBITS if ident != "noise-floor"]  # those that the summary feeds
STAGES = ("none", "some", "all", "kept")


@pytest.mark.parametrize("id", FED)
@pytest.mark.parametrize("stage", STAGES)
def test_rules_hold_at_every_stage(id, stage):
    with staged(stage):
        assert broken_rules(load(id)) == []


@pytest.mark.parametrize("id", EXHIBITS)
@pytest.mark.parametrize("stage", STAGES)
def test_words_keep_apart_at_every_stage(id, stage):
    if id == "noise-floor" and stage != "kept":
        pytest.skip("it does not read the summary")
    with staged(stage):
        assert collisions(id) == []


@pytest.mark.parametrize("stage", STAGES)
def test_rules_hold_once_speed_is_measured(stage):
    with staged(stage, quiet_pass=True):
        assert broken_rules(load("lab-acceptance")) == []
        state = load("lab-acceptance").state(question="norm")
        assert [h.en for h in state.table.head][-4] == "Speed, base at one"
        assert re.fullmatch(r"\d\.\d\d", state.table.rows[1][-4])
    with staged(stage):
        heads = [h.en for h in load("lab-acceptance").state(question="norm").table.head]
        assert not any("Speed" in h for h in heads)
        assert [key for key, _ in acceptance.metrics()] == ["loss", "gradient", "match"]


def test_every_comparison_of_the_lab_stands_on_the_walk():
    walk = common.pairs()
    assert len(walk) == sum(len(q.pairs) for q in QUESTIONS.values()) == len(set(walk))
    for lang in LANGS:
        assert len({label[lang] for label in common.pair_labels()}) == len(walk)


def test_nothing_run_is_said_and_no_number_shown():
    with staged("none"):
        for view in ("curve", "gradient", "seeds"):
            state = load("lab-replay").state(pair=7, view=view)
            assert "still running, 0 of 8 seeds" in state.sentence.en and "还在跑，0/8" in state.sentence.zh
            assert "no verdict yet" in state.sentence.en
            assert {cell for row in state.table.rows for cell in row[1:]} == {"—"}
            assert not [s for s in state.chart.series if s.mark in ("line", "points", "links")]
        sentence = load("lab-acceptance").state().sentence
        assert sentence.en.count("running, 0/8") == 5 and "**0** have finished" in sentence.en
        assert "no run yet" in load("rate-sweep").state().sentence.en


def test_half_run_is_said_to_be_half_run():
    with staged("some") as shown:
        halves = [i for i, row in shown["arms"].items() if not row["complete"] and row["losses"] and not row["lost"]]
        assert halves
        walk = common.pairs()
        at = next(k for k, (_, arm, _) in enumerate(walk) if arm in halves)
        assert "still running, 2 of 8 seeds" in load("lab-replay").state(pair=at).sentence.en
        question = walk[at][0]
        cell = dict((row[0].en, row) for row in load("lab-acceptance").state(question=question).table.rows)
        row = cell[ARMS[walk[at][1]].label.en]
        assert row[1] == "—" and "2 of 8" in row[-2].en, "a half-run arm shows no loss"


def test_verdicts_are_the_summarys_word_for_word():
    with staged("all") as shown:
        for at, (question, arm, reference) in enumerate(common.pairs()):
            row = next(r for r in shown["questions"][question] if (r["first"], r["second"]) == (arm, reference))
            for view in ("curve", "gradient", "seeds"):
                sentence = load("lab-replay").state(pair=at, view=view).sentence
                assert sentence.en.endswith("Verdict: " + row["en"]) and sentence.zh.endswith("判定：" + row["zh"])


def test_seeds_are_paired_and_their_differences_are_those_of_the_verdict():
    with staged("all") as shown:
        at = next(k for k, pair in enumerate(common.pairs()) if pair == ("activation", "gelu", "base"))
        state = load("lab-replay").state(pair=at, view="seeds")
        losses = {ident: shown["arms"][ident]["losses"] for ident in ("gelu", "base")}
        assert [row[0] for row in state.table.rows] == list("12345678")
        for row in state.table.rows:
            assert row[1] == f"{losses['gelu'][row[0]]:.3f}" and row[2] == f"{losses['base'][row[0]]:.3f}"
        links = next(s for s in state.chart.series if s.mark == "links")
        assert list(links.y[::2]) == list(losses["base"].values()) and list(links.y[1::2]) == list(
            losses["gelu"].values()
        )
        assert f"**{report.loss('gelu')}**" in state.sentence.en


def test_speed_joins_the_sentence_once_measured():
    at = next(k for k, pair in enumerate(common.pairs()) if pair == ("activation", "gelu", "base"))
    with staged("all"):
        assert "Tokens a second" not in load("lab-replay").state(pair=at).sentence.en
    with staged("all", quiet_pass=True):
        sentence = load("lab-replay").state(pair=at).sentence
        assert f'"GELU" {report.tokens_per_second("gelu")}, the base ' in sentence.en
        assert f"「GELU」 {report.tokens_per_second('gelu')}，" in sentence.zh


def test_lost_runs_are_shown_as_lost_and_never_averaged():
    with staged("all") as shown:
        walk = common.pairs()
        never, sometimes = (next(k for k, p in enumerate(walk) if p[1] == arm) for arm in (NEVER, SOMETIMES))
        state = load("lab-replay").state(pair=never, view="seeds")
        assert {row[1] for row in state.table.rows} == {"—"} and {row[3] for row in state.table.rows} == {"—"}
        assert "nothing to compare" in state.sentence.en
        state = load("lab-replay").state(pair=never)
        assert "stands between **5." in state.sentence.en and "after 1,000 steps" in state.sentence.en
        assert "8 of which did not train" in state.sentence.en
        for at, arm in ((never, NEVER), (sometimes, SOMETIMES)):
            state = load("lab-replay").state(pair=at)
            label, top = ARMS[arm].label, replay.reach("curve", False)[1]
            kept = {
                side: [min(round(v, 3), top) for v in values] for side, values in shown["arms"][arm]["curve"].items()
            }
            assert {row[1] for row in state.table.rows} == {"—"} and "—" not in {row[2] for row in state.table.rows}
            lines = [series for series in state.chart.series if series.mark == "line" and label.en in series.name.en]
            drawn = [list(series.y) for series in lines]
            assert drawn == [kept[side] for side in (("low", "high") if arm == SOMETIMES else ("high",))]
            assert kept["mean"] not in drawn
        state = load("lab-replay").state(pair=next(k for k, p in enumerate(walk) if p[1] == "gelu"))
        assert "—" not in {row[1] for row in state.table.rows}, "control: an arm that lost nothing has a mean"
        state = load("lab-replay").state(pair=sometimes, view="seeds")
        assert [row[1] for row in state.table.rows][:3] == ["—"] * 3 and "nothing is averaged" in state.sentence.en
        assert '"no norm" (**8 seeds' in state.sentence.en, "no mean beside it"
        table = {row[0].en: row for row in load("lab-acceptance").state().table.rows}
        assert table["no norm"][1] == "—" and table["no norm"][-1] == "3" and table["no residual"][-1] == "8"
        assert "**3/8 lost**" in load("lab-acceptance").state().sentence.en


def test_acceptance_bars_are_differences_from_the_base():
    with staged("all") as shown:
        arms = report.arms_of("activation")
        bars = {}
        for s in load("lab-acceptance").state(question="activation").chart.series:
            bars |= {arms[int(y)]: x for x, y in zip(s.x, s.y, strict=True)}
        base = mean(shown["arms"]["base"]["losses"].values())
        for ident in ("gelu", "relu", "relu2"):
            assert bars[ident] == pytest.approx(mean(shown["arms"][ident]["losses"].values()) - base)
        assert bars["base"] == 0
        match = load("lab-acceptance").state(question="depth", metric="match")
        assert "922,752 (+0.00%)" in [row[1] for row in match.table.rows]


def test_the_unmasked_arm_is_compared_by_its_causal_loss():
    with staged("all") as shown:
        at = next(k for k, p in enumerate(common.pairs()) if p[1] == "no-mask")
        state = load("lab-replay").state(pair=at, view="seeds")
        assert state.table.rows[0][1] == f"{shown['arms']['no-mask']['masked']['1']:.3f}"
        assert "taken without the mask" in load("lab-replay").state(pair=at).sentence.en
        assert "taken without the mask" not in state.sentence.en


def test_sweep_names_the_best_rate_and_marks_lost_runs():
    with staged("all") as shown:
        state = load("rate-sweep").state(arm="gelu")
        best = min((loss, int(rung)) for rung, loss in shown["arms"]["gelu"]["sweep"].items())
        assert f"**{2e-3 * 1.5 ** best[1]:.3g}**, with loss **{best[0]:.3f}**" in state.sentence.en
        assert "so far" not in state.sentence.en
        lost = load("rate-sweep").state(arm="post-warm")
        assert "did not train" in [getattr(row[1], "en", row[1]) for row in lost.table.rows]
        assert "none of which trained" in load("rate-sweep").state(arm=NEVER).sentence.en
    with staged("some") as shown:
        row = shown["arms"]["qk-norm"]
        row |= {"complete": False, "losses": {}, "sweep": {"0": 3.4, "1": 3.35}}
        load("rate-sweep")._memo.clear()
        assert '"QK-norm" does best at **0.003** so far' in load("rate-sweep").state(arm="qk-norm").sentence.en


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"effect": 0.0, "comparisons": 1}, "5.00% of repeats report a difference"),
        ({"effect": 0.0, "comparisons": 5}, "1.00% of repeats report a difference"),
        ({"effect": 0.08}, ">99.9% of repeats report a difference"),
    ],
)
def test_noise_floor_at_known_settings(settings, words):
    assert words in said("noise-floor", **settings)


def test_noise_floor_is_scipys_noncentral_t():
    bound = stats.t.ppf(1 - 0.005, 7)
    for effect in (0.01, 0.02, 0.03):
        power = stats.nct.sf(bound, 7, effect / 0.02 * 8**0.5)
        shown = float(re.search(r"([\d.]+)% of repeats report", said("noise-floor", effect=effect))[1])
        assert shown == pytest.approx(100 * power, abs=0.051)
    table = rows("noise-floor", effect=0.02)
    assert len(table) == len(noise_floor.EFFECTS) and "▸ 0.02" in table


@pytest.mark.parametrize("id", EXHIBITS)
def test_markup_stands_at_every_stage(id):
    for stage in STAGES:
        with staged(stage):
            for lang in LANGS:
                assert "tl-exhibit" in static_html(id, lang, "c")


def test_charts_read_the_standard_part_of_the_lab_alone():
    import subprocess
    import sys

    code = (
        "import sys, blocklib.charts.lab.replay, blocklib.charts.lab.acceptance, blocklib.charts.lab.rate_sweep,"
        " blocklib.charts.lab.noise_floor; print(sorted({'torch', 'scipy', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert replay.CURVE_EVERY * 10 == ARMS["base"].steps and len(rate_sweep.OTHERS) == len(ARMS) - 1
