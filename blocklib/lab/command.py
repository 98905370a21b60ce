"""``python -m blocklib lab``: make the missing runs, say how far they are, re-run the beginning of one."""

from __future__ import annotations

import argparse
import math
import os

from blocklib.lab.arms import ARMS, BASE, SWEEP_SEED, VERDICT_SEEDS, get, rate
from blocklib.problems import BlocklibError, UsageError

TAKES = {
    "run": {"only", "workers", "minutes"}, "status": {"only"}, "check": {"only"}, "speed": {"only"}, "reference": {"minutes"},
}  # fmt: skip


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UsageError(message)


def main(argv: list[str]) -> int:
    """usage: python -m blocklib lab run|status|summary|check|speed|reference

    lab run [--only ARM …] [--workers N] [--minutes M]   make what is missing, about two minutes a run; stop and start it
                                                         at will. After M minutes no further run is begun
    lab status [--only ARM …]                            what each arm has and lacks
    lab summary                                          write summary.json, what pages read, from the kept runs
    lab check [--only ARM …]                             re-run the first steps of one run (the base's) and compare
    lab speed [--only ARM …]                             the quiet pass: tokens/s as ratios, into speed.json
    lab reference [--minutes M]                          train the reference model, about an hour; resumes
    """
    parser = _Parser(prog="python -m blocklib lab", add_help=False)
    parser.add_argument("verb", choices=tuple(VERBS))
    parser.add_argument("--only", nargs="+", metavar="ARM")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--minutes", type=float)
    asked = parser.parse_args(argv)
    for name in ("only", "workers", "minutes"):
        if getattr(asked, name) is not None and name not in TAKES.get(asked.verb, ()):
            raise UsageError(f"lab {asked.verb} takes no --{name}")
    asked.workers = 2 if asked.workers is None else asked.workers
    asked.minutes = math.inf if asked.minutes is None else asked.minutes
    if not asked.minutes >= 0:  # so that no number is refused too
        raise UsageError(f"--minutes must not be negative, found {asked.minutes}")
    try:
        return VERBS[asked.verb](asked)
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        remedy = f"make lab, or .venv/bin/python -m blocklib lab {asked.verb} after make setup"
        raise BlocklibError(f"lab {asked.verb} needs the package {error.name}", remedy=remedy) from None
    except OSError as error:  # a folder that may not be written, a file that is gone, a full disk
        raise BlocklibError(error.strerror or str(error), where=error.filename) from error


def _run(asked: argparse.Namespace) -> int:
    from blocklib.lab.queue import work

    if asked.workers < 1:
        raise UsageError(f"--workers must be positive, found {asked.workers}")
    if asked.workers > (most := max(2, os.cpu_count() or 1)):
        raise UsageError(f"--workers {asked.workers}: this machine has {most} processors, and a worker fills one")
    for line in work(asked.only, asked.workers, asked.minutes):
        print(line, flush=True)
    return _summary(asked)


def _summary(_: argparse.Namespace) -> int:
    from blocklib.lab import summary

    print(f"wrote {summary.write().name}")
    return 0


def _status(asked: argparse.Namespace) -> int:
    from blocklib.lab import results
    from blocklib.lab.queue import missing, own_rung, sweep
    from blocklib.lab.verdicts import loss_key

    lacking = 0
    for ident in asked.only or ARMS:
        arm = get(ident)
        needed, best = sweep(arm)
        tried = sum(record["seed"] == SWEEP_SEED for record in results.runs(arm))
        own = [results.read(arm, own_rung(arm), seed) for seed in VERDICT_SEEDS] if not needed else []
        losses = [r[loss_key(ident)] for r in own if r is not None and r["outcome"] == "trained"]
        lost = sum(r is not None and r["outcome"] != "trained" for r in own)
        lacking += bool(missing(arm))
        # an arm that lost a run has no mean
        said = f"mean loss {sum(losses) / len(losses):.4f}" if losses and not lost else ""
        chosen = "more to try" if needed else "no rate trains" if best is None else f"rate {rate(best):.3g}"
        seeds = f"{len(losses)} of {len(VERDICT_SEEDS)} seeds trained" + (f", {lost} lost" if lost else "")
        print(f"{ident:<16} {tried} rates tried, {chosen:<14} {seeds}  {said}".rstrip())
    print(f"arms still incomplete: {lacking}" if lacking else "all arms complete")
    return 1 if lacking else 0


def _check(asked: argparse.Namespace) -> int:
    from blocklib.lab.recheck import recheck

    found = [recheck(get(ident)) for ident in asked.only or [BASE.id]]
    print(*(said for said, _ in found), sep="\n")
    return 0 if all(same for _, same in found) else 1


def _speed(asked: argparse.Namespace) -> int:
    from blocklib.lab import speed

    measured = speed.measure([get(ident) for ident in asked.only] if asked.only else None)
    for ident, row in measured["arms"].items():
        print(f"{ident:<16} {row['median']:.3f}  ({row['low']:.3f} to {row['high']:.3f})")
    if not asked.only:  # a part is for looking at
        print(f"wrote {speed.write(measured).name}")
    return 0


def _reference(asked: argparse.Namespace) -> int:
    from blocklib.lab import reference

    for line in reference.train(minutes=asked.minutes):
        print(line, flush=True)
    return 0


VERBS = {
    "run": _run, "status": _status, "summary": _summary, "check": _check, "speed": _speed, "reference": _reference,
}  # fmt: skip
