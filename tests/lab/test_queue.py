"""Which runs are missing: the sweep widens until the best rate lies inside, then the verdict's seeds follow."""

from __future__ import annotations

import json
import math
import os
from statistics import mean

import pytest

from blocklib.lab import command, queue, results, summary
from blocklib.lab.arms import BASE, VERDICT_SEEDS, get, rate, replace
from blocklib.problems import BlocklibError, UsageError

PLAIN = replace(BASE, grid=())
CELLS = ("base", "pre-cold", "post-warm", "post-cold")  # where the norm stands, with warm-up and without


@pytest.fixture
def keep(tmp_path):
    """Write a run as it would be kept: ``keep(rung, seed, loss)``, infinite for a collapsed one."""

    def write(rung, seed, loss, **changes):
        record = {"arm": "base", "rung": rung, "seed": seed, "outcome": "trained", "config": BASE.config()}
        record |= {"validation": loss} if math.isfinite(loss) else {"outcome": "collapsed"}
        results.write(record | changes, BASE, tmp_path)

    write.root = tmp_path
    return write


def test_three_rates_come_first(keep):
    assert queue.missing(PLAIN, keep.root) == [("base", -1, 0), ("base", 0, 0), ("base", 1, 0)]
    keep(0, 0, 3.3)
    assert queue.missing(PLAIN, keep.root) == [("base", -1, 0), ("base", 1, 0)]


@pytest.mark.parametrize(
    ("losses", "then"),
    [
        ({-1: 3.4, 0: 3.3, 1: 3.35}, 0),  # inside: done
        ({-1: 3.4, 0: 3.3, 1: 3.2}, [2]),  # best at the upper edge
        ({-1: 3.2, 0: 3.3, 1: 3.4}, [-2]),
        ({-1: 3.4, 0: 3.3, 1: 3.2, 2: 3.25}, 1),
        ({-1: 3.4, 0: math.inf, 1: math.inf}, [-2]),  # collapsed rates are worse than any
        ({-1: math.inf, 0: math.inf, 1: math.inf}, [-2]),  # smaller steps may train
        ({-1: math.inf, 0: 3.3, 1: math.inf}, 0),
    ],
)
def test_sweep_widens_at_an_edge(keep, losses, then):
    for rung, loss in losses.items():
        keep(rung, 0, loss)
    rungs, best = queue.sweep(PLAIN, keep.root)
    assert (rungs or best) == then


def test_arm_that_trains_at_no_rate_stops_the_search(keep):
    for rung in range(-4, 2):
        keep(rung, 0, math.inf)
    assert queue.sweep(PLAIN, keep.root) == ([], None)
    assert queue.missing(PLAIN, keep.root) == [("base", 0, seed) for seed in VERDICT_SEEDS]


def test_seeds_of_the_verdict_follow_at_the_best_rate(keep):
    for rung, loss in {-1: 3.4, 0: 3.3, 1: 3.2, 2: 3.25}.items():
        keep(rung, 0, loss)
    assert queue.missing(PLAIN, keep.root) == [("base", 1, seed) for seed in VERDICT_SEEDS]
    keep(1, 3, 3.2)
    assert ("base", 1, 3) not in queue.missing(PLAIN, keep.root)
    assert 0 not in VERDICT_SEEDS and len(VERDICT_SEEDS) == 8


def test_rates_of_a_grid_come_first_and_do_not_decide(keep):
    crossed = replace(PLAIN, grid=(-3, 1, 4))
    assert queue.missing(crossed, keep.root) == [("base", rung, 0) for rung in (-3, -1, 0, 1, 4)]
    for rung, loss in {-3: 3.0, -1: 3.4, 0: 3.3, 1: 3.35, 4: 3.1}.items():
        keep(rung, 0, loss)
    assert queue.sweep(crossed, keep.root) == ([], 0), "-3 and 4 are no neighbours of what the sweep tried"
    keep(-2, 0, 3.2)
    assert queue.sweep(crossed, keep.root) == ([-4], -3), "joined by -2, the lowest rate is an edge"


def test_place_and_warm_up_meet_the_same_rates():
    common = set.intersection(*({a.first_rung - 1, a.first_rung, a.first_rung + 1, *a.grid} for a in map(get, CELLS)))
    assert len(common) >= 3 and rate(max(common)) >= 0.01


def test_another_configuration_has_no_results(keep):
    keep(0, 0, 3.3)
    assert results.read(PLAIN, 0, 0, keep.root)["validation"] == 3.3
    assert results.read(replace(PLAIN, d_ff=340), 0, 0, keep.root) is None
    assert results.stale(keep.root, [PLAIN]) == []
    assert len(results.stale(keep.root, [replace(PLAIN, d_ff=340)])) == 1
    assert len(results.stale(keep.root, [])) == 1
    path = results.path(PLAIN, 0, 0, keep.root)
    os.rename(path, path.with_name("rate+9-seed0.json"))  # a file under a wrong name
    assert len(results.stale(keep.root, [PLAIN])) == 1


def test_field_that_came_later_had_its_default(keep):
    old = PLAIN.config()
    del old["embed_scale"]
    keep(0, 0, 3.3, config=old)
    assert results.read(PLAIN, 0, 0, keep.root) is not None
    assert results.read(replace(PLAIN, embed_scale=2.0), 0, 0, keep.root) is None


def test_kept_results_belong_to_arms_of_today():
    assert results.stale() == []


def test_perform_keeps_a_run(tmp_path, monkeypatch):
    from blocklib.lab import training

    tiny = replace(PLAIN, id="tiny", d_model=16, n_heads=2, n_kv_heads=2, d_ff=16, layout="AF", steps=10, warmup=2)
    monkeypatch.setattr(queue, "get", lambda ident: tiny)
    monkeypatch.setattr(training, "CURVE_STRIDE", 400)
    queue.perform(("tiny", 1, 5), tmp_path)
    kept = json.loads((tmp_path / "tiny/rate+1-seed5.json").read_text("utf-8"))
    assert results.read(tiny, 1, 5, tmp_path) == kept
    assert kept["environment"]["corpus"].startswith("d12b7b28") and "lab run" in kept["command"]
    assert not list(tmp_path.rglob("*.tmp"))


def test_two_at_work_are_refused(tmp_path, monkeypatch):
    lock = tmp_path / ".lock"
    lock.write_text(str(os.getpid()))
    with pytest.raises(queue.QueueError, match="at work"):
        queue._hold(lock)
    lock.write_text("999999999")  # whoever held it is gone
    queue._hold(lock)
    assert lock.read_text() == str(os.getpid())


def test_command_says_what_is_wrong(capsys):
    with pytest.raises(UsageError):
        command.main(["walk"])
    with pytest.raises(UsageError, match="positive"):
        command.main(["run", "--workers", "0"])


def test_status_names_every_arm(capsys):
    command.main(["status"])
    said = capsys.readouterr().out
    assert "ratio-1-2" in said and said.splitlines()[0].startswith("base")


@pytest.mark.parametrize("held", ["", "0", "-1", "no number", "9" * 30])
def test_lock_that_names_no_living_process_is_stale(tmp_path, held):
    lock = tmp_path / ".lock"
    lock.write_text(held)
    queue._hold(lock)
    assert lock.read_text() == str(os.getpid())


def test_process_of_somebody_else_holds_the_lock(tmp_path, monkeypatch):
    lock = tmp_path / ".lock"
    lock.write_text("4242")

    def kill(process, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(queue.QueueError, match=r"4242 is at work.*remove the file"):
        queue._hold(lock)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["run", "--minutes", "-1"], "not be negative"),
        (["run", "--minutes", "nan"], "not be negative"),
        (["reference", "--minutes", "-1"], "not be negative"),
        (["run", "--workers", "9999"], "processors"),
        (["speed", "--minutes", "2"], "takes no --minutes"),
        (["summary", "--only", "base"], "takes no --only"),
    ],
)
def test_what_a_verb_does_not_take_is_refused(argv, said):
    with pytest.raises(UsageError, match=said):
        command.main(argv)


def test_folder_that_may_not_be_written_is_said_in_a_line(monkeypatch):
    def refuse(asked):
        raise PermissionError(13, "Permission denied", "results/.lock")

    monkeypatch.setitem(command.VERBS, "run", refuse)
    with pytest.raises(BlocklibError, match=r"results/\.lock: Permission denied"):
        command.main(["run"])


def test_status_says_the_judged_loss_and_no_mean_where_a_run_was_lost(capsys):
    command.main(["status", "--only", "no-mask", "post-cold", "base"])
    masked, lost, base = capsys.readouterr().out.splitlines()[:3]
    row = summary.arm("no-mask")
    assert masked.endswith(f"{len(row['masked'])} of 8 seeds trained  mean loss {mean(row['masked'].values()):.4f}")
    assert (
        f"rate {row['rate']:.3g} " in masked and f"mean loss {mean(summary.arm('base')['losses'].values()):.4f}" in base
    )
    row = summary.arm("post-cold")
    assert row["lost"] and lost.endswith(f"{len(row['losses'])} of 8 seeds trained, {row['lost']} lost")


def test_a_missing_package_is_one_line(monkeypatch):
    def without_torch(asked):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setitem(command.VERBS, "check", without_torch)
    with pytest.raises(BlocklibError, match=r"lab check needs the package torch .*make lab, or \.venv/bin/python"):
        command.main(["check"])


def test_check_takes_an_arm(capsys):
    assert command.main(["check", "--only", "relu"]) == 0
    assert capsys.readouterr().out.startswith("relu, seed 1: 20 losses")
