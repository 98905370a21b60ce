"""Which numerals are none: names, versions, dates, references, list markers. The patterns are data (``allow.toml``).

A name is also known by its shape: a token that starts with a letter and carries its digits glued or behind a hyphen
(GPT-2, H100, Llama-3-8B, fp16, x_1, layers.0.weight). The shape is kept narrow: a word in small letters of more than
four (``width4096``, ``layer-24``) is no name.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import cache, lru_cache
from pathlib import Path

DATA = Path(__file__).with_name("allow.toml")

_PART = re.compile(r"(?<!\(\?)<([a-z]+)>")  # <name> in a pattern; (?<name>…) is a group
_TOKEN = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_]*(?:[-./+][A-Za-z0-9_]+)*")
_SHORT = re.compile(r"[a-z]{1,4}[0-9]{1,3}[a-z]{0,2}[0-9]{0,2}")
_PROPER = re.compile(
    r"[A-Z][A-Za-z]*(?:[0-9]{1,4}(?:\.[0-9]{1,2})?[A-Za-z]{0,3}[0-9]{0,2})?|[a-z]{1,4}[A-Z][A-Za-z]*[0-9]{0,3}"
)
_PIECE = re.compile(r"[A-Za-z]*(?:[0-9]{1,5}(?:\.[0-9]{1,2})?[A-Za-z]{0,8}[0-9]{0,3}[A-Za-z]?)?")
_PATH = re.compile(r"[A-Za-z]+(?:\.[A-Za-z0-9]+)*\.[0-9]+(?:\.[A-Za-z0-9]+)+|[A-Za-z]+(?:\.[A-Za-z]+)+\.[0-9]+")
_LOWER = frozenset(
    "arxiv bge bfloat cifar enwik float gemma int llama mistral nanochat qwen sha smollm utf uint".split()
)
# Words to which a number may be glued (``of**24**`` is shown as of24) without becoming a name.
_WORDS = frozenset(
    "width depth layer layers block blocks head heads step steps batch length size token tokens seq ctx ms kib mib gib "
    "the and or of in on at to is are was has have with only by for as from than over under about approximately "
    "around nearly up".split()
)


@cache
def entries() -> tuple[tuple[str, tuple[re.Pattern, ...]], ...]:
    """The reasons of ``allow.toml`` with their patterns, parts filled in."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    parts = data["parts"]

    def fill(pattern: str) -> str:
        while (filled := _PART.sub(lambda found: parts[found[1]], pattern)) != pattern:
            pattern = filled
        return pattern

    return tuple(
        (row["reason"], tuple(re.compile(fill(pattern), re.M | re.A) for pattern in row["patterns"]))
        for row in data["allow"]
    )


def is_allowed(text: str, span: tuple[int, int]) -> str | None:
    """Why the numeral ``text[span[0]:span[1]]`` needs no fact, or None when it does.

    The digits of the span decide: they must all lie inside one name, date or reference. A numeral without digits
    (three thousand, 一半) is never one.
    """
    digits = [i for i in range(*span) if text[i].isdigit() and text[i].isascii()]
    if not digits:
        return None
    first, last = digits[0], digits[-1] + 1
    starts, intervals = _intervals(text)
    for i in range(bisect_right(starts, first) - 1, -1, -1):
        left, right, reason = intervals[i]
        if last <= right:
            return reason
        if first - left > 400:  # no name is so long
            return None
    return None


@lru_cache(maxsize=64)
def _intervals(text: str) -> tuple[list[int], list[tuple[int, int, str]]]:
    found: list[tuple[int, int, str]] = []
    if any(char.isdigit() for char in text):
        for reason, patterns in entries():
            for pattern in patterns:
                found.extend((*match.span(), reason) for match in pattern.finditer(text))
        for match in _TOKEN.finditer(text):
            if reason := _name(match[0]):
                found.append((*match.span(), reason))
    found.sort()
    return [left for left, _, _ in found], found


def _name(token: str) -> str | None:
    """What the token is called by its shape, or None."""
    if token.isalpha():
        return None
    if "_" in token or not token.lower().startswith(("e.g.", "i.e.")) and _PATH.fullmatch(token):
        return "an identifier of code"
    lead, *rest = re.split(r"[-/+]", token)
    letters = lead.rstrip("0123456789.")
    if letters.lower() in _WORDS or not all(_PIECE.fullmatch(piece) for piece in rest):
        return None
    if _SHORT.fullmatch(lead) or _PROPER.fullmatch(lead) or letters in _LOWER:
        return "a name"
    return None
