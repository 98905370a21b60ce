"""Runs that were stopped early, trained again to the end: which there are, and that they are the same runs."""

from __future__ import annotations

import json

import pytest

from blocklib.facts.registry import evaluate
from blocklib.lab import late, queue, report, results, training
from blocklib.lab.arms import ARMS, BASE, EARLY_LOOK, get, replace

TINY = replace(BASE, id="tiny", d_model=16, n_heads=2, n_kv_heads=2, d_ff=16, layout="AF", steps=30, grid=())


def test_only_runs_that_the_early_look_stopped_are_let_go_on():
    for ident, arm in ARMS.items():
        files = [json.loads(file.read_text("utf-8")) for file in (results.RESULTS / ident).glob("*.json")]
        expected = {(ident, run["rung"], run["seed"]) for run in files if run["outcome"] == "collapsed"}
        assert set(late.stopped(arm)) == expected
        assert all(run["stopped"] == EARLY_LOOK for run in files if run["outcome"] == "collapsed")
    assert len(late.stopped(get("no-residual"))) > 8 and late.stopped(get("gelu")) == []


def test_kept_runs_begin_as_the_stopped_ones_did():
    """The same seed and rate: the same losses at the start, and the same curve up to the early look."""
    runs = [run for arm in ARMS.values() for run in late.kept(arm).values()]
    assert not any(late.missing(arm) for arm in ARMS.values()), "python -m blocklib lab late"
    for run in runs:
        arm = get(run["arm"])
        short = results.read(arm, run["rung"], run["seed"])
        assert run["curve"][: len(short["curve"])] == pytest.approx(short["curve"], abs=0.02)
        assert run["first_losses"] == pytest.approx(short["first_losses"], abs=1e-4)
        assert len(run["curve"]) == arm.steps // training.CURVE_EVERY > len(short["curve"])


def test_facts_count_the_kept_runs():
    ends = [json.loads(file.read_text("utf-8"))["outcome"] for file in late.LATE.glob("*/*.json")]
    for outcome in ("trained", "collapsed", "diverged"):
        assert evaluate(f"lab_late?outcome={outcome}", {}).value == ends.count(outcome)
    assert evaluate("lab_late?outcome=any", {}).value == len(ends) > 20
    head, rows = report.late()
    assert [sum(int(row[column]) for row in rows) for column in (1, 2)] == [len(ends), ends.count("trained")]
    assert all(float(row[3]) <= float(row[4]) and len(row) == len(head) for row in rows)


def test_a_run_is_stopped_or_goes_on(tmp_path, monkeypatch):
    """At a rate of nothing the early look stops a run; let go on, it reaches the end and is counted as collapsed."""
    monkeypatch.setattr(queue, "get", lambda ident: TINY)
    monkeypatch.setattr(late, "LATE", tmp_path / "late")
    for name in ("EARLY_LOOK", "CURVE_EVERY"):
        monkeypatch.setattr(training, name, 10)
    monkeypatch.setattr(training, "CURVE_STRIDE", 400)
    job = ("tiny", -60, 1)
    queue.perform(job, tmp_path / "runs")
    short = results.read(TINY, -60, 1, tmp_path / "runs")
    assert (short["outcome"], short["stopped"], len(short["curve"])) == ("collapsed", 10, 1)
    late.perform(job)
    whole = results.read(TINY, -60, 1, tmp_path / "late")
    assert whole["outcome"] == "collapsed" and "stopped" not in whole and len(whole["curve"]) == 3
    assert whole["validation"] > 6 and "lab late" in whole["command"]
