"""Kept runs are what their names promise: no broken, copied or altered file enters a mean unseen."""

from __future__ import annotations

import json

import pytest

from blocklib.lab import corpus, results, summary
from blocklib.lab.arms import ARMS, BASE
from blocklib.lab.results import ResultError

RUN = {"arm": "base", "rung": 1, "seed": 3, "outcome": "trained", "validation": 3.3, "config": BASE.config()}


@pytest.fixture
def kept(tmp_path):
    """Keep text, bytes or a changed run under a name in the base's folder, and return the folder above it."""

    def write(content=None, name="rate+1-seed3.json", **changes):
        file = tmp_path / "base" / name
        file.parent.mkdir(exist_ok=True)
        if content is None:
            content = json.dumps({key: value for key, value in (RUN | changes).items() if value != "gone"})
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


def test_whole_run_is_read(kept):
    root = kept()
    assert results.read(BASE, 1, 3, root) == RUN and results.runs(BASE, root) == [RUN]


@pytest.mark.parametrize("content", [b"", json.dumps(RUN)[:90], "[1]", "{}", "3.3", b"\xff\xfe\x00", "[" * 100_000])
def test_broken_file_is_named(kept, content):
    root = kept(content)
    for ask in (lambda: results.read(BASE, 1, 3, root), lambda: results.runs(BASE, root)):
        with pytest.raises(ResultError, match=r"^base/rate\+1-seed3\.json: .*run the arm again"):
            ask()


@pytest.mark.parametrize(
    "changes",
    [
        {"validation": float("nan")},
        {"validation": float("inf")},
        {"validation": "3.3"},
        {"validation": True},
        {"validation": "gone"},
        {"validation_masked": None},
        {"outcome": "Trained"},
        {"outcome": "gone"},
        {"validation": -3.3},
        {"arm": "gelu"},
        {"rate": 0.5},
        {"curve": []},
        {"curve": [3.4] * 9 + [float("nan")]},
        {"curve": ["3.4"] * 10},
        {"gradient_norms": [1.0, float("inf")]},
        {"layer_gradients": {"embed": None}},
        {"seed": 2},
        {"rung": 0},
        {"config": None},
    ],
)
def test_altered_run_is_refused(kept, changes):
    root = kept(**changes)
    with pytest.raises(ResultError):
        results.read(BASE, 1, 3, root)


def test_run_that_was_lost_needs_no_loss(kept):
    root = kept(outcome="collapsed", validation="gone")
    assert results.read(BASE, 1, 3, root)["outcome"] == "collapsed"


@pytest.mark.parametrize("name", ["rate+1-seed3 (copy).json", "notes.json", "rate+1-seed4.json"])
def test_copy_is_not_counted_twice(kept, name):
    kept()
    root = kept(name=name)
    with pytest.raises(ResultError, match=r"expected a name|holds the run of rate 1 and seed 3"):
        results.runs(BASE, root)


@pytest.mark.parametrize("content", [None, "", "{", "{}", "[]"])
def test_summary_that_cannot_be_read_says_so(monkeypatch, tmp_path, content):
    monkeypatch.setattr(summary, "FILE", tmp_path / "summary.json")
    if content is not None:
        summary.FILE.write_text(content)
    with pytest.raises(summary.SummaryError, match=r"summary\.json: cannot be read.*lab summary"):
        summary.load.__wrapped__()


def test_kept_runs_were_trained_on_the_recorded_text():
    for runs in results.everything().values():
        assert {run["environment"]["corpus"] for run in runs} == {corpus.about()["sha256"]}


@pytest.mark.parametrize("key", ["gradient_norms", "curve", "similarity", "layer_gradients"])
def test_a_run_without_a_part_is_named(monkeypatch, key):
    whole = {ident: results.runs(arm) for ident, arm in ARMS.items()}
    broken = next(run for run in whole["base"] if run["seed"] == 3)
    monkeypatch.setattr(results, "runs", lambda arm, root=None: whole[arm.id])
    del broken[key]
    with pytest.raises(ResultError, match=rf"base/rate\+1-seed3\.json: the run lacks {key}"):
        summary.make()


def test_no_runs_yet_make_a_summary(monkeypatch, tmp_path):
    """Whoever starts afresh and stops before the first run has ended."""
    monkeypatch.setattr(results, "runs", lambda arm, root=None: [])
    monkeypatch.setattr(results, "read", lambda *job: None)
    made = summary.make()
    assert made["line"] == {} and not any(row["complete"] for row in made["arms"].values())


def test_a_run_without_the_gradient_of_a_layer_is_named(monkeypatch):
    whole = {ident: results.runs(arm) for ident, arm in ARMS.items()}
    monkeypatch.setattr(results, "runs", lambda arm, root=None: whole[arm.id])
    del next(run for run in whole["base"] if run["seed"] == 3)["layer_gradients"]["ffn.2"]
    with pytest.raises(ResultError, match=r"base/rate\+1-seed3\.json: the run lacks layer_gradients ffn\.2"):
        summary.make()
