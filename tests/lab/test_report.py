"""The lab's tables at every stage of the lab: whole, in both languages, and without a number that nobody has measured."""

from __future__ import annotations

import re
from fractions import Fraction
from statistics import mean, stdev

import pytest

from blocklib.lab import report, speed
from blocklib.lab.arms import ARMS, BASE
from blocklib.lab.figures import decimals, interval, p_value, signed
from blocklib.lab.questions import QUESTIONS
from blocklib.lab.statistics import Comparison
from blocklib.text import Text
from tests.charts.labdata import NEVER, SOMETIMES, staged

STAGES = ("none", "some", "all", "kept")
DIGIT = re.compile(r"\d\.\d")


def tables():
    yield report.matching()
    yield report.rates()
    yield report.warm_up()
    yield report.standing()
    yield report.layer_gradients("base", "pre-cold", "post-warm")
    for question in QUESTIONS:
        yield report.comparisons(question)
        yield report.levels(question)


@pytest.mark.parametrize("stage", STAGES)
def test_tables_are_whole_at_every_stage(stage):
    with staged(stage):
        for head, rows in tables():
            for row in rows:
                assert len(row) == len(head)
                for cell in row:
                    assert isinstance(cell, (Text, str)) and "nan" not in str(cell), row
        for question, asked in QUESTIONS.items():
            assert all(words.count("\n\n") == len(asked.pairs) - 1 for words in report.sentences(question))


def test_nothing_run_shows_no_number():
    with staged("none"):
        for question in QUESTIONS:
            assert report.comparisons(question)[1] == []
            for row in report.levels(question)[1]:
                assert not any(DIGIT.search(cell.en if isinstance(cell, Text) else cell) for cell in row)
        assert report.rates()[1] == []
        assert report.warm_up()[1] == []
        assert all(row[1:] == ("—",) for row in report.layer_gradients("base")[1])
        assert report.progress("gelu") == Text("还没开始", "not begun")


def test_half_run_shows_progress_and_no_result():
    with staged("some") as shown:
        half = next(i for i, r in shown["arms"].items() if not r["complete"] and r["losses"])
        assert report.loss(half) == report.spread(half) == report.peak(half) == report.first_gradient(half) == "—"
        assert "seeds" in report.progress(half).en
        done = [row for q in QUESTIONS for row in shown["questions"][q] if "mean" in row]
        assert sum(len(report.comparisons(q)[1]) for q in QUESTIONS) == len(done) > 0


def test_finished_arms_show_mean_and_spread_to_the_digits_they_have():
    with staged("all") as shown:
        losses = list(shown["arms"]["gelu"]["losses"].values())
        places = decimals(stdev(losses) / 8**0.5)
        assert report.loss("gelu") == f"{mean(losses):.{places}f}"
        assert float(report.spread("gelu")) == pytest.approx(stdev(losses), rel=0.5)
        for lost in (NEVER, SOMETIMES):
            assert report.loss(lost) == report.spread(lost) == "—" and report.losses(lost) == {}
        assert report.losses("no-mask") == shown["arms"]["no-mask"]["masked"]
        head, rows = report.comparisons("activation")
        words = {row[0].en: row for row in rows}
        for row in shown["questions"]["activation"]:
            cells = words[ARMS[row["first"]].label.en]
            assert float(cells[1].replace("−", "-")) == pytest.approx(row["mean"], abs=0.006)
            assert float(cells[2]) == pytest.approx(row["floor"], abs=0.006)
            assert cells[-1] == report.VERDICTS[report.verdict_word(row)]
        assert [h.en for h in head] == ["Arm", "Difference", "Resolvable", "p (Holm)", "Verdict"]


def test_sentences_and_tables_print_the_same_digits():
    with staged("all") as shown:
        for question in QUESTIONS:
            said = {(r["first"], r["second"]): r["en"] for r in shown["questions"][question] if "mean" in r}
            for sentence, row in zip(said.values(), report.comparisons(question)[1], strict=True):
                digits = len(row[1].partition(".")[2])
                low, high = re.search(r"(?:correction|tests): ([+−][\d.]+) to ([+−][\d.]+)\)", sentence).groups()
                more = len(low.partition(".")[2]) - digits
                assert len(low) == len(high) if low[0] == high[0] else more == 0
                ends = [abs(float(end.replace("−", "-"))) for end in (low, high)]
                assert more == 0 or (low[0] == high[0] and round(min(ends), digits + more - 1) == 0 < min(ends))
                if "nats above" in sentence or "nats below" in sentence:
                    assert f"loss {row[1][1:]} nats" in sentence


def test_rates_put_the_bases_rate_beside_each_own():
    with staged("all") as shown:
        own, base = str(shown["arms"]["base"]["rung"]), shown["arms"]["base"]
        head, rows = report.rates()
        assert len(rows) == sum(1 for i, r in shown["arms"].items() if i not in (BASE.id, "no-mask") and r["complete"])
        by_name = {row[0].en: row for row in rows}
        row, gelu = by_name["LayerNorm"], shown["arms"]["layernorm"]
        assert row[1] == f"{gelu['sweep'][own]:.3f}"
        assert row[2] == signed(gelu["sweep"][own] - base["sweep"][own], 3)
        assert by_name["no residual"][1].en == "did not train" and by_name["no residual"][2] == "—"
        assert by_name["post-norm, warm-up"][1] == "—", "a rate that its sweep did not try"


def test_warm_up_grid_has_a_row_for_every_rate_tried():
    with staged("all") as shown:
        head, rows = report.warm_up()
        tried = {int(r) for i in report.PLACES for r in shown["arms"][i]["sweep"]}
        assert len(rows) == len(tried) and len(head) == 1 + len(report.PLACES)
        assert any(cell == Text("没训起来", "did not train") for row in rows for cell in row)


def test_standing_adds_up_to_all_comparisons():
    for stage in STAGES:
        with staged(stage):
            counted = [sum(int(cell) for cell in row[1:]) for row in report.standing()[1]]
            assert counted == [len(question.pairs) for question in QUESTIONS.values()]


def test_speed_is_there_only_once_measured():
    with staged("all"):
        assert report.tokens_per_second("gelu") is None
    with staged("all", quiet_pass=True):
        assert report.tokens_per_second("gelu") == f"{speed.load()['arms']['gelu']['median']:.2f}"


def test_say_quotes_the_summary():
    with staged("all") as shown:
        said = report.say(("gelu", "base"), ("layernorm", "base"))
        assert said.en.split("\n\n")[0] == shown["questions"]["activation"][0]["en"]


@pytest.mark.parametrize(("p", "words"), [(0.0002, "<0.001"), (0.0123, "0.012"), (0.0494, "0.049"), (0.0499999, "<0.05"), (0.05, "0.050"),
                          (0.0999, "0.100"), (0.27, "0.27"), (1.0, "1.00")])  # fmt: skip
def test_p_values(p, words):
    assert p_value(p) == words


def test_the_p_that_is_printed_agrees_with_the_verdict():
    near = [0.05 + sign * 10.0**-k for k in range(2, 12) for sign in (-1, 1)]
    for p in [*near, *(k / 3000 for k in range(1, 3000))]:
        words = p_value(p)
        below = Fraction(words[1:]) <= Fraction("0.05") if words[0] == "<" else Fraction(words) < Fraction("0.05")
        assert below == (Comparison(0.1, 0.1, 0.0, 0.2, 0.1, p, 1.0, 8).verdict == "differs"), (p, words)


@pytest.mark.parametrize(
    ("noise", "count"), [(7.0, 0), (1.0, 0), (0.3, 1), (0.1, 1), (0.09, 2), (0.004, 3), (1e-7, 5), (0.0, 4)]
)
def test_decimals(noise, count):
    assert decimals(noise) == count
    assert interval(0.0004, 0.02, 3) == ("+0.0004", "+0.0200") and interval(-0.0004, 0.02, 3) == ("−0.000", "+0.020")
    assert interval(-0.04, -0.00001, 3) == ("−0.04000", "−0.00001")
    assert signed(-0.5, 1) == "−0.5" and signed(0.5, 2) == "+0.50"
