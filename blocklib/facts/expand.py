"""From the source of a page to Markdown in which every number leads to its row; the lines stay where they are."""

from __future__ import annotations

import re
from html import escape

from blocklib.facts.items import Bound, Given
from blocklib.facts.pages import PageNumbers

_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\((?:fact|given):[^()\s]*\)|\[((?:[^\[\]\\]|\\.)*)\]\[[\w.:-]+\]")


def expand(markdown: str, numbers: PageNumbers) -> str:
    """``markdown`` with its links to facts and givens as HTML, in formulas as ``\\href``; as many lines as before.

    ``markdown`` is the page's source, or what is left of it without the front matter. In alt text, titles and
    attributes only the text stays. A link at fault becomes ``<span class="tl-wrong">``.
    Raises :class:`ValueError` where ``markdown`` is not the end of the source that was checked.
    """
    page = numbers.page
    plain = markdown.replace("\r\n", "\n")
    shift = len(page.source) - len(plain)
    if shift < 0 or page.source[shift:] != plain:
        raise ValueError(f"{page.path}: the text to expand is not the end of the text that was checked")
    edits = [edit for item in page.items for edit in _edits(item, numbers) if edit[0] >= shift]
    for start, end, text in sorted(edits, reverse=True):
        lines = page.source.count("\n", start, end)
        plain = plain[: start - shift] + text + "\n" * lines + plain[end - shift :]
    return plain


def _edits(item: Bound | Given, numbers: PageNumbers) -> list[tuple[int, int, str]]:
    before, after = _markup(item, numbers)
    return [(*item.opening, before), (*item.closing, after)]


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
    """``text`` with links to facts and givens as their text alone: for the title and description of a page."""
    return _LINK.sub(lambda found: found[1] if found[1] is not None else found[2], text)
