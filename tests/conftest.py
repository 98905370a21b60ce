"""Shared by all tests: the repository's root, and the site built once a session for the tests that look at it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

# No deadline: a busy machine is no fault of the code. The examples are the same in every run.
settings.register_profile("plain", deadline=None, derandomize=True)
settings.load_profile("plain")

ROOT = Path(__file__).resolve().parent.parent
PALETTES = ("default", "slate")


def mkdocs_build(target: Path, root: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """``mkdocs build`` of ``root`` into ``target`` as a process of its own; output captured, exit code not checked."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(target)],
        cwd=root, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **env}, capture_output=True, text=True, timeout=280,
    )  # fmt: skip


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def built_site(tmp_path_factory) -> Path:
    """The built site, made cold once for all workers of a run."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    base = tmp_path_factory.mktemp("built") if alone else tmp_path_factory.getbasetemp().parent / "built"
    base.mkdir(exist_ok=True)
    with FileLock(base / "lock"):
        if not (base / "log").is_file():
            done = mkdocs_build(base / "site", BLOCKLIB_CACHE=str(base / "cache"))
            (base / "log").write_text(f"{done.returncode}\n{done.stdout}{done.stderr}", "utf-8")
        code, _, log = (base / "log").read_text("utf-8").partition("\n")
    assert code == "0", log
    return base / "site"
