"""Nothing unbound: every number that a reader sees stands in a link to a fact or to a given.

What counts as a number is for :mod:`blocklib.facts.numerals` to say, and what is a name or a date for
:mod:`blocklib.facts.allow`; this module knows where links begin and end.
"""

from __future__ import annotations

import re

from blocklib.facts.allow import is_allowed
from blocklib.facts.items import Numeral, Page, Run
from blocklib.facts.numerals import find_numerals
from blocklib.facts.reading import read
from blocklib.facts.values import ReadingError

_JOINS = re.compile(r"(?:\s|to|and|or|through|in|out of|[至到和与比,，、;；/:~～–—×x()（）-])*", re.I)
_SIGN = re.compile(r"[-−+±]\s*")
# A count of tokens is also a counted noun, which stands outside; a fact in tokens is compared with its unit anyway.
_NOUN = re.compile(r"\s*(?:个\s*)?(?:tokens?|词元)\s*", re.I)


def find_unbound(page: Page) -> list[Numeral]:
    """The numbers of a page that nothing vouches for, in the order they stand; those of formulas included."""
    found = list(page.numerals)
    for run in page.runs:
        if any(char.isdigit() for char in run.text) or run.kind == "prose":
            found += _code(run, page.lang) if run.kind == "code" else _prose(run, page.lang)
    return sorted(found, key=lambda numeral: numeral.start)


def _prose(run: Run, lang: str) -> list[Numeral]:
    found = []
    for start, end in find_numerals(run.text, lang):
        touching = [(a, b) for a, b, _ in run.bounds if a < end and start < b]
        text = run.text[start:end]
        if not touching:
            if not is_allowed(run.text, (start, end)):
                found.append(Numeral(text, run.at[start], run.place.where))
            continue
        here = start
        for a, b in [*touching, (end, end)]:
            outside = run.text[here : max(here, min(a, end))]
            if outside and not _may_stand_outside(outside, here == start):
                reason = f"{outside.strip()!r} belongs to the number and stands outside the link"
                found.append(Numeral(text, run.at[here], run.place.where, reason))
                break
            here = max(here, b)
    return found


def _may_stand_outside(text: str, first: bool) -> bool:
    if first and _SIGN.fullmatch(text):
        return False
    return bool(_JOINS.fullmatch(text) or _NOUN.fullmatch(text))


def _code(run: Run, lang: str) -> list[Numeral]:
    """In inline code only a number with a unit is a statement about the world."""
    found = []
    for start, end in find_numerals(run.text, lang):
        try:
            unit = read(run.text[start:end], lang).unit
        except ReadingError:
            continue
        if unit and not is_allowed(run.text, (start, end)):
            found.append(Numeral(run.text[start:end], run.at[start], "inline code"))
    return found
