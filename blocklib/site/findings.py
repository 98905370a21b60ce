"""MkDocs' own findings: its warnings about links and navigation become faults with file and line."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

LOGGERS = ("mkdocs.structure.pages", "mkdocs.structure.nav", "mkdocs.structure.files", "mkdocs.commands.build")
_DOC_LINK = re.compile(
    r"Doc file '([^']+)' (contains (?:a link|an absolute link|an unrecognized relative link) '([^']+)'.*)", re.S
)

Take = Callable[[str | None, str, str], bool]
"""``take(src_uri, link, message)``: True if the warning was taken; no ``src_uri`` where it is about no page."""


class _Findings(logging.Filter):
    def __init__(self, take: Take):
        super().__init__()
        self.take = take

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        message = record.getMessage()
        if found := _DOC_LINK.match(message):
            return not self.take(found[1], found[3], found[2])
        return not self.take(None, "", message)


def listen(take: Take) -> None:
    """Offer each warning to ``take`` instead of the log, in place of an earlier listener."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        for old in [f for f in logger.filters if type(f).__name__ == _Findings.__name__]:
            logger.removeFilter(old)  # also one of a module that was since loaded anew
        logger.addFilter(_Findings(take))
    # With -v MkDocs leaves links to anchors unchecked; at this level it never does.
    logging.getLogger("mkdocs.structure.pages").setLevel(logging.INFO)


def line_of(source: str, text: str) -> int:
    """First line of a source that holds ``text``; 0 where there is none."""
    at = source.find(text)
    return source.count("\n", 0, at) + 1 if at >= 0 else 0
