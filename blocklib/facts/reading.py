"""Reading a printed number back: ``1,678 万`` is 16,780,000 to the nearest 10,000.

Decisions, where a printed form leaves one open:

* ``resolution`` is one unit in the last printed place, magnitude and unit included: ``1,678 万`` → 10000, ``61.6%`` →
  0.001, ``128 KiB`` → 1024. Words name their place (三千 → 1000, 二十四 → 1); a fraction (``1/8``, 一半) is exact: 0.
* 三千多, 3,000 余 and *three thousand-odd* are ``>`` and end at the next unit of the last digit that is not zero:
  above 3,000 and below 4,000. 近三千 and *nearly 3,000* are ``<`` and start one such unit below.
* ``B`` attached is billion, after a space byte. FLOPS is refused: it means FLOPs to some and FLOP/s to others.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from fractions import Fraction

from blocklib.facts.grammar import Printed, Quantity, normalise, quantity_at
from blocklib.facts.values import Range, ReadingError, json_number
from blocklib.problems import UsageError

__all__ = ["Reading", "ReadingError", "read", "read_main", "to_json"]

LONGEST = 240


@dataclass(frozen=True)
class Reading:
    """A printed number, read.

    ``value``: exact, in base units; a :class:`~blocklib.facts.values.Range` for ``7–64 %``.
    ``unit``: base unit (``"B"``, ``"FLOP/s"``, ``"s"`` …) or None. ``relation``: one of ``= ~ > < >= <=``.
    ``resolution``: one unit in the last printed place (0: exact). ``noise``: the tolerance of ``3.2 ± 0.1``.
    ``bound``: the far end of an open relation (三千多: 4000). ``text``: what was printed.
    ``parts``: the printed numbers inside, for comparing.
    """

    value: Fraction | Range
    unit: str | None
    relation: str
    resolution: Fraction
    text: str
    noise: Fraction | None = None
    bound: Fraction | None = None
    parts: tuple[Printed, ...] = field(default=(), repr=False)


# Longest first inside each row; a trailing * marks a relation that stays near its number (nearly, just over).
_BEFORE = (
    ("<*", r"nearly|almost|close to|just under|just below|接近|将近|近乎|几乎|近|略低于|略少于|略小于"),
    (">*", r"just over|just above|a little over|slightly over|slightly more than|略高于|略多于|略大于|略超|刚过"),
    (
        ">=",
        r">=|≥|⩾|≧|\\geq?(?![a-z])|at least|no less than|no fewer than|not less than|"
        r"至少|不少于|不低于|不小于|最少|起码",
    ),
    (
        "<=",
        r"<=|≤|⩽|≦|\\leq?(?![a-z])|at most|no more than|not more than|up to|"
        r"至多|不超过|不多于|不高于|不大于|最多|最高",
    ),
    (">", r">|＞|\\gt(?![a-z])|more than|over|above|greater than|exceeding|超过|大于|高于|多于|超"),
    ("<", r"<|＜|\\lt(?![a-z])|less than|fewer than|under|below|smaller than|不到|不足|小于|低于|少于|未满"),
    (
        "~",
        r"≈|~|～|≃|≅|\\approx(?![a-z])|\\sim(?![a-z])|approximately|approx\.?|about|around|roughly|some|circa|"
        r"大约为?|约为|约等于|约|大概|差不多|左右",
    ),
    ("=!", r"=|exactly|precisely|恰好|正好|刚好|整整|恰为"),
)
_PREFIX = re.compile("|".join(f"(?P<r{i}>{alternatives})" for i, (_, alternatives) in enumerate(_BEFORE)), re.I)
_AFTER = (
    ("~", r"左右|上下|or so"),
    (">=", r"\+|及以上|以上|or more|or above"),
    ("<=", r"及以下|以下|以内|or less|or fewer"),
)
_SUFFIX = re.compile("[ \u00a0]?(?:" + "|".join(f"(?P<r{i}>{a})" for i, (_, a) in enumerate(_AFTER)) + ")$", re.I)
_CJK = re.compile("[\u4e00-\u9fff]")
_TEX = (
    (re.compile(r"\\(?:text|mathrm)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\([%&$])"), r"\1"),
    (re.compile(r"\\[;: ]"), " "),
)


def read(text: str, lang: str | None = None) -> Reading:
    """Read one printed number, relation and unit included.

    ``lang``: ``"en"`` refuses Chinese number words and marks; ``"zh"`` and None take both languages, as Chinese prose
    keeps English terms. Raises :class:`ReadingError` for anything that is not wholly one number.
    """
    shown = tidy(text)
    if not shown:
        raise ReadingError("nothing to read: the text is empty")
    if len(shown) > LONGEST:
        raise ReadingError(f"{len(shown)} characters are too long for one number (at most {LONGEST})")
    if lang == "en" and (match := _CJK.search(shown)):
        raise ReadingError(f"{shown!r} holds {match[0]!r}, which an English page cannot print")
    relation, near, strict, start, end = _relation(shown)
    plain = normalise(shown)[:end]
    try:
        found = quantity_at(plain, start)
    except ReadingError as error:
        raise ReadingError(f"cannot read {shown!r}: {error.message}", remedy=error.remedy) from None
    if found is None:
        raise ReadingError(f"cannot read {shown!r}: no number at {shown[start : start + 20]!r}", remedy=_hint(shown))
    if found.end != len(plain):
        raise ReadingError(
            f"cannot read {shown!r}: {shown[found.end : end].strip()!r} is left over after {shown[start : found.end]!r}",
            remedy=_hint(shown[found.end : end]),
        )
    return _reading(shown, found, relation, near, strict)


def tidy(text: str) -> str:
    """``text`` with white space collapsed and TeX wrappers of text taken off; printed digits stay as they are."""
    if "\\" in text:
        for pattern, plain in _TEX:
            text = pattern.sub(plain, text)
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" \u00a0\u3000\u2009\u202f")


def _relation(shown: str) -> tuple[str, bool, bool, int, int]:
    """(relation, near, strict, start and end of the rest)."""
    relation, start, end = "=", 0, len(shown)
    if match := _PREFIX.match(shown):
        after = shown[match.end() : match.end() + 1]
        if not (match[0][-1].isalpha() and match[0][-1].isascii() and after.isalpha() and after.isascii()):
            relation = _BEFORE[int(match.lastgroup[1:])][0]
            start = match.end() + len(shown[match.end() :]) - len(shown[match.end() :].lstrip(" \u00a0"))
    if match := _SUFFIX.search(shown, start):
        after = _AFTER[int(match.lastgroup[1:])][0]
        if relation not in ("=", after):
            both = f"{shown[:start].strip()!r} and {match[0].strip()!r}"
            raise ReadingError(f"cannot read {shown!r}: two relations, {both}")
        relation, end = after, match.start()
    return relation.rstrip("*!"), relation.endswith("*"), relation == "=!", start, end


def _reading(shown: str, found: Quantity, relation: str, near: bool, strict: bool) -> Reading:
    first, bound, noise = found.parts[0], None, None
    value: Fraction | Range = first.value
    resolution = max(part.resolution for part in found.parts)
    if found.kind == "range":
        value = Range(first.value, found.parts[1].value)
    elif found.kind == "±":
        noise = found.parts[1].value
    if found.kind != "one" and relation not in ("=", "~"):
        raise ReadingError(f"cannot read {shown!r}: a relation does not go with a range or ±")
    if found.more:
        if relation not in ("=", "~"):
            raise ReadingError(f"cannot read {shown!r}: two relations at once")
        relation, bound = ">", first.value + first.rough
    elif near:
        bound = first.value - first.rough if relation == "<" else first.value + first.rough
    parts = tuple(Printed(**{**vars(p), "strict": True}) for p in found.parts) if strict else found.parts
    return Reading(value, first.unit, relation, resolution, shown, noise, bound, parts)


_HINTS = (
    (re.compile(r"FLOPS"), "FLOPS is ambiguous: write FLOPs or FLOP/s"),
    (re.compile(r"^[ \u00a0][KkMT]\b"), "attach K, M, T to the digits (124M) or write million"),
    (re.compile(r"^B/"), "put a space before B when it means byte"),
    (re.compile(r"兆"), "兆 is ambiguous: write 百万 or 万亿"),
    (re.compile(r"^ [0-9]"), "group thousands by a comma or a no-break space"),
    (re.compile(r"^\.$"), "leave a full stop outside the link"),
    (re.compile(r"^G\b"), "write billion, or the unit with its prefix"),
)


def _hint(text: str) -> str:
    for pattern, hint in _HINTS:
        if pattern.search(text):
            return hint
    return FORMS


FORMS = (
    "forms that are read: 16,777,216 · 1,678 万 · 8.03B · 61.6% · 4.7 × 10⁻⁶ · 1/8 · 7–64 % · 三千多倍 · 128 KiB; "
    "counted nouns stand outside the link"
)


def to_json(reading: Reading) -> dict:
    """``reading`` for JSON: value, unit, relation, resolution; a range as [low, high]; ``tolerance`` for ±."""
    if isinstance(reading.value, Range):
        value = [json_number(reading.value.low), json_number(reading.value.high)]
    else:
        value = json_number(reading.value)
    out = {
        "value": value,
        "unit": reading.unit,
        "relation": reading.relation,
        "resolution": json_number(reading.resolution),
    }
    if reading.noise is not None:
        out["tolerance"] = json_number(reading.noise)
    return out


def _line(text: str) -> tuple[str, bool]:
    try:
        return json.dumps(to_json(read(text))), True
    except ReadingError as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False), False


def read_main(argv: list[str]) -> int:
    """usage: python -m blocklib read "1,678 万"
           python -m blocklib read -

    Reads one printed number, or with ``-`` one a line from standard input, and answers with one line of JSON each:
    value, unit, relation and resolution, or the error. Exit code 1 where a single text cannot be read.
    """
    if not argv:
        raise UsageError("nothing to read: give a text, or - for standard input")
    if argv == ["-"]:
        if sys.stdin is None:
            raise ReadingError("standard input is closed")
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")
        for row in sys.stdin:
            print(_line(row.rstrip("\r\n"))[0], flush=True)
        return 0
    answer, understood = _line(" ".join(argv))
    print(answer)
    return 0 if understood else 1
