"""Runs that the early look stopped, trained again to the end: would they have begun to learn later?

They enter neither sweep nor verdict; they say what "did not train" means. Kept under ``late/`` in the form of all runs,
and read back by :mod:`blocklib.lab.results`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blocklib.lab import queue, results
from blocklib.lab.arms import ARMS, EARLY_LOOK, Arm, get

LATE = Path(__file__).with_name("late")


def stopped(arm: Arm) -> list[queue.Job]:
    """The runs of an arm that the early look stopped, of sweep and verdict."""
    return [(arm.id, run["rung"], run["seed"]) for run in results.runs(arm) if run.get("stopped") == EARLY_LOOK]


def kept(arm: Arm, root: Path = LATE) -> dict[queue.Job, dict[str, Any]]:
    """Those of :func:`stopped` that have been let go on."""
    found = {job: results.read(arm, *job[1:], root) for job in stopped(arm)}
    return {job: run for job, run in found.items() if run is not None}


def missing(arm: Arm, root: Path = LATE) -> list[queue.Job]:
    """Those that have not."""
    done = kept(arm, root)
    return [job for job in stopped(arm) if job not in done]


def perform(job: queue.Job) -> tuple[queue.Job, str, float]:
    """Make one run without the early look and keep it; see :func:`blocklib.lab.queue.perform`."""
    return queue.perform(job, LATE, early_look=False)


def work(idents: list[str] | None = None, workers: int = 2, minutes: float = math.inf) -> Iterator[str]:
    """Make what is missing, a line for each run; as :func:`blocklib.lab.queue.work`."""
    arms = [get(ident) for ident in idents] if idents else list(ARMS.values())
    yield from queue.drain(lambda: (job for arm in arms for job in missing(arm)), perform, workers, minutes)
