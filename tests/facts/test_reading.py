"""Reading: a corpus typed by hand, the refusals, the command line, and texts that nobody would print."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.cli import main
from blocklib.facts.reading import LONGEST, ReadingError, read, read_main, to_json
from blocklib.facts.values import Range

CORPUS = Path(__file__).parent / "corpus"
NUMBERS = [json.loads(line) for line in (CORPUS / "numbers.jsonl").read_text(encoding="utf-8").splitlines()]
REFUSED = [json.loads(line) for line in (CORPUS / "refused.jsonl").read_text(encoding="utf-8").splitlines()]


def test_corpus_is_large_and_without_repetition():
    assert len({row[0] for row in NUMBERS}) == len(NUMBERS) >= 150
    assert len({row[0] for row in REFUSED}) == len(REFUSED) >= 45
    assert not {row[0] for row in NUMBERS} & {row[0] for row in REFUSED}


@pytest.mark.parametrize(("text", "value", "unit", "relation", "resolution"), NUMBERS, ids=[row[0] for row in NUMBERS])
def test_printed_number(text, value, unit, relation, resolution):
    reading = read(text)
    if isinstance(value, list):
        assert reading.value == Range(Fraction(value[0]), Fraction(value[1]))
    else:
        assert reading.value == Fraction(value)
    assert (reading.unit, reading.relation, reading.resolution) == (unit, relation, Fraction(resolution))


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[row[1] + ": " + row[0] for row in REFUSED])
def test_refused(text, why):
    with pytest.raises(ReadingError) as caught:
        read(text)
    assert len(str(caught.value)) > 10


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("312 TFLOPS", "FLOP/s"),
        ("124 M", "124M"),
        ("5B/s", "space before B"),
        ("3 兆", "万亿"),
        ("1 234", "comma"),
        ("1,23", "12,345"),
        ("24 layers", "outside the link"),
        ("5.", "full stop"),
    ],
)
def test_refusal_says_what_to_write(text, hint):
    with pytest.raises(ReadingError) as caught:
        read(text)
    assert hint in str(caught.value)


def test_what_is_too_long_and_what_is_left_over():
    for length, why in ((LONGEST, "no number"), (LONGEST + 1, f"{LONGEST + 1} characters are too long")):
        with pytest.raises(ReadingError, match=why):
            read("x" * length)
    assert LONGEST == 240 and "Printed" not in repr(read("1–2"))


@pytest.mark.parametrize("text, why", [
    ("about 5 or more", "two relations, 'about' and 'or more'"), ("over 3–5", "does not go with a range"),
    ("over 3 ± 1", "does not go with a range"), ("over 3,000 多", "two relations at once"), ("overfive", "no number"),
    ("abouta third", "no number"), ("2 × 10^5K", "a power of ten and a magnitude"),
])  # fmt: skip
def test_relations_that_do_not_go(text, why):
    with pytest.raises(ReadingError, match=why):
        read(text)


def test_english_pages_print_no_chinese():
    assert read("80.3 亿", "zh").value == 8_030_000_000
    with pytest.raises(ReadingError, match="亿"):
        read("80.3 亿", "en")
    assert read("8.03B", "zh").value == 8_030_000_000


def test_open_relations_know_their_far_end():
    assert (read("三千多倍").bound, read("3,200 多").bound, read("三千多万").bound) == (4000, 3300, 40_000_000)
    assert read("nearly 17 million").bound == 16_000_000
    assert read("just over 3,000").bound == 4000
    assert read("over 3,000").bound is None


def test_tolerance():
    assert read("3.2 ± 0.1 ms").noise == Fraction(1, 10_000)
    assert to_json(read("3.2 ± 0.1"))["tolerance"] == 0.1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,678 万", 16780000),
        ("61.6%", 0.616),
        ("15.8 ms", 0.0158),
        ("1/8", 0.125),
        ("1/3", "1/3"),
        ("0.12345678901234567890", "0.1234567890123456789"),
        ("7–64 %", [0.07, 0.64]),
        ("1e300", 10**300),
        ("9,007,199,254,740,993", 9007199254740993),
        ("1.5", 1.5),
        ("2.0", 2),
    ],
)
def test_json_values_are_exact(text, value):
    got = to_json(read(text))["value"]
    assert got == value and type(got) is type(value)
    assert json.loads(json.dumps(got)) == value


def test_command_line_single(capsys):
    assert read_main(["1,678 万"]) == 0
    assert capsys.readouterr().out == '{"value": 16780000, "unit": null, "relation": "=", "resolution": 10000}\n'
    assert read_main(["1,678", "万"]) == 0
    assert read_main(["-3"]) == 0
    capsys.readouterr()
    assert read_main(["1,23"]) == 1
    assert "wrongly" in json.loads(capsys.readouterr().out)["error"]
    assert main(["read"]) == 2
    capsys.readouterr()
    assert read_main(["五层"]) == 1 and "五层" in capsys.readouterr().out


def test_command_line_stream(monkeypatch, capsys):
    lines = "128 KiB\n\n1.2.3\r\n80.3 亿"
    stdin = io.TextIOWrapper(io.BytesIO(lines.encode()), encoding="latin-1")
    stdout = io.TextIOWrapper(buffer := io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    assert read_main(["-"]) == 0
    assert buffer.getvalue().count(b"\n") == 4  # each line is answered at once
    rows = [json.loads(line) for line in buffer.getvalue().decode().splitlines()]
    assert [row.get("value", "error") for row in rows] == [131072, "error", "error", 8030000000]
    assert rows[0]["unit"] == "B"


def test_command_line_in_a_bare_locale():
    done = subprocess.run(
        [sys.executable, "-m", "blocklib", "read", "-"],
        input="约 1,680 万\n\xff\n".encode() + b"\xff\n",
        capture_output=True,
        env={"PATH": "/usr/bin", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0 and not done.stderr
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert rows[0]["relation"] == "~" and "error" in rows[1] and "error" in rows[2]


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        json.dumps(to_json(read(text)))
    except ReadingError:
        pass


@given(st.text("0123456789,. {}\\+-−–~%‰×/^eEKMBTs万亿千百多约分之一二三十半零 to\u00a0\u202f２，．⁻⁶½", max_size=16))
def test_any_text_of_number_characters_is_read_or_refused(text):
    try:
        reading = read(text)
    except ReadingError:
        return
    assert reading.resolution >= 0
    json.dumps(to_json(reading))


@given(st.integers(-(10**18), 10**18))
def test_grouping_of_every_kind_reads_as_the_integer(number):
    plain = f"{number:,}"
    for separator in (",", "\u00a0", "\u202f", "\u2009", "{,}", ""):
        assert read(plain.replace(",", separator)).value == number
    assert read(plain.replace("-", "−").translate({ord("0") + i: 0xFF10 + i for i in range(10)})).value == number


@given(st.integers(1, 10**8), st.integers(0, 6))
def test_decimal_point_against_python_decimals(number, places):
    from decimal import Decimal

    text = format(Decimal(number).scaleb(-places), f",.{places}f")
    reading = read(text)
    assert reading.value == Fraction(Decimal(number).scaleb(-places))
    assert reading.resolution == Fraction(1, 10**places)


def test_huge_inputs_are_refused_quickly():
    started = time.process_time()
    for text in (
        "1" * 10**5,
        "1," * 10**5,
        "一" * 10**5,
        "one " * 10**5,
        "-" * 10**5,
        "1 × " * 10**5,
        "10^" + "9" * 200,
        "1e" + "9" * 200,
        "1" * LONGEST,
        "9" * 100,
        "1/" + "9" * 200,
    ):
        with pytest.raises(ReadingError):
            read(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_terminal_gets_its_answer(encoding):
    call = [sys.executable, "-m", "blocklib", "read"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    refused = subprocess.run([*call, "五层"], capture_output=True, env=env, check=False)
    assert refused.returncode == 1 and "五层" in json.loads(refused.stdout)["error"]
    lines = subprocess.run([*call, "-"], input=b"\xef\xbb\xbf5\n\xff\n", capture_output=True, env=env, check=True)
    assert [*map(len, map(json.loads, lines.stdout.splitlines()))] == [4, 1] and not lines.stderr
