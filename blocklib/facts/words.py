"""Number words, English and Chinese, as exact values: ``sixteen million seven hundred``, ``一万五千亿``.

A :class:`Word` knows the smallest place it names: *three thousand* → 1000, 一万五千亿 → 10^11. Below a hundred
the place is one (*twenty* and 二十 count units). A colloquial 一万五, a digit string 二〇二六 and anything that
does not parse is None: never a guess.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Word:
    """Value, smallest named place, where the word ends, and whether it states an exact value (no spoken decimals)."""

    value: Fraction
    place: Fraction
    end: int
    exact: bool = True
    kind: str = "cardinal"


ONES = {
    w: i
    for i, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
MAGNITUDES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
DENOMINATORS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "eleventh": 11,
    "twelfth": 12,
    "fifteenth": 15,
    "sixteenth": 16,
    "twentieth": 20,
    "hundredth": 100,
    "thousandth": 10**3,
    "millionth": 10**6,
    "billionth": 10**9,
    "trillionth": 10**12,
}
NUMBER_WORDS = frozenset(ONES) | TENS.keys() | MAGNITUDES.keys() | {"hundred"}
_WORD = re.compile(r"[ \u00a0\n-]?([A-Za-z]+)")


def denominator(word: str) -> tuple[int, bool] | None:
    """(n, plural) of ``third``, ``thirds``, ``halves`` …"""
    if word == "halves":
        return 2, True
    if word in DENOMINATORS:
        return DENOMINATORS[word], False
    if word.endswith("s") and word[:-1] in DENOMINATORS and word != "halfs":
        return DENOMINATORS[word[:-1]], True
    return None


def english_at(text: str, pos: int, bare: bool = False) -> Word | None:
    """The longest number in English words from ``pos``. ``bare``: a magnitude may stand alone (*thousand-fold*)."""
    tokens = _tokens(text, pos)
    if not tokens:
        return None
    first = tokens[0][0]
    if first in ("twice", "thrice"):
        return Word(Fraction(2 if first == "twice" else 3), Fraction(1), tokens[0][1], kind="times")
    return _half(tokens) or _fraction(tokens) or _cardinal(tokens, bare)


def _tokens(text: str, pos: int) -> list[tuple[str, int]]:
    """Up to 40 lower-case words with their ends; stops before a word no number holds."""
    out: list[tuple[str, int]] = []
    while len(out) < 40:
        match = _WORD.match(text, pos)
        if not match or (not out and match.start(1) != pos):
            break
        word = match[1].lower()
        if (
            word not in NUMBER_WORDS
            and word not in ("a", "an", "and", "point", "ten", "twice", "thrice")
            and (not denominator(word))
        ):
            break
        pos = match.end()
        out.append((word, pos))
    return out


def _half(tokens) -> Word | None:
    """half · a half · one half · half a million."""
    words = [word for word, _ in tokens]
    if words[0] != "half":
        return None
    if len(words) > 2 and words[1] == "a" and words[2] in MAGNITUDES:
        value = Fraction(MAGNITUDES[words[2]], 2)
        return Word(value, value, tokens[2][1])
    return Word(Fraction(1, 2), Fraction(0), tokens[0][1], kind="fraction")


def _fraction(tokens) -> Word | None:
    """one third · two-thirds · a quarter · five millionths · one ten-thousandth."""
    top, i = _below_hundred(tokens, 0)
    if not i and tokens[0][0] in ("a", "an"):
        top, i = 1, 1
    if not i or not top or i >= len(tokens):
        return None
    scale = 1
    if tokens[i][0] in ("ten", "hundred") and i + 1 < len(tokens):
        scale, i = {"ten": 10, "hundred": 100}[tokens[i][0]], i + 1
    found = denominator(tokens[i][0])
    if not found or found[1] != (top != 1) or (scale != 1 and found[0] < 1000):
        return None
    bottom = found[0] * scale
    kind = "share" if bottom >= 100 else "fraction"
    return Word(Fraction(top, bottom), Fraction(1, bottom) if kind == "share" else Fraction(0), tokens[i][1], kind=kind)


def _below_hundred(tokens, i: int) -> tuple[int, int]:
    """Value and next index of a number below a hundred at ``i``; (0, i) when there is none."""
    word = tokens[i][0] if i < len(tokens) else ""
    if word in ONES:
        return ONES[word], i + 1
    if word in TENS:
        after = ONES.get(tokens[i + 1][0], 0) if i + 1 < len(tokens) else 0
        return (TENS[word] + after, i + 2) if 0 < after < 10 else (TENS[word], i + 1)
    return 0, i


def _cardinal(tokens, bare: bool) -> Word | None:
    """Groups below a thousand, each with a falling magnitude; ``and`` inside; ``point`` digits; ``and a half``."""
    if tokens[0][0] == "zero" and [word for word, _ in tokens[1:2]] != ["point"]:
        return Word(Fraction(0), Fraction(1), tokens[0][1])
    total, limit, i, place, end = Fraction(0), math.inf, 0, Fraction(1), 0
    while i < len(tokens):
        if tokens[i][0] == "and" and end:
            i += 1
        found = _group(tokens, i, bare and not end) if i < len(tokens) else None
        if found is None:
            break
        group, step, i, spoken = found
        if i < len(tokens) and tokens[i][0] in MAGNITUDES:
            magnitude = MAGNITUDES[tokens[i][0]]
            if magnitude >= limit:
                return None
            total, place, limit = total + group * magnitude, step * magnitude, magnitude
            end, i = tokens[i][1], i + 1
            if spoken:
                return Word(total, place, end, exact=False)
        else:
            if group >= limit:
                return None
            total, place, end = total + group, step, tokens[i - 1][1]
            return Word(total, place, end, exact=not spoken)
    return Word(total, place, end) if end else None


def _group(tokens, i: int, bare: bool) -> tuple[Fraction, Fraction, int, bool] | None:
    """(value, smallest place, next index, spoken decimals) of one group below a thousand, or None."""
    one, first = Fraction(1), i
    following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
    if tokens[i][0] in ("a", "an") and (following in MAGNITUDES or following == "hundred"):
        value, i = 1, i + 1
    elif bare and (tokens[i][0] in MAGNITUDES or tokens[i][0] == "hundred"):
        value = 1
    else:
        value, i = _below_hundred(tokens, i)
        if i == first:
            return None
    place = one
    if i < len(tokens) and tokens[i][0] == "hundred":
        value, place, i = value * 100, one * 100, i + 1
        skip = i + 1 if i < len(tokens) and tokens[i][0] == "and" else i
        rest, after = _below_hundred(tokens, skip)
        if after > skip:
            value, place, i = value + rest, one, after
    result = Fraction(value)
    if i < len(tokens) and tokens[i][0] == "point":
        j, digits = i + 1, ""
        while j < len(tokens) and tokens[j][0] in ONES and ONES[tokens[j][0]] < 10:
            digits, j = digits + str(ONES[tokens[j][0]]), j + 1
        if digits:
            place = Fraction(1, 10 ** len(digits))
            return result + int(digits) * place, place, j, True
    words = [word for word, _ in tokens[i : i + 3]]
    if words in (["and", "a", "half"], ["and", "a", "quarter"], ["and", "a", "third"]):
        part = Fraction(1, DENOMINATORS[words[2]])
        return result + part, part, i + 3, False
    return result, place, i, False


ZH_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
ZH_RUN = re.compile("[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+[百千万亿]*)?")
_SECTION = re.compile(
    "(?:(?P<k>[一二两三四五六七八九])千)?(?P<z1>[零〇])?(?:(?P<h>[一二两三四五六七八九])百)?(?P<z2>[零〇])?"
    "(?:(?P<t>[一二三四五六七八九])?(?P<ten>十))?(?P<z3>[零〇])?(?P<o>[一二两三四五六七八九])?"
)
ZH_MAGNITUDE = {
    "百": 100,
    "千": 10**3,
    "万": 10**4,
    "百万": 10**6,
    "千万": 10**7,
    "亿": 10**8,
    "百亿": 10**10,
    "千亿": 10**11,
    "万亿": 10**12,
}


def chinese_at(text: str, pos: int) -> Word | None:
    """The number in Chinese characters that starts at ``pos``, over the whole run of such characters."""
    match = ZH_RUN.match(text, pos)
    if not match or match.end() - pos > 40:
        return None
    if match[0][0] in "零〇" and match[0][1:2] not in ("", "点"):
        return None
    found = chinese(match[0])
    return Word(found[0], found[1], match.end(), exact="点" not in match[0]) if found else None


def chinese(run: str) -> tuple[Fraction, Fraction] | None:
    """(value, smallest named place) of a whole run such as 一亿两千万 or 三点二亿, or None."""
    if "点" in run:
        whole, _, rest = run.partition("点")
        digits = re.match("[零〇一二三四五六七八九]+", rest)[0]
        tail = rest[len(digits) :]
        before = chinese(whole)
        if before is None or (tail and tail not in ZH_MAGNITUDE):
            return None
        place = Fraction(1, 10 ** len(digits))
        scale = ZH_MAGNITUDE.get(tail, 1)
        return (before[0] + int("".join(str(ZH_DIGITS[c]) for c in digits)) * place) * scale, place * scale
    for char, scale in (("亿", 10**8), ("万", 10**4)):
        if char not in run:
            continue
        head, tail = run[: run.rindex(char)], run[run.rindex(char) + 1 :]
        above = chinese(head)
        if above is None or not above[0] or "亿" in head or (char == "万" and above[0] >= 10**4):
            return None
        value, place = above[0] * scale, above[1] * scale
        if not tail:
            return value, place
        # 一万五 is colloquial for 15,000 and 一万零五 is 10,005: a lower part must name its place.
        # 一亿零二千: the zero stands for the 万 left out.
        below = chinese(tail[1:] if char == "亿" and re.match("[零〇][^零〇]", tail) else tail)
        if below is None or not below[0]:
            return None
        if below[0] < 10 and not tail.startswith(("零", "〇")):
            return None
        return value + below[0], below[1]
    return _section(run)


def _section(run: str) -> tuple[Fraction, Fraction] | None:
    match = _SECTION.fullmatch(run)
    if not match:
        return None
    k, h, t, o = (ZH_DIGITS[match[g]] if match[g] else 0 for g in ("k", "h", "t", "o"))
    if match["ten"]:
        t = t or 1
    value = k * 1000 + h * 100 + t * 10 + o
    if not value:
        return (Fraction(0), Fraction(1)) if run in ("零", "〇") else None
    # One zero, in the place of what is left out: 一千零五十 and 一千零五, but neither 一千零五百 nor 一百零五十.
    zeros = [match["z1"] and k, match["z2"], match["z3"]]  # the first without k: after 万, 十万零四百零一
    if sum(map(bool, zeros)) > 1 or (zeros[0] and h) or (match["ten"] and (zeros[1] or zeros[2])):
        return None
    if o and ((h or k) and not t and not (match["z1"] or match["z2"] or match["z3"])):
        return None
    if o and match["o"] == "两" and len(run) > 1:
        return None
    place = 1 if (t or o) else 100 if h else 1000
    return Fraction(value), Fraction(place)
