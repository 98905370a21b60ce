"""Errors say where, what and what to do; a name that nobody knows is answered with the nearest."""

from __future__ import annotations

import pytest

from blocklib.problems import BlocklibError, Problem, nearest

KNOWN = ("norm_ops", "norm_core_ops", "Implicit_Paths")


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("norm_op", {}, ["norm_ops"]),
        ("IMPLICIT_path", {}, ["Implicit_Paths"]),
        ("norm_op", {"most": 2}, ["norm_ops", "norm_core_ops"]),
        ("zzz", {}, []),
    ],
)
def test_nearest(name, options, found):
    assert nearest(name, KNOWN, **options) == found


def test_without_a_cutoff_some_name_is_always_nearest():
    assert nearest("zzz", KNOWN, cutoff=0)[0] in KNOWN and nearest("zzz", (), cutoff=0) == []


def test_an_error_is_one_sentence_with_place_and_remedy():
    assert str(BlocklibError("no", where="a.py:3", remedy="write yes")) == "a.py:3: no (write yes)"
    assert str(BlocklibError("no")) == "no"


def test_problems_sort_by_place_and_print_their_line():
    problems = [Problem("b", 1, "x"), Problem("a", 12, "y"), Problem("a", 2, "z"), Problem("a", 0, "w")]
    assert list(map(str, sorted(problems))) == ["a: w", "a:2: z", "a:12: y", "b:1: x"]
