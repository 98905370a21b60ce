"""The lock file of facts that need torch, the lab or seconds: ``facts/lock.json`` beside ``cited.toml``.

Each value carries the fingerprint of the code and data it was computed from. While that holds, ``check``
takes the value from the file and imports nothing; when it does not, the value is refused.
"""

from __future__ import annotations

import json
import os
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from blocklib.facts.check import check_pages
from blocklib.facts.discover import FactError, FactSpec
from blocklib.facts.files import find_root
from blocklib.facts.fingerprint import ROOT, closure_hash, versions
from blocklib.facts.pages import registry_for
from blocklib.facts.registry import Registry, json_value
from blocklib.facts.values import Measured, Range, exact
from blocklib.problems import BlocklibError, UsageError

REMEDY = "python -m blocklib facts --lock"


def encode(value: Any) -> Any:
    """A fact's value for the lock file, without loss and with its type."""
    if isinstance(value, Range):
        return {"range": [encode(value.low), encode(value.high)]}
    if isinstance(value, Measured):
        return {"measured": [encode(value.value), encode(value.noise)]}
    if isinstance(value, int):
        return value
    kind = {Fraction: "fraction", Decimal: "decimal", float: "float"}[type(value)]
    return {kind: repr(value) if kind == "float" else str(value)}


def decode(data: Any) -> Any:
    """The inverse of :func:`encode`. Raises :class:`FactError` for anything else."""
    try:
        if isinstance(data, int) and not isinstance(data, bool):
            return data
        ((kind, body),) = data.items()
        if kind in ("range", "measured"):
            return {"range": Range, "measured": Measured}[kind](*map(decode, body))
        return {"fraction": Fraction, "decimal": Decimal, "float": float}[kind](body)
    except (AttributeError, ValueError, TypeError, KeyError, ArithmeticError):
        raise FactError(f"cannot read the value {data!r} of the lock file", remedy=REMEDY) from None


def load(path: Path) -> dict[str, dict]:
    """The entries by canonical expression; none where there is no file. Raises :class:`FactError` if broken."""
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or not all(
            isinstance(entry, dict) and {"value", "fingerprint"} <= entry.keys() for entry in data.values()
        ):
            raise ValueError("not a table of values with fingerprints")
        return data
    except ValueError as error:
        raise FactError(f"the lock file cannot be read: {error}", where=path.name, remedy=REMEDY) from None


def locked_value(registry: Registry, spec: FactSpec, canonical: str) -> Any:
    """The value of a slow fact from the lock file.

    Raises :class:`FactError` where it is not there, or where the code or the data it came from has changed.
    """
    entry = load(registry.folder / "lock.json").get(canonical)
    if entry is None:
        raise FactError(f"{canonical} is computed apart and not in the lock file", remedy=REMEDY)
    if entry["fingerprint"] != closure_hash(spec.module, registry.root):
        raise FactError(
            f"{canonical}: the code or the data it was computed from has changed since it was locked", remedy=REMEDY
        )
    return decode(entry["value"])


def recompute(root: Path) -> dict[str, dict]:
    """Evaluate every slow fact that the pages under ``root`` use, for real; entries for the lock file."""
    known = registry_for(root)
    live = Registry(known.root, known.package, live=True)
    report = check_pages(root, registry=live)
    entries = {}
    for numbers in report.pages.values():
        for row in numbers.rows:
            if row.fact.spec.slow:
                mark = closure_hash(row.fact.spec.module, live.root)
                entries[row.fact.expr] = {"value": encode(row.fact.value), "fingerprint": mark,
                                          "versions": versions(("torch", "numpy"))}  # fmt: skip
    return dict(sorted(entries.items()))


def write(path: Path, entries: dict[str, dict]) -> None:
    """Write the lock file in one step, so that an interruption leaves the old one."""
    text = json.dumps(entries, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def differences(locked: dict[str, dict], fresh: dict[str, dict]) -> list[str]:
    """What a recomputation finds otherwise than the lock file says; measured values may differ by their noise."""
    found = [f"{expr}: not in the lock file" for expr in fresh.keys() - locked.keys()]
    for expr in fresh.keys() & locked.keys():
        old, new = decode(locked[expr]["value"]), decode(fresh[expr]["value"])
        if isinstance(old, Measured) and isinstance(new, Measured):
            same = abs(exact(old.value) - exact(new.value)) <= max(exact(old.noise), exact(new.noise))
        else:
            same = old == new
        if not same:
            found.append(f"{expr}: locked {json_value(old)} but recomputed {json_value(new)}")
        elif locked[expr]["fingerprint"] != fresh[expr]["fingerprint"]:
            found.append(f"{expr}: the lock file is stale, its value still holds")
    return sorted(found)


def listing(registry: Registry) -> tuple[list[str], list[str]]:
    """One line for each fact, and one for each that is declared wrongly."""
    rows, faults = [], []
    for name in registry.names():
        try:
            spec = registry.lookup(name)
        except BlocklibError as error:
            faults.append(str(error))
            continue
        params = ", ".join(map(str, spec.params))
        rows.append((f"{name}({params})", spec.unit or "-", spec.grade + (" slow" if spec.slow else ""), spec.about.en))
    wide = [max((len(row[i]) for row in rows if len(row[i]) <= 60), default=0) for i in range(3)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*wide, 0], strict=True)) for row in rows]
    return lines, faults


def main(argv: list[str]) -> int:
    """usage: python -m blocklib facts [--lock | --check]

    (nothing)  list the facts: name, parameters, unit, grade, what it is
    --lock     recompute the slow facts that the pages use and write the lock file
    --check    recompute them and compare with the lock file; exit code 1 where they differ
    """
    if argv not in ([], ["--lock"], ["--check"]):
        raise UsageError(f"--lock or --check expected, found {' '.join(argv)!r}")
    root = find_root(ROOT)
    registry = registry_for(root)
    if not argv:
        lines, faults = listing(registry)
        print("\n".join(lines))
        print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
        return 1 if faults else 0
    path = registry.folder / "lock.json"
    fresh = recompute(root)
    if argv == ["--check"]:
        found = differences(load(path), fresh)
        print("\n".join([*found, f"{len(fresh)} slow facts recomputed, {len(found)} differ"]))
        return 1 if found else 0
    if fresh or path.exists():
        write(path, fresh)
    print(f"{path.name}: {len(fresh)} slow facts")
    return 0
