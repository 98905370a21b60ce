"""Number words against independent spellers written here, in both languages."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.reading import ReadingError, read
from blocklib.facts.words import chinese as chinese_run
from blocklib.facts.words import chinese_at, english_at

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def english(n: int, conjunction: str = "") -> str:
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")
    for size, name in (
        (10**12, "trillion"),
        (10**9, "billion"),
        (10**6, "million"),
        (1000, "thousand"),
        (100, "hundred"),
    ):
        if n >= size:
            rest = n % size
            joint = " " + conjunction if rest and (size == 100 or rest < 100) else " "
            return english(n // size, conjunction) + " " + name + (joint + english(rest, conjunction) if rest else "")
    raise AssertionError


def chinese(n: int) -> str:
    digits = "零一二三四五六七八九"
    if n < 10:
        return digits[n]
    for size, name in ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if n >= size:
            head, rest = divmod(n, size)
            zero = "零" if rest and rest < size // 10 else ""
            return chinese(head) + name + (zero + chinese(rest) if rest else "")
    raise AssertionError


@given(st.one_of(st.integers(0, 2000), st.integers(0, 10**14)))
def test_english_words(n):
    assert read(english(n)).value == n
    assert read(english(n, "and ").capitalize()).value == n


@given(st.one_of(st.integers(0, 20000), st.integers(0, 10**12 - 1)))
def test_chinese_words(n):
    assert read(chinese(n)).value == n
    assert read(chinese(n).replace("一十", "十", 1) if chinese(n).startswith("一十") else chinese(n)).value == n


ORDINALS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "fifteenth": 15, "sixteenth": 16, "twentieth": 20, "hundredth": 100,
    "thousandth": 1000, "millionth": 1_000_000, "billionth": 1_000_000_000, "trillionth": 1_000_000_000_000,
    "ten-thousandth": 10_000, "hundred-thousandth": 100_000, "ten millionth": 10_000_000,
}  # fmt: skip


@pytest.mark.parametrize(("word", "n"), ORDINALS.items())
def test_parts_in_words(word, n):
    place = Fraction(1, n) if n >= 100 else 0
    one, three = (
        read(f"{'' if word == 'half' else 'one '}{word}"),
        read(f"three {'halve' if word == 'half' else word}s"),
    )
    assert (one.value, one.resolution, three.value, three.resolution) == (Fraction(1, n), place, Fraction(3, n), place)
    for text in (f"three {word}", f"one {'halve' if word == 'half' else word}s", f"zero {word}s"):
        with pytest.raises(ReadingError):
            read(text)


# Value, smallest place named, and whether the words state it exactly (spoken decimals are rounded like printed ones).
SPOKEN = [
    ("twice", 2, 1, True), ("thrice", 3, 1, True), ("zero", 0, 1, True), ("zero point five", "1/2", "1/10", False),
    ("two point five", "5/2", "1/10", False), ("two point two five", "9/4", "1/100", False),
    ("one point six million", 1_600_000, 100_000, False), ("one and a half", "3/2", "1/2", True),
    ("two and a quarter million", 2_250_000, 250_000, True), ("one and a third", "4/3", "1/3", True),
    ("half a million", 500_000, 500_000, True), ("a hundred and five", 105, 1, True), ("twelve hundred", 1200, 100, True),
    ("hundred-fold", 100, 100, True), ("thousandfold", 1000, 1000, True), ("twofold", 2, 1, True),
    ("five thousand and six", 5006, 1, True), ("one point" + " one" * 38, Fraction(10**39 // 9, 10**38), Fraction(1, 10**38), False),
    ("零", 0, 1, True), ("〇", 0, 1, True), ("两", 2, 1, True), ("零点五", "1/2", "1/10", False),
    ("三点二五", "13/4", "1/100", False), ("三点〇五", "61/20", "1/100", False), ("三点二亿", 320_000_000, 10_000_000, False),
    ("三点二五万", 32_500, 100, False), ("一千〇五十", 1050, 1, True), ("一千五百", 1500, 100, True), ("一万一十", 10_010, 1, True),
    ("十万零四百零一", 100_401, 1, True), ("一亿零二千", 100_002_000, 1000, True), ("三百亿", 30_000_000_000, 10_000_000_000, True),
    ("百亿分之一", Fraction(1, 10**10), Fraction(1, 10**10), False), ("3 百亿", 3 * 10**10, 10**10, False),
    ("3 千亿", 3 * 10**11, 10**11, False), ("一千亿", 10**11, 10**11, True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "place", "exact"), SPOKEN, ids=[row[0][:30] for row in SPOKEN])
def test_what_words_state(text, value, place, exact):
    reading = read(text)
    assert (reading.value, reading.resolution) == (Fraction(value), Fraction(place))
    assert reading.parts[0].strict is exact


@pytest.mark.parametrize("text", [
    "half a", "hundred third", "thousand quarter", "zero thousand", "zero and five", "one ten-hundredth", "twenty ten",
    "five thousand and", "five thousand six thousand", "five thousand ten hundred", "one point ten", "one point",
    "one point" + " one" * 39, "a", "an", "a two", "一一点五", "三点", "三点五千万亿", "一亿亿", "十万万", "一万万", "一万一千万",
    "零万", "零五", "一万零", "一万五五", "一万五", "一千零零五", "一千零五百", "一百零五十", "一百五", "十两", "二百两",
    "三点" + "一" * 39,
])  # fmt: skip
def test_words_that_are_no_number(text):
    with pytest.raises(ReadingError):
        read(text)


def test_the_number_ends_where_its_words_end():
    word = english_at("five thousand and more", 0)
    assert (word.value, word.end) == (5000, 13)
    assert english_at("half a model", 0).end == 4 and english_at("a model", 0) is None
    assert (english_at("a million", 0).value, english_at("a third of it", 0).value) == (10**6, Fraction(1, 3))


def test_a_run_of_forty_characters_is_the_longest_wherever_it_stands():
    run = "三点" + "一" * 38
    for before in ("", "大约", "大" * 60):
        assert chinese_at(before + run, len(before)).end == len(before) + 40
        assert chinese_at(before + run + "一", len(before)) is None


def test_nothing_of_ten_thousand_is_nothing():
    assert [chinese_run(run) for run in ("零万", "零亿", "亿", "万")] == [None] * 4
