"""The words of a verdict: both languages, every kind, and no digit that the noise does not support."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from blocklib.facts.compare import compare as held_to
from blocklib.facts.reading import read
from blocklib.facts.values import Measured
from blocklib.lab import verdicts
from blocklib.lab.arms import ARMS, VERDICT_SEEDS
from blocklib.lab.questions import Outcome
from blocklib.lab.statistics import MARGIN, Comparison, compare
from blocklib.lab.verdicts import Verdict, digits


def outcome(ident: str = "base", losses=None, lost: int = 0, complete: bool = True, trains: bool = True) -> Outcome:
    seeds = VERDICT_SEEDS[lost:] if losses is None else VERDICT_SEEDS[: len(losses)]
    made = dict(zip(seeds, [3.3] * len(seeds) if losses is None else losses, strict=True))
    return Outcome(ARMS[ident], 0, made, lost, complete, trains)


def judged(mean: float, sd: float = 0.01, ident: str = "gelu", against: str = "base") -> Verdict:
    """A verdict on eight made-up pairs with this mean and spread."""
    noise = np.array([-1.2, 1.1, 0.3, -0.4, 0.9, -0.8, 0.6, -0.5])
    gap = mean + sd * (noise - noise.mean()) / noise.std(ddof=1)
    found = compare(3.3 + gap, np.full(8, 3.3))
    return Verdict(outcome(ident), outcome(against), found.verdict, found)


@pytest.mark.parametrize(
    ("verdict", "en", "zh"),
    [
        (
            judged(0.081),
            "GELU: loss 0.081 nats above the base (95% interval before correction: +0.073 to +0.089).",
            "GELU：损失比基准高 0.081 nat（校正前的 95% 区间：+0.073 到 +0.089）。",
        ),
        (
            judged(-0.2, 0.1, "post-cold", "post-warm"),
            'post-norm, no warm-up: loss 0.20 nats below "post-norm, warm-up" '
            "(95% interval before correction: −0.28 to −0.12).",
            "post-norm，不预热：损失比「post-norm，预热」低 0.20 nat（校正前的 95% 区间：−0.28 到 −0.12）。",
        ),
        (
            judged(0.002),
            "GELU: the same as the base within ±0.03 nats (90% interval of the two one-sided tests: −0.005 to +0.009).",
            "GELU：与基准相同，误差不出 ±0.03 nat（两个单侧检验的 90% 区间：−0.005 到 +0.009）。",
        ),
        (
            judged(0.02, 0.06),
            "GELU: no difference shown against the base (95% interval before correction: −0.03 to +0.07).",
            "GELU：与基准相比，没有显出差别（校正前的 95% 区间：−0.03 到 +0.07）。",
        ),
        (
            Verdict(outcome("no-norm", lost=3), outcome(), "lost"),
            "no norm: 3 of 8 seeds did not train, so nothing is averaged or compared.",
            "去掉归一化：8 个种子里有 3 个没有训起来，所以不求平均，也不作比较。",
        ),
        (
            Verdict(outcome("no-residual", lost=8, trains=False), outcome(), "lost"),
            "no residual: none of 8 seeds trained, nor did any rate of the sweep; there is nothing to compare.",
            "去掉残差：8 个种子无一训起来，扫过的学习率也没有一档行得通，无从比较。",
        ),
        (
            Verdict(outcome("post-cold", lost=8), outcome("post-warm"), "lost"),
            "post-norm, no warm-up: none of 8 seeds trained; there is nothing to compare.",
            "post-norm，不预热：8 个种子无一训起来，无从比较。",
        ),
        (
            Verdict(outcome("gelu"), outcome("base", lost=1), "lost"),
            "base: 1 of 8 seeds did not train, so nothing is averaged or compared.",
            "基准：8 个种子里有 1 个没有训起来，所以不求平均，也不作比较。",
        ),
        (
            Verdict(outcome("gelu", [3.3, 3.4], complete=False), outcome(), "unfinished"),
            "GELU: still running, 2 of 8 seeds done; no verdict yet.",
            "GELU：还没有跑完，8 个种子里完成了 2 个，不下结论。",
        ),
        (
            Verdict(outcome("gelu"), outcome("base", [], complete=False), "unfinished"),
            "base: still running, 0 of 8 seeds done; no verdict yet.",
            "基准：还没有跑完，8 个种子里完成了 0 个，不下结论。",
        ),
    ],
    ids=lambda v: v.kind if isinstance(v, Verdict) else "",
)
def test_sentences(verdict, en, zh):
    assert (verdict.sentence.en, verdict.sentence.zh) == (en, zh)


def test_no_more_digits_than_the_site_allows_a_measured_number():
    """The printed mean passes the check that bound numbers pass; with one digit more it fails."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        sd = 10 ** rng.uniform(-3.5, -0.5)
        verdict = judged(float(rng.normal(0, 0.2)), sd)
        found = verdict.comparison
        error = found.sd / sqrt(found.pairs)
        places, allowed = digits(found), Measured(abs(found.mean), error)
        assert held_to(read(f"{abs(found.mean):.{places}f}"), allowed) is None
        assert "more digits" in held_to(read(f"{abs(found.mean):.{places + 1}f}"), allowed)


def test_an_interval_without_zero_never_reads_as_ending_there():
    rng = np.random.default_rng(7)
    longer = 0
    for _ in range(3000):
        sd = 10 ** rng.uniform(-3, -1)
        verdict = judged(float(rng.uniform(0.8, 1.0) * sd), sd)
        if verdict.kind != "differs":
            continue
        found, places = verdict.comparison, digits(verdict.comparison)
        ends = re.search(r"interval before correction: \+(\S+) to \+([\d.]+)", verdict.sentence.en).groups()
        assert [float(end) for end in ends] == pytest.approx([found.low, found.high], abs=0.51 * 10**-places)
        assert float(ends[0]) > 0 and len(ends[0]) == len(ends[1])
        assert (len(ends[0]) > places + 2) == (round(found.low, places) == 0)
        longer += len(ends[0]) > places + 2
    assert longer > 100


def test_no_kept_verdict_prints_an_end_as_zero():
    for question in verdicts.QUESTIONS:
        for verdict in verdicts.judge(question):
            if (found := verdict.comparison) is not None and found.low * found.high > 0:
                assert not re.search(r"[+−]0\.0+(?!\d)", verdict.sentence.en), verdict.sentence.en


def test_sameness_never_shows_an_interval_beyond_its_margin():
    """The interval it prints is SciPy's at 90 %; the one at 95 % would contradict the verdict now and then."""
    rng = np.random.default_rng(8)
    wider = 0
    for _ in range(2000):
        verdict = judged(float(rng.uniform(-0.03, 0.03)), 10 ** rng.uniform(-4, -1))
        if verdict.kind != "same":
            continue
        found = verdict.comparison
        error = found.sd / sqrt(found.pairs)
        assert verdicts.within(found) == pytest.approx(stats.t.interval(0.9, 7, found.mean, error))
        for sentence in verdict.sentence:
            ends = [float(end.replace("−", "-")) for end in re.findall(r"[+−]\d\.\d+", sentence)]
            assert len(ends) == 2 and max(map(abs, ends)) <= MARGIN
        wider += max(abs(found.low), abs(found.high)) > MARGIN + 0.001
    assert wider > 5


@pytest.mark.parametrize(("error", "places"), [(0.3, 1), (0.06, 2), (0.021, 2), (0.0049, 3), (0.0009, 4), (1e-9, 5)])
def test_digits_follow_the_standard_error(error, places):
    assert digits(Comparison(1, error * sqrt(8), 0.9, 1.1, 0.1, 0, 0, 8)) == places
    assert digits(Comparison(1, 0.0, 1, 1, 0, 0, 0, 8)) == 4


def test_every_comparison_of_the_lab_can_be_said():
    for question in verdicts.QUESTIONS:
        for verdict in verdicts.judge(question):
            for sentence in verdict.sentence:
                assert sentence.startswith(
                    (verdict.first.arm.label.zh, verdict.first.arm.label.en)
                ) or verdict.kind in (
                    "unfinished",
                    "lost",
                )
                assert sentence.endswith(("。", ".")) and "nan" not in sentence


def test_a_comparison_that_was_lost_still_counts():
    """The question of parts has four comparisons and one of them lost every run: the smallest p is taken four times."""
    judged = verdicts.judge("parts")
    assert [v.kind == "lost" for v in judged].count(True) == 1 and len(judged) == 4
    raw = [
        stats.ttest_rel(*([out.losses[seed] for seed in sorted(out.losses)] for out in (v.first, v.second))).pvalue
        for v in judged
        if v.comparison is not None
    ]
    least = min(v.comparison.p for v in judged if v.comparison is not None)
    assert least == pytest.approx(4 * min(raw)) != pytest.approx(3 * min(raw))
