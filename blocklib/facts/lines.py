"""Lines of Markdown: the patterns of its blocks, and what is settled before the walk begins."""

from __future__ import annotations

import re
from dataclasses import dataclass

from blocklib.facts.inline import ATTRIBUTES, code_span
from blocklib.facts.items import BLOT

Line = tuple[int, str]  # source offset of the first character, text without the line end

FENCE = re.compile(r"(`{3,}|~{3,})(.*)$")
EXEC = re.compile(r"""\bexec\s*=\s*["']?(?!(?:off|no|false|0)\b)\w""", re.I)  # as markdown-exec reads the option
TITLE = re.compile(r"""\btitle=(?:"([^"]*)"|'([^']*)')""")
SNIPPET = re.compile(r"""\s*-{1,}8<-{1,}\s*(?:["']([^"']+)["'])?""")
HEADING = re.compile(r"(#{1,6})(?!#)[ \t]*(.*?)[ \t]*$")
SETEXT = re.compile(r"(=+|-+)[ ]*$")
RULE = re.compile(r"(?:[-*_][ ]*){3,}$")
BULLET = re.compile(r"([-+*])[ \t]+(?:\[[ xX]\][ ]+)?")
NUMBER = re.compile(r"(\d+)\.[ \t]+")
ADMONITION = re.compile(r"""(?:!!!|\?\?\?\+?)[ ]+[\w -]*?(?:[ ]*"(.*)")?[ ]*$""")
TAB = re.compile(r"""===[!+]*[ ]+"(.*)"[ ]*$""")
FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]:[ ]*")
LABEL = re.compile(r"""\[([^\]^][^\]]*)\]:[ \t]*(\S+)(?:[ \t]+(?:"(.*)"|'(.*)'|\((.*)\)))?[ \t]*$""")
ABBREVIATION = re.compile(r"\*\[([^\]]+)\]:[ ]*")
BLOCK = re.compile(r"(/{3,})[ ]*([A-Za-z][\w-]*)[ ]*(?:\|[ ]*(.*?))?[ ]*$")
BLOCK_END = re.compile(r"(/{3,})[ ]*$")
SEPARATOR = re.compile(r"\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?[ ]*$")
HTML = re.compile(r"<(/?)([A-Za-z][\w-]*)\b")
BLOCK_TAGS = set(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr iframe legend li main math menu nav ol p picture pre script section style summary "
    "svg table tbody td template tfoot th thead tr ul video".split()
)
NOT_TEXT = {"script", "style", "template", "pre"}
ITEMS = ((FOOTNOTE, "footnote"), (BULLET, "list"), (NUMBER, "list"), (re.compile(r":[ \t]+"), "list"))
ID = re.compile(r"#([\w:.-]+)")
LINK_IDS = {"claim", "exhibit", "margin", "chapters", "leans-on"}  # blocks whose argument is an id, not text
CAPTIONS = {"exhibit", "caption", "figure-caption", "table-caption"}
FRONT = ("title", "description")


@dataclass(frozen=True)
class Fence:
    """An open code fence: its mark, the width and the quote marks of what stands before it, its line, executed."""

    mark: str
    column: int
    quotes: int
    line: int
    executed: bool

    def closed_by(self, text: str) -> bool:
        """Only a mark in the very column of the first one closes a fence."""
        lead, body = before(text)
        return body.rstrip() == self.mark and len(lead) == self.column and lead.count(">") == self.quotes

    def left_by(self, text: str) -> bool:
        """Whether the line stands outside the fence's indentation or quote: the extension then gives up the fence."""
        lead, body = before(text)
        short = len(lead) < self.column or lead[: self.column].count(">") != self.quotes
        return bool(body) and bool(self.column) and short


def before(text: str) -> tuple[str, str]:
    """What stands before a line's text (blanks, quote marks; tabs as columns), and the text."""
    body = text.lstrip(" >\t")
    return text[: len(text) - len(body)].expandtabs(4), body


def labels(lines: list[Line]) -> dict[str, int]:
    """Link definitions of a page, and footnotes as ``^name``, by folded label; they may stand after their use."""
    found_labels: dict[str, int] = {}
    fence = ""
    for number, (_, text) in enumerate(lines, 1):
        found = FENCE.match(text.lstrip(" >"))
        if found and (not fence or text.strip(" >") == fence):
            fence = "" if fence else found[1]
        elif not fence and not text.startswith("    "):
            if found := LABEL.match(text.strip()):
                found_labels.setdefault(" ".join(found[1].split()).casefold(), number)
            elif found := FOOTNOTE.match(text.strip()):
                found_labels.setdefault("^" + found[1], number)
    return found_labels


def misplaced(label: str, target: str) -> str:
    """What is wrong with the link definition ``[label]: target``, where it is one of our own; "" otherwise."""
    if target.startswith(("fact:", "given:")):
        return f"[{label}]: {target} belongs into the page's .facts file"
    if target.startswith(("later:", "claim:")):
        return f"[{label}]: {target} stands where it is used: [text]({target})"
    return ""


def front_matter(lines: list[Line]) -> tuple[list[tuple[str, int, list[Line]]], int]:
    """(key, offset, lines of the value) of each entry, and the index of the first line after the front matter."""
    entries: list[tuple[str, int, list[Line]]] = []
    if not lines or lines[0][1].removeprefix("\ufeff").rstrip() != "---":
        return entries, 0
    end = next((i for i in range(1, len(lines)) if lines[i][1].rstrip() in ("---", "...")), 0)
    for offset, text in lines[1:end]:
        if found := re.match(r"([A-Za-z_][\w-]*):[ \t]*(?:[>|][+-]?[ ]*$)?", text):
            entries.append((found[1], offset, [(offset + found.end(), text[found.end() :])]))
        elif entries and (not text.strip() or text.startswith((" ", "\t"))):
            indent = len(text) - len(text.lstrip())
            entries[-1][2].append((offset + indent, text[indent:]))
    return entries, end + 1 if end else 0


class Comments:
    """HTML comments, which run over lines: ``open`` says whether one goes on after the last line.

    Only at the margin may one do so: inside a line it ends there and holds no other; ``broken`` says that one does not.
    """

    def __init__(self) -> None:
        self.open = self.inside = self.broken = False

    def blot(self, text: str) -> str:
        """The line with HTML comments blotted out; every column stays."""
        result, i, inner = [], 0, 0
        self.broken = False
        while i < len(text):
            if self.open:
                stop = text.find("-->", i)
                self.open = stop < 0
                stop = len(text) if stop < 0 else stop + 3
                self.broken = self.broken or (self.inside and text.find("<!--", inner, stop) >= 0)
                result.append(BLOT * (stop - i))
                i = stop
            elif text.startswith("<!--", i):
                self.open, self.inside, inner = True, i > 3 or bool(text[:i].strip()), i + 4
            elif text[i] == "`" and not FENCE.match(text.lstrip(" >")):
                span = code_span(text, i, len(text))
                run = len(text[i:]) - len(text[i:].lstrip("`"))
                stop = span[1] if span else i + run
                result.append(text[i:stop])
                i = stop
            else:
                result.append(text[i])
                i += 1
        self.broken = self.broken or (self.open and self.inside)
        return "".join(result)


def heading(text: str) -> tuple[str, str]:
    """Text and explicit id of a heading's line: attributes and closing marks taken off."""
    text = text.rstrip()
    found = next((m for m in ATTRIBUTES.finditer(text) if m.end() == len(text)), None)
    ident = ID.search(found[0]) if found else None
    shown = text[: found.start()] if found else text
    return re.sub(r"[ ]+#+$|^#+$", "", shown.rstrip()).rstrip(), ident[1] if ident else ""


def cells(row: str) -> list[tuple[int, int]]:
    """Spans of the cells of a table row; ``\\|`` and bars in code do not divide."""
    cuts, i = [-1], 0
    while i < len(row):
        if row[i] == "\\":
            i += 2
            continue
        if row[i] == "`" and (span := code_span(row, i, len(row))):
            i = span[1]
            continue
        if row[i] == "|":
            cuts.append(i)
        i += 1
    cuts.append(len(row))
    return [(a + 1, b) for a, b in zip(cuts, cuts[1:], strict=False) if row[a + 1 : b].strip()]
