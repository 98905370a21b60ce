"""Units of printed numbers: names, prefixes and quotients, each scaled to its base unit.

Base units: B (byte), bit, FLOP, token, s, W, Hz, and quotients of them such as ``B/s`` or ``FLOP/token``.
KB, MB, GB … are decimal, KiB, MiB, GiB … binary. Counted nouns (layers, paths) are no units.
"""

from __future__ import annotations

import re
from fractions import Fraction

from blocklib.facts.values import ReadingError

DECIMAL = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}


def _names() -> dict[str, tuple[str, Fraction]]:
    one = Fraction(1)
    names: dict[str, tuple[str, Fraction]] = {}
    for prefix, power in DECIMAL.items():
        names[prefix + "B"] = ("B", one * 1000**power)
        if prefix != "k":
            for flop in ("FLOP", "FLOPs"):
                names[prefix + flop] = ("FLOP", one * 1000**power)
    for prefix, power in BINARY.items():
        names[prefix + "B"] = ("B", one * 1024**power)
    for words, base, factor in (
        ("byte bytes 字节", "B", one),
        ("kilobyte kilobytes", "B", one * 1000),
        ("megabyte megabytes", "B", one * 1000**2),
        ("gigabyte gigabytes", "B", one * 1000**3),
        ("terabyte terabytes", "B", one * 1000**4),
        ("kibibyte kibibytes", "B", one * 1024),
        ("mebibyte mebibytes", "B", one * 1024**2),
        ("gibibyte gibibytes", "B", one * 1024**3),
        ("bit bits 比特", "bit", one),
        ("token tokens 词元", "token", one),
        ("s second seconds 秒 秒钟", "s", one),
        ("ms millisecond milliseconds 毫秒", "s", one / 1000),
        ("µs μs us microsecond microseconds 微秒", "s", one / 10**6),
        ("ns nanosecond nanoseconds 纳秒", "s", one / 10**9),
        ("min minute minutes 分钟", "s", one * 60),
        ("h hour hours 小时", "s", one * 3600),
        ("W watt watts 瓦", "W", one),
        ("kW kilowatt kilowatts 千瓦", "W", one * 1000),
        ("Hz", "Hz", one),
        ("kHz", "Hz", one * 1000),
        ("MHz", "Hz", one * 1000**2),
        ("GHz", "Hz", one * 1000**3),
    ):
        names.update((word, (base, factor)) for word in words.split())
    return names


NAMES = _names()
# One base unit may stand below the line; prefixes there (per ms) would only invite mistakes.
BELOW = {name: base for name, (base, factor) in NAMES.items() if factor == 1 and base in ("s", "token", "B", "FLOP")}


def _alternatives(names) -> str:
    bounded = []
    for name in sorted(names, key=len, reverse=True):
        bounded.append(re.escape(name) + ("(?![A-Za-z0-9_])" if name[-1].isascii() else ""))
    return "|".join(bounded)


# A slash that a letter follows must be a denominator we know; "5 GB/foo" is no 5 GB.
_UNIT = re.compile(
    rf"(?P<above>{_alternatives(NAMES)})(?:[ \u00a0]?/[ \u00a0]?(?P<below>{_alternatives(BELOW)})"
    rf"|[ \u00a0]per[ \u00a0](?P<per>{_alternatives(BELOW)})|(?!/[A-Za-z]))"
)


def unit_at(text: str, pos: int) -> tuple[int, str, Fraction, str] | None:
    """The unit that starts at ``pos``: (end, base unit, factor to it, the name before the quotient line), or None."""
    match = _UNIT.match(text, pos)
    if not match:
        return None
    base, factor = NAMES[match["above"]]
    below = match["below"] or match["per"]
    if below:
        base = f"{base}/{BELOW[below]}"
    return match.end(), base, factor, match["above"]


def parse_unit(name: str) -> tuple[str, Fraction]:
    """Base unit and factor of a unit's name (``"GiB"`` → ``("B", 2**30)``). Raises :class:`ReadingError`."""
    found = unit_at(name, 0)
    if found is None or found[0] != len(name):
        raise ReadingError(f"unknown unit {name!r}", remedy="units are listed in blocklib/facts/units.py")
    return found[1], found[2]


def spell(base: str) -> tuple[str, str]:
    """``base`` split at its quotient line: ``"B/s"`` → ``("B", "/s")``."""
    above, line, below = base.partition("/")
    return above, line + below
