"""Built twice on one machine (cold, with another hash seed, with a warm cache): identical bytes."""

from __future__ import annotations

import filecmp
from pathlib import Path

from tests.conftest import mkdocs_build


def differing(a: Path, b: Path) -> list[str]:
    """Relative paths that differ between two trees, or stand in one only."""
    files = {p.relative_to(base).as_posix() for base in (a, b) for p in base.rglob("*") if p.is_file()}
    return sorted(
        f for f in files if not ((a / f).is_file() and (b / f).is_file() and filecmp.cmp(a / f, b / f, shallow=False))
    )


def test_cold_other_seed_and_warm_builds_are_equal(built_site, tmp_path):
    cache = str(tmp_path / "cache")
    for name, seed in (("cold", "12345"), ("warm", "0")):
        done = mkdocs_build(tmp_path / name, BLOCKLIB_CACHE=cache, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stdout + done.stderr
    assert differing(built_site, tmp_path / "cold") == []
    assert differing(tmp_path / "cold", tmp_path / "warm") == []


def test_differing_control(tmp_path):
    for name, text in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.html").write_text(text)
    assert differing(tmp_path / "a", tmp_path / "b") == ["x.html"]
