"""The quiet pass: ratios from a clock of our own, real order on a real one, and a file that is absent until it is made."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from blocklib.lab import speed
from blocklib.lab.arms import ARMS, BASE, replace
from blocklib.lab.lab_facts import lab_speed
from blocklib.problems import BlocklibError

TINY = replace(BASE, id="tiny", layout="AF", d_model=16, n_heads=2, n_kv_heads=2, d_ff=16, batch=2, seq_len=16)


def test_ratios_within_a_round_outlive_a_drifting_machine(monkeypatch):
    """A machine that slows down by a tenth every turn, and an arm that takes twice the base's time."""
    slow = 1.0

    def turn(arm, steps, clock):
        def run():
            nonlocal slow
            slow *= 1.1
            return slow * (2.0 if arm.id == "twice" else 1.0) * steps

        return run

    monkeypatch.setattr(speed, "_turn", turn)
    arms = [replace(TINY, id="once"), replace(TINY, id="twice")]
    found = speed.measure(arms, TINY, rounds=9)
    # between two neighbours the mean of 1/1.1 and 1.1 stands for one: the drift leaves half a per cent
    assert found["arms"]["once"]["median"] == pytest.approx(1, abs=0.006)
    assert found["arms"]["twice"]["median"] == pytest.approx(0.5, abs=0.003)
    assert found["arms"]["twice"]["low"] <= found["arms"]["twice"]["median"] <= found["arms"]["twice"]["high"]
    assert (found["rounds"], found["steps"]) == (9, speed.STEPS)


def test_tokens_count_and_not_turns(monkeypatch):
    monkeypatch.setattr(speed, "_turn", lambda arm, steps, clock: lambda: 1.0)
    found = speed.measure([replace(TINY, id="wide", batch=4)], TINY, rounds=2)
    assert found["arms"]["wide"]["median"] == 2.0


def test_deeper_is_slower_on_a_real_clock():
    arms = [replace(TINY, id="same"), replace(TINY, id="deep", layout="AF" * 6)]
    found = speed.measure(arms, TINY, rounds=5, steps=3)
    assert found["arms"]["deep"]["median"] < 0.6 and 0.4 < found["arms"]["same"]["median"] < 2.5
    assert found["environment"]["corpus"].startswith("d12b7b28")


def test_a_spread_takes_two_rounds():
    with pytest.raises(ValueError, match="at least two rounds"):
        speed.measure([TINY], TINY, rounds=1)


def test_file_keeps_the_measurement(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "_turn", lambda arm, steps, clock: lambda: 1.0)
    found = speed.measure([TINY], TINY, rounds=3)
    file = speed.write(found, tmp_path / "speed.json")
    assert json.loads(file.read_text("utf-8")) == found and list(tmp_path.iterdir()) == [file]
    monkeypatch.setattr(speed, "FILE", file)
    speed.load.cache_clear()
    assert speed.load() == found
    monkeypatch.setattr(speed, "FILE", tmp_path / "none.json")
    speed.load.cache_clear()
    assert speed.load() is None
    monkeypatch.undo()
    speed.load.cache_clear()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read: Expecting value"),
        ('{"arms": {', "cannot be read"),
        ("[1]", "expected a measurement, a JSON object with its arms"),
        ('{"rounds": 3}', "expected a measurement"),
        ('{"arms": {}}', "expected rounds, an integer above one, found None"),
        ('{"arms": {}, "rounds": 0}', "expected rounds"),
        (
            '{"rounds": 3, "arms": {"base": {"median": 1, "low": 2, "high": 3}}}',
            "arm 'base': expected low, median, high in this order",
        ),
        ('{"rounds": 3, "arms": {"base": 1}}', "arm 'base': expected positive median, low, high, found 1"),
        ('{"rounds": 3, "arms": {"base": {"median": 1, "low": 1}}}', "arm 'base'"),
        ('{"rounds": 3, "arms": {"base": {"median": NaN, "low": 1, "high": 1}}}', "arm 'base'"),
        ('{"rounds": 3, "arms": {"base": {"median": "1", "low": 1, "high": 1}}}', "arm 'base'"),
        ('{"rounds": 3, "arms": {"base": {"median": 0, "low": 0, "high": 0}}}', "arm 'base'"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, monkeypatch, text, says):
    (tmp_path / "speed.json").write_text(text)
    monkeypatch.setattr(speed, "FILE", tmp_path / "speed.json")
    speed.load.cache_clear()
    with pytest.raises(BlocklibError, match=rf"^blocklib/lab/speed\.json: .*{re.escape(says)}.*lab speed\)$"):
        speed.load()
    monkeypatch.undo()
    speed.load.cache_clear()


def test_fact_is_the_median_and_its_noise(monkeypatch):
    """Against a clock that errs by two hundredths: medians of repeated passes scatter as the fact says."""
    rng = np.random.default_rng(5)
    passes = rng.normal(0.9, 0.02, (400, speed.ROUNDS))
    said = []
    for row in passes:
        kept = {"arms": {"layernorm": speed._row(list(map(float, row)))}, "rounds": speed.ROUNDS}
        monkeypatch.setattr(speed, "load", lambda kept=kept: kept)
        said.append(lab_speed("layernorm"))
    assert float(np.mean([float(each.value) for each in said])) == pytest.approx(0.9, abs=0.002)
    scatter = np.median(passes, axis=1).std()
    assert float(np.mean([float(each.noise) for each in said])) == pytest.approx(scatter, rel=0.2)
    monkeypatch.setattr(speed, "load", lambda: None)
    with pytest.raises(BlocklibError, match="was not measured"):
        lab_speed("layernorm")


def test_kept_measurement_is_of_todays_arms():
    kept = speed.load()
    if kept is None:
        assert not speed.FILE.exists()
        return
    assert (kept["rounds"], kept["steps"]) == (speed.ROUNDS, speed.STEPS)
    assert set(kept["arms"]) == set(ARMS), "the arms are others by now: python -m blocklib lab speed"
    assert kept["arms"]["base"]["median"] == pytest.approx(1, abs=0.03), "the control: the base against itself"
    assert all(0 < row["low"] <= row["median"] <= row["high"] for row in kept["arms"].values())
