"""Mutation testing: faults, the trial of one fault, and the record of those that survive. The command is mutate.py."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("MUTATE_ROOT") or Path(__file__).resolve().parents[2])
STORE = ROOT / ".cache" / "mutate"
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutate"]


def modules() -> list[str]:
    """Paths of the modules that are mutated, relative to the root, in order."""
    return sorted({p.relative_to(ROOT).as_posix() for pattern in SETTINGS["modules"] for p in ROOT.glob(pattern)})
