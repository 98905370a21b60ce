"""Comparing: what a printed number vouches for, and how the fault is said."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.compare import compare
from blocklib.facts.discover import FactError
from blocklib.facts.reading import read
from blocklib.facts.values import Measured, Range, ReadingError

PATHS = 2**24
GROWTH = 1.4**24
SHRINK = 0.6**24
SPEEDUP = Range(Fraction(7, 100), Fraction(64, 100))
LOSS = Measured(4.8741, 0.016)

HOLDS = [
    ("16,777,216", PATHS, None),
    ("16{,}777{,}216", PATHS, None),
    ("1,678 万", PATHS, None),
    ("约 1,680 万", PATHS, None),
    ("约 1,700 万", PATHS, None),
    ("about 17 million", PATHS, None),
    ("16.8 million", PATHS, None),
    ("17 million", PATHS, None),
    ("16.78 million", PATHS, None),
    ("about seventeen million", PATHS, None),
    ("nearly 17 million", PATHS, None),
    ("一千六百七十七万七千二百一十六", PATHS, None),
    ("over 16 million", PATHS, None),
    ("一千六百多万", PATHS, None),
    ("三千多倍", GROWTH, None),
    ("3,214.2", GROWTH, None),
    ("约 3,214", GROWTH, None),
    ("超过 3,000", GROWTH, None),
    ("3,200 多", GROWTH, None),
    ("about 3,000", GROWTH, None),
    ("just over 3,000", GROWTH, None),
    ("4.7 × 10⁻⁶", SHRINK, None),
    ("4.74e-6", SHRINK, None),
    ("不到百万分之五", SHRINK, None),
    ("less than five millionths", SHRINK, None),
    ("61.6%", Fraction(616, 1000), None),
    ("61.6%", 0.61649, None),
    ("0.6", Fraction(3, 5), None),
    ("一半", Fraction(1, 2), None),
    ("about a third", 0.33, None),
    ("约一半", 0.49, None),
    ("1/8", 0.125, None),
    ("twice", 2, None),
    ("4.67 倍", Fraction(14, 3), None),
    ("80.3 亿", 8030261248, None),
    ("8.03B", 8030261248, None),
    ("−3", -3, None),
    ("2.5", Decimal("2.45"), None),
    ("−2.5", Decimal("-2.45"), None),
    ("128 KiB", 131072, "B"),
    ("131,072 字节", 131072, "B"),
    ("10 GiB", 10 * 2**30, "B"),
    ("10.74 GB", 10 * 2**30, "B"),
    ("10.7 GB", 10, "GiB"),
    ("4.3 GB", 4 * 2**30, "B"),
    ("about 4 GB", 4 * 2**30, "B"),
    ("1 GB", 1.02e9, "B"),
    ("15.8 ms", 0.0158, "s"),
    ("989 TFLOP/s", 989.4e12, "FLOP/s"),
    ("7–64 %", SPEEDUP, None),
    ("7%–64%", SPEEDUP, None),
    ("7 到 64%", SPEEDUP, None),
    ("at least 7%", SPEEDUP, None),
    ("up to 64%", SPEEDUP, None),
    ("4.87", LOSS, None),
    ("4.9", LOSS, None),
    ("4.87 ± 0.02", LOSS, None),
    ("4.874 ± 0.016", LOSS, None),
    ("about 5", LOSS, None),
    ("over 4.8", LOSS, None),
    ("24", Measured(23.9, 0.4), None),
    ("≥ 24", 24, None),
    ("≤ 24", 24, None),
    ("0", 0, None),
    ("约 1,000", 1024, None),
    ("0.0%", Fraction(1, 10000), None),
    ("Twenty-four", 24, None),
    ("seven percent", 0.0698, None),
    ("百分之七", 0.0698, None),
    ("about half", 0.525, None),
    ("about half", 0.475, None),
    ("≥ 24", Measured(1024, 20), None),
    ("4.87", Measured(4.8741, 0), None),
    ("about 1,000", Measured(1024, 20), None),
    ("5 ± half", Measured(5, Fraction(1, 2)), None),
    ("1–2 GB", Range(1, 2), "GB"),
    ("5 GB", Measured(5, 1), "GB"),
]

FAILS = [
    ("61.9%", Fraction(616, 1000), None, "printed 61.9% but the value is 61.6%"),
    ("1,680 万", PATHS, None, "printed 1,680 万 but the value is 1,678 万"),
    ("约 1,600 万", PATHS, None, "but the value is 1,678 万"),
    ("16,777,217", PATHS, None, "but the value is 16,777,216"),
    ("16,777,000", PATHS, None, "but the value is 16,777,216"),
    ("sixteen million", PATHS, None, "but the value is 16,777,216"),
    ("seventeen million", PATHS, None, "but the value is 16,777,216"),
    ("about sixteen million", PATHS, None, "but the value is 16,777,216"),
    ("nearly 18 million", PATHS, None, "but the value is 17 million"),
    ("nearly 16 million", PATHS, None, "but the value is 17 million"),
    ("3,214", GROWTH, None, "but the value is 3,214.2"),
    ("三千多倍", 4100, None, "but the value is 4,100"),
    ("三千多倍", 3000, None, "but the value is 3,000"),
    ("三千多倍", 2914, None, "but the value is 2,914"),
    ("over 3,215", GROWTH, None, "but the value is 3,214"),
    ("> 3,000", 3000, None, "but the value is 3,000"),
    ("< 3,000", 3000, None, "but the value is 3,000"),
    ("≥ 25", 24, None, "but the value is 24"),
    ("at most 23", 24, None, "but the value is 24"),
    ("4.8 × 10⁻⁶", SHRINK, None, "but the value is 4.74 × 10⁻⁶"),
    ("less than four millionths", SHRINK, None, "4.74 × 10⁻⁶"),
    ("twice", Decimal("2.0156"), None, "but the value is 2.0156"),
    ("4 倍", Decimal("4.2"), None, "but the value is 4.2"),
    ("一半", Fraction(49, 100), None, "but the value is 0.49"),
    ("about a third", 0.31, None, "but the value is 0.31"),
    ("90亿", 8030261248, None, "printed 90亿 but the value is 80亿"),
    ("8.03 亿", 8030261248, None, "printed 8.03 亿 but the value is 80.30 亿"),
    ("-3", 3, None, "but the value is 3"),
    ("2.4", Decimal("2.45"), None, "but the value is 2.5"),
    ("Twenty-four", 25, None, "printed Twenty-four but the value is 25"),
    ("10 GB", 10 * 2**30, "B", "printed 10 GB but the value is 11 GB (10 GiB)"),
    ("10.74 GiB", 10 * 2**30, "B", "printed 10.74 GiB but the value is 10.00 GiB (10.74 GB)"),
    ("4 GB", 4 * 2**30, "B", "printed 4 GB but the value is 4.3 GB (4 GiB)"),
    ("20 KB", 20 * 2**10, "B", "(20 KiB)"),
    ("4 GiB", 4 * 10**9, "B", "printed 4 GiB but the value is 3.7 GiB (4 GB)"),
    ("4 GB/s", 4 * 2**30, "B/s", "(4 GiB)"),
    ("4 gigabytes", 4 * 2**30, "B", "(4 GiB)"),
    ("128 KB", 131072, "B", "(128 KiB)"),
    ("131,072", 131072, "B", "without a unit"),
    ("5 s", 131072, "B", "in s but the value is 128 KiB (B)"),
    ("128 B", 128, None, "B stands outside the link"),
    ("3 GB/s", 3 * 10**9, "B", "in B/s but"),
    ("7–63 %", SPEEDUP, None, "but the value is 7–64 %"),
    ("8%–64%", SPEEDUP, None, "but the value is 7%–64%"),
    ("7%", SPEEDUP, None, "a range: 7–64%"),
    ("over 7%", SPEEDUP, None, "a range"),
    ("7–64 %", Fraction(7, 100), None, "a range, but the value is 0.07"),
    ("4.874", LOSS, None, "more digits than the noise supports"),
    ("4.86", LOSS, None, "but the value is 4.87"),
    ("4.8741 ± 0.0160", LOSS, None, "more digits than the noise supports"),
    ("4.87 ± 0.01", LOSS, None, "but the noise is 0.02"),
    ("4.87 ± 0.02", Fraction(487, 100), None, "carries none"),
    ("half", Measured(0.4999, 0.01), None, "never exact"),
    ("三千多倍", 4000, None, "but the value is 4,000"),
    ("just over 3,000", 4000, None, "but the value is 4,000"),
    ("nearly 3,000", 2000, None, "but the value is 2,000"),
    ("about half", 0.5251, None, "but the value is 0.5251"),
    ("about seventeen million", 17_500_000, None, "but the value is 17,500,000"),
    ("5 GB", Measured(5, 1), "MB", "but the value is 0 GB"),
    ("5", Measured(5, 1), "GB", "printed 5 without a unit but the value is 5 GB (B)"),
    ("5", Range(1, 2), "GB", "printed 5 without a unit but the value is 1–2 GB (B)"),
    ("4.87", Measured(4.87, 0.1), None, "(noise 0.10: 4.9)"),
    ("1,000 ± 100", Measured(1000, 100), None, "more digits than the noise supports"),
    ("5 ± half", Measured(5, 0), None, "but the noise is 0"),
    ("4 GB", 3, None, "without a unit: GB stands outside the link"),
    ("一到二", Range(0, 3), None, "but the value is 0–3"),
    ("1e-3 到 0.002", Range(0.001, 0.003), None, "but the value is 0.001–0.003"),
    ("1–2", Range(1.0004, 2.0001), None, "but the value is 1.000–2.000"),
    ("一 token", 3, "token", "but the value is 3 token"),
]

# The whole message: nothing of the printed sign or relation is taken for the value's.
SAID = [
    ("over 4.8", 3, "3.0"), ("over 4.87", 4.87, "4.87"), ("−3", 2.55, "3"), ("−4.7", 4.7, "4.7"), ("-4.70", 4.7, "4.70"),
    ("恰好 4.9", 4.87, "4.87"), ("more than 3,000", 3000, "3,000"), ("nearly 3,000", 3000, "3,000"),
    ("nearly 3,000", 2999, None), ("0", Measured(5, 1), "5"), ("3", 3 + Fraction(1, 10**8), "3.00000001"),
    ("3", 3 + Fraction(1, 10**20), "3.000000000000"), ("3.0", 3 - Fraction(1, 10**20), None), ("3", Fraction(28, 9), "3.1"),
    ("三千多倍", 1.5, "1.5"), ("8.03B", 8_035_000_000, "8.04B"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "unit"), HOLDS, ids=[row[0] + f" {i}" for i, row in enumerate(HOLDS)])
def test_vouched_for(text, value, unit):
    assert compare(read(text), value, unit) is None


@pytest.mark.parametrize(
    ("text", "value", "unit", "message"), FAILS, ids=[row[0] + f" {i}" for i, row in enumerate(FAILS)]
)
def test_fault_and_its_message(text, value, unit, message):
    answer = compare(read(text), value, unit)
    assert answer is not None and message in answer and answer.startswith(f"printed {text}")


@pytest.mark.parametrize(("text", "value", "said"), SAID)
def test_the_value_as_the_author_would_print_it(text, value, said):
    assert compare(read(text), value) == (said and f"printed {text} but the value is {said}")


def test_another_prefix_is_named_only_where_it_is_right():
    assert compare(read("4 GB"), 3, "B") == "printed 4 GB but the value is 0 GB"


def test_between_two_prefixes_a_tie_goes_to_the_one_printed():
    """As far below 4 GiB, read in GiB, as above 4 GB."""
    middle = 8 / (1 + Fraction(10**9, 2**30)) * 10**9
    assert compare(read("4 GB"), middle, "B") is None
    assert "(4 GiB)" in compare(read("4 GB"), middle + 1, "B")


def test_noise_of_exactly_one_place_supports_that_place():
    assert compare(read("7.0"), Measured(7.04, 0.3)) is None
    assert "noise supports" in compare(read("7.04"), Measured(7.04, 0.3))
    assert "noise supports" in compare(read("24.1"), Measured(24.1, 2))
    assert compare(read("24.1"), Measured(24.1, 0)) is None


def test_values_that_are_none():
    with pytest.raises(FactError):
        compare(read("1"), float("nan"))
    with pytest.raises(FactError):
        compare(read("1"), True)
    with pytest.raises(ReadingError, match="unknown unit"):
        compare(read("1"), 1, "parsec")


@given(st.decimals(-(10**6), 10**6, places=5, allow_nan=False), st.integers(1, 4), st.integers(-3, 3))
def test_exactly_the_rounded_value_holds(value, places, off):
    """Against decimal's own rounding: the right last digit holds and any other fails."""
    right = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    printed = right + off * Decimal(1).scaleb(-places)
    assert (compare(read(f"{printed:,.{places}f}"), value) is None) == (off == 0)


@given(st.integers(1, 10**15), st.integers(-5, 5))
def test_an_integer_in_full_is_exact(value, off):
    assert (compare(read(f"{value + off:,}"), value) is None) == (off == 0)
    assert (compare(read(f"{value + off:,}"), Fraction(2 * value + 1, 2)) is None) is False


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_relations_as_relations(printed, value):
    for sign, holds in (
        (">", value > printed),
        ("<", value < printed),
        (">=", value >= printed),
        ("<=", value <= printed),
    ):
        assert (compare(read(f"{sign} {printed:,}"), value) is None) == holds
