"""Which runs there should be, which are missing, and the workers that make them.

Each arm first finds its own rate on a seed that no verdict uses: three rungs, widened until the best lies between two
others. Then it runs the verdict's seeds at that rate. What exists is never run again.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from blocklib.lab import results
from blocklib.lab.arms import ARMS, SWEEP_SEED, VERDICT_SEEDS, Arm, get
from blocklib.problems import BlocklibError

LOWEST, HIGHEST = -9, 9  # 5.2e-5 to 7.7e-2: beyond, an arm that has not trained is said not to train
Job = tuple[str, int, int]


class QueueError(BlocklibError):
    """The lab is at work already."""


def sweep(arm: Arm, root: Path = results.RESULTS) -> tuple[list[int], int | None]:
    """Rungs that the sweep still needs, and the best rung once it needs none; None where every rung collapsed.

    A rung that collapsed or diverged counts as worse than any that trained.
    """
    losses: dict[int, float] = {}
    for rung in range(LOWEST, HIGHEST + 1):
        if (record := results.read(arm, rung, SWEEP_SEED, root)) is not None:
            losses[rung] = record["validation"] if record["outcome"] == "trained" else math.inf
    first = {arm.first_rung - 1, arm.first_rung, arm.first_rung + 1, *arm.grid}
    if missing := [rung for rung in sorted(first) if rung not in losses]:
        return missing, None
    # Results beyond a gap belong to an older plan: the tried rungs are those next to one another.
    low = high = arm.first_rung
    while low - 1 in losses:
        low -= 1
    while high + 1 in losses:
        high += 1
    best = min(range(low, high + 1), key=lambda rung: (losses[rung], abs(rung - arm.first_rung)))
    if not math.isfinite(losses[best]):
        # Nothing trained: smaller steps may.
        return ([low - 1], None) if low > arm.first_rung - 4 else ([], None)
    if best == low and low > LOWEST:
        return [low - 1], best
    if best == high and high < HIGHEST:
        return [high + 1], best
    return [], best


def own_rung(arm: Arm, root: Path = results.RESULTS) -> int:
    """The rung of an arm's verdict: its best, or the middle of the first three where none trained."""
    best = sweep(arm, root)[1]
    return arm.first_rung if best is None else best


def missing(arm: Arm, root: Path = results.RESULTS) -> list[Job]:
    """The arm's next runs that can be made now; none once it is complete."""
    rungs, _ = sweep(arm, root)
    if rungs:
        return [(arm.id, rung, SWEEP_SEED) for rung in rungs]
    rung = own_rung(arm, root)
    return [(arm.id, rung, seed) for seed in VERDICT_SEEDS if results.read(arm, rung, seed, root) is None]


def perform(job: Job, root: Path = results.RESULTS) -> tuple[Job, str, float]:
    """Make one run and keep it; in a worker process. Returns the job, its outcome and the seconds it took."""
    from blocklib.lab import training

    ident, rung, seed = job
    arm, started = get(ident), time.perf_counter()
    record = training.run(arm, rung, seed)
    seconds = time.perf_counter() - started
    record |= {
        "config": json.loads(json.dumps(arm.config())),
        "environment": training.environment(),
        "command": f"python -m blocklib lab run --only {ident}",
    }
    results.write(record, arm, root)
    said = record["outcome"] + (f" {record['validation']:.4f}" if "validation" in record else "")
    return job, said, seconds


def work(idents: list[str] | None = None, workers: int = 2, minutes: float = math.inf) -> Iterator[str]:
    """Make what is missing, arm by arm, and say a line for each run. Stops starting new runs after ``minutes``.

    Raises:
        QueueError: another process is at work on the same results.
    """
    arms = [get(ident) for ident in idents] if idents else list(ARMS.values())
    lock = results.RESULTS / ".lock"
    results.RESULTS.mkdir(exist_ok=True)
    _hold(lock)
    ends, running = time.monotonic() + 60 * minutes, {}
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=os.nice, initargs=(10,)) as pool:
            while True:
                while (
                    len(running) < workers and time.monotonic() < ends and (job := _next(arms, set(running.values())))
                ):
                    running[pool.submit(perform, job)] = job
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    running.pop(future)
                    (ident, rung, seed), said, seconds = future.result()
                    yield f"{ident} rate{rung:+d} seed{seed}: {said} ({seconds:.0f} s)"
    finally:
        lock.unlink(missing_ok=True)


def _next(arms: list[Arm], running: set[Job]) -> Job | None:
    return next((job for arm in arms for job in missing(arm) if job not in running), None)


def _hold(lock: Path) -> None:
    try:
        holder = int(lock.read_text())
    except (FileNotFoundError, ValueError):
        holder = 0
    if _lives(holder):
        remedy = "wait for it, or stop it; if it is no lab, remove the file"
        raise QueueError(f"process {holder} is at work on these results", where=str(lock), remedy=remedy)
    lock.write_text(str(os.getpid()))


def _lives(process: int) -> bool:
    if process <= 0:  # to the system these are groups of processes
        return False
    try:
        os.kill(process, 0)
    except PermissionError:  # somebody else's
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
