"""Links that MkDocs leaves alone: it reads Markdown links to pages, and no ``<a href="page.md">`` written as HTML."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote

_TO_PAGE = re.compile(r'(?P<before><a\s[^>]*?\bhref=")(?P<path>[^":?#]+\.md)(?:#(?P<anchor>[^"]*))?(?=")')

Address = Callable[[str, str], str | None]
"""``address(src_uri, anchor)``: where a page stands, relative to the one being written; None if there is none."""


def resolve(content: str, src_uri: str, address: Address, missing: Callable[[str], None]) -> str:
    """Finished HTML with its links to source files led to their pages; ``missing`` takes those that lead nowhere."""

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(src_uri), unquote(match["path"])))
        url = address(target, match["anchor"] or "")
        if url is None:
            missing(match["path"])
            return match[0]
        return match["before"] + url + (f"#{match['anchor']}" if match["anchor"] else "")

    return _TO_PAGE.sub(lead, content)
