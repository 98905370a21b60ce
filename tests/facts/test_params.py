"""Expressions and their parameters: types at their edges, choices by name and by number."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.facts.discover import FactError, Param
from blocklib.facts.params import GivenValue, convert, number_text, parse_expr

INT, FLOAT, BOOL = Param("n", "int"), Param("x", "float"), Param("on", "bool")
CHOICE = Param("k", "literal", (1, 2, "16", "Big", True))


@pytest.mark.parametrize(("param", "text", "value"), [
    (INT, "4,096", 4096), (INT, "4_096", 4096), (INT, "1e3", 1000), (INT, "-3", -3), (INT, "1" + "0" * 30, 10**30),
    (INT, "-1" + "0" * 30, -(10**30)), (FLOAT, "1/8", Fraction(1, 8)), (FLOAT, "0.5", Fraction(1, 2)), (FLOAT, "1e-5", Fraction(1, 10**5)),
    (FLOAT, "0." + "1" * 198, Fraction(int("1" * 198), 10**198)), (BOOL, "true", True), (BOOL, "True", True), (BOOL, "FALSE", False),
    (CHOICE, "1", 1), (CHOICE, "2.0", 2), (CHOICE, "16", "16"), (CHOICE, "16.0", "16"), (CHOICE, "bIG", "Big"), (CHOICE, "true", None),
    (CHOICE, GivenValue("Sixteen", Fraction(16)), "16"), (CHOICE, GivenValue("two", Fraction(2)), 2), (CHOICE, GivenValue("2"), 2),
    (INT, GivenValue("a dozen", Fraction(12)), 12), (Param("s", "str"), "x y", "x y"), (Param("m", "model"), "Llama-3-8B", "llama-3-8b"),
])  # fmt: skip
def test_values_by_type(param, text, value):
    if value is None:
        with pytest.raises(FactError):
            convert("f", param, text)
    else:
        found = convert("f", param, text)
        assert found == value and type(found) is type(value)


@pytest.mark.parametrize(("param", "text", "words"), [
    (INT, "1" + "0" * 29 + "1", "is too large"), (FLOAT, "-1" + "0" * 30 + ".1", "is too large"), (INT, "0.5", "'0.5' does not fit the parameter n: int"),
    (FLOAT, "0." + "1" * 199, "does not fit"), (FLOAT, "1/0", "does not fit"), (FLOAT, "1e1000", "does not fit"),
    (BOOL, "yes", "'yes' does not fit"), (CHOICE, "3", "does not fit the parameter k: 1 | 2 | 16 | Big | True"),
    (CHOICE, "x" * 60, "'" + "x" * 60 + "' does not fit"), (CHOICE, "x" * 61, "'" + "x" * 60 + "…' does not fit"),
    (INT, GivenValue("Llama"), "'Llama' does not fit"), (Param("m", "model"), "Lama-3-8B", "did you mean Llama-3-8B"),
])  # fmt: skip
def test_what_does_not_fit(param, text, words):
    with pytest.raises(FactError) as error:
        convert("f", param, text)
    assert words in str(error.value) and str(error.value).startswith("f: ")


@pytest.mark.parametrize("expr", ["", "?a=1", "1f", "f?", "f?=1", "f?a=", "f?a=1&a=2", "f?a=1&&b=2", "f?a-b=1", "f g"])
def test_what_is_no_expression(expr):
    with pytest.raises(FactError):
        parse_expr(expr)


def test_expressions_and_numbers_as_text():
    assert parse_expr("fact:f?a=1%2F3&b&c=x%26y") == ("f", {"a": "1/3", "b": None, "c": "x&y"}) and parse_expr("f") == (
        "f",
        {},
    )
    assert [number_text(Fraction(v)) for v in ("3", "1/8", "1/3", "-5/2")] == ["3", "0.125", "1/3", "-2.5"]
