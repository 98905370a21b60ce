"""Number words against independent spellers written here, in both languages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.reading import read

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
