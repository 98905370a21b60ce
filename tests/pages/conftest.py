"""Runs a snippet the way a reader does from a clone, and hands back what it printed."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).resolve().parents[2] / "snippets"


@pytest.fixture
def run_snippet(capsys, monkeypatch) -> Callable[[str, str], list[str]]:
    """``run_snippet("primer/shape/widths.py", "zh")``: the printed lines; a warning is an error."""

    def run(name: str, lang: str) -> list[str]:
        monkeypatch.setenv("BLOCKLIB_LANG", lang)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(SNIPPETS / name), run_name="__main__")
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return run
