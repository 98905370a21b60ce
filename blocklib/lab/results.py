"""What runs have left: one JSON each under ``results/ARM/``, read back as data; standard library only.

A result counts only while its configuration equals the arm's: a changed arm has no results until it has run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from blocklib.lab.arms import ARMS, BASE, Arm

RESULTS = Path(__file__).parent / "results"


def path(arm: Arm, rung: int, seed: int, root: Path = RESULTS) -> Path:
    """Where the run of this arm, rate and seed is kept."""
    return root / arm.id / f"rate{rung:+d}-seed{seed}.json"


def write(record: dict[str, Any], arm: Arm, root: Path = RESULTS) -> Path:
    """Keep one run, whole or not at all."""
    target = path(arm, record["rung"], record["seed"], root)
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    os.replace(draft, target)
    return target


def read(arm: Arm, rung: int, seed: int, root: Path = RESULTS) -> dict[str, Any] | None:
    """The kept run, or None where there is none or it was made with another configuration."""
    try:
        record = json.loads(path(arm, rung, seed, root).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return record if fits(record, arm) else None


def fits(record: dict[str, Any], arm: Arm) -> bool:
    """Whether the run was made with this configuration; a field that came later had its default then."""
    return BASE.config() | record["config"] == arm.config()


def runs(arm: Arm, root: Path = RESULTS) -> list[dict[str, Any]]:
    """All valid runs of an arm, by rate and seed."""
    found = [json.loads(file.read_text("utf-8")) for file in (root / arm.id).glob("*.json")]
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
