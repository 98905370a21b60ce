"""The grammar of one printed quantity, shared by reading (a whole link text) and by scanning (running prose).

A quantity is an item, a range of two items or an item ± an item; an item is a sign, digits or number words, a
magnitude, and a percent sign, a multiple or a unit. Everything works on text that :func:`normalise` has mapped
one character to one, so positions hold in the original. Each pattern is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from blocklib.facts.suffix import FOLD, Suffix, suffix_at
from blocklib.facts.values import ReadingError
from blocklib.facts.words import ZH_MAGNITUDE, chinese, chinese_at, english_at

NBSP = "\u00a0"
_MAP = {0xFF01 + i: 0x21 + i for i in range(94)}
# In Chinese text full-width punctuation separates clauses: only signs that live inside a number are mapped.
for _kept in "，（）：；！？＂＇［］｛｝":
    _MAP.pop(ord(_kept))
_MAP |= {ord(c): ord("-") for c in "−－"} | {ord(c): ord(NBSP) for c in "\u2009\u202f\u2007\u3000\n\t\r"}
_MAP |= {ord("∼"): ord("~"), ord("μ"): ord("µ"), ord("⁄"): ord("/")}
_FULL_COMMA = re.compile("(?<=[０-９])，(?=[０-９]{3}(?![０-９]))")
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
VULGAR = {
    "½": (1, 2),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅕": (1, 5),
    "⅖": (2, 5),
    "⅗": (3, 5),
    "⅘": (4, 5),
    "⅙": (1, 6),
    "⅚": (5, 6),
    "⅛": (1, 8),
    "⅜": (3, 8),
    "⅝": (5, 8),
    "⅞": (7, 8),
    "⅒": (1, 10),
}


def normalise(text: str) -> str:
    """Full-width digits and signs, minus signs and odd spaces as their plain forms; the length stays."""
    if text.isascii():
        return text.replace("\n", NBSP).replace("\t", NBSP).replace("\r", NBSP)
    return _FULL_COMMA.sub(",", text).translate(_MAP)


@dataclass(frozen=True)
class Printed:
    """One number as it stands on the page.

    ``value`` = mantissa × ``factor``; ``resolution`` is one unit in its last printed place and ``rough`` one unit in
    its last place that is not zero (for a fraction, a tenth of it). ``strict``: an integer printed in full, a number in
    words, a fraction: nothing was rounded. ``digits`` is where the digits stand, ``decimals`` how many follow the
    point (None for words and fractions).
    """

    value: Fraction
    resolution: Fraction
    rough: Fraction
    strict: bool
    factor: Fraction
    decimals: int | None
    digits: tuple[int, int]
    unit: str | None
    scientific: bool = False


@dataclass(frozen=True)
class Item:
    """An item before its suffix is settled: in ``7–64 %`` the left one takes the right one's."""

    mantissa: Fraction
    place: Fraction
    strict: bool
    decimals: int | None
    digits: tuple[int, int]
    end: int
    suffix: Suffix
    fraction: bool = False
    scientific: bool = False
    more: bool = False

    def printed(self) -> Printed:
        """The number as printed: value, resolution and what rounding it claims."""
        factor = self.suffix.factor
        value, resolution = self.mantissa * factor, self.place * factor
        strict = self.strict and factor == 1
        if self.fraction:
            rough = abs(value) / 10
            return Printed(value, resolution, rough, self.strict, factor, self.decimals, self.digits, self.suffix.unit)
        rough = last_nonzero(self.mantissa) if self.mantissa.denominator == 1 and not self.decimals else self.place
        return Printed(
            value,
            resolution,
            max(rough * factor, resolution) if self.scientific else rough * factor,
            strict,
            factor,
            self.decimals,
            self.digits,
            self.suffix.unit,
            self.scientific,
        )


@dataclass(frozen=True)
class Quantity:
    """``kind``: "one", "range" or "±". ``more``: 三千多, three thousand-odd."""

    kind: str
    parts: tuple[Printed, ...]
    end: int
    more: bool = False


def last_nonzero(value: Fraction) -> Fraction:
    """The power of ten of the last non-zero digit of an integer; 1 for zero."""
    number, place = abs(value.numerator), 1
    while number and number % 10 == 0:
        number, place = number // 10, place * 10
    return Fraction(place)


_BLOB = re.compile(r"[0-9]+(?:(?:,|\{,\}|\\,)[0-9]+|\u00a0[0-9]{3}(?![0-9]))*(?:\.[0-9]+)*")
_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
CHAIN = re.compile(r"[0-9]+([-/:])[0-9]+(?:\1[0-9]+)+")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)(?![0-9A-Za-z_]|\.[0-9])")
_POWER = re.compile(
    r"(?P<times>[ \u00a0]*(?:×|x|\*|·|⋅|\\times|\\cdot)[ \u00a0]*)?"
    r"10(?:\^\{([+-]?[0-9]+)\}|\^([+-]?[0-9]+)|([⁺⁻]?[⁰¹²³⁴-⁹]+))"
)
_GAP = "[ \u00a0]?"
_OVER = re.compile(r"/([0-9]+(?:,[0-9]{3})*)(?![0-9.,]*[0-9]|/[0-9])")
_TIMES = re.compile(f"×{_GAP}(?=[0-9])")
_TENTHS = re.compile(f"{_GAP}成(?:(?=多|左右|以[上下]|[的。，；、,.;)）% ]|$))")
_ENGLISH_FOLD = re.compile(r"([A-Za-z]+?)fold(?![A-Za-z])")
_BARE = re.compile(r"hundred|thousand|million|billion|trillion", re.I)
ZH_PARTS = re.compile(
    f"(?P<bottom>[0-9,]+|[零〇一二两三四五六七八九十百千万亿]+){_GAP}分之{_GAP}"
    "(?P<top>[0-9]+(?:\\.[0-9]+)?|[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?)"
)


NO_SUFFIX = Suffix(0)  # until it is looked for


def _part(value: Fraction, digits: tuple[int, int], end: int, suffix: Suffix = NO_SUFFIX) -> Item:
    """A fraction: exact, without a last place."""
    return Item(value, Fraction(0), True, None, digits, end, suffix, fraction=True)


def item_at(text: str, pos: int) -> Item | None:
    """The item that starts at ``pos``. None: nothing starts there. Raises :class:`ReadingError` for a bad one."""
    sign, start = 1, pos
    if text[pos : pos + 1] in ("-", "+"):
        sign, pos = (-1 if text[pos] == "-" else 1), pos + 1
    match = _TIMES.match(text, pos)
    times, pos = bool(match), match.end() if match else pos
    char = text[pos : pos + 1]
    if not char or (pos > start and not (char.isascii() and char.isdigit()) and char not in VULGAR):
        return None
    if char in VULGAR:
        item = _part(Fraction(*VULGAR[char]), (pos, pos + 1), pos + 1)
    elif match := ZH_PARTS.match(text, pos):
        item = _zh_parts(match)
    elif "0" <= char <= "9":
        item = _digits(text, pos)
    else:
        item = _words(text, pos)
        if item is None:
            return None
    item = replace(item, mantissa=sign * item.mantissa)
    if item.suffix.given:  # 百分之: the share stands before its number
        return item
    suffix = suffix_at(text, item.end, item.decimals is None, item.more)
    if item.scientific and suffix.given and not suffix.unit and text[item.end : item.end + 1] in tuple("KkMBT"):
        raise ReadingError(f"{text[start : suffix.end]!r} has a power of ten and a magnitude")
    if times and suffix.given:
        raise ReadingError(f"{text[start : suffix.end]!r} is both a multiple and something else")
    return replace(item, suffix=replace(suffix, given=True) if times else suffix, end=suffix.end, more=suffix.more)


def _digits(text: str, pos: int) -> Item:
    if match := CHAIN.match(text, pos):
        raise ReadingError(f"{match[0]!r} is a date, a version or a chain, not one number")
    match = _POWER.match(text, pos)
    if match and not match["times"]:
        return _scientific(Fraction(1), Fraction(1), 0, match, (pos, match.end()))
    match = _BLOB.match(text, pos)
    blob, end = match[0], match.end()
    mantissa, decimals = decimal(blob)
    place = Fraction(1, 10**decimals)
    if end < len(text) and text[end] in VULGAR and not decimals:
        value = mantissa + Fraction(*VULGAR[text[end]])
        return _part(value, (pos, end + 1), end + 1)
    if match := _EXPONENT.match(text, end):
        return _scientific(mantissa, place, decimals, match, (pos, match.end()))
    if (match := _POWER.match(text, end)) and match["times"]:
        return _scientific(mantissa, place, decimals, match, (pos, match.end()))
    if match := _OVER.match(text, end):
        bottom, more = decimal(match[1])
        if not bottom:
            raise ReadingError(f"{text[pos : match.end()]!r} divides by zero")
        if decimals:
            raise ReadingError(f"{text[pos : match.end()]!r} is not a fraction of two integers")
        end = match.end()
        return _part(mantissa / bottom, (pos, end), end)
    return Item(mantissa, place, not decimals, decimals, (pos, end), end, NO_SUFFIX)


def decimal(blob: str) -> tuple[Fraction, int]:
    """Value and number of decimals of grouped or plain digits. Raises :class:`ReadingError` for wrong grouping."""
    seps = set(re.findall(r"\{,\}|\\,|,|\u00a0", blob))
    plain = blob.replace("{,}", ",").replace("\\,", ",").replace(NBSP, ",")
    if len(seps) > 1:
        raise ReadingError(f"{blob!r} mixes two thousands separators")
    if blob.count(".") > 1:
        raise ReadingError(f"{blob!r} has more than one decimal point: a version or a date is not a number")
    if not (_GROUPED if seps else _PLAIN).fullmatch(plain):
        what = "groups its digits wrongly" if seps else "starts with a zero"
        raise ReadingError(f"{blob!r} {what}", remedy="write 12,345 or 0.5")
    whole, _, fraction = plain.replace(",", "").partition(".")
    if len(whole) + len(fraction) > 60:
        raise ReadingError("more than 60 digits", remedy="write it in scientific notation")
    return Fraction(int(whole + fraction), 10 ** len(fraction)), len(fraction)


def _scientific(mantissa, place, decimals, match, digits) -> Item:
    written = next(filter(None, match.groups()[::-1] if match.re is _POWER else match.groups()))
    if len(written) > 5 or abs(power := int(written.translate(SUPERSCRIPT))) > 350:
        raise ReadingError(f"the exponent {written} is out of range (±350)")
    scale = Fraction(10) ** power
    return Item(mantissa * scale, place * scale, False, decimals, digits, match.end(), NO_SUFFIX, scientific=True)


def _words(text: str, pos: int) -> Item | None:
    char = text[pos]
    if text.startswith("半数", pos):
        return None
    if text.startswith("一半", pos) or char == "半":
        end = pos + (2 if char == "一" else 1)
        return _part(Fraction(1, 2), (pos, end), end)
    if char.isascii():
        if fold := _ENGLISH_FOLD.match(text, pos):
            word = english_at(fold[1], 0, True)
            if word and word.end == len(fold[1]):
                end = fold.end()
                return Item(word.value, word.place, True, None, (pos, fold.end(1)), end, Suffix(end, given=True))
        word = english_at(text, pos, bare=True)
        # A bare "thousand" is only a number where it multiplies: thousand-fold, thousand times.
        if word and _BARE.match(text, pos) and not FOLD.match(text, word.end):
            return None
    else:
        word = chinese_at(text, pos)
        if word and (match := _TENTHS.match(text, word.end)):
            tenth, end = Fraction(1, 10), match.end()
            return Item(word.value * tenth, tenth, False, None, (pos, word.end), end, Suffix(end, given=True))
    if not word:
        return None
    if word.kind == "times":
        return Item(word.value, word.place, True, None, (pos, word.end), word.end, Suffix(word.end, given=True))
    tail = text[word.end : word.end + 1]
    more = tail == "几" and text[word.end - 1] == "十"
    end = word.end + more
    exact = word.exact and word.kind in ("cardinal", "fraction")
    return Item(
        word.value,
        word.place,
        exact,
        None,
        (pos, word.end),
        end,
        NO_SUFFIX,
        fraction=word.kind == "fraction",
        more=more,
    )


def _zh_parts(match: re.Match) -> Item:
    """百分之五 · 三分之二 · 百万分之五 · 百分之 61.6. Hundredths and finer read like a printed share, rounded."""
    bottom, top = match["bottom"], match["top"]
    if bottom in ZH_MAGNITUDE:
        below = Fraction(ZH_MAGNITUDE[bottom])
    elif bottom[0].isascii():
        below = decimal(bottom)[0]
    else:
        below = (chinese(bottom) or (None,))[0]
    if top in ZH_MAGNITUDE:
        above, place = Fraction(ZH_MAGNITUDE[top]), Fraction(1)
    elif top[0].isascii():
        above, decimals = decimal(top)
        place = Fraction(1, 10**decimals)
    else:
        above, place = chinese(top) or (None, None)
    if above is None or below is None:
        raise ReadingError(f"cannot read {match[0]!r}")
    if not below:
        raise ReadingError(f"{match[0]!r} divides by zero")
    span, settled = match.span(), Suffix(match.end(), given=True)
    if bottom in ZH_MAGNITUDE:
        return Item(above / below, place / below, False, None, span, match.end(), settled)
    return _part(above / below, span, match.end(), settled)


_RANGE = re.compile(r"[–‒~～-]")
_RANGE_WORD = re.compile(r"[ \u00a0](?:to|–|~)[ \u00a0]|[ \u00a0]?[到至][ \u00a0]?")
_PM = re.compile(r"[ \u00a0]?(?:±|\+/-|\\pm)[ \u00a0]?")


def quantity_at(text: str, pos: int, prose: bool = False) -> Quantity | None:
    """The quantity that starts at ``pos``. In prose a range needs a dash: *768 to 12,288* are two numbers there."""
    left = item_at(text, pos)
    if left is None:
        return None
    match = _PM.match(text, left.end)
    kind = "±" if match else "range"
    if not match:
        match = _RANGE.match(text, left.end) or (None if prose else _RANGE_WORD.match(text, left.end))
    if match and (len(match[0]) > 1 or text[match.end() : match.end() + 1] not in ("-", "+", "×")):
        right, digit = None, text[match.end() : match.end() + 1].isdigit()
        # A hyphen joins words (twenty-one), so it makes a range of digits only.
        if digit or not (prose or match[0] == "-"):
            right = item_at(text, match.end())
        if right:
            return _pair(text, pos, kind, left, right)
    return Quantity("one", (left.printed(),), left.end, left.more)


def _may_share(text: str, left: Item, right: Item) -> bool:
    """Whether the right one's magnitude may be meant for the left one too.

    三到五万 means 三万到五万, *three to five thousand* and 3–5 × 10⁵ likewise; 五十到一百 can only mean what it says.
    """
    if right.scientific:
        return not left.scientific and not _bare_power(text, right.digits[0])
    low, high = left.mantissa, right.mantissa
    if right.decimals is not None or right.fraction or not low or {low.denominator, high.denominator} != {1}:
        return False
    # The least magnitude that could follow such a number; where a larger one would fit, it fits too.
    english = text[right.digits[0]].isascii()
    if english and low >= 1000:
        return False
    least = 100 if low < 10 else 1000 if english else 10_000
    return not high % least and low * least < high


def _bare_power(text: str, pos: int) -> bool:
    match = _POWER.match(text, pos)
    return bool(match) and not match["times"]


def _pair(text: str, pos: int, kind: str, left: Item, right: Item) -> Quantity:
    shown = text[pos : right.end]
    if not left.suffix.given and _may_share(text, left, right):
        raise ReadingError(f"in {shown!r} the magnitude may belong to both numbers", remedy="write it after each")
    if not left.suffix.given:
        left = replace(left, suffix=right.suffix)
    elif not right.suffix.given and text[pos : pos + 1] == "百":
        right = replace(right, suffix=replace(right.suffix, factor=Fraction(1, 100)))
    elif not right.suffix.given:
        raise ReadingError(f"in {shown!r} only the first number has a unit or magnitude", remedy="write it at the end")
    if left.more or right.more:
        raise ReadingError(f"{shown!r} is a range and an open number at once")
    low, high = left.printed(), right.printed()
    if low.unit != high.unit:
        raise ReadingError(f"{shown!r} mixes the units {low.unit} and {high.unit}")
    if kind == "range" and low.value > high.value:
        raise ReadingError(f"{shown!r} does not run from low to high")
    if kind == "±" and high.value <= 0:
        raise ReadingError(f"the tolerance in {shown!r} is not positive")
    return Quantity(kind, (low, high), right.end)
