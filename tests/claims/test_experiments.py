"""Measured claims are held to the lab's verdicts: every way of saying more than the lab says is found at its line."""

from __future__ import annotations

import json

import pytest

from blocklib.claims import closure, experiments
from tests.minisite import write_site

CLAIMS = "docs/claims.toml"
LAB = {
    "corpus": {},
    "arms": {
        "base": {"complete": True, "lost": 0},
        "gelu": {"complete": True, "lost": 0},
        "relu": {"complete": True, "lost": 0},
        "macaron": {"complete": True, "lost": 0},
        "tied-kv": {"complete": True, "lost": 0},
        "no-norm": {"complete": True, "lost": 8},
        "parallel": {"complete": False, "lost": 0},
    },
    "questions": {
        "activation": [
            {"first": "gelu", "second": "base", "kind": "differs", "mean": 0.08, "en": "GELU is above."},
            {"first": "relu", "second": "base", "kind": "differs", "mean": -0.02, "en": "ReLU is below."},
        ],
        "rest": [
            {"first": "macaron", "second": "base", "kind": "same", "mean": 0.001, "en": "The same."},
            {"first": "tied-kv", "second": "base", "kind": "open", "mean": 0.01, "en": "No difference shown."},
            {"first": "no-norm", "second": "base", "kind": "lost", "en": "Eight of eight did not train."},
            {"first": "parallel", "second": "base", "kind": "unfinished", "en": "Still running."},
        ],
    },
}


@pytest.fixture
def faults(tmp_path):
    """Faults of the small site when its last claim is measured by these experiments, as (path, line, message)."""

    def plant(*entries: str, lab: object = LAB) -> list[tuple[str, int, str]]:
        write_site(tmp_path, sign=False)
        if lab is not None:
            file = tmp_path / experiments.SUMMARY
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(lab if isinstance(lab, str) else json.dumps(lab))
        claims = tmp_path / CLAIMS
        named = f'"measured"\nexperiments = {json.dumps(entries)}'
        claims.write_text(claims.read_text().replace('"convention"', named))
        assert "experiments" in claims.read_text()
        return [(p.path, p.line, p.message) for p in closure.check(tmp_path)]

    return plant


@pytest.mark.parametrize(
    "entry",
    ["gelu above base", "relu below base", "macaron same base", "tied-kv open base", "no-norm lost", "base"],
)
def test_what_the_lab_says_may_be_claimed(faults, entry):
    assert faults(entry) == []


def test_several_verdicts_may_stand_together(faults):
    assert faults("gelu above base", "relu below base", "no-norm lost") == []


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("gelu below base", "the lab says 'above': GELU is above."),
        ("relu above base", "the lab says 'below': ReLU is below."),
        ("gelu same base", "the lab says 'above'"),
        ("gelu open base", "the lab says 'above'"),
        ("macaron above base", "the lab says 'same': The same."),
        ("macaron open base", "the lab says 'same'"),
        ("tied-kv same base", "the lab says 'open': No difference shown."),
        ("tied-kv below base", "the lab says 'open'"),
        ("no-norm above base", "the lab says 'lost': Eight of eight did not train."),
        ("gelu lost", "the lab says that every run of 'gelu' trained"),
        ("parallel same base", "arm 'parallel' has not finished"),
        ("parallel lost", "arm 'parallel' has not finished"),
        ("parallel", "arm 'parallel' has not finished"),
        ("gello above base", "has no arm 'gello'; did you mean 'gelu'?"),
        ("gelu above bass", "has no arm 'bass'; did you mean 'base'?"),
        ("gelu above relu", "no question of the lab compares the two"),
        ("base below gelu", "no question of the lab compares the two; the lab asks about 'gelu' against 'base'"),
        ("gelu over base", "cannot read experiment 'gelu over base'"),
        ("gelu gone", "cannot read experiment 'gelu gone'"),
    ],
)
def test_what_the_lab_does_not_say_is_found_at_its_line(faults, entry, says):
    found = faults(entry)
    line = found[0][1]
    assert [(path, message.count(says)) for path, _, message in found] == [(CLAIMS, 1)], found
    assert line > 1 and faults(entry)[0][1] == line


def test_the_line_is_that_of_the_experiments(faults, tmp_path):
    ((path, line, _),) = faults("gelu below base")
    assert (tmp_path / path).read_text().splitlines()[line - 1].startswith("experiments")


def test_each_wrong_entry_is_reported(faults):
    assert len(faults("gelu below base", "parallel lost", "macaron same base")) == 2


def test_several_arms_without_a_verdict_are_a_comparison_in_disguise(faults):
    ((_, _, message),) = faults("gelu", "base")
    assert "names several arms and no verdict; write for example 'gelu above base'" in message


@pytest.mark.parametrize(
    "entries", [("no-norm lost", "base"), ("base", "gelu above base"), ("gelu above base", "relu")]
)
def test_an_arm_alone_says_nothing_beside_a_comparison(faults, entries):
    bare = next(entry for entry in entries if " " not in entry)
    ((path, _, message),) = faults(*entries)
    assert path == CLAIMS and f"experiment '{bare}' says nothing beside what it compares" in message
    assert f"write '{bare} above|below|same|open REFERENCE' or '{bare} lost', or leave it out" in message


def test_without_a_lab_nothing_is_measured(faults):
    ((path, _, message),) = faults("gelu above base", "no-norm lost", lab=None)
    assert path == CLAIMS and f"there is no {experiments.SUMMARY}" in message


def test_a_broken_summary_is_said_once(faults):
    ((path, line, message),) = faults("gelu above base", lab='{\n"arms": ,}')
    assert (path, line) == (experiments.SUMMARY, 2) and "cannot be read" in message


@pytest.mark.parametrize(
    "lab", ["{}", "[]", '{"arms": {"base": {}}, "questions": {}}', '{"arms": {}, "questions": {"parts": [{}]}}']
)
def test_a_summary_of_another_shape_is_said_once(faults, lab):
    ((path, _, message),) = faults("gelu above base", "no-norm lost", lab=lab)
    assert path == experiments.SUMMARY and "not the lab's summary" in message


def test_the_real_lab_is_readable():
    from blocklib.lab import summary

    lab = experiments.Lab.load(summary.FILE.parents[2])
    assert lab.arms.keys() == summary.load()["arms"].keys()
    for (first, second), row in lab.verdicts.items():
        assert summary.verdict(first, second) == row
