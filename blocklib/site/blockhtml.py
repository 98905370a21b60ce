"""An executed block, or a cell of a lesson, as the reader sees it: its source, then what it printed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import cache

from blocklib.text import Text

RESULT = Text("结果", "Result")
CELL = Text("单元", "Cell")
NUMBER = ' class="n"'
_NUMERIC = re.compile(r"[+\-−]?[\d.,\s]+(?:\s?[%‰A-Za-z/]+)?")
# `# 中文 | English`: a comment in both languages; the page shows its own side.
_COMMENT = re.compile(r"^(?P<before>.*?#[ ]?)(?P<zh>[^|]*[\u4e00-\u9fff][^|]*?) \| (?P<en>[^|\u4e00-\u9fff]+)$")


def own_comments(source: str, lang: str) -> str:
    """``source`` with each two-language comment reduced to ``lang``; line count and code stay as they are."""
    return "\n".join(_COMMENT.sub(lambda m: m["before"] + m[lang], line) for line in source.split("\n"))


@cache
def _tools():
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return PythonLexer(), HtmlFormatter(cssclass="highlight", wrapcode=True)


def highlighted(source: str) -> str:
    """Python source as the site's other code is marked up."""
    from pygments import highlight

    return highlight(source.rstrip() + "\n", *_tools())


def _table(head: list[str], rows: list[list[str]], lang: str) -> str:
    right = [bool(rows) and all(_NUMERIC.fullmatch(row[i].strip()) for row in rows) for i in range(len(head))]

    def cells(opening: str, row: list[str]) -> str:
        tag = opening.split()[0]
        return "".join(
            f"<{opening}{NUMBER if number else ''}>{html.escape(cell)}</{tag}>"
            for cell, number in zip(row, right, strict=True)
        )

    heads = cells('th scope="col"', head)
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="tl-scroll" tabindex="0" role="region" aria-label="{RESULT[lang]}"><table class="tl-numbers">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _results(parts: list[list], lang: str, printed: Callable[[str], str], chart: Callable[[list], str]) -> str:
    """What a block or cell shows, in order: charts at full width, everything else in strips with the word for result."""
    shown, strip = [], []

    def end_strip() -> None:
        if strip:
            tag = f'<span class="tl-result__tag">{RESULT[lang]}</span>'
            shown.append(f'<div class="tl-result">{tag}{"".join(strip)}</div>')
            strip.clear()

    for part in parts:
        if part[0] == "chart":
            end_strip()
            shown.append(chart(part))
        elif part[0] == "text":
            strip.append(f"<pre><code>{html.escape(part[1].rstrip())}\n</code></pre>")
        elif part[0] == "table":
            strip.append(_table(part[1], part[2], lang))
        else:
            strip.append(printed(part[1]))
    end_strip()
    return "\n".join(shown)


def render_block(name: str, source: str, parts: list[list], lang: str, printed: Callable[[str], str],
                 chart: Callable[[list], str] = lambda part: part[1]) -> str:  # fmt: skip
    """HTML of a block: ``parts`` as recorded; ``printed`` turns Markdown that the block printed into HTML, ``chart``
    a chart that it drew."""
    return (
        f'<div class="tl-run-block" data-snippet="snippets/{html.escape(name)}">\n'
        f"{highlighted(own_comments(source, lang))}{_results(parts, lang, printed, chart)}\n</div>"
    )


def render_cell(number: int, source: str, parts: list[list], lang: str, printed: Callable[[str], str],
                chart: Callable[[list], str]) -> str:  # fmt: skip
    """HTML of a lesson's cell, like that of a block, with its number."""
    return (
        f'<div class="tl-run-block tl-cell" data-cell="{number}"><span class="tl-cell__no">{CELL[lang]} {number}</span>\n'
        f"{highlighted(own_comments(source, lang))}{_results(parts, lang, printed, chart)}\n</div>"
    )
