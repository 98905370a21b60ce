"""Scanning prose: ordinary sentences raise no alarm, a planted number always does, and no digit is missed."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.facts.allow import DATA, entries, is_allowed
from blocklib.facts.numerals import find_numerals

CORPUS = Path(__file__).parent / "corpus"
ORDINARY = [
    (lang, line)
    for lang in ("zh", "en")
    for line in (CORPUS / f"ordinary.{lang}.txt").read_text(encoding="utf-8").splitlines()
]
PLANTED = [json.loads(line) for line in (CORPUS / "planted.jsonl").read_text(encoding="utf-8").splitlines()]


def alarms(text: str, lang: str) -> list[str]:
    return [text[a:b] for a, b in find_numerals(text, lang) if not is_allowed(text, (a, b))]


def test_corpus_is_large():
    assert len(set(ORDINARY)) == len(ORDINARY) >= 220
    assert min(sum(lang == which for lang, _ in ORDINARY) for which in ("zh", "en")) >= 100
    assert len(PLANTED) >= 40


@pytest.mark.parametrize(("lang", "text"), ORDINARY, ids=[text for _, text in ORDINARY])
def test_ordinary_sentence_raises_no_alarm(lang, text):
    assert alarms(text, lang) == []


@pytest.mark.parametrize(("lang", "text", "span"), PLANTED, ids=[row[1] for row in PLANTED])
def test_planted_number_raises_the_alarm_with_its_span(lang, text, span):
    assert alarms(text, lang) == [span]


@pytest.mark.parametrize(("lang", "text", "found"), [
    ("en", "768 to 12,288 wide", ["768", "12,288"]), ("en", "½⅓", ["½", "⅓"]), ("en", "-5", ["-5"]), ("en", "−5 and +5", ["−5", "+5"]), ("en", "×3 of it", ["×3"]),
    ("en", "x-5", ["5"]), ("en", "x]-5", ["5"]), ("en", "(a)-5", ["5"]), ("en", "a ×3", ["×3"]), ("en", "a×3", ["3"]),
    ("zh", "共 three thousand 个，三千个", ["three thousand", "三千"]), ("zh", "三千个头", ["三千"]),
    ("zh", "几十个里有三千个", ["三千"]), ("zh", "一半和三千", ["一半", "三千"]), ("zh", "百万参数里有三千个", ["三千"]),
    ("zh", "前一半里有三千个", ["三千"]), ("zh", "两倍数与三倍", ["三倍"]), ("zh", "十多个人", []), ("zh", "十多万个人", ["十多万"]),
    ("zh", "分之与三分之一", ["三分之一"]), ("zh", "三分之一", ["三分之一"]), ("zh", "12 分之 5 与三分之二", ["12 分之 5", "三分之二"]),
    ("en", "two thousand five hundred of them and three million others", ["two thousand five hundred", "three million"]),
    ("en", "is twofold", []), ("en", "It was twofold", []), ("en", "twofold", ["twofold"]), ("en", "this twofold", ["twofold"]),
    ("en", "the half of it", []), ("en", "half of it", ["half"]), ("en", "In another half of it", []),
    ("en", "a third view", []), ("en", "a third of it", ["a third"]), ("en", "a half circle", ["a half"]),
])  # fmt: skip
def test_spans(lang, text, found):
    assert [text[a:b] for a, b in find_numerals(text, lang)] == found


def test_all_digits_of_a_numeral_lie_in_its_name():
    assert is_allowed("GPT-2 3", (4, 5)) == "a name" and is_allowed("GPT-2 3", (4, 7)) is None
    assert is_allowed("GPT-2 3", (5, 6)) is None and is_allowed("three", (0, 5)) is None


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_all_sentences_at_once_stay_quiet_and_planted_ones_stay_loud(lang):
    """Neighbouring sentences must not lend each other a reason."""
    text = "\n".join(line for which, line in ORDINARY if which == lang)
    assert alarms(text, lang) == []
    planted = [row for row in PLANTED if row[0] == lang]
    assert alarms("\n".join(row[1] for row in planted), lang) == [row[2] for row in planted]


@pytest.mark.parametrize(
    "text",
    [
        "GPT-2 has 1.5B parameters",
        "Table 2, 24 layers",
        "Fig. 1 and 24 layers",
        "图 3 和 24 层",
        "2017 年 65 个",
        "Python 3.11 and 12 tests",
        "Llama 2 has 32 layers",
        "after 2000 steps",
        "a width of 2000",
        "(1) 4,096",
        "RTX 4090 has 24 GB",
        "v2 holds 300 rows",
        "Section 3 lists 40 models",
        "step 3000",
        "in 2000 tokens",
        "表 2 倍",
        "Llama 13 layers",
        "2015 tokens",
        "May 3,000 blocks",
        "图 4096",
        "第 128 层",
        "24d layers of 4096",
        "Use 2000",
        "Layer-24",
        "width4096",
        "n=24",
        "T=2048",
        "see 24",
        "top 40",
        "12:1",
        "50x",
        "2000",
        "Depth 2000 层",
        "Only 2016 paths",
        "4.2 节省",
        "2048",
        "(2048)",
    ],
)
def test_a_name_lends_its_reason_to_nothing_else(text):
    assert alarms(text, "zh" if any("\u4e00" <= c <= "\u9fff" for c in text) else "en")


def test_every_entry_has_a_reason_and_is_used_by_an_ordinary_sentence():
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))["allow"]
    assert all(row["reason"] and row["patterns"] for row in rows)
    for reason, patterns in entries():
        for pattern in patterns:
            assert any(pattern.search(text) for _, text in ORDINARY), f"{reason}: no sentence for {pattern.pattern}"


@given(st.text(max_size=80), st.sampled_from(["zh", "en"]))
def test_every_digit_lies_in_exactly_one_span(text, lang):
    spans = find_numerals(text, lang)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(left.end <= right.start for left, right in zip(spans, spans[1:], strict=False))
    for i, char in enumerate(text):
        if char.isdecimal():
            assert any(a <= i < b for a, b in spans)


@given(
    st.text("0123456789,.- /:%×xeEKMBs万亿千百十一二三多半倍成分之GiT+½²⁻٣３，and\n\u00a0", max_size=60),
    st.sampled_from(["zh", "en"]),
)
def test_every_digit_lies_in_a_span_in_number_like_text(text, lang):
    spans = find_numerals(text, lang)
    assert all(left.end <= right.start for left, right in zip(spans, spans[1:], strict=False))
    for i, char in enumerate(text):
        assert not char.isdecimal() or any(a <= i < b for a, b in spans)
    for span in spans:
        is_allowed(text, span)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "3:1",
        "1.2.3",
        "1/0",
        "3%%",
        "5 GiB/s",
        "1e400",
        "٣",
        "x²",
        "10⁻⁶",
        "1,23",
        "12，345",
        "a\n1\nb",
        "2026-11-29",
    ],
)
def test_odd_texts(text):
    covered = {i for a, b in find_numerals(text, "zh") for i in range(a, b)}
    assert {i for i, char in enumerate(text) if char.isdecimal()} <= covered


def test_longest_match():
    cases = {
        "共 1.2 万亿个": "1.2 万亿",
        "有 3,000 多万人": "3,000 多万",
        "带宽 3.35 TB/s 左右": "3.35 TB/s",
        "降 −3.5 % 了": "−3.5 %",
        "16{,}777{,}216 条": "16{,}777{,}216",
        "用 8 GB 存": "8 GB",
        "是 4.7 \\times 10^{-6} 倍": "4.7 \\times 10^{-6} 倍",
        "三千二百多亿": "三千二百多亿",
    }
    for text, span in cases.items():
        assert [text[a:b] for a, b in find_numerals(text, "zh")] == [span]


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "1,",
        "1 ",
        "1\u00a0",
        "1-",
        "1/",
        "1.",
        "-",
        "一",
        "一百",
        "百分之",
        "one ",
        "half a ",
        "a-",
        "A1-",
        "He, ",
        "1 × ",
        "²",
        "aA",
    ],
)
def test_time_is_linear(unit):
    """Four times the text takes about four times the time; a quadratic scan would take sixteen."""

    def seconds(count: int) -> float:
        text = unit * count
        best = 9.0
        for _ in range(2):
            started = time.process_time()
            spans = find_numerals(text, "zh")
            is_allowed(text, spans[0] if spans else (0, 1))
            best = min(best, time.process_time() - started)
        return best

    assert seconds(6000) < 10 * seconds(1500) + 0.1


def test_a_page_is_scanned_in_milliseconds():
    text = ("\n".join(line for lang, line in ORDINARY if lang == "zh") + "\n") * 4
    started = time.process_time()
    find_numerals(text[:20_000], "zh")
    assert time.process_time() - started < 0.3
