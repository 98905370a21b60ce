"""The kept summary is that of the kept runs, and what facts say of it is what an independent reading says."""

from __future__ import annotations

import json
from statistics import mean

import numpy as np
import pytest

from blocklib.facts.discover import FactError
from blocklib.facts.registry import evaluate
from blocklib.facts.values import Measured
from blocklib.lab import power, report, results, summary
from blocklib.lab.arms import ARMS, VERDICT_SEEDS, ArmError


def test_kept_summary_is_that_of_the_runs():
    made = json.loads(summary.dumps(summary.make()))
    kept = json.loads(summary.FILE.read_text("utf-8"))
    counts = ("training_tokens", "validation_tokens")
    assert made["corpus"] == pytest.approx(kept["corpus"]) and all(
        made["corpus"][k] == kept["corpus"][k] for k in counts
    )
    assert made["line"] == kept["line"] and made["questions"].keys() == kept["questions"].keys()
    assert made["arms"] == kept["arms"], "python -m blocklib lab summary"
    for question, rows in made["questions"].items():
        for new, old in zip(rows, kept["questions"][question], strict=True):
            numbers = {key for key, value in old.items() if isinstance(value, float)}
            assert new.keys() == old.keys() and all(new[key] == old[key] for key in old.keys() - numbers)
            assert all(new[key] == pytest.approx(old[key], rel=1e-4, abs=1e-9) for key in numbers)


def finished():
    return [ident for ident, row in summary.load()["arms"].items() if row["complete"] and not row["lost"]]


def test_losses_are_those_in_the_files():
    for ident in finished():
        rung = summary.arm(ident)["rung"]
        folder = results.RESULTS / ident
        read = [json.loads((folder / f"rate{rung:+d}-seed{seed}.json").read_text("utf-8")) for seed in VERDICT_SEEDS]
        found = evaluate(f"lab_loss?arm={ident}", {}).value
        assert isinstance(found, Measured)
        assert float(found.value) == pytest.approx(mean(r["validation"] for r in read))
        assert 0 < float(found.noise) < 0.2


def test_masked_losses_are_those_in_the_files():
    """The arm trained without the mask has two; every other arm has one, and says so."""
    rung = summary.arm("no-mask")["rung"]
    files = [results.RESULTS / "no-mask" / f"rate{rung:+d}-seed{seed}.json" for seed in VERDICT_SEEDS]
    read = [json.loads(file.read_text("utf-8")) for file in files]
    found = evaluate("lab_masked_loss?arm=no-mask", {}).value
    assert float(found.value) == pytest.approx(mean(r["validation_masked"] for r in read))
    with pytest.raises(FactError, match="it has one loss"):
        evaluate("lab_masked_loss?arm=base", {})


def test_layer_gradients_are_the_means_of_the_files():
    head, rows = report.layer_gradients("base", "post-warm")
    names = ["embed", *(f"{kind}.{layer}" for layer in range(4) for kind in ("attention", "ffn"))]
    assert len(rows) == len(names) and len(head) == 3
    for column, ident in enumerate(("base", "post-warm"), 1):
        rung, folder = summary.arm(ident)["rung"], results.RESULTS / ident
        read = [json.loads((folder / f"rate{rung:+d}-seed{seed}.json").read_text("utf-8")) for seed in VERDICT_SEEDS]
        for name, row in zip(names, rows, strict=True):
            digits = len(row[column].partition(".")[2])
            expected = mean(record["layer_gradients"][name] for record in read)
            assert float(row[column]) == pytest.approx(expected, abs=0.51 * 10**-digits) and digits


def test_difference_reads_both_ways():
    there = evaluate("lab_difference?arm=gelu&reference=base", {}).value
    back = evaluate("lab_difference?arm=base&reference=gelu", {}).value
    assert there.value == -back.value > 0 and there.noise == back.noise


def test_runs_on_the_line_are_counted_from_the_files():
    """Independent: a run is on the line while its curve lies above its own end by less than learning would bring."""
    files = [json.loads(file.read_text("utf-8")) for file in results.RESULTS.glob("*/*.json")]
    lost = [run for run in files if run["outcome"] == "collapsed"]
    line = min(run["curve"][-1] for run in lost) - 0.05  # lost runs mark it themselves
    left = {step: 0 for step in (300, 600, 700, 1000)}
    for run in files:
        for step in left:
            left[step] += run["outcome"] == "trained" and run["curve"][step // 100 - 1] > line
    for step, expected in left.items():
        assert evaluate(f"lab_on_the_line?step={step}&counted=left", {}).value == expected
        on = evaluate(f"lab_on_the_line?step={step}&counted=on", {}).value
        assert on == expected + sum(run["curve"][step // 100 - 1] > line for run in lost)
    assert left[300] > left[600] > 0 == left[1000], "some leave late: nothing may be stopped for being there"
    with pytest.raises(FactError, match="no point at step 350"):
        evaluate("lab_on_the_line?step=350&counted=on", {})


def test_typical_spread_is_the_median_over_comparisons():
    """Half of the comparisons spread more, half less; the noise is that of a median, from repeated draws of the runs."""
    sds = np.array([row["sd"] for rows in summary.load()["questions"].values() for row in rows if "sd" in row])
    found = evaluate("lab_typical_spread", {}).value
    assert (sds > found.value).sum() == (sds < found.value).sum()
    assert float(f"{found.value:.1g}") == power.MEASURED, "what the exhibit of chances starts from"
    again = np.median(np.random.default_rng(0).choice(sds, (2000, len(sds))), axis=1)
    assert float(found.noise) == pytest.approx(again.std(), rel=0.5)


def test_share_is_the_difference_over_the_reference():
    gap, loss, share = (
        evaluate(f"{fact}", {}).value
        for fact in ("lab_difference?arm=gelu&reference=base", "lab_loss?arm=base", "lab_share?arm=gelu&reference=base")
    )
    assert share.value * loss.value == pytest.approx(gap.value) and 0 < share.value < 0.1


def test_spread_of_the_rest_leaves_out_the_odd_one():
    losses = np.array(list(summary.arm("base")["losses"].values()))
    without = [np.delete(losses, i).std(ddof=1) for i in range(len(losses))]
    assert evaluate("lab_spread_of_rest?arm=base", {}).value.value == pytest.approx(min(without))


def test_unknown_arm_and_unasked_pair_are_refused():
    with pytest.raises(ArmError, match="did you mean"):
        summary.arm("gelo")
    with pytest.raises(summary.SummaryError, match="no question compares"):
        summary.verdict("gelu", "mqa")


def test_unfinished_arm_has_no_loss(monkeypatch):
    row = {"complete": False, "lost": 0}
    monkeypatch.setattr(summary, "load", lambda: {"arms": {"base": row}, "questions": {}})
    with pytest.raises(summary.SummaryError, match="not finished"):
        summary.finished("base")
    row |= {"complete": True, "lost": 2}
    with pytest.raises(summary.SummaryError, match="did not train"):
        summary.finished("base")


def test_summary_covers_every_arm():
    assert set(summary.load()["arms"]) == set(ARMS), "the arms are others by now: python -m blocklib lab summary"
