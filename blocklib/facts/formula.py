r"""Formulas: ``\fact{16{,}777{,}216}{implicit_paths?blocks}`` and ``\given{4{,}096}{d_model}``, and what must be bound.

A numeral of three significant digits or more, and the result of a computation on numbers, needs a fact;
coefficients and exponents (``4d^2``, ``10^{-5}``) are part of the symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from blocklib.facts.items import Bound, Given, Numeral, Page, Place

_CALL = re.compile(r"\\(fact|given)\s*\{")
_NUMERAL = re.compile(r"(?<![\d.])\d+(?:(?:\{,\}|\\,|,)\d{3}(?!\d))*(?:\.\d+)?")
# Lengths, labels and environments are layout, not numbers of the text.
_LAYOUT = re.compile(
    r"\\(?:hspace|vspace|kern|mkern|hskip|vskip|label|ref|eqref|tag|begin|end|href|color|textcolor|htmlId|htmlClass)"
    r"\*?\s*(?:\{[^{}]*\}|-?[\d.]+\s*(?:pt|em|ex|mu|px|cm))|\\\\\[[^\]]*\]|\\#"
)
_SIDE = re.compile(r"\\(?:quad|qquad|implies|Rightarrow|iff|to|text\{[^{}]*\})|[;&]|\\\\|(?<!\{),(?!\d{3}|\})")
_EQUALS = re.compile(r"=|\\approx(?![a-zA-Z])|\\simeq(?![a-zA-Z])|\\doteq(?![a-zA-Z])|≈")
_PLAIN = re.compile(r"\s*[-+−]?\s*(\d+(?:(?:\{,\}|\\,|,)\d{3})*(?:\.\d+)?)\s*(?:\\%|\\times\s*10\^\{?-?\d+\}?)?[\s.]*$")
_TEX = (
    (re.compile(r"\\(?:mathrm|text|textrm|mathbf|operatorname|mathit|textbf)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])\s*"), "×"),
    (re.compile(r"\\(?:approx|simeq|sim)(?![a-zA-Z])\s*"), "≈"),
    (re.compile(r"\\(?:leq?|leqslant)(?![a-zA-Z])\s*"), "≤"),
    (re.compile(r"\\(?:geq?|geqslant)(?![a-zA-Z])\s*"), "≥"),
    (re.compile(r"\\lt(?![a-zA-Z])\s*"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])\s*"), ">"),
    (re.compile(r"\\pm(?![a-zA-Z])\s*"), "±"),
    (re.compile(r"\\mu(?![a-zA-Z])\s*"), "µ"),
    (re.compile(r"\\[td]?frac\s*\{(\d+)\}\s*\{(\d+)\}"), r"\1/\2"),
    (re.compile(r"\{,\}|(?<=\d)\\,(?=\d{3}(?!\d))"), ","),
    (re.compile(r"\\[,;:!> ]|~|\\(?:quad|thinspace)(?![a-zA-Z])"), " "),
    (re.compile(r"\\%"), "%"),
)


def plain_text(tex: str) -> str:
    """The text of a number set in TeX, as it would be printed in prose (``4.7 \\times 10^{-6}`` → ``4.7 ×10^{-6}``)."""
    for pattern, replacement in _TEX:
        tex = pattern.sub(replacement, tex)
    return tex.strip()


def braces(text: str, i: int) -> int:
    """Index after the brace that closes the one at ``i``; 0 where there is none."""
    depth = 0
    while i < len(text):
        if text[i] == "\\":
            i += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
        if not depth:
            return i
    return 0


def scan_formula(page: Page, tex: str, base: int, at: Callable[[int], int], place: Place) -> None:
    """Add the facts, givens and unbound numerals of one formula; ``at(base + i)`` is the offset of ``tex[i]``."""
    rest = list(tex)
    i = 0
    while found := _CALL.search(tex, i):
        middle = braces(tex, found.end() - 1)
        second = re.compile(r"\s*\{").match(tex, middle) if middle else None
        stop = braces(tex, second.end() - 1) if second else 0
        if not stop:
            page.problem(at(base + found.start()), f"\\{found[1]} takes a number and a name: \\{found[1]}{{…}}{{…}}")
            i = found.end()
            continue
        shown = plain_text(tex[found.end() : middle - 1])
        target = tex[second.end() : stop - 1].strip().replace("\\_", "_").replace("\\&", "&")
        opening = (at(base + found.start()), at(base + found.end() - 1) + 1)
        closing = (at(base + middle - 1), at(base + stop - 1) + 1)
        if found[1] == "given":
            page.items.append(Given(shown, target.removeprefix("given:"), opening, closing, place, math=True))
        else:
            kind = "key" if re.fullmatch(r"[\w.:-]+", target) and not target.startswith("fact:") else "fact"
            page.items.append(Bound(shown, target.removeprefix("fact:"), kind, opening, closing, place, math=True))
        # What is bound stays visible to the rule on results only as an opaque number.
        rest[found.start() : stop] = "@" + " " * (stop - found.start() - 1)
        i = stop
    _unbound(page, "".join(rest), base, at)


def _unbound(page: Page, tex: str, base: int, at: Callable[[int], int]) -> None:
    tex = _LAYOUT.sub(lambda found: " " * len(found[0]), tex)
    seen: set[int] = set()
    for found in _NUMERAL.finditer(tex):
        digits = re.sub(r"\D", "", found[0]).lstrip("0")
        if len(digits) >= 3:
            seen.add(found.start())
            page.numerals.append(Numeral(found[0], at(base + found.start()), "formula", "three digits or more"))
    start = 0
    for end in [*(m.start() for m in _SIDE.finditer(tex)), len(tex)]:
        _results(page, tex, start, end, seen, base, at)
        start = end


def _results(page, tex: str, start: int, end: int, seen: set[int], base: int, at: Callable[[int], int]) -> None:
    """A bare number after an equals sign whose left side computes with numbers is a result."""
    cuts = [m.span() for m in _EQUALS.finditer(tex, start, end)]
    sides = [start, *(right for _, right in cuts)]
    followings = [*(left for left, _ in cuts), end][1:]
    for before, (left, right), following in zip(sides, cuts, followings, strict=False):
        found = _PLAIN.match(tex[right:following])
        if not found or not re.search(r"[\d@]", tex[before:left]) or found[1] in ("0", "1"):
            continue
        where = right + found.start(1)
        if where not in seen:
            page.numerals.append(Numeral(found[1], at(base + where), "formula", "the result of a computation"))
