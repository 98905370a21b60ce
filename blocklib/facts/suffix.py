"""What stands after the digits: magnitude, 多, then a percent sign, a multiple or a unit, as one exact factor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from blocklib.facts.units import unit_at
from blocklib.facts.words import ZH_MAGNITUDE

_GAP = "[ \u00a0]?"


@dataclass(frozen=True)
class Suffix:
    """Magnitude, percent or multiple mark and unit after the digits, as one factor to the base unit."""

    end: int
    factor: Fraction = Fraction(1)
    unit: str | None = None
    given: bool = False
    more: bool = False


_ATTACHED = re.compile(r"([KkMBT])(?![A-Za-z0-9_/])")
_ATTACHED_SCALE = {"K": 10**3, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_ZH_MAG = re.compile(f"{_GAP}(?P<mid>[多余]{_GAP})?(?P<mag>万亿|千亿|百亿|千万|百万|万|亿|千(?!瓦)|百(?!分))(?![万亿])")
_EN_MAG = re.compile(r"[ \u00a0-]?(hundred|thousand|million|billion|trillion)(?![A-Za-z])", re.I)
_EN_SCALE = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MORE = re.compile(f"{_GAP}(?:[多](?!头|项|模|任|语|样|元|少|于|达)|余(?!弦|数|额|下|项)|-odd(?![A-Za-z]))")
_SHARE = re.compile(rf"{_GAP}(?:%|percentage points?(?![A-Za-z])|per ?cent(?![A-Za-z])|个百分点)(?!{_GAP}[%‰])")
_MILLE = re.compile(rf"{_GAP}(?:‰|per ?mille?(?![A-Za-z]))(?!{_GAP}[%‰])")
FOLD = re.compile(
    rf"(?:{_GAP}倍|{_GAP}×(?!{_GAP}[0-9A-Za-z])|[ \u00a0-]?fold(?![A-Za-z])|[ \u00a0]times(?![A-Za-z])|"
    "x(?![A-Za-z0-9_]))"
)


def suffix_at(text: str, pos: int, mantissa_in_words: bool, more: bool) -> Suffix:
    """Magnitude (三千多万: the 多 may stand before it), then 多, then percent, multiple or unit. Attached ``B`` is billion, after a space it is byte."""
    factor, given, unit = Fraction(1), False, None
    match = None if mantissa_in_words else _ATTACHED.match(text, pos)
    if match:
        factor, pos, given = Fraction(_ATTACHED_SCALE[match[1]]), match.end(), True
    elif match := _ZH_MAG.match(text, pos):
        if not mantissa_in_words or match["mid"] or more:
            factor, pos, given = Fraction(ZH_MAGNITUDE[match["mag"]]), match.end(), True
            more = more or bool(match["mid"])
    elif not mantissa_in_words and (match := _EN_MAG.match(text, pos)):
        factor, pos, given = Fraction(_EN_SCALE[match[1].lower()]), match.end(), True
    if not more and (match := MORE.match(text, pos)):
        more, pos = True, match.end()
    if match := _SHARE.match(text, pos):
        return Suffix(match.end(), factor / 100, None, True, more)
    if match := _MILLE.match(text, pos):
        return Suffix(match.end(), factor / 1000, None, True, more)
    if match := FOLD.match(text, pos):
        return Suffix(match.end(), factor, None, True, more)
    start = pos + 1 if pos < len(text) and text[pos] in " -\u00a0" else pos
    if pos == start or text[pos] != "-" or mantissa_in_words:
        found = unit_at(text, start)
        # "8.03B" is a count of billions; "8.03B/s" could be either and is left over.
        if found and not (start == pos and found[3] == "B" and not given):
            return Suffix(found[0], factor * found[2], found[1], True, more)
    return Suffix(pos, factor, unit, given, more)
