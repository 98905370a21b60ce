"""Every numeral of running text, as spans: what a reader takes for a number and a fact must vouch for.

Found: every run of decimal digits of any script, with its sign, separators, magnitude, multiple and unit; fractions
and shares (½, 1/8, 三分之一, 百分之五, 一半, two thirds, half the …); number words with a magnitude from a hundred up;
multiples in words (三倍, twice the …, tenfold, three times as …). Not found, because they are language: one …
ninety-nine and 一 … 九十九 before a noun, ordinals in words, magnitudes without a number (百万参数, hundreds of, 数千).
Which of the spans are names, dates and references is :mod:`blocklib.facts.allow`'s business.

One pass for digits and one for words; each looks ahead a bounded distance, so the time is linear in the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from blocklib.facts.grammar import CHAIN, VULGAR, ZH_PARTS, normalise, quantity_at
from blocklib.facts.suffix import FOLD, MORE
from blocklib.facts.values import ReadingError
from blocklib.facts.words import MAGNITUDES, ONES, TENS, ZH_RUN, english_at


class Span(NamedTuple):
    """``text[start:end]`` is a numeral."""

    start: int
    end: int


# Circled and Roman numbers up to ten mark lists; beyond, they count.
_DIGIT = re.compile(rf"\d|[{''.join(VULGAR)}⑪-⑳㉑-㉟㊱-㊿ⅪⅫⅬⅭⅮⅯⅺⅻ]")
_TAIL = re.compile(r"\d+(?:[.,]\d+)*(?:\^\{?[+-]?\d+\}?|[⁺⁻]?[⁰¹²³⁴-⁹]+)?")
_SIGN = re.compile(r"(?<![\w)\]}%‰])[-+×]", re.ASCII)
_ZH_START = re.compile("[零〇一二两三四五六七八九十]|[百千万亿]+分之")
_LOWER_PART = frozenset("零〇一二两三四五六七八九十百千万亿0123456789")
_SCALE = re.compile("[万亿]+")
# 四〇九六 spelt digit by digit (二〇二六年 is a year), 零点五, 三点一四 (以下三点一一说明 is none).
_SPELT = re.compile("(?=[一二三四五六七八九]*[零〇])[零〇一二三四五六七八九]{3,}|[零〇]点.+|[^点]+点(?!一一).{2,}")
_VAGUE = "数几"
_NOT_HALF = "另前后每这那哪第"
_TENTHS = re.compile("[ \u00a0]?成(?=多|左右|以[上下]|[的。，；、,.;)）])")
_WORDS = "|".join(sorted({*ONES, *TENS, *MAGNITUDES, "hundred", "an?", "half", "twice", "thrice"}))
_ENGLISH = re.compile(rf"(?<![A-Za-z0-9_])(?:{_WORDS})(?:fold)?(?![A-Za-z])", re.I)
_BIG = re.compile(r"(?<![A-Za-z])(?:hundred|thousand|million|billion|trillion)(?![A-Za-z])", re.I)
_FOLD_WORD = re.compile(rf"(?:{_WORDS})[ \u00a0-]?fold(?![A-Za-z])", re.I)
_BE = re.compile(r"(?<![A-Za-z])(?:is|are|was|were)[ \u00a0]$", re.I)
# "three times as many" multiplies, "three times" counts occasions.
_COMPARES = re.compile(
    r"[ \u00a0](?:as|more|less|fewer|the|its|their|that|those|larger|smaller|greater|bigger|faster|slower|longer|shorter|"
    r"wider|deeper|higher|lower|cheaper|what)(?![A-Za-z])",
    re.I,
)
_AS_HALF = re.compile(r"[ \u00a0](?:of|the|as|its|their|that|those|these|this|an?)(?![A-Za-z])", re.I)
_PERCENT = re.compile(r"[ \u00a0-](?:percent|per cent|percentage)(?![A-Za-z])", re.I)
_COMPOUND = re.compile("-[A-Za-z]")
_OF = re.compile(r"[ \u00a0](?:of|as)(?![A-Za-z])", re.I)
_ONE_HALF = re.compile(
    r"(?:the|first|second|other|latter|former|upper|lower|left|right|top|bottom|either|each|causal|"
    r"which|every|this|that|another)[ \u00a0-]$",
    re.I,
)


def find_numerals(text: str, lang: str) -> list[Span]:
    """Spans of all numerals of ``text``, in order and without overlap. ``lang`` is ``"zh"`` or ``"en"``.

    Every decimal digit of the text lies in exactly one span. English words are looked for on Chinese pages too, as
    terms stay English there; Chinese words only on Chinese pages.
    """
    plain = normalise(text)
    found = _digits(plain) + _english(plain) + (_chinese(plain) if lang != "en" else [])
    out: list[Span] = []
    for span in sorted(found):
        if out and span.start < out[-1].end:
            # 三分之 1 … and 3 百万: two passes met on one numeral.
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return out


def _digits(text: str) -> list[Span]:
    spans: list[Span] = []
    end = 0
    for match in _DIGIT.finditer(text):
        if match.start() < end:
            continue
        start = match.start()
        if _SIGN.match(text, start - 1):
            start -= 1
        end = max(_quantity(text, start), _tail(text, match.start()))
        spans.append(Span(start, end))
    return spans


def _quantity(text: str, start: int) -> int:
    """End of the quantity at ``start``; where it cannot be read, of what looks like one."""
    try:
        found = quantity_at(text, start, prose=True)
    except ReadingError:
        found = None
    return found.end if found else start


def _tail(text: str, pos: int) -> int:
    """End of the digits at ``pos`` as they hang together, readable or not: dates, versions, powers."""
    chain = CHAIN.match(text, pos)
    if chain:
        return chain.end()
    match = _TAIL.match(text, pos)
    return match.end() if match else pos + 1


def _chinese(text: str) -> list[Span]:
    spans = [Span(*span) for span in _shares(text)]
    for match in ZH_RUN.finditer(text):
        start, end = match.span()
        run, before = match[0], text[start - 1 : start]
        if before in _VAGUE and before:
            continue
        if run == "一" and text.startswith("半", end):
            if before not in _NOT_HALF or not before:
                spans.append(Span(start, end + 1))
            continue
        if not _ZH_START.match(run) or text.startswith("分之", end):
            continue
        tail = MORE.match(text, end)
        after = tail.end() if tail else end
        if tail and (scale := _SCALE.match(text, after)):
            after = scale.end()
        fold = FOLD.match(text, after)
        tenths = _TENTHS.match(text, end) if len(run) == 1 else None
        if fold and fold[0].endswith("倍") and not text.startswith("倍数", fold.end() - 1):
            spans.append(Span(start, fold.end()))
        elif tenths:
            spans.append(Span(start, tenths.end()))
        elif re.search("[百千万亿]", run) and not run.startswith(("零", "〇")):
            spans.append(Span(start, _unit_end(text, start, after)))
        elif (tail and after > tail.end()) or (_SPELT.fullmatch(run) and text[end : end + 1] != "年"):
            spans.append(Span(start, after))
    return spans


def _shares(text: str) -> list[tuple[int, int]]:
    """三分之二, 百分之 61.6: from each 分之 back to the start of its lower part."""
    found = []
    for line in re.finditer("分之", text):
        start = line.start()
        while text[start - 1 : start] in _LOWER_PART:
            start -= 1
        if match := ZH_PARTS.match(text, start):
            found.append(match.span())
    return found


def _unit_end(text: str, start: int, least: int) -> int:
    return max(least, _quantity(text, start))


def _english(text: str) -> list[Span]:
    spans: list[Span] = []
    end = 0
    for match in _ENGLISH.finditer(text):
        start = match.start()
        if start < end:
            continue
        stop = _english_at(text, start)
        if stop:
            spans.append(Span(start, stop))
            end = stop
    return spans


def _english_at(text: str, start: int) -> int | None:
    """End of the number in words at ``start`` when a reader takes it for one, else None."""
    if fold := _FOLD_WORD.match(text, start):
        return None if _BE.search(text[max(0, start - 6) : start]) else fold.end()
    word = english_at(text, start)
    if word is None:
        return None
    shown = text[start : word.end].lower()
    if word.kind == "times":
        return word.end if _COMPARES.match(text, word.end) else None
    if shown == "half":
        apart = _ONE_HALF.search(text[max(0, start - 9) : start])
        return word.end if _AS_HALF.match(text, word.end) and not apart else None
    if word.kind in ("fraction", "share"):
        # A third-party library, a half-precision copy, the two halves: no amounts.
        if shown.endswith("halves") or _COMPOUND.match(text, word.end):
            return None
        article = shown.startswith(("a ", "an ", "a\u00a0", "an\u00a0")) and not shown.endswith("half")
        return word.end if not article or _OF.match(text, word.end) else None
    fold = FOLD.match(text, word.end)
    if _BIG.search(shown):
        return _unit_end(text, start, word.end)
    if fold and (fold[0].lower().endswith("fold") or _COMPARES.match(text, fold.end())):
        return fold.end()
    if _PERCENT.match(text, word.end):
        return _unit_end(text, start, word.end)
    return None
