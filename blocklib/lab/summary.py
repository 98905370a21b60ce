"""The results in one file: what pages, charts and facts read, and nobody types.

``summary.json`` is made of the kept runs by ``python -m blocklib lab summary``; a test makes it again and compares. It
is the only file of the lab that the site depends on, so that a check reads one file and needs no SciPy.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from blocklib.lab import results
from blocklib.lab.arms import (
    ARMS,
    BASE,
    COLLAPSE_MARGIN,
    CURVE_EVERY,
    SWEEP_SEED,
    VERDICT_SEEDS,
    Arm,
    ArmError,
    get,
    rate,
)
from blocklib.problems import BlocklibError

FILE = Path(__file__).with_name("summary.json")


class SummaryError(BlocklibError):
    """Asked about something that the lab has no finished answer to."""


def make() -> dict[str, Any]:
    """The summary of the runs as they are kept now."""
    from blocklib.lab.questions import QUESTIONS
    from blocklib.lab.verdicts import judge

    judge.cache_clear()
    return {
        "corpus": _corpus(),
        "line": _line(),
        "arms": {ident: _arm(arm) for ident, arm in ARMS.items()},
        "questions": {ident: [_verdict(each) for each in judge(ident)] for ident in QUESTIONS},
    }


def write() -> Path:
    """Make the summary and keep it."""
    draft = FILE.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(dumps(make()), "utf-8")
    os.replace(draft, FILE)
    return FILE


def dumps(summary: dict[str, Any]) -> str:
    """As text: one arm and one verdict a line, so that a change shows in a diff where it is."""
    parts = []
    for section, items in summary.items():
        if section != "questions":
            rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in items.items())
        else:
            rows = ",\n".join(
                f"  {json.dumps(key)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in value) + "\n  ]"
                for key, value in items.items()
            )
        parts.append(f" {json.dumps(section)}: {{\n{rows}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


@cache
def load() -> dict[str, Any]:
    """The kept summary; raises :class:`SummaryError` where it cannot be read."""
    try:
        found = json.loads(FILE.read_text("utf-8"))
        if not isinstance(found, dict) or not {"corpus", "line", "arms", "questions"} <= found.keys():
            raise ValueError("expected a summary, a JSON object with corpus, line, arms and questions")
        return found
    except (OSError, ValueError) as error:
        raise SummaryError(
            f"cannot be read: {error}", where=FILE.name, remedy="python -m blocklib lab summary"
        ) from error


def arm(ident: str) -> dict[str, Any]:
    """The summary of one arm; raises :class:`~blocklib.lab.arms.ArmError` naming the nearest."""
    get(ident)
    if ident not in load()["arms"]:
        raise ArmError(f"the summary does not know {ident!r} yet", remedy="python -m blocklib lab summary")
    return load()["arms"][ident]


def finished(ident: str) -> dict[str, Any]:
    """The summary of an arm whose verdict runs are all there and all trained.

    Raises:
        ArmError: no such arm.
        SummaryError: runs are missing, or some did not train.
    """
    found = arm(ident)
    if not found["complete"]:
        raise SummaryError(f"arm {ident!r} has not finished", remedy="make lab, then python -m blocklib lab summary")
    if found["lost"]:
        raise SummaryError(f"{found['lost']} runs of arm {ident!r} did not train: it has no mean loss")
    return found


def verdict(first: str, second: str) -> dict[str, Any]:
    """The verdict on a pair of arms that some question compares.

    Raises:
        ArmError: no such arm.
        SummaryError: no question compares them.
    """
    get(first), get(second)
    for rows in load()["questions"].values():
        for row in rows:
            if (row["first"], row["second"]) == (first, second):
                return row
    raise SummaryError(f"no question compares {first!r} with {second!r}")


def _arm(arm: Arm) -> dict[str, Any]:
    from blocklib.lab.questions import outcome
    from blocklib.lab.stack import parameters

    found = outcome(arm.id)
    every = results.runs(arm)
    kept = [r for r in every if r["seed"] in VERDICT_SEEDS and r["rung"] == found.rung]
    trained = [r for r in kept if r["outcome"] == "trained"]
    row: dict[str, Any] = {
        "parameters": parameters(arm),
        "rung": found.rung,
        "rate": float(f"{rate(found.rung):.4g}"),
        "complete": found.complete,
        "trains": found.trains,
        "lost": found.lost,
        "sweep": {
            str(r["rung"]): r["validation"] if r["outcome"] == "trained" else None
            for r in every
            if r["seed"] == SWEEP_SEED
        },
        "losses": {str(seed): loss for seed, loss in found.losses.items()},
    }
    if kept:
        row["first_gradients"] = {
            str(r["seed"]): max(norms) for r in kept if (norms := results.part(r, "gradient_norms"))
        }
        row["gradient_norms"] = _columns([r["gradient_norms"] for r in kept])
        row["curve"] = _columns([results.part(r, "curve") for r in kept])
    if trained:
        row["similarity"] = {str(r["seed"]): results.part(r, "similarity") for r in trained}
        row["layer_gradients"] = {
            name: {str(r["seed"]): results.part(r, "layer_gradients", name) for r in trained}
            for name in results.part(trained[0], "layer_gradients")
        }
        if not arm.causal:
            row["masked"] = {str(r["seed"]): results.part(r, "validation_masked") for r in trained}
    return row


def _corpus() -> dict[str, Any]:
    from blocklib.lab import corpus

    data = corpus.tokens(BASE.vocab_size)
    return {
        "training_tokens": len(data.training),
        "validation_tokens": len(data.validation),
        "unigram_floor": round(corpus.unigram_floor(BASE.vocab_size), 4),
        "bigram_floor": round(corpus.bigram_floor(BASE.vocab_size), 4),
    }


def _line() -> dict[str, dict[str, int]]:
    """At every point of the curve, the runs that are still on the line of token frequencies, and those of them that
    have left it by the end; over all runs that came to their end."""
    from blocklib.lab.training import subset_floor

    line = subset_floor(BASE) - COLLAPSE_MARGIN
    whole = [run for arm in ARMS.values() for run in results.runs(arm) if run["outcome"] != "diverged"]
    curves = [results.part(run, "curve") for run in whole]
    found = {}
    for point in range(min(map(len, curves), default=0)):
        on = [run for run, curve in zip(whole, curves, strict=True) if curve[point] > line]
        found[str((point + 1) * CURVE_EVERY)] = {"on": len(on), "left": sum(run["outcome"] == "trained" for run in on)}
    return found


def _columns(curves: list[list[float]]) -> dict[str, list[float]]:
    """Lowest, mean and highest over runs, at the points that all of them reached."""
    reached = min(map(len, curves))
    points = list(zip(*(curve[:reached] for curve in curves), strict=True))
    return {
        "low": [min(point) for point in points],
        "mean": [round(sum(point) / len(point), 4) for point in points],
        "high": [max(point) for point in points],
    }


def _verdict(found) -> dict[str, Any]:
    row = {"first": found.first.arm.id, "second": found.second.arm.id, "kind": found.kind}
    if (numbers := found.comparison) is not None:
        row |= {
            name: float(f"{getattr(numbers, name):.6g}")
            for name in ("mean", "sd", "low", "high", "floor", "p", "p_same")
        }
        row["pairs"] = numbers.pairs
    return row | {"zh": found.sentence.zh, "en": found.sentence.en}
