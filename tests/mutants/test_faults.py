"""Which faults are made, and that no fault is made where nothing computes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mutants.faults import faults

SOURCE = '''\
"""Text: 1 + 1."""
from functools import lru_cache

LIMITS: dict[str, int | None] = {"a": 2**3}


@lru_cache(maxsize=64)
def inside(n: int, low: int = 0) -> bool:
    if not (
        low <= n
        and n + 1 < LIMITS["a"]
    ):
        raise ValueError(f"{n + 1} is outside", n - 1)
    Problem("x", n, f"{n * 2}")
    return [f"{a * b}" for a, b in zip([n], [n], strict=True)]


class Box:
    def grow(self):
        self.size += (1,
                      2)
'''


def test_every_place_that_computes_and_no_other():
    found = [(f.function, f.line, f.mutant) for f in faults(SOURCE.encode())]
    assert sorted(found) == sorted([
        ("<module>", 'LIMITS: dict[str, int | None] = {"a": 2**3}', 'LIMITS: dict[str, int | None] = {"a": 2 * 3}'),
        ("<module>", 'LIMITS: dict[str, int | None] = {"a": 2**3}', 'LIMITS: dict[str, int | None] = {"a": 3**3}'),
        ("<module>", 'LIMITS: dict[str, int | None] = {"a": 2**3}', 'LIMITS: dict[str, int | None] = {"a": 2**4}'),
        ("inside", "def inside(n: int, low: int = 0) -> bool:", "def inside(n: int, low: int = 1) -> bool:"),
        ("inside", "if not (", "if ("),
        ("inside", "low <= n", 'low <= n or n + 1 < LIMITS["a"]'),
        ("inside", "low <= n", "low < n"),
        ("inside", "and n + 1 < LIMITS[\"a\"]", "and n + 1 <= LIMITS[\"a\"]"),
        ("inside", "and n + 1 < LIMITS[\"a\"]", "and n - 1 < LIMITS[\"a\"]"),
        ("inside", "and n + 1 < LIMITS[\"a\"]", "and n + 2 < LIMITS[\"a\"]"),
        ("inside", 'raise ValueError(f"{n + 1} is outside", n - 1)', 'raise ValueError(f"{n + 1} is outside", n + 1)'),
        ("inside", 'raise ValueError(f"{n + 1} is outside", n - 1)', 'raise ValueError(f"{n + 1} is outside", n - 2)'),
        ("inside", 'return [f"{a * b}" for a, b in zip([n], [n], strict=True)]',
         'return [f"{a / b}" for a, b in zip([n], [n], strict=True)]'),
        ("Box.grow", "self.size += (1,", "self.size = (1,"),
        ("Box.grow", "self.size += (1,", "self.size -= (1,"),
        ("Box.grow", "self.size += (1,", "self.size += (2,"),
        ("Box.grow", "2)", "3)"),
    ])  # fmt: skip


def test_a_fault_is_still_python_and_stands_on_its_lines():
    for fault in faults(SOURCE.encode()):
        ast.parse(fault.source)
        pairs = zip(SOURCE.split("\n"), fault.source.decode().split("\n"), strict=False)
        assert next(i for i, (a, b) in enumerate(pairs, 1) if a != b) in fault.lines


def test_the_lines_of_a_fault_are_its_statement_and_of_a_compound_one_the_head():
    lines = {fault.line: fault.lines for fault in faults(SOURCE.encode())}
    assert lines["low <= n"] == range(9, 13) and lines["2)"] == range(20, 22)
