"""Made-up summaries of the lab: nothing run yet, everything finished, and states in between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from blocklib.charts.discover import load
from blocklib.lab import speed, summary, verdicts
from blocklib.lab.arms import ARMS, VERDICT_SEEDS, Arm
from blocklib.lab.questions import QUESTIONS, Outcome
from blocklib.lab.stack import parameters

EXHIBITS = ("lab-replay", "lab-acceptance", "noise-floor", "rate-sweep")
# The third arm of all loses every run, the fourth some; shifts of the others run from better to much worse.
NEVER, SOMETIMES = "no-residual", "no-norm"


def losses(arm: Arm, draw: Random) -> dict[int, float]:
    """Eight losses that share their seeds' luck with every other arm."""
    shift = draw.choice([-0.05, -0.01, 0.0, 0.001, 0.02, 0.08, 0.4, 1.1])
    own = draw.choice([0.002, 0.006, 0.012])
    luck = Random("luck")
    common = {seed: luck.gauss(3.33, 0.01) for seed in VERDICT_SEEDS}
    gap = 0.0 if arm.id == "base" else shift
    return {seed: round(common[seed] + gap + draw.gauss(0, own), 5) for seed in VERDICT_SEEDS}


def outcome_of(arm: Arm, stage: str) -> Outcome:
    """What an arm's verdict runs have come to at a stage: ``none``, ``some`` or ``all``."""
    draw = Random(arm.id)
    made = losses(arm, draw)
    lost = {NEVER: 8, SOMETIMES: 3}.get(arm.id, 0)
    kept = dict(list(made.items())[lost:])
    index = list(ARMS).index(arm.id)
    if stage == "none" or (stage == "some" and index % 3 == 2):
        return Outcome(arm, arm.first_rung, {}, 0, False, False)
    if stage == "some" and index % 3 == 1:
        return Outcome(arm, arm.first_rung, dict(list(kept.items())[:2]), min(lost, 2), False, True)
    return Outcome(arm, arm.first_rung, kept, lost, True, arm.id != NEVER)


def arm_row(out: Outcome) -> dict[str, Any]:
    """The row of the summary on an arm."""
    draw, arm = Random(out.arm.id + "curves"), out.arm
    runs = len(out.losses) + out.lost
    end = sum(out.losses.values()) / len(out.losses) if out.losses else 5.97
    row: dict[str, Any] = {
        "parameters": parameters(arm), "rung": out.rung, "rate": float(f"{2e-3 * 1.5**out.rung:.4g}"),
        "complete": out.complete, "trains": out.trains, "lost": out.lost, "sweep": {},
        "losses": {str(seed): loss for seed, loss in out.losses.items()},
    }  # fmt: skip
    if runs:
        best = None if not out.losses else round(end + 0.004, 5)
        row["sweep"] = {
            str(arm.first_rung + k): None if best is None else round(best + 0.02 * abs(k) + 0.01 * (k > 0), 5)
            for k in sorted({-1, 0, 1, *(rung - arm.first_rung for rung in arm.grid)})
        }
        if arm.place == "post":
            row["sweep"][str(arm.first_rung + 1)] = None
        points = 10  # a lost run goes on to its end
        middle = [round(end + 2.4 * math.exp(-k / 2.5), 4) if out.losses else 5.97 for k in range(points)]
        wide = [draw.uniform(0.01, 0.05) for _ in middle]
        row["curve"] = {
            "low": [round(m - w, 4) for m, w in zip(middle, wide, strict=True)], "mean": middle,
            "high": [round(m + w, 4) for m, w in zip(middle, wide, strict=True)],
        }  # fmt: skip
        norms = [round(0.4 + 2 * math.exp(-k / 10) * draw.uniform(0.8, 1.2) + 9 * (draw.random() < 0.03), 4) for k in range(100)]  # fmt: skip
        row["gradient_norms"] = {
            "low": [round(v * 0.8, 4) for v in norms], "mean": norms, "high": [round(v * 1.4, 4) for v in norms],
        }  # fmt: skip
        seeds = list(map(str, VERDICT_SEEDS))[:runs]
        row["first_gradients"] = {seed: round(max(norms) * draw.uniform(0.9, 1.1), 4) for seed in seeds}
        if out.losses:
            row["similarity"] = {seed: round(draw.uniform(0.1, 0.2), 4) for seed in row["losses"]}
        if not arm.causal:
            row["masked"] = {seed: round(loss + 4, 5) for seed, loss in row["losses"].items()}
    return row


def made(stage: str) -> dict[str, Any]:
    """A summary at this stage, its verdicts and their words made by the lab's own code."""
    outcomes = {ident: outcome_of(arm, stage) for ident, arm in ARMS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "outcome", lambda ident, key: outcomes[ident])
        judged = {ident: verdicts.judge.__wrapped__(ident) for ident in QUESTIONS}
    return {
        "corpus": summary.load()["corpus"],
        "arms": {ident: arm_row(out) for ident, out in outcomes.items()},
        "questions": {ident: [summary._verdict(each) for each in rows] for ident, rows in judged.items()},
    }


def speeds() -> dict[str, Any]:
    """A made-up quiet pass."""
    draw = Random("speed")
    rows = {ident: round(draw.uniform(0.5, 1.2), 3) for ident in ARMS}
    return {"arms": {i: {"median": v, "low": v - 0.02, "high": v + 0.02} for i, v in rows.items()}, "rounds": 9}


@contextmanager
def staged(stage: str, quiet_pass: bool = False) -> Iterator[dict[str, Any]]:
    """The exhibits and tables as they are at a stage: ``none``, ``some``, ``all`` or ``kept`` (as it is today)."""
    from blocklib.charts.lab import acceptance, replay

    shown = summary.load() if stage == "kept" else made(stage)

    def forget() -> None:
        replay.reach.cache_clear()
        for ident in EXHIBITS:
            load(ident)._memo.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "load", lambda: shown)
        patch.setattr(speed, "load", lambda: speeds() if quiet_pass else None)
        forget()
        yield shown
    forget()
    assert acceptance
