"""Run a snippet as a reader would from a clone: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output(snippet: str, lang: str = "en") -> list[str]:
    """Lines that ``python snippets/SNIPPET`` prints; a warning is an error, as in the build."""
    done = subprocess.run([sys.executable, "-W", "error", str(ROOT / "snippets" / snippet)], cwd=ROOT,
                          env={**os.environ, "BLOCKLIB_LANG": lang}, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
