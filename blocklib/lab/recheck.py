"""Re-run the first steps of a kept run and compare: the results are what this code makes."""

from __future__ import annotations

import math
from typing import Any

from blocklib.lab import results
from blocklib.lab.arms import BASE, VERDICT_SEEDS, Arm
from blocklib.lab.queue import own_rung
from blocklib.problems import BlocklibError

# Losses near 7 that agree to this share after twenty steps: processors differ in the order of their sums, and the
# difference grows with every step.
TOLERANCE = 1e-3


def recheck(arm: Arm = BASE, seed: int = VERDICT_SEEDS[0]) -> tuple[str, bool]:
    """One line on how far the losses lie apart, and whether that is within tolerance.

    Raises:
        BlocklibError: the run to compare with is not kept, or its losses are none.
    """
    from blocklib.lab import training

    kept = results.read(arm, rung := own_rung(arm), seed)
    if kept is None:
        raise BlocklibError(f"no kept run of {arm.id} with seed {seed}", remedy="make lab")
    file = results.path(arm, rung, seed)
    if fault := _fault(kept, training.CHECKED):
        where, remedy = f"{file.parent.name}/{file.name}", "restore it, or remove it and run the arm again"
        raise results.ResultError(fault, where=where, remedy=remedy)
    again = training.run(arm, rung, seed, steps=training.CHECKED)["first_losses"]
    if len(again) != len(kept["first_losses"]):  # one of the two diverged on the way
        return f"{arm.id}, seed {seed}: {len(again)} first losses, but {len(kept['first_losses'])} are kept", False
    worst = max((abs(new / old - 1) for new, old in zip(again, kept["first_losses"], strict=True)), default=0.0)
    said = f"{arm.id}, seed {seed}: {len(again)} losses, largest relative difference {worst:.1e} (tolerance {TOLERANCE:.0e})"
    return said, worst <= TOLERANCE


def _fault(record: dict[str, Any], steps: int) -> str | None:
    """What keeps the first losses of a kept run from being compared: each is a positive number, one a step."""
    losses = record.get("first_losses")
    if not isinstance(losses, list) or not all(type(x) in (int, float) and 0 < x < math.inf for x in losses):
        return f"expected first_losses, a list of positive numbers, found {losses!r}"
    if len(losses) > steps or (len(losses) < steps and record["outcome"] != "diverged"):
        return f"expected {steps} first_losses, found {len(losses)}"
    return None
