"""The outline of a page: headings, claim and exhibit blocks and executed snippets, with their lines.

Source: the Markdown of one page in one language. Code fences, front matter and comments are not outline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LANG_SUFFIX = re.compile(r"\.(zh|en)\.md$")
_FENCE = re.compile(r"^(\s*(?:>\s*)*)(`{3,}|~{3,})(.*)$")
_ATX = re.compile(r"^ {0,3}(#{1,6})(?!#)\s*(.*?)\s*$")
_ATTRS = re.compile(r"\s*\{:?\s*([^{}]*)\}\s*#*\s*$")
_IDENT = re.compile(r"(?:^|\s)#(\S+)")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_NOT_TITLE = re.compile(r"^\s*(?:$|[#>|*+`~<]|-(?:\s|$|-)|/{3,}|\d+[.)]\s|\{)")
_BLOCK = re.compile(r"^\s*(/{3,})\s*(claim|exhibit)\b\s*(?:\|\s*(.*?))?\s*$")
_CLOSE = re.compile(r"^\s*(/{3,})\s*$")
_EXEC = re.compile(r"""\bexec\s*=\s*["']?(?:on|1|true|yes)\b""", re.I)
_SNIPPET = re.compile(r"""^\s*-+8<-+\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Mark:
    """One item of the outline: ``kind`` heading, claim, exhibit or snippet; ``end`` is a block's last line.

    ``ident`` is the explicit id (``""`` if there is none) or the snippet's path; only headings have a level.
    """

    kind: str
    ident: str
    line: int
    level: int = 0
    text: str = ""
    end: int = 0

    def __str__(self) -> str:
        name = {"heading": f"heading #{self.ident}", "snippet": f"executed block {self.ident!r}"}
        return name.get(self.kind, f"{self.kind} {self.ident!r}")


def blank(markdown: str) -> list[str]:
    """The lines of a page with front matter and HTML comments emptied; as many lines as before."""
    text = markdown.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines and lines[0].strip() == "---":
        end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() in ("---", "...")), 0)
        for i in range(end + 1 if end else 0):
            lines[i] = ""
    fence, comment = "", False
    for i, line in enumerate(lines):
        if comment:
            before, close, rest = line.partition("-->")
            lines[i], comment = (rest, False) if close else ("", True)
            continue
        fence = _next_fence(line, fence)
        if fence or "<!--" not in line:
            continue
        line = re.sub(r"<!--.*?-->", "", line)
        if "<!--" in line:
            line, comment = line.partition("<!--")[0], True
        lines[i] = line
    return lines


def _next_fence(line: str, fence: str) -> str:
    """The fence that is open after ``line``, given the one open before it (``""``: none)."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        # A backtick fence's info string has no backtick: that would be inline code.
        return "" if found[2][0] == "`" and "`" in found[3] else found[2]
    closes = found[2][0] == fence[0] and len(found[2]) >= len(fence) and not found[3].strip()
    return "" if closes else fence


def outline(markdown: str) -> list[Mark]:
    """The marks of one page in the order of their lines."""
    marks: list[Mark] = []
    lines = blank(markdown)
    fence, exec_line = "", 0
    open_blocks: list[tuple[int, int]] = []  # (number of slashes, index into marks)
    for number, line in enumerate(lines, 1):
        was, fence = fence, _next_fence(line, fence)
        if fence or was:
            if fence and not was:
                exec_line = number if _EXEC.search(line) else 0
            elif exec_line and (found := _SNIPPET.match(line)):
                marks.append(Mark("snippet", found[1], exec_line))
            continue
        if found := _BLOCK.match(line):
            open_blocks.append((len(found[1]), len(marks)))
            marks.append(Mark(found[2], (found[3] or "").strip(), number))
        elif (found := _CLOSE.match(line)) and open_blocks:
            if len(found[1]) == open_blocks[-1][0]:
                index = open_blocks.pop()[1]
                marks[index] = Mark(marks[index].kind, marks[index].ident, marks[index].line, end=number)
        elif (found := _ATX.match(line)) and found[2]:
            marks.append(_heading(found[2], len(found[1]), number))
        elif (found := _SETEXT.match(line)) and number > 1 and not _NOT_TITLE.match(lines[number - 2]):
            # Two dashes under a paragraph line make it a heading, whether the author meant it or not.
            if number < 3 or not lines[number - 3].strip():
                marks.append(_heading(lines[number - 2].strip(), 1 if found[1][0] == "=" else 2, number - 1))
    return marks


def _heading(text: str, level: int, line: int) -> Mark:
    attrs = _ATTRS.search(text)
    ident = _IDENT.search(attrs[1]) if attrs else None
    title = text[: attrs.start()] if attrs else text.rstrip("#").rstrip()
    return Mark("heading", ident[1] if ident else "", line, level, title.strip())


def block_body(markdown: str, mark: Mark) -> str:
    """The Markdown between a block's header and its closing line, options left out."""
    lines = blank(markdown)[mark.line : (mark.end or mark.line + 1) - 1]
    while lines and lines[0].startswith("    "):
        lines.pop(0)
    return "\n".join(lines).strip()
