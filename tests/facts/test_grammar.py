"""The grammar of printed quantities: characters against Unicode's own data, parts of a number, ranges and their edges."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import pytest

from blocklib.facts.grammar import VULGAR, decimal, normalise, quantity_at
from blocklib.facts.reading import ReadingError, read


@pytest.mark.parametrize("char", VULGAR)
def test_vulgar_fractions_are_unicodes(char):
    value = Fraction(unicodedata.numeric(char)).limit_denominator(10)
    assert read(char).value == value and read(f"−{char}").value == -value
    assert read(f"2{char}").value == 2 + value


def test_full_width_characters_are_unicodes():
    kept = set("，（）：；！？＂＇［］｛｝")
    for code in range(0xFF00, 0xFF70):
        char = chr(code)
        plain = unicodedata.normalize("NFKC", char) if 0xFF01 <= code <= 0xFF5E and char not in kept else char
        assert normalise(char) == plain, char
    assert normalise("−－∼μ⁄\u2009\u202f\u2007\u3000\n\t\r−") == "--~µ/" + "\xa0" * 7 + "-"
    assert normalise("a\nb\tc\rd") == "a\xa0b\xa0c\xa0d"


# text -> resolution, unit of the last place that is not zero, strict, factor, decimals, where the digits stand
PARTS = [
    ("0", "1", "1", True, "1", 0, (0, 1)), ("3,000", "1", "1000", True, "1", 0, (0, 5)),
    ("1,680 万", "10000", "100000", False, "10000", 0, (0, 5)), ("3.10", "1/100", "1/100", False, "1", 2, (0, 4)),
    ("30.0", "1/10", "1/10", False, "1", 1, (0, 4)), ("1/8", "0", "1/80", True, "1", None, (0, 3)),
    ("-1/8", "0", "1/80", True, "1", None, (1, 4)), ("一半", "0", "1/20", True, "1", None, (0, 2)),
    ("半", "0", "1/20", True, "1", None, (0, 1)), ("4.7 × 10⁻⁶", "1/10000000", "1/10000000", False, "1", 1, (0, 10)),
    ("50 × 10³", "1000", "10000", False, "1", 0, (0, 8)), ("0.50 × 10³", "10", "10", False, "1", 2, (0, 10)),
    ("10^6", "1000000", "1000000", False, "1", 0, (0, 4)), ("2e5 ms", "100", "100", False, "1/1000", 0, (0, 3)),
    ("20e5 ms", "100", "1000", False, "1/1000", 0, (0, 4)), ("12 KiB", "1024", "1024", False, "1024", 0, (0, 2)),
    ("30 ms", "1/1000", "1/100", False, "1/1000", 0, (0, 2)), ("4.50%", "1/10000", "1/10000", False, "1/100", 2, (0, 4)),
    ("三千", "1000", "1000", True, "1", None, (0, 2)), ("百分之五", "1/100", "1/100", False, "1", None, (0, 4)),
    ("三分之二", "0", "1/15", True, "1", None, (0, 4)), ("两成", "1/10", "1/10", False, "1", None, (0, 1)),
    ("30 倍", "1", "10", True, "1", 0, (0, 2)), ("2½", "0", "1/4", True, "1", None, (0, 2)),
    ("-½ GB", "0", "50000000", True, "1000000000", None, (1, 2)), ("twofold", "1", "1", True, "1", None, (0, 3)),
    ("三十几倍", "1", "10", True, "1", None, (0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "resolution", "rough", "strict", "factor", "decimals", "digits"), PARTS)
def test_what_a_printed_number_claims(text, resolution, rough, strict, factor, decimals, digits):
    (part,) = read(text).parts
    assert (part.resolution, part.rough, part.factor) == (Fraction(resolution), Fraction(rough), Fraction(factor))
    assert (part.strict, part.decimals, part.digits) == (strict, decimals, digits)
    assert part.scientific == any(sign in text for sign in ("e5", "10^", "10⁻", "10³"))


@pytest.mark.parametrize(("text", "low", "high"), [
    ("3–50 ms", "0.003", "0.05"), ("3 to 9,000", 3, 9000), ("30 to 90,000", 30, 90_000), ("三十到五万", 30, 50_000),
    ("十到二十", 10, 20), ("五十到一百", 50, 100), ("五到一百", 5, 100), ("五到九十", 5, 90), ("零到五万", 0, 50_000), ("five to five hundred", 5, 500),
    ("five to six hundred and twenty", 5, 620), ("one thousand to five million", 1000, 5_000_000), ("十到一千九百", 10, 1900),
    ("10^5–10^6", 10**5, 10**6), ("3–10^5", 3, 10**5), ("1–1", 1, 1), ("5-7", 5, 7), ("5～7", 5, 7), ("5 ~ 7", 5, 7),
    ("百分之三到五", "0.03", "0.05"), ("百分之 3–5", "0.03", "0.05"), ("百分之三到 5%", "0.03", "0.05"),
    ("1 KB–2 MB", 1000, 2_000_000), ("−5 to −3", -5, -3), ("−5 to +3", -5, 3), ("one to three", 1, 3), ("1e5–2e5", 10**5, 2 * 10**5),
    ("two to five thousand and one", 2, 5001), ("ten to nineteen hundred", 10, 1900), ("twelve to twelve hundred", 12, 1200),
    ("nine to ninety", 9, 90), ("一百到一万", 100, 10_000), ("一千到九千", 1000, 9000), ("九到一万五千零一", 9, 15_001),
])  # fmt: skip
def test_ranges(text, low, high):
    reading = read(text)
    assert (reading.value.low, reading.value.high) == (Fraction(low), Fraction(high))


@pytest.mark.parametrize(("text", "why"), [
    ("三到五万", "may belong to both"), ("三到五百", "may belong to both"), ("九到一万五千", "may belong to both"), ("三到五千", "may belong to both"),
    ("三到五亿", "may belong to both"), ("三十到五十万", "may belong to both"), ("三十到五千亿", "may belong to both"),
    ("九十到一百万亿", "may belong to both"),
    ("three to five hundred", "may belong to both"), ("five to six hundred", "may belong to both"), ("five to twelve hundred", "may belong to both"), ("three to five thousand", "may belong to both"),
    ("three to five million", "may belong to both"), ("three to five billion", "may belong to both"),
    ("three to five trillion", "may belong to both"), ("ten to fifty thousand", "may belong to both"),
    ("ten to fifty million", "may belong to both"), ("three hundred to five hundred thousand", "may belong to both"),
    ("3–5 × 10^5", "may belong to both"), ("3–5e5", "may belong to both"), ("1 KB–2 s", "mixes the units B and s"),
    ("3 GB to 5", "only the first number has a unit"), ("2 倍到 3", "only the first number has a unit"),
    ("2–1", "does not run from low to high"), ("三十几到五十", "a range and an open number"), ("3–5 多", "an open number"),
    ("1 ± 0", "is not positive"), ("3 ± 0.0", "is not positive"), ("1 ± -1", "is not positive"),
    ("2 × 10^5K", "a power of ten and a magnitude"), ("10^5M", "a power of ten and a magnitude"), ("×3 倍", "both a multiple and"),
    ("×3%", "both a multiple and"), ("2 × 10^5K 倍", "a power of ten and a magnitude"), ("5± -1", "is not positive"),
    ("×3–5", "only the first number has a unit"), ("twofold to 3", "only the first number has a unit"),
    ("两成 到 三", "only the first number has a unit"), ("twice to 3", "only the first number has a unit"), ("manifold", "no number"),
    ("一一分之三", "cannot read"), ("三分之一一", "cannot read"), (",5 分之 1", "cannot read"), ("1/0", "divides by zero"), ("零分之一", "divides by zero"), ("0 分之 1", "divides by zero"),
    ("1.5/2", "not a fraction of two integers"), ("2024-01-05", "a date, a version or a chain"),
    ("1/2/3", "a date, a version or a chain"), ("1,23", "groups its digits wrongly"), ("01", "starts with a zero"),
    ("1,234\u00a0567", "mixes two thousands separators"), ("1.2.3", "more than one decimal point"),
    ("1" * 61, "more than 60 digits"), ("1" * 30 + "." + "1" * 31, "more than 60 digits"), ("1e351", "out of range"),
    ("1e-351", "out of range"), ("1e000001", "out of range"), ("10⁻³⁵¹", "out of range"), ("0,123", "groups its digits"),
    ("-三", "no number"), ("+half", "no number"), ("-- 3", "no number"), ("半数", "no number"), ("hundred", "no number"),
])  # fmt: skip
def test_what_is_no_quantity(text, why):
    with pytest.raises(ReadingError, match=why):
        read(text)


@pytest.mark.parametrize(("text", "value"), [
    ("1" * 60, int("1" * 60)), ("1e350", 10**350), ("1e-350", Fraction(1, 10**350)), ("1e00001", 10), ("2E+5", 200_000),
    ("10⁺³", 1000), ("10^{-3}", Fraction(1, 1000)), ("3 x 10^2", 300), ("3\\times 10^{2}", 300), ("3·10²", 300), ("3*10^2", 300),
    ("−10^3", -1000), ("10 × 10^3", 10_000), ("×10", 10), ("× 1.5", Fraction(3, 2)), ("+3", 3), ("3/1,000", Fraction(3, 1000)),
    ("百分之百", 1), ("百万分之百", Fraction(1, 10_000)), ("千分之五点五", Fraction(11, 2000)), ("12 分之 5", Fraction(5, 12)),
    ("1,200 分之 5", Fraction(1, 240)), ("百分之 61.65", Fraction(6165, 10_000)), ("三分之零", 0), ("十二分之五", Fraction(5, 12)),
    ("3‰", Fraction(3, 1000)), ("five percent", Fraction(1, 20)), ("thousand times", 1000), ("million-fold", 10**6),
])  # fmt: skip
def test_values(text, value):
    assert read(text).value == value


def test_grouped_digits():
    assert decimal("1,234.50") == (Fraction(12345, 10), 2) and decimal("1{,}234") == (1234, 0)
    assert decimal("1\\,234") == decimal("1\u00a0234") == (1234, 0) and decimal("0.5") == (Fraction(1, 2), 1)


@pytest.mark.parametrize(("text", "prose", "kind", "end"), [
    ("768 to 12,288", True, "one", 3), ("768 to 12,288", False, "range", 13), ("7–64 %", True, "range", 6),
    ("5-year", True, "one", 1), ("twenty-one-year", True, "one", 10), ("3.2 ± 0.1 ms", True, "±", 12), ("3 +/- 1", False, "±", 7),
    ("5–×7", False, "one", 1), ("5--7", False, "one", 1), ("5–", False, "one", 1), ("5 to", False, "one", 1),
    ("5 到七", False, "range", 4), ("5–七", True, "one", 1), ("5–七", False, "range", 3), ("5-seven", False, "one", 1),
    ("5 ± x", False, "one", 1),
])  # fmt: skip
def test_how_far_a_quantity_reaches(text, prose, kind, end):
    found = quantity_at(text, 0, prose)
    assert (found.kind, found.end) == (kind, end)
    assert quantity_at("ab" + text, 2, prose).end == end + 2


def test_nothing_is_no_quantity():
    assert [quantity_at(text, 0) for text in ("", "-", "×", "x", "- 5", "半数", "半数的")] == [None] * 7
    assert quantity_at("有半数的", 1) is None
