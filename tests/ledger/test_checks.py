"""What sizes may be, and how a refused value is shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blocklib.ledger.checks import ConfigError, check_flags, check_sizes, is_size, one_of, shown

LARGEST = 4_294_967_296


def test_sizes_have_ends():
    assert [is_size(value) for value in (0, 1, LARGEST, LARGEST + 1, True, 1.0, "1")] == [
        False, True, True, False, False, False, False]  # fmt: skip
    assert is_size(0, 0) and not is_size(-1, 0) and not is_size(4, 5)
    check_sizes(SimpleNamespace(a=1, b=LARGEST), "a", "b")


@pytest.mark.parametrize(("value", "least", "said"), [
    (0, 1, "x must be a positive integer, found 0"), (-1, 0, "x must be an integer from 0 up, found -1"),
    (LARGEST + 1, 1, f"x must be a positive integer (at most {LARGEST}), found {LARGEST + 1}"),
    (True, 1, "x must be a positive integer, found True"), ("9", 2, "x must be an integer from 2 up, found '9'"),
])  # fmt: skip
def test_a_refused_size_is_told(value, least, said):
    with pytest.raises(ConfigError) as error:
        check_sizes(SimpleNamespace(x=value), "x", least=least)
    assert error.value.message == said


def test_flags_and_names():
    check_flags(SimpleNamespace(x=False), "x")
    with pytest.raises(ConfigError, match="x must be true or false, found 0"):
        check_flags(SimpleNamespace(x=0), "x")
    one_of("kind", None, (None, "a"))
    for value in ("b", 1, ["a"]):
        with pytest.raises(ConfigError, match="unknown kind .*; known: None, a"):
            one_of("kind", value, (None, "a"))


def test_a_value_is_shown_short():
    assert shown(1000) == "1000" and shown(-(10**30) + 1) == "-" + "9" * 30
    assert shown(10**30) == shown(-(10**30)) == shown(10**5000) == "an integer of more than 30 digits"
    assert shown("a" * 58) == "'" + "a" * 58 + "'" and shown("a" * 59) == "'" + "a" * 56 + "…"
    assert shown([10**5000]) == "a list that cannot be printed"
