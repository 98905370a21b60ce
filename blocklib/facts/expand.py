"""From the source of a page to Markdown in which every number leads to its row; the lines stay where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from blocklib.facts.items import Badge, Bound, Given, Later
from blocklib.facts.pages import PageNumbers

_LINK = re.compile(
    r"\[((?:[^\[\]\\]|\\.)*)\]\((?:fact|given|later|claim):[^()\s]*\)|\[((?:[^\[\]\\]|\\.)*)\]\[[\w.:-]+\]"
)


def expand(markdown: str, numbers: PageNumbers, later: Mapping[str, str] | None = None,
           grades: Mapping[str, tuple[str, str, str]] | None = None) -> str:  # fmt: skip
    """``markdown`` with its links to facts and givens as HTML, in formulas as ``\\href``; as many lines as before.

    ``markdown`` is the page's source, or what is left of it without the front matter. In alt text, titles and
    attributes only the text stays. A link at fault becomes ``<span class="tl-wrong">``. ``later``: the ids of
    sections to come, each with the title that a link to it shows. ``grades``: the claims whose grade a page may
    quote, each with the badge's classes, its address as seen from the page, and its title.
    Raises :class:`ValueError` where ``markdown`` is not the end of the source that was checked.
    """
    page = numbers.page
    plain = markdown.replace("\r\n", "\n")
    shift = len(page.source) - len(plain)
    if shift < 0 or page.source[shift:] != plain:
        raise ValueError(f"{page.path}: the text to expand is not the end of the text that was checked")
    edits = [edit for item in page.items for edit in _edits(item, _markup(item, numbers)) if edit[0] >= shift]
    edits += [edit for link in page.later for edit in _edits(link, _plain_span(link, later or {})) if edit[0] >= shift]
    edits += [edit for link in page.badges for edit in _badge(link, page.source, grades or {}) if edit[0] >= shift]
    for start, end, text in sorted(edits, reverse=True):
        lines = page.source.count("\n", start, end)
        plain = plain[: start - shift] + text + "\n" * lines + plain[end - shift :]
    return plain


def _edits(item: Bound | Given | Later | Badge, markup: tuple[str, str]) -> list[tuple[int, int, str]]:
    return [(*item.opening, markup[0]), (*item.closing, markup[1])]


def _plain_span(link: Later, later: Mapping[str, str]) -> tuple[str, str]:
    if link.place.text_only:
        return "", ""
    if link.target not in later:
        return '<span class="tl-wrong">', "</span>"
    return f'<span class="tl-later" title="{escape(later[link.target])}">', "</span>"


def _badge(link: Badge, source: str, grades: Mapping[str, tuple[str, str, str]]) -> list[tuple[int, int, str]]:
    """The edits that make a badge of the link; brackets round it stay on its line."""
    if link.place.text_only or link.target not in grades:
        return _edits(link, ("", "") if link.place.text_only else ('<span class="tl-wrong">', "</span>"))
    css, address, title = map(escape, grades[link.target])
    (start, opened), (closing, end) = link.opening, link.closing
    before, after = f'<a class="{css}" href="{address}" title="{title}">', "</a>"
    around = source[max(0, start - 1) : start] + source[end : end + 1]
    if around in ("()", "（）"):
        start, before = start - 1, f'<span class="tl-keep">{around[0]}{before}'
        end, after = end + 1, f"{after}{around[1]}</span>"
    return [(start, opened, before), (closing, end, after)]


def _markup(item: Bound | Given, numbers: PageNumbers) -> tuple[str, str]:
    row = numbers.row(item) if isinstance(item, Bound) else None
    if item.place.text_only:
        return "", ""
    if item.math:
        return (f"\\href{{\\#{row.anchor}}}{{", "}") if row else ("{", "}")
    if isinstance(item, Given):
        return '<span class="tl-given">', "</span>"
    if row is None:
        return '<span class="tl-wrong">', "</span>"
    return f'<a class="tl-num" href="#{escape(row.anchor)}">', "</a>"


def plain(text: str) -> str:
    """``text`` with links of our own as their text alone: for the title and description of a page."""
    return _LINK.sub(lambda found: found[1] if found[1] is not None else found[2], text)
