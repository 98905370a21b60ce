"""Which tests judge a fault, and in which order."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mutants import trial

MODULE = "blocklib/ledger/flops.py"
OWN, OTHER, FAR = "tests/ledger/test_flops.py", "tests/atlas/test_x.py", "tests/y.py"


def test_tests_that_run_the_line_then_those_that_saw_it_run_on_import():
    seconds = {f"{OWN}::a": 3.0, f"{OWN}::b": 1.0, f"{OTHER}::c": 0.1, f"{OTHER}::d": 0.1, f"{FAR}::e": 0.1}
    lines = {0: frozenset({f"{OWN}::a", f"{OTHER}::c"}), 7: frozenset({f"{OTHER}::c"})}
    measured = trial.Measure(seconds, {MODULE: lines}, [])
    assert trial.plan(measured, MODULE, range(7, 8)) == [
        (OTHER, [f"{OTHER}::c"]), (OWN, [f"{OWN}::a", f"{OWN}::b"])]  # fmt: skip
    assert trial.plan(measured, MODULE, range(1, 2)) == [
        (OWN, [f"{OWN}::a"]), (OTHER, [f"{OTHER}::c"]), (OWN, [f"{OWN}::b"]), (OTHER, [f"{OTHER}::d"])]  # fmt: skip
