"""Measured claims against the lab: what a claim says of its experiments, compared with the verdicts in summary.json.

An entry of ``experiments`` is one of

    gelu above base      the lab found a difference of this sign; likewise ``below``
    gqa-2 same base      the lab found the two the same within its margin
    tied-kv open base    the lab found neither
    no-norm lost         runs of this arm did not train
    base                 alone: the claim compares nothing; the arm's runs are all there

Standard library only: the summary is read as data, the lab is not imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocklib.claims.registry import Claim, Registry, nearest
from blocklib.problems import Problem

SUMMARY = "blocklib/lab/summary.json"
VERDICTS = ("above", "below", "same", "open")
LOST = "lost"


@dataclass(frozen=True)
class Lab:
    """The kept summary: rows of arms by id, verdicts by (arm, reference)."""

    arms: dict[str, dict[str, Any]]
    verdicts: dict[tuple[str, str], dict[str, Any]]

    @classmethod
    def load(cls, root: Path) -> Lab:
        """The summary under ``root``; raises FileNotFoundError where there is none, ValueError where it is none."""
        data = json.loads((root / SUMMARY).read_text("utf-8"))
        try:
            rows = [row for rows in data["questions"].values() for row in rows]
            arms = {ident: {"complete": row["complete"], "lost": row["lost"]} for ident, row in data["arms"].items()}
            return cls(arms, {(row["first"], row["second"]): row for row in rows if row["kind"]})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the lab's summary: {type(error).__name__}: {error}") from None


def check(root: Path, registry: Registry) -> Iterator[Problem]:
    """What claims say of experiments and the lab does not: unknown or unfinished arms, other verdicts."""
    claims = [claim for claim in registry.claims.values() if claim.experiments]
    lab = None
    try:
        lab = Lab.load(root) if claims else None
    except FileNotFoundError:
        pass
    except ValueError as error:
        yield Problem(SUMMARY, getattr(error, "lineno", 0), f"cannot be read: {error}")
        return
    for claim in claims:
        line = registry.line(claim, "experiments")
        for message in _faults(claim, lab) if lab else [f"names experiments, but there is no {SUMMARY}"]:
            yield Problem(claim.path, line, f"claim {claim.id!r}: {message}")


def _faults(claim: Claim, lab: Lab) -> Iterator[str]:
    for entry in claim.experiments:
        match entry.split():
            case [arm]:
                yield from _arm(entry, arm, lab)
            case [arm, word] if word == LOST:
                yield from _arm(entry, arm, lab) or _lost(entry, arm, lab)
            case [first, word, second] if word in VERDICTS:
                yield from [*_arm(entry, first, lab), *_arm(entry, second, lab)] or _verdict(entry, lab)
            case _:
                words = "|".join(VERDICTS)
                yield f"cannot read experiment {entry!r}; write 'ARM {words} REFERENCE', 'ARM {LOST}' or 'ARM'"
    bare = [entry for entry in claim.experiments if len(entry.split()) == 1]
    if len(bare) == len(claim.experiments) > 1:
        yield f"names several arms and no verdict; write for example {f'{bare[0]} above {bare[1]}'!r}"
    elif len(bare) < len(claim.experiments):
        for entry in bare:
            words = "|".join(VERDICTS)
            yield (
                f"experiment {entry!r} says nothing beside what it compares; "
                f"write '{entry} {words} REFERENCE' or '{entry} {LOST}', or leave it out"
            )


def _arm(entry: str, arm: str, lab: Lab) -> list[str]:
    if arm not in lab.arms:
        return [f"experiment {entry!r}: {SUMMARY} has no arm {arm!r}{nearest(arm, lab.arms)}"]
    if not lab.arms[arm]["complete"]:
        return [f"experiment {entry!r}: arm {arm!r} has not finished"]
    return []


def _lost(entry: str, arm: str, lab: Lab) -> list[str]:
    return [] if lab.arms[arm]["lost"] else [f"experiment {entry!r}: the lab says that every run of {arm!r} trained"]


def _verdict(entry: str, lab: Lab) -> list[str]:
    first, word, second = entry.split()
    row = lab.verdicts.get((first, second))
    if row is None:
        turned = f"; the lab asks about {second!r} against {first!r}" if (second, first) in lab.verdicts else ""
        return [f"experiment {entry!r}: no question of the lab compares the two{turned}"]
    said = row["kind"]
    if said == "differs":
        said = "above" if row["mean"] > 0 else "below"
    return [] if said == word else [f"experiment {entry!r}: the lab says {said!r}: {row['en']}"]
