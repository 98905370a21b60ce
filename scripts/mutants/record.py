"""The committed record of mutation testing: survivors with their reasons, written by hand, and totals, written by make mutate."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from mutants import ROOT

FOLDER = ROOT / "tests" / "mutants"
Key = tuple[str, str, str, str]  # file, function, line, mutant
TITLE = "# Written by `make mutate`; the survivors, with reasons, stand in survivors.toml.\n"


def survivors(folder: Path = FOLDER) -> dict[Key, dict]:
    """The entries of ``survivors.toml``; ``times`` says how many places of a function read the same (1 if absent)."""
    path = folder / "survivors.toml"
    entries = tomllib.loads(path.read_text("utf-8")).get("survivor", []) if path.is_file() else []
    found = {(e["file"], e["function"], e["line"], e["mutant"]): {"times": 1, **e} for e in entries}
    if len(found) != len(entries):
        raise SystemExit("survivors.toml names a mutant twice; say `times`")
    if bare := [key for key, e in found.items() if not e.get("reason", "").strip()]:
        raise SystemExit(f"survivors.toml gives no reason for {bare[0]}")
    return found


def totals(folder: Path = FOLDER) -> dict[str, dict[str, int]]:
    """Module -> ``{"mutants": …, "killed": …}`` of ``totals.toml``."""
    path = folder / "totals.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def write_totals(rows: dict[str, dict[str, int]], folder: Path = FOLDER) -> None:
    """Write the totals of all modules, one line each."""
    lines = [f'"{m}" = {{ mutants = {row["mutants"]}, killed = {row["killed"]} }}\n' for m, row in sorted(rows.items())]
    (folder / "totals.toml").write_text(TITLE + "".join(lines), "utf-8")


def share(rows: dict[str, dict[str, int]]) -> float:
    """Killed mutants of all; 1 where there is none."""
    every = sum(row["mutants"] for row in rows.values())
    return sum(row["killed"] for row in rows.values()) / every if every else 1.0


def faults_of(found: Counter[Key], tried: set[str], listed: dict[Key, dict]) -> tuple[list[Key], list[Key]]:
    """Survivors that the record does not list, and entries for the modules ``tried`` that survive no more."""
    wanted = Counter({key: entry["times"] for key, entry in listed.items() if key[0] in tried})
    return sorted((found - wanted).elements()), sorted((wanted - found).elements())


def entry(key: Key) -> str:
    """An entry for ``survivors.toml`` that still lacks its reason."""
    file, function, line, mutant = map(quoted, key)
    return f'[[survivor]]\nfile = {file}\nfunction = {function}\nline = {line}\nmutant = {mutant}\nreason = ""\n'


def quoted(text: str) -> str:
    """A TOML string: literal where it can be."""
    if "'" not in text:
        return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
