"""The formatter: golden texts, the traps, and the round trip through the reader in both languages."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.compare import compare
from blocklib.facts.discover import FactError
from blocklib.facts.format import STYLES, format_value
from blocklib.facts.reading import read
from blocklib.facts.values import Measured, Range, exact

GOLDEN = [
    (16777216, dict(), "16,777,216", "16,777,216"),
    (16777216, dict(style="magnitude"), "16.8 million", "1,678 万"),
    (16777216, dict(style="letter"), "16.8M", "1,678 万"),
    (8030261248, dict(style="letter"), "8.03B", "80.3 亿"),
    (8030261248, dict(style="magnitude"), "8.03 billion", "80.3 亿"),
    (1_500_000_000_000, dict(style="magnitude"), "1.5 trillion", "1.5 万亿"),
    (999_960_000, dict(style="letter", places=1), "1.0B", "10.0 亿"),
    (999_960_000, dict(style="magnitude", digits=3), "1.00 billion", "10.0 亿"),
    (99_999_600, dict(style="magnitude", digits=3), "100 million", "1.00 亿"),
    (9_999, dict(style="magnitude"), "9,999", "9,999"),
    (12_288, dict(style="plain"), "12,288", "12,288"),
    (0, dict(), "0", "0"),
    (-5, dict(), "−5", "−5"),
    (1.4**24, dict(digits=5), "3,214.2", "3,214.2"),
    (1.4**24, dict(digits=2), "3,214.2", "3,214.2"),
    (1.4**24, dict(style="times", digits=5), "3,214.2×", "3,214.2 倍"),
    (0.6**24, dict(), "4.74 × 10⁻⁶", "4.74 × 10⁻⁶"),
    (0.6**24, dict(style="scientific", digits=2), "4.7 × 10⁻⁶", "4.7 × 10⁻⁶"),
    (9.996e-6, dict(style="scientific"), "1.00 × 10⁻⁵", "1.00 × 10⁻⁵"),
    (Fraction(616, 1000), dict(style="percent"), "61.6%", "61.6%"),
    (Fraction(1, 3), dict(style="percent"), "33.3%", "33.3%"),
    (Fraction(9996, 10000), dict(style="percent", digits=3), "100%", "100%"),
    (Fraction(1, 3), dict(), "0.333", "0.333"),
    (Fraction(1, 8), dict(), "0.125", "0.125"),
    (131072, dict(unit="B"), "128 KiB", "128 KiB"),
    (131072, dict(unit="B", style="plain"), "131,072 B", "131,072 B"),
    (10 * 2**30, dict(unit="B", style="binary"), "10 GiB", "10 GiB"),
    (2**30 - 1, dict(unit="B", style="binary", digits=3), "1.00 GiB", "1.00 GiB"),
    (80_000_000_000, dict(unit="B"), "80 GB", "80 GB"),
    (3.35e12, dict(unit="B/s"), "3.35 TB/s", "3.35 TB/s"),
    (989.4e12, dict(unit="FLOP/s", digits=3), "989 TFLOP/s", "989 TFLOP/s"),
    (16e9, dict(unit="FLOP"), "16 GFLOPs", "16 GFLOPs"),
    (0.0158, dict(unit="s"), "15.8 ms", "15.8 ms"),
    (0.00099996, dict(unit="s", digits=3), "1.00 ms", "1.00 ms"),
    (4.34, dict(unit="s"), "4.34 s", "4.34 s"),
    (32768, dict(unit="token"), "32,768 tokens", "32,768 token"),
    (1, dict(unit="token"), "1 token", "1 token"),
    (Range(Fraction(69, 1000), Fraction(408, 1000)), dict(style="percent"), "6.9–40.8%", "6.9–40.8%"),
    (Range(10, 34), dict(), "10–34", "10–34"),
    (Measured(4.8741, 0.016), dict(), "4.87", "4.87"),
    (Measured(0.0158, 0.0003), dict(unit="s"), "15.8 ms", "15.8 ms"),
    (Measured(12345, 300), dict(unit="token/s"), "1.23 × 10⁴ tokens/s", "1.23 × 10⁴ token/s"),
    (1_500, dict(style="letter"), "1.5K", "1,500"),
    (999_952_000, dict(style="letter", places=1), "1.0B", "10.0 亿"),
    (Fraction(5, 10**9), dict(unit="s"), "5 ns", "5 ns"),
    (Fraction(5, 10**6), dict(unit="s"), "5 µs", "5 µs"),
    (1024, dict(unit="B"), "1 KiB", "1 KiB"),
    (131_584, dict(unit="B"), "128.5 KiB", "128.5 KiB"),
    (3 * 2**20, dict(unit="B"), "3 MiB", "3 MiB"),
    (3 * 2**40, dict(unit="B"), "3 TiB", "3 TiB"),
    (3 * 2**50, dict(unit="B"), "3 PiB", "3 PiB"),
    (2**60, dict(unit="B"), "1.15 EB", "1.15 EB"),
    (Fraction(1, 10**4), dict(), "0.0001", "0.0001"),
    (Fraction(7, 10**5), dict(), "7.00 × 10⁻⁵", "7.00 × 10⁻⁵"),
    (Fraction(15, 10**5), dict(), "0.00015", "0.00015"),
    (Fraction(15, 10**3), dict(), "0.015", "0.015"),
    (10**16 - 1, dict(), "9,999,999,999,999,999", "9,999,999,999,999,999"),
    (10**16, dict(), "1.00 × 10¹⁶", "1.00 × 10¹⁶"),
    (0.5, dict(), "0.5", "0.5"),
    (Fraction(123_456, 10**6), dict(), "0.123456", "0.123456"),
    (Fraction(1_234_567, 10**7), dict(), "0.123", "0.123"),
    (Fraction(3_001, 3), dict(), "1,000.3", "1,000.3"),
    (Fraction(2_999, 3), dict(), "999.7", "999.7"),
    (0, dict(style="percent", digits=3), "0.00%", "0.00%"),
    (-(10**29), dict(style="plain"), "−100,000" + ",000" * 8, "−100,000" + ",000" * 8),
    (10**30, dict(style="plain"), "1.00 × 10³⁰", "1.00 × 10³⁰"),
    (Measured(24.3, 2), dict(), "24", "24"),
    (Measured(0.2, 3), dict(style="scientific"), "0", "0"),
    (5, dict(unit="FLOP/s", style="plain"), "5 FLOP/s", "5 FLOP/s"),
    (5, dict(unit="FLOP", style="plain"), "5 FLOPs", "5 FLOPs"),
]


@pytest.mark.parametrize(("value", "options", "en", "zh"), GOLDEN, ids=[f"{row[2]} | {row[3]}" for row in GOLDEN])
def test_golden(value, options, en, zh):
    assert format_value(value, lang="en", **options) == en
    assert format_value(value, lang="zh", **options) == zh
    for text, lang in ((en, "en"), (zh, "zh")):
        assert compare(read(text, lang), value, options.get("unit")) is None


NUMBERS = st.one_of(
    st.integers(-(10**15), 10**15),
    st.integers(-300, 300),
    st.builds(lambda n, d: Fraction(n, d), st.integers(-(10**9), 10**9), st.integers(1, 10**6)),
    st.builds(lambda n, p: Decimal(n).scaleb(p), st.integers(-(10**9), 10**9), st.integers(-15, 6)),
    st.floats(-1e15, 1e15, allow_nan=False),
    st.builds(lambda k, n: 10**k - n, st.integers(1, 15), st.integers(0, 50)),
    st.builds(lambda k, n: 2 ** (10 * k) - n, st.integers(1, 5), st.integers(0, 50)),
)
UNITS = st.sampled_from([None, None, "B", "FLOP", "FLOP/s", "B/s", "s", "token", "token/s", "B/token", "FLOP/token"])
DIGITS = st.one_of(st.none(), st.integers(1, 8))


@given(
    NUMBERS,
    UNITS,
    st.sampled_from(["zh", "en"]),
    DIGITS,
    st.one_of(st.none(), st.integers(0, 4)),
    st.sampled_from(STYLES),
)
def test_what_the_formatter_prints_reads_back(value, unit, lang, digits, places, style):
    if style == "binary":
        unit = "B"
    if unit and style in ("percent", "times"):
        unit = None
    text = format_value(value, unit, lang, digits, style, places)
    reading = read(text, lang)
    assert (reading.unit, reading.relation) == (unit, "=")
    assert compare(reading, value, unit) is None, text
    # Said again without the comparison: half a unit in the last place, and sizes of a thousand never in a smaller unit.
    assert abs(reading.value - exact(value)) * 2 <= reading.resolution
    if reading.parts[0].factor == 1 and reading.value.denominator == 1 and not reading.parts[0].decimals:
        assert reading.value == exact(value) or reading.parts[0].scientific
    assert not any(text.startswith(f"{sign}1000") for sign in ("", "−"))


@given(
    NUMBERS,
    NUMBERS,
    st.sampled_from(["zh", "en"]),
    DIGITS,
    st.sampled_from(["auto", "plain", "percent", "magnitude", "letter"]),
)
def test_ranges_read_back(a, b, lang, digits, style):
    low, high = sorted((exact(a), exact(b)))
    text = format_value(Range(low, high), None, lang, digits, style)
    assert compare(read(text, lang), Range(low, high)) is None, text


@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-6, 1e6),
    st.sampled_from([None, "s", "token/s", "B"]),
    st.sampled_from(["zh", "en"]),
)
def test_measured_values_read_back_within_their_noise(value, noise, unit, lang):
    text = format_value(Measured(value, noise), unit, lang)
    reading = read(text, lang)
    assert compare(reading, Measured(value, noise), unit) is None, text
    assert abs(reading.value - exact(value)) <= exact(noise)


@given(st.decimals(-(10**9), 10**9, places=6), st.integers(0, 5))
def test_rounding_against_decimal(value, places):
    places = max(places, 0 if value == value.to_integral_value() else 1)
    if value == value.to_integral_value():
        places = 0
    want = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,}".replace("-", "−")
    if want.strip("−0.") == "":
        want = want.lstrip("−")
    assert format_value(value, style="plain", places=places) == want


def test_ties_move_away_from_zero():
    assert format_value(Decimal("2.45"), places=1) == "2.5"
    assert format_value(Decimal("-2.45"), places=1) == "−2.5"
    assert format_value(Decimal("0.125"), digits=2) == "0.13"


def test_refusals():
    for arguments in (
        (1, None, "fr"),
        (1, None, "en", None, "roman"),
        (1, "s", "en", None, "binary"),
        (1, "GiB"),
        (True,),
        (float("nan"),),
        ("7",),
    ):
        with pytest.raises(FactError):
            format_value(*arguments)
