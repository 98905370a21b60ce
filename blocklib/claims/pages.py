"""The pages of the site as the checkers of claims, ids and terms read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blocklib.facts.files import page_paths, read_page
from blocklib.facts.items import Block, Page

_OPEN = re.compile(r"\s*(/{3,})")
_NAME = re.compile(r"docs/(.*)\.(zh|en)\.md$")


def pages(root: Path, lang: str | None = None) -> Iterator[tuple[str, Page]]:
    """(``primer/shape``, its scanned source) of every page, in one language or both, by path."""
    for path in page_paths(root):
        name = _NAME.match(path)
        if name and lang in (None, name[2]):
            yield name[1], read_page(root, path)[0]


def titles(root: Path, lang: str) -> dict[str, str]:
    """Page → its first heading in ``lang``."""
    return {name: page.headings[0].text if page.headings else name for name, page in pages(root, lang)}


def body(page: Page, block: Block) -> str:
    """The Markdown of a block between its first and its closing line, options left out; "" if it is not closed."""
    lines = page.source.split("\n")
    slashes = _OPEN.match(lines[block.line - 1])
    if not slashes:
        return ""
    end = next((i for i in range(block.line, len(lines)) if lines[i].strip() == slashes[1]), None)
    if end is None:
        return ""
    inner = lines[block.line : end]
    while inner and inner[0].startswith("    "):
        inner.pop(0)
    return "\n".join(inner).strip()
