"""Numbers as a reader meets them again: the page's own ledger and the list of all numbers of the site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from html import escape
from typing import Any

from blocklib.claims import sources
from blocklib.claims.registry import GRADES, Citation
from blocklib.facts.format import format_value
from blocklib.facts.pages import Row
from blocklib.facts.values import Measured, Range, exact
from blocklib.text import Text

Url = Callable[[str, str], str]
ReportUrl = Callable[[str, str], str]

HEADS = (
    Text("数值", "Value"),
    Text("含义", "What it is"),
    Text("公式", "Formula"),
    Text("等级", "Grade"),
    Text("来历", "Origin"),
    Text("测试", "Test"),
)
WITH, STANDS, ERROR = Text("取值", "With"), Text("所在页面", "Stands on"), Text("纠错", "Error")
REPORT = Text("报告错误", "report an error")
ON_PAGE = Text("本页数字", "Numbers on this page")
NUMBERS_PAGE = Text(
    """---
title: 数字总表
description: 本站印出的每一个数字：精确值、含义、公式、等级、来历、测试，以及它出现在哪些页面。
---

# 数字总表 { #numbers-list }

正文里带点线的数字都在这里，连同它的精确值和算法。哪里不对，点那一行末尾的链接告诉我们。
{ .tl-standfirst }
""",
    """---
title: Numbers
description: Every number this site prints, with its exact value, meaning, formula, grade, origin, test and the pages it stands on.
---

# Numbers { #numbers-list }

Every number with a dotted underline is here, with its exact value and the way to it. If one is wrong, the link at the end of its row lets you tell us.
{ .tl-standfirst }
""",
)
_DIGITS = 12


def exact_text(value: Any, unit: str | None, lang: str, percent: bool = False) -> str:
    """A fact's value in full where twelve digits write it out, else with ``≈`` and eight digits.

    ``value`` as the fact returned it; ``percent`` for a share that the page prints in per cent.
    """
    style = "percent" if percent and unit is None else "plain"
    if isinstance(value, Range | Measured):
        return format_value(value, unit, lang, style=style)
    number = exact(value)
    shown = number * 100 if style == "percent" else number
    digits, places = _written_out(shown)
    if shown.denominator == 1 and unit is None and style == "plain":  # an integer of any length is exact
        return f"{shown.numerator:,}".replace("-", "−")
    if shown.denominator == 1:
        return format_value(number, unit, lang, style=style, places=0)
    if places is not None and digits <= _DIGITS and not isinstance(value, float):
        if unit is None and abs(shown) < Fraction(1, 10_000):
            return format_value(number, unit, lang, digits=digits, style="scientific")
        return format_value(number, unit, lang, style=style, places=places)
    near = format_value(number, unit, lang, digits=8, style="percent" if style == "percent" else "auto")
    ratio = f"{number.numerator:,}/{number.denominator:,}"
    return f"{ratio} ≈ {near}" if unit is None and not isinstance(value, float) and len(ratio) <= 20 else f"≈ {near}"


def _written_out(number: Fraction) -> tuple[int, int | None]:
    """Significant digits and decimals that write ``number`` out exactly; decimals None if none of sixty do."""
    for places in range(61):
        scaled = number * 10**places
        if scaled.denominator == 1:
            return len(str(abs(scaled.numerator)).rstrip("0")) or 1, places
    return 0, None


def _in_percent(row: Row) -> bool:
    return bool(row.printed) and all("%" in text or "％" in text for text, _ in row.printed)


def _with(row: Row) -> str:
    """The parameters of a fact as ``d_model = 4,096``."""
    shown = []
    for name, value in row.fact.params.items():
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            value = f"{int(value):,}" if value == int(value) else f"{float(value):.12g}"
        shown.append(f"{name} = {value}")
    return ", ".join(shown)


def _origin(row: Row, library: sources.Library, lang: str, url: Url) -> str:
    """A source, linked, or the function that computes the number."""
    cited = Citation.parse(row.fact.origin or "")
    if cited.key in library.entries:
        label = escape(library.entries[cited.key].label(lang))
        place = escape(("，" if lang == "zh" else ", ") + cited.place) if cited.place else ""
        return f'<a href="{escape(url("reference/sources", cited.key))}">{label}</a>{place}'
    text = row.fact.origin or ""
    return f"<code>{escape(text)}</code>" if text.startswith("blocklib.") else escape(text)


def _tests(row: Row, full: bool) -> str:
    names = (test if full else test.rpartition("::")[2] for test in row.fact.tests)
    return " ".join(f"<code>{escape(name)}</code>" for name in names)


def page_ledger(
    rows: Iterable[Row], lang: str, *, page: str, library: sources.Library, url: Url, report_url: ReportUrl
) -> str:
    """The page's ledger of numbers as one HTML table; the number card reads its rows (column order is fixed).

    ``page`` is ``primer/shape``; ``url(page, anchor)`` gives an address relative to it and ``report_url(page,
    fact)`` that of a report. Empty where the page binds no number.
    """
    body = []
    for row in rows:
        fact = row.fact
        value = escape(exact_text(fact.value, fact.unit, lang, _in_percent(row)))
        listed = escape(url("reference/numbers", row.anchor))
        formula = [part for part in (fact.formula, _with(row)) if part]
        body.append(
            f'<tr id="{escape(row.anchor)}" data-fact="{escape(row.key)}" data-href="{listed}" '
            f'data-report="{escape(report_url(page, fact.expr))}"><td class="tl-v"><a href="{listed}">{value}</a></td>'
            f"<td>{escape(fact.about[lang])}</td><td>{'<br>'.join(f'<code>{escape(part)}</code>' for part in formula)}</td>"
            f"<td>{GRADES[fact.grade].badge(lang)}</td><td>{_origin(row, library, lang, url)}</td>"
            f"<td>{_tests(row, full=False)}</td></tr>"
        )
    if not body:
        return ""
    heads = "".join(f'<th scope="col">{head[lang]}</th>' for head in HEADS)
    return (
        f'<div class="tl-scroll" tabindex="0" role="region" aria-label="{ON_PAGE[lang]}"><table class="tl-numbers">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{''.join(body)}</tbody></table></div>"
    )


def numbers(
    pages: Mapping[str, Iterable[Row]],
    lang: str,
    *,
    titles: Mapping[str, str],
    library: sources.Library,
    url: Url,
    report_url: ReportUrl,
    retired: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """Markdown of reference/numbers: each fact once, with every value it takes and where it stands.

    ``pages`` maps a page (``primer/shape``) to its rows in ``lang``, numbers printed by blocks included;
    ``titles`` names the pages; ``retired`` maps a fact to old names that a redirect sends to it.
    """
    facts: dict[str, dict[str, tuple[Row, list[tuple[str, Row]]]]] = {}
    for page, rows in pages.items():
        for row in rows:
            _, uses = facts.setdefault(row.fact.name, {}).setdefault(row.fact.expr, (row, []))
            uses.append((page, row))
    out = [NUMBERS_PAGE[lang]]
    for name in sorted(facts):
        values = facts[name]
        first = next(iter(values.values()))[0]
        fact = first.fact
        aliases = "".join(f'<span id="fact-{escape(old)}"></span>' for old in (retired or {}).get(name, ()))
        details = [(HEADS[2][lang], f"<code>{escape(fact.formula)}</code>" if fact.formula else ""),
                   (HEADS[4][lang], "" if fact.grade == "cited" else _origin(first, library, lang, url)),
                   (HEADS[5][lang], _tests(first, full=True))]  # fmt: skip
        listed = "".join(f"<dt>{label}</dt><dd>{text}</dd>" for label, text in details if text)
        out.append(
            f"\n## `{name}` {{ #fact-{name} }}\n\n"
            f"<p>{aliases}{escape(fact.about[lang])} {GRADES[fact.grade].badge(lang)}</p>\n"
            + (f'<dl class="tl-fact">{listed}</dl>\n' if listed else "")
            + _values(values.values(), lang, fact.grade == "cited", titles, library, url, report_url)
        )
    return "".join(out)


def _values(values: Iterable[tuple[Row, list[tuple[str, Row]]]], lang: str, cited: bool, titles: Mapping[str, str],
            library: sources.Library, url: Url, report_url: ReportUrl) -> str:  # fmt: skip
    """The values of one fact as a table: value, parameters (and source), pages, report."""
    body = []
    for row, uses in values:
        percent = all(_in_percent(used) for _, used in uses)
        value = escape(exact_text(row.fact.value, row.fact.unit, lang, percent))
        given = f"<code>{escape(_with(row))}</code>" if row.fact.params else ""
        origin = _origin(row, library, lang, url) if cited else ""
        places = "<br>".join(
            f'<a href="{escape(url(page, row.anchor))}">{escape(titles.get(page, page))}</a>' for page, _ in uses
        )
        report = f'<a href="{escape(report_url("reference/numbers", row.fact.expr))}">{REPORT[lang]}</a>'
        body.append(
            f'<tr id="{escape(row.anchor)}"><td class="tl-v">{value}</td><td>{"<br>".join(filter(None, (given, origin)))}</td>'
            f"<td>{places}</td><td>{report}</td></tr>"
        )
    heads = (HEADS[0], WITH, STANDS, ERROR)
    return (
        '<div class="tl-scroll"><table class="tl-numbers">\n<thead><tr>'
        + "".join(f'<th scope="col">{head[lang]}</th>' for head in heads)
        + f"</tr></thead>\n<tbody>{''.join(body)}</tbody></table></div>\n"
    )
