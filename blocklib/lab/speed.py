"""The quiet pass: tokens per second of every arm over those of the base, measured side by side on one thread.

Nothing else may run meanwhile, so it is made on its own (``python -m blocklib lab speed``) and kept in ``speed.json``;
without the file pages show no speed. A ratio is taken within one round, between runs that lie next to each other in
time, because the speed of a machine drifts.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from blocklib.lab.arms import ARMS, BASE, Arm
from blocklib.problems import BlocklibError

FILE = Path(__file__).with_name("speed.json")
ROUNDS, STEPS = 15, 10


@cache
def load() -> dict[str, Any] | None:
    """The kept measurement; None where there is none.

    Raises:
        BlocklibError: a file that is broken, cut off, or no measurement.
    """
    try:
        found = json.loads(FILE.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(f"cannot be read: {error}") from None
    rows = found.get("arms") if isinstance(found, dict) else None
    if not isinstance(rows, dict):
        raise _broken("expected a measurement, a JSON object with its arms")
    if type(found.get("rounds")) is not int or found["rounds"] < 2:
        raise _broken(f"expected rounds, an integer above one, found {found.get('rounds')!r}")
    for ident, row in rows.items():
        values = [row.get(key) for key in _row([1, 1])] if isinstance(row, dict) else [None]
        if not all(type(value) in (int, float) and 0 < value < math.inf for value in values):
            raise _broken(f"arm {ident!r}: expected positive {', '.join(_row([1, 1]))}, found {row!r}")
        if not row["low"] <= row["median"] <= row["high"]:
            raise _broken(f"arm {ident!r}: expected low, median, high in this order, found {row!r}")
    return found


def _broken(message: str) -> BlocklibError:
    return BlocklibError(
        message, where=f"blocklib/lab/{FILE.name}", remedy="restore it, or measure again: python -m blocklib lab speed"
    )


def measure(
    arms: Iterable[Arm] | None = None,
    base: Arm = BASE,
    rounds: int = ROUNDS,
    steps: int = STEPS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Ratios of speed to the base's: median and quartiles over rounds, by arm.

    In every round each arm trains ``steps`` steps between two turns of the base, and is compared with their mean.

    Args:
        arms: all of the lab's by default; the base among them is the control that comes out at one.
        base: what they are compared with.
        rounds: how often; the first turn of each arm is not counted.
        steps: training steps a turn.
        clock: seconds.

    Raises:
        ValueError: fewer than two rounds.
    """
    from blocklib.lab import training

    if rounds < 2:
        raise ValueError(f"a spread needs at least two rounds, found {rounds}")
    chosen = list(ARMS.values() if arms is None else arms)
    ratios: dict[str, list[float]] = {arm.id: [] for arm in chosen}
    with training.settings():
        turns = {arm.id: _turn(arm, steps, clock) for arm in chosen}
        reference = _turn(base, steps, clock)
        reference()
        for turn in turns.values():
            turn()
        for number in range(rounds):
            before = reference()
            for arm in chosen if number % 2 == 0 else reversed(chosen):
                taken, after = turns[arm.id](), reference()
                ratios[arm.id].append(
                    arm.batch * arm.seq_len / (base.batch * base.seq_len) * (before + after) / 2 / taken
                )
                before = after
    return {
        "arms": {ident: _row(values) for ident, values in ratios.items()},
        "rounds": rounds,
        "steps": steps,
        "environment": training.environment(),
        "command": "python -m blocklib lab speed",
    }


def _row(values: list[float]) -> dict[str, float]:
    low, _, high = quantiles(values, n=4, method="inclusive")
    return {"median": round(median(values), 4), "low": round(low, 4), "high": round(high, 4)}


def _turn(arm: Arm, steps: int, clock: Callable[[], float]) -> Callable[[], float]:
    """A function that trains the arm some steps further and returns the seconds they took."""
    import torch
    import torch.nn.functional as F

    from blocklib.lab import training
    from blocklib.lab.stack import build

    model = build(arm, 0)
    opt, stream = training.optimiser(model, 1e-4), training.batches(arm, 0)

    def turn() -> float:
        began = clock()
        for _ in range(steps):
            inputs, targets = next(stream)
            loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), training.CLIP)
            opt.step()
        return clock() - began

    return turn


def write(measured: dict[str, Any], file: Path = FILE) -> Path:
    """Keep a measurement, whole or not at all: one arm a line."""
    rows = ",\n".join(f"  {json.dumps(ident)}: {json.dumps(row)}" for ident, row in measured["arms"].items())
    rest = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in measured.items() if key != "arms")
    draft = file.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(f'{{\n "arms": {{\n{rows}\n }},\n{rest}\n}}\n', "utf-8")
    os.replace(draft, file)
    return file
