"""One run: schedule, order of data, reproducibility, collapse, and the kept run against a re-run."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
import torch

from blocklib.lab import corpus, recheck, summary, training
from blocklib.lab.arms import ARMS, BASE, RATE_STEP, get, rate, schedule
from blocklib.lab.recipe_facts import lab_collapse_margin, lab_decay_left
from blocklib.problems import BlocklibError

TINY = replace(BASE, id="tiny", d_model=16, n_heads=2, n_kv_heads=2, d_ff=16, layout="AF", steps=40, warmup=5)


def test_schedule_warms_up_then_falls_to_a_tenth():
    shares = [schedule(step, BASE) for step in range(BASE.steps)]
    assert shares[0] == pytest.approx(1 / 50) and shares[49] == 1.0
    assert shares[50:] == sorted(shares[50:], reverse=True)
    assert shares[-1] == pytest.approx(0.1, abs=1e-4)
    assert schedule(525, BASE) == pytest.approx(0.55)  # half way: the middle of 1 and a tenth
    assert schedule(0, ARMS["pre-cold"]) == 1.0


def test_decay_alone_leaves_so_much_of_a_gain():
    arm = get("gain-decay")
    gain = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    opt = torch.optim.AdamW([gain], lr=1.0, weight_decay=arm.gain_decay)
    for step in range(arm.steps):
        opt.param_groups[0]["lr"] = summary.arm("gain-decay")["rate"] * schedule(step, arm)
        gain.grad = torch.zeros_like(gain)  # nothing but decay moves it
        opt.step()
    assert lab_decay_left("gain-decay") == pytest.approx(gain[0].item(), rel=1e-9)
    assert lab_decay_left("base") == 1.0


def test_rates_are_steps_from_the_base():
    assert rate(0) == 2e-3 and rate(2) / rate(1) == pytest.approx(RATE_STEP)


def test_batches_are_pieces_of_the_text_shifted_by_one():
    stream = training.batches(BASE, 7)
    text = corpus.tokens(1024).training
    whole, seen = text.tobytes(), set()
    for _ in range(5):
        inputs, targets = next(stream)
        assert inputs.shape == targets.shape == (8, 128)
        assert torch.equal(inputs[:, 1:], targets[:, :-1])
        for row in inputs:
            needle, at = row.numpy().astype(text.dtype).tobytes(), -1
            while (at := whole.index(needle, at + 1)) % 2:
                pass
            start = at // 2
            seen.add(start)
    assert len(seen) == 40 and len({start % 128 for start in seen}) == 1  # no piece twice, one offset


def test_same_seed_reads_the_same_order_whatever_the_arm():
    one, other = training.batches(BASE, 7), training.batches(ARMS["depth-7"], 7)
    assert all(torch.equal(next(one)[0], next(other)[0]) for _ in range(3))
    assert not torch.equal(next(training.batches(BASE, 7))[0], next(training.batches(BASE, 8))[0])


def test_validation_covers_the_held_out_text():
    inputs, targets = training.validation_blocks(BASE)
    assert inputs.shape == (1401, 128)
    assert torch.equal(inputs.flatten()[1:], targets.flatten()[:-1])
    assert len(training.validation_blocks(BASE, training.CURVE_STRIDE)[0]) == 128


def test_run_is_reproducible_and_depends_on_the_seed():
    first, again = (training.run(TINY, 0, 1, steps=12) for _ in range(2))
    assert first == again
    assert first["first_losses"] != training.run(TINY, 0, 2, steps=12)["first_losses"]
    assert len(first["first_losses"]) == len(first["gradient_norms"]) == 12


def test_cut_run_begins_like_a_whole_one(monkeypatch):
    monkeypatch.setattr(training, "CURVE_STRIDE", 400)
    whole = training.run(TINY, 0, 1)
    assert whole["first_losses"] == training.run(TINY, 0, 1, steps=20)["first_losses"]
    assert whole["outcome"] in ("trained", "collapsed") and whole["validation"] > 0
    assert set(whole["layer_gradients"]) == {"embed", "attention.0", "ffn.0"}


def test_first_loss_is_that_of_knowing_nothing():
    assert training.run(BASE, 0, 1, steps=1)["first_losses"][0] == pytest.approx(math.log(1024), abs=0.1)


def test_step_follows_adamw_by_hand():
    """First update of a matrix, by the formula: sign of the gradient times the rate, after the decay."""
    before, grads = {}, {}

    def look(model, step):
        for name, weight in model.named_parameters():
            if step == 0:
                before[name], grads[name] = weight.detach().clone(), weight.grad.clone()
            elif step == 1:
                moved = weight.detach()
                step_rate = rate(0) * schedule(0, TINY)
                decay = training.DECAY if weight.dim() > 1 else 0.0
                direction = grads[name] / (grads[name].abs() + training.EPS)
                expected = before[name] * (1 - step_rate * decay) - step_rate * direction
                torch.testing.assert_close(moved, expected, rtol=1e-4, atol=1e-6)

    training.run(TINY, 0, 1, steps=2, on_step=look)
    assert before


def test_arm_that_learns_nothing_has_collapsed(monkeypatch):
    """At a rate of nothing a model stays at its start, above the line; it runs to the end all the same."""
    monkeypatch.setattr(training, "CURVE_EVERY", 10)
    monkeypatch.setattr(training, "CURVE_STRIDE", 200)
    record = training.run(TINY, -60, 1)
    assert record["outcome"] == "collapsed" and "stopped" not in record
    assert len(record["curve"]) == TINY.steps // 10
    assert record["validation"] > corpus.unigram_floor(1024) - lab_collapse_margin()


@pytest.mark.parametrize(("below", "outcome"), [(0.05, "collapsed"), (0.15, "trained")])
def test_the_margin_decides(monkeypatch, below, outcome):
    """A model whose loss ends a little below the line has not learned; a little more, and it has."""
    monkeypatch.setattr(training, "CURVE_EVERY", 10)
    monkeypatch.setattr(training, "CURVE_STRIDE", 200)
    end = torch.full((4, 7), corpus.unigram_floor(1024) - below)
    monkeypatch.setattr(training, "block_losses", lambda model, blocks: end)
    assert training.run(TINY, 0, 1)["outcome"] == outcome


def test_loss_that_is_no_number_is_divergence(monkeypatch):
    real = training.build

    def broken(arm, seed):
        model = real(arm, seed)
        with torch.no_grad():
            model.embed.weight[5:].fill_(float("inf"))
        return model

    monkeypatch.setattr(training, "build", broken)
    record = training.run(TINY, 0, 1, steps=5)
    assert (record["outcome"], record["stopped"]) == ("diverged", 0)


def test_similarity_of_equal_tokens_is_one():
    model = training.build(TINY, 1)
    assert training.similarity(model, torch.full((2, 9), 7)) < 1.0  # positions differ by what they have read
    with torch.no_grad():
        for part in (model.attention[0].o, model.ffn[0].down):
            part.weight.zero_()
    assert training.similarity(model, torch.full((2, 9), 7)) == pytest.approx(1.0, abs=1e-5)
    assert training.similarity(model, torch.randint(1024, (2, 9))) < 0.5


def test_kept_run_is_what_this_code_makes():
    said, same = recheck.recheck()
    assert same, said


def test_recheck_control(monkeypatch):
    monkeypatch.setattr(training, "BETAS", (0.5, 0.95))
    assert not recheck.recheck()[1]


LOSSES = [6.9, 6.5]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({}, "expected first_losses, a list of positive numbers, found None"),
        ({"first_losses": "6.9"}, "found '6.9'"),
        ({"first_losses": [6.9, None]}, "found [6.9, None]"),
        ({"first_losses": [6.9, float("nan")]}, "nan"),
        ({"first_losses": [6.9, 0]}, "found [6.9, 0]"),
        ({"first_losses": [6.9, True]}, "True"),
        ({"first_losses": [6.9]}, "expected 2 first_losses, found 1"),
        ({"first_losses": [6.9, 6.5, 6.2]}, "expected 2 first_losses, found 3"),
    ],
)
def test_what_is_kept_is_looked_at_before_it_is_compared(monkeypatch, record, says):
    kept = {"outcome": "trained", **record}
    monkeypatch.setattr(recheck.results, "read", lambda *_: kept)
    monkeypatch.setattr(recheck, "own_rung", lambda arm: 0)
    monkeypatch.setattr(training, "CHECKED", 2)
    monkeypatch.setattr(training, "run", lambda *_, **__: pytest.fail("nothing to compare with"))
    with pytest.raises(BlocklibError, match=rf"^base/rate.*-seed1\.json: .*{re.escape(says)}.*\(restore it, or"):
        recheck.recheck()


def test_sound_losses_are_compared(monkeypatch):
    monkeypatch.setattr(recheck, "own_rung", lambda arm: 0)
    monkeypatch.setattr(training, "CHECKED", 2)
    for kept, again, same in (
        (LOSSES, LOSSES, True),
        (LOSSES, [6.9, 6.6], False),
        (LOSSES[:1], LOSSES, False),
        ([], [], True),
    ):
        record = {"outcome": "trained" if len(kept) == 2 else "diverged", "first_losses": kept}
        monkeypatch.setattr(recheck.results, "read", lambda *_, record=record: record)
        monkeypatch.setattr(training, "run", lambda *_, again=again, **__: {"first_losses": again})
        assert recheck.recheck()[1] is same


def test_torch_is_left_as_it_was():
    """Numbers below 1e-38 are zero to a run only: other work in the same process needs them."""
    threads = torch.get_num_threads()
    training.run(TINY, 0, 1, steps=1)
    assert torch.get_num_threads() == threads
    assert (torch.tensor([1e-39]) * 1).item() > 0
    with training.settings():
        assert (torch.tensor([1e-39]) * 1).item() == 0
