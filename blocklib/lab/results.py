"""What runs have left: one JSON each under ``results/ARM/``, read back as data; standard library only.

A result counts only while its configuration equals the arm's: a changed arm has no results until it has run again.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from blocklib.lab.arms import ARMS, BASE, CURVE_EVERY, Arm, rate
from blocklib.problems import BlocklibError

RESULTS = Path(__file__).parent / "results"
OUTCOMES = ("trained", "collapsed", "diverged")
_NAME = re.compile(r"rate([+-]\d+)-seed(\d+)\.json\Z")
_LOSSES = ("validation", "validation_masked", "similarity", "bits_per_byte")
_REMEDY = "restore it, or remove it and run the arm again"
_LISTS = ("first_losses", "gradient_norms", "training", "curve", "layer_gradients")


class ResultError(BlocklibError):
    """A kept file that is not the run its name promises: broken, cut off, or copied from elsewhere."""


def path(arm: Arm, rung: int, seed: int, root: Path = RESULTS) -> Path:
    """Where the run of this arm, rate and seed is kept."""
    return root / arm.id / f"rate{rung:+d}-seed{seed}.json"


def write(record: dict[str, Any], arm: Arm, root: Path = RESULTS) -> Path:
    """Keep one run, whole or not at all."""
    target = path(arm, record["rung"], record["seed"], root)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(lines(record), "utf-8")
    os.replace(draft, target)
    return target


def lines(record: dict[str, Any]) -> str:
    """A record as text, one key a line, so that a change shows in a diff where it is."""
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()) + "\n}\n"


def read(arm: Arm, rung: int, seed: int, root: Path = RESULTS) -> dict[str, Any] | None:
    """The kept run, or None where there is none or it was made with another configuration.

    Raises:
        ResultError: a file of that name that holds no such run.
    """
    try:
        record = _load(path(arm, rung, seed, root))
    except FileNotFoundError:
        return None
    return record if fits(record, arm) else None


def _load(file: Path) -> dict[str, Any]:
    """A kept file as it stands, once it is what its name says: a mean must never take in a loss that is none."""
    where, remedy = f"{file.parent.name}/{file.name}", _REMEDY
    try:
        record = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot be read as a run: {error}", where=where, remedy=remedy) from None
    if fault := _fault(record, file):
        raise ResultError(fault, where=where, remedy=remedy)
    return record


def _fault(record: Any, file: Path) -> str | None:
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        return "expected a run, a JSON object with its config"
    promised = _NAME.match(file.name)
    if promised is None:
        return "expected a name such as rate+1-seed3.json"
    kept = (record.get("rung"), record.get("seed"))
    if kept != (int(promised[1]), int(promised[2])):
        return f"holds the run of rate {kept[0]} and seed {kept[1]}"
    if (arm := record.get("arm")) != file.parent.name:
        return f"holds a run of arm {arm!r}"
    if not math.isclose(record.get("rate", rate(kept[0])), rate(kept[0])):
        return f"rate {record['rate']} is not that of its name, {rate(kept[0]):.4g}"
    if record.get("outcome") not in OUTCOMES:
        return f"unknown outcome {record.get('outcome')!r}; one of {', '.join(OUTCOMES)}"
    for key in _LOSSES if record["outcome"] == "trained" else ():
        value = record.get(key, None if key == "validation" else 0.0)
        if type(value) not in (int, float) or not math.isfinite(value) or (key in _LOSSES[:2] and value < 0):
            return f"a run that trained has a finite {key}, found {value!r}"
    for key in _LISTS:
        values = record.get(key, [])
        values = list(values.values()) if isinstance(values, dict) else values
        if not isinstance(values, list) or not all(type(v) in (int, float) and 0 <= v < math.inf for v in values):
            return f"expected finite numbers in {key}"
    points = record["config"].get("steps", BASE.steps) // CURVE_EVERY
    if record["outcome"] != "diverged" and len(record.get("curve", [0] * points)) != points:
        return f"expected a curve of {points} points, found {len(record['curve'])}"
    return None


def part(record: dict[str, Any], *keys: str) -> Any:
    """What a run has under a key, or under a key of what it has there.

    Raises:
        ResultError: it has nothing there.
    """
    found: Any = record
    for key in keys:
        if key not in found:
            where = f"{record['arm']}/rate{record['rung']:+d}-seed{record['seed']}.json"
            raise ResultError(f"the run lacks {' '.join(keys)}", where=where, remedy=_REMEDY)
        found = found[key]
    return found


def fits(record: dict[str, Any], arm: Arm) -> bool:
    """Whether the run was made with this configuration; a field that came later had its default then."""
    return BASE.config() | record["config"] == arm.config()


def runs(arm: Arm, root: Path = RESULTS) -> list[dict[str, Any]]:
    """All valid runs of an arm, by rate and seed; raises :class:`ResultError` as :func:`read`."""
    found = [_load(file) for file in (root / arm.id).glob("*.json")]
    return sorted((r for r in found if fits(r, arm)), key=lambda r: (r["rung"], r["seed"]))


def stale(root: Path = RESULTS, arms: Iterable[Arm] | None = None) -> list[Path]:
    """Kept files that no arm of today vouches for: another configuration, or no such arm."""
    known = {arm.id: arm for arm in (ARMS.values() if arms is None else arms)}
    wrong = []
    for file in sorted(root.glob("*/*.json")):
        arm = known.get(file.parent.name)
        record = json.loads(file.read_text("utf-8"))
        if arm is None or not fits(record, arm) or file != path(arm, record["rung"], record["seed"], root):
            wrong.append(file)
    return wrong


@cache
def everything() -> dict[str, list[dict[str, Any]]]:
    """All valid runs by arm, read once."""
    return {ident: runs(arm) for ident, arm in ARMS.items()}
