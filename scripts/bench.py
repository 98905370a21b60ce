"""``make bench``: build and preview times as ratios to importing torch and plotly, compared with the figures kept in the repo.

Ratios carry from machine to machine where seconds don't. ``--save`` keeps this run's figures in scripts/bench.json; a later
run that is 25 % worse says so and exits with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "scripts" / "bench.json"
AIMS = {"cold": 8.0, "warm": 2.0, "edit": 1.0}
WORSE = 1.25


def timed(command: list[str], **env: str) -> float:
    """Wall seconds of one process; its failure ends the bench."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start


def reference() -> float:
    """Median seconds of ``import torch, plotly.graph_objects`` in a fresh process."""
    return statistics.median(timed([sys.executable, "-c", "import torch, plotly.graph_objects"]) for _ in range(5))


def builds(base: Path) -> dict[str, float]:
    """Seconds of a cold build and the median of three warm ones."""
    env = {"BLOCKLIB_CACHE": str(base / "cache"), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(base / "site")]
    return {"cold": timed(command, **env), "warm": statistics.median(timed(command, **env) for _ in range(3))}


def edits(base: Path) -> dict[str, float]:
    """Median seconds from saving a page in the live preview to the server answering with the new text."""
    copy = base / "copy"
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in filter(lambda n: (ROOT / n).is_file(), names):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    if (ROOT / "node_modules").is_dir():
        (copy / "node_modules").symlink_to(ROOT / "node_modules")
    page, address = copy / "docs" / "primer" / "stacking.en.md", "http://127.0.0.1:8765/en/primer/stacking/"
    env = {**os.environ, "BLOCKLIB_CACHE": str(base / "cache"), "PYTHONPATH": str(copy), "NO_MKDOCS_2_WARNING": "1"}
    server = subprocess.Popen([sys.executable, "-m", "mkdocs", "serve", "--quiet", "--dev-addr", "127.0.0.1:8765"], cwd=copy,
                              env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def answer(word: str, patience: float) -> bool:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                if word in urllib.request.urlopen(address, timeout=5).read().decode():
                    return True
            except OSError:
                pass
            time.sleep(0.02)
        return False

    try:
        if not answer("<h1", 120):
            raise SystemExit("bench: the live preview did not answer within two minutes")
        took = []
        for i, word in enumerate(("alphaword", "betaword", "gammaword", "deltaword")):
            time.sleep(1.5)
            start = time.perf_counter()
            page.write_text(page.read_text("utf-8") + f"\nA sentence with {word} in it.\n", "utf-8")
            if not answer(word, 60):
                raise SystemExit("bench: the edit did not reach the page within a minute")
            took += [time.perf_counter() - start] if i else []
        return {"edit": statistics.median(took)}
    finally:
        server.terminate()
        server.wait(10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep this run's figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        unit = reference()
        ratios = {name: round(seconds / unit, 2) for name, seconds in {**builds(base), **edits(base)}.items()}
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    print(f"import torch, plotly.graph_objects: {unit:.2f} s = 1")
    worse = False
    for name, ratio in ratios.items():
        before = kept.get(name)
        slow = before is not None and ratio > before * WORSE
        worse |= slow
        note = (
            "" if before is None else f"  kept {before:.2f}" + (f"  WORSE by {ratio / before - 1:.0%}" if slow else "")
        )
        print(f"{name:<5} {ratio:6.2f}  aim ≤ {AIMS[name]:g}{'' if ratio <= AIMS[name] else '  (missed)'}{note}")
    if arguments.save:
        KEPT.write_text(json.dumps(ratios, indent=1) + "\n", "utf-8")
    return int(worse)


if __name__ == "__main__":
    raise SystemExit(main())
