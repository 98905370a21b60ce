"""Re-run the first steps of a kept run and compare: the results are what this code makes."""

from __future__ import annotations

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
        BlocklibError: the run to compare with is not kept.
    """
    from blocklib.lab import training

    kept = results.read(arm, rung := own_rung(arm), seed)
    if kept is None:
        raise BlocklibError(f"no kept run of {arm.id} with seed {seed}", remedy="make lab")
    again = training.run(arm, rung, seed, steps=training.CHECKED)["first_losses"]
    worst = max(abs(new / old - 1) for new, old in zip(again, kept["first_losses"], strict=True))
    said = f"{arm.id}, seed {seed}: {len(again)} losses, largest relative difference {worst:.1e} (tolerance {TOLERANCE:.0e})"
    return said, worst <= TOLERANCE
