"""Units against a table written here from the definitions of the prefixes, and one base unit below the line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.facts.reading import read
from blocklib.facts.units import NAMES, parse_unit, spell
from blocklib.facts.values import ReadingError

# SI prefixes as powers of ten (the kilo of bytes also as K), IEC prefixes as powers of two.
SI = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
IEC = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
IN_WORDS = {
    "byte bytes 字节": ("B", "1"), "kilobyte kilobytes": ("B", "1e3"), "megabyte megabytes": ("B", "1e6"),
    "gigabyte gigabytes": ("B", "1e9"), "terabyte terabytes": ("B", "1e12"), "kibibyte kibibytes": ("B", "1024"),
    "mebibyte mebibytes": ("B", "1048576"), "gibibyte gibibytes": ("B", "1073741824"), "bit bits 比特": ("bit", "1"),
    "token tokens 词元": ("token", "1"), "s second seconds 秒 秒钟": ("s", "1"),
    "ms millisecond milliseconds 毫秒": ("s", "1e-3"), "µs μs us microsecond microseconds 微秒": ("s", "1e-6"),
    "ns nanosecond nanoseconds 纳秒": ("s", "1e-9"), "min minute minutes 分钟": ("s", "60"),
    "h hour hours 小时": ("s", "3600"), "W watt watts 瓦": ("W", "1"), "kW kilowatt kilowatts 千瓦": ("W", "1e3"),
    "Hz": ("Hz", "1"), "kHz": ("Hz", "1e3"), "MHz": ("Hz", "1e6"), "GHz": ("Hz", "1e9"),
}  # fmt: skip
TABLE = {word: (base, Fraction(factor)) for words, (base, factor) in IN_WORDS.items() for word in words.split()}
TABLE |= {f"{prefix}B": ("B", Fraction(10**power)) for prefix, power in SI.items()}
TABLE |= {f"{prefix}B": ("B", Fraction(2**power)) for prefix, power in IEC.items()} | {"B": ("B", Fraction(1))}
TABLE |= {f"{p}{flop}": ("FLOP", Fraction(10**power)) for p, power in ({"": 0} | SI).items() if p != "k"
          for flop in ("FLOP", "FLOPs")}  # fmt: skip


def test_every_name_and_no_other():
    assert NAMES == TABLE


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_unit_alone_and_behind_a_number(name):
    base, factor = TABLE[name]
    assert parse_unit(name) == (base, factor)
    reading = read(f"7 {name}")
    assert (reading.value, reading.unit) == (7 * factor, base)


@pytest.mark.parametrize(("text", "value", "unit"), [
    ("5 GB/s", 5 * 10**9, "B/s"), ("5 GB per second", 5 * 10**9, "B/s"), ("3 MFLOPs/token", 3 * 10**6, "FLOP/token"),
    ("2 tokens / s", 2, "token/s"), ("2 FLOP/byte", 2, "FLOP/B"), ("4 KiB/词元", 4096, "B/token"), ("9 W/s", 9, "W/s"),
])  # fmt: skip
def test_quotients(text, value, unit):
    assert (read(text).value, read(text).unit) == (value, unit)


@pytest.mark.parametrize(
    "text", ["5 GB/ms", "5 GB/GB", "5 tokens/kB", "5 B/W", "5 B/foo", "5 µsx", "5 μs2", "5 Bs", "5 minx"]
)
def test_no_prefix_below_the_line_and_no_letter_behind(text):
    with pytest.raises(ReadingError):
        read(text)


@pytest.mark.parametrize("name", ["", "parsec", "GiB ", " GiB", "B/s/s", "xB", "B/GB"])
def test_what_is_no_unit(name):
    with pytest.raises(ReadingError, match="unknown unit"):
        parse_unit(name)


def test_the_quotient_line_splits():
    assert spell("B/s") == ("B", "/s") and spell("token") == ("token", "")
    assert parse_unit("TFLOP/s") == ("FLOP/s", 10**12)
