"""The block level of Markdown: a line-exact walk of one page's source.

Python-Markdown keeps no lines, so the walk is ours; it follows its rules (four columns a level, a paragraph
ends at a blank line, code is what is indented without a container) and those of the site's extensions.
Where the two could differ the walk reads text as prose: a number too many is asked for, never one too few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from blocklib.facts.inline import ATTRIBUTES, Scanner, Source, code_span
from blocklib.facts.items import BLOT, Block, Heading, Page, Place

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)$")
_EXEC = re.compile(r"""\bexec\s*=\s*["']?(?:on|1|true|yes)\b""", re.I)
_TITLE = re.compile(r"""\btitle=(?:"([^"]*)"|'([^']*)')""")
_SNIPPET = re.compile(r"""\s*-{1,}8<-{1,}\s*(?:["']([^"']+)["'])?""")
_HEADING = re.compile(r"(#{1,6})(?!#)[ \t]*(.*?)[ \t]*$")
_SETEXT = re.compile(r"(=+|-+)[ ]*$")
_RULE = re.compile(r"(?:[-*_][ ]*){3,}$")
_BULLET = re.compile(r"([-+*])[ ]+(?:\[[ xX]\][ ]+)?")
_NUMBER = re.compile(r"(\d+)\.[ ]+")
_ADMONITION = re.compile(r"""(?:!!!|\?\?\?\+?)[ ]+[\w -]*?(?:[ ]*"(.*)")?[ ]*$""")
_TAB = re.compile(r"""===[!+]*[ ]+"(.*)"[ ]*$""")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]:[ ]*")
_LABEL = re.compile(r"\[([^\]^][^\]]*)\]:[ \t]*(\S+)")
_ABBREVIATION = re.compile(r"\*\[([^\]]+)\]:[ ]*")
_BLOCK = re.compile(r"(/{3,})[ ]*([A-Za-z][\w-]*)[ ]*(?:\|[ ]*(.*?))?[ ]*$")
_BLOCK_END = re.compile(r"(/{3,})[ ]*$")
_SEPARATOR = re.compile(r"\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?[ ]*$")
_HTML = re.compile(r"<(/?)([A-Za-z][\w-]*)\b")
_BLOCK_TAGS = set(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr iframe legend li main math menu nav ol p picture pre script section style summary "
    "svg table tbody td template tfoot th thead tr ul video".split()
)
_NOT_TEXT = {"script", "style", "template", "pre"}
_ITEMS = ((_FOOTNOTE, "footnote"), (_BULLET, "list"), (_NUMBER, "list"), (re.compile(r":[ ]+"), "list"))
_ID = re.compile(r"#([\w:.-]+)")
_LINK_IDS = {"claim", "exhibit", "margin"}  # blocks whose argument is an id, not text
_CAPTIONS = {"exhibit", "caption", "figure-caption", "table-caption"}
_FRONT = ("title", "description")


@dataclass
class _Context:
    """The containers (lists, admonitions, tabs, footnotes) open in the page or in one block quote."""

    stack: list[str] = field(default_factory=list)
    blank: bool = True
    quote: _Context | None = None
    counter: dict[int, int] = field(default_factory=dict)


@dataclass
class _Open:
    """The block that is being collected: a paragraph, an item, a heading, a cell …"""

    kind: str
    where: str
    pieces: list[tuple[int, str]]
    context: _Context | None
    formula: str = ""


class _Walk:
    def __init__(self, page: Page):
        self.page, self.root = page, _Context()
        self.open: _Open | None = None
        self.fence: tuple[str, int, int, bool] | None = None  # fence, column, line, executed
        self.comment = self.table = False
        self.html: tuple[str, int] | None = None  # outermost raw HTML element and its depth
        self.blocks: list[tuple[int, str, int]] = []  # slashes, name, line
        self.options = False
        self.count = self.number = 0
        self.lines: list[tuple[int, str]] = []

    def walk(self) -> None:
        offset = 0
        for line in self.page.source.split("\n"):
            self.lines.append((offset, line.removesuffix("\r")))
            offset += len(line) + 1
        self.labels()
        start = self.front_matter()
        for number in range(start, len(self.lines)):
            self.number = number
            offset, text = self.lines[number]
            if self.fence:
                self.in_fence(text)
            else:
                self.with_comments(offset, self.without_comments(text))
        self.flush()
        end = len(self.page.source)
        if self.fence:
            line_offset = self.lines[self.fence[2] - 1][0]
            self.page.problem(line_offset, "the code fence that opens here is never closed: all after it is code")
        if self.comment:
            self.page.problem(end, "an HTML comment is never closed: the text after it is not shown")
        for _, name, number in self.blocks:
            self.page.problem(self.lines[number - 1][0], f"the block '/// {name}' is never closed by ///")

    # Before the walk

    def labels(self) -> None:
        """Link definitions may stand after their use, so they are collected first."""
        fence = ""
        for number, (_, text) in enumerate(self.lines, 1):
            found = _FENCE.match(text.lstrip(" >"))
            if found and (not fence or (text.strip(" >") == fence)):
                fence = "" if fence else found[1]
            elif not fence and (found := _LABEL.match(text.strip())) and not text.startswith("    "):
                self.page.labels.setdefault(" ".join(found[1].split()).casefold(), number)

    def front_matter(self) -> int:
        """Scan title and description; the index of the first line after the front matter."""
        if not self.lines or self.lines[0][1].removeprefix("\ufeff").rstrip() != "---":
            return 0
        end = next((i for i in range(1, len(self.lines)) if self.lines[i][1].rstrip() in ("---", "...")), 0)
        i = 1
        while i < end:
            offset, text = self.lines[i]
            found = re.match(r"([A-Za-z_][\w-]*):[ \t]*", text)
            i += 1
            if not found:
                continue
            pieces = [(offset + found.end(), text[found.end() :])]
            while i < end and (self.lines[i][1].startswith((" ", "\t")) or not self.lines[i][1].strip()):
                indent = len(self.lines[i][1]) - len(self.lines[i][1].lstrip())
                pieces.append((self.lines[i][0] + indent, self.lines[i][1][indent:]))
                i += 1
            self.page.front[found[1]] = self.page.line(offset)
            if found[1] in _FRONT:
                self.count += 1
                first = pieces[0]
                if re.fullmatch(r"[>|][+-]?\s*", first[1]):
                    pieces[0] = (first[0], "")
                Scanner(self.page, Source(pieces), Place("front matter", -1, self.count, True)).run()
        return end + 1 if end else 0

    def without_comments(self, text: str) -> str:
        """The line with HTML comments blotted out; every column stays."""
        result, i = [], 0
        while i < len(text):
            if self.comment:
                stop = text.find("-->", i)
                self.comment = stop < 0
                stop = len(text) if stop < 0 else stop + 3
                result.append(BLOT * (stop - i))
                i = stop
            elif text.startswith("<!--", i):
                self.comment = True
            elif text[i] == "`" and not _FENCE.match(text.lstrip(" >")):
                span = code_span(text, i, len(text))
                run = len(text[i:]) - len(text[i:].lstrip("`"))
                stop = span[1] if span else i + run
                result.append(text[i:stop])
                i = stop
            else:
                result.append(text[i])
                i += 1
        return "".join(result)

    def with_comments(self, offset: int, text: str) -> None:
        """A comment that begins a line divides paragraphs; a line that holds nothing else is blank."""
        body = text.lstrip(" >\t")
        if body.startswith(BLOT):
            self.line(offset, "", self.root)
            if not body.strip(BLOT + " \t"):
                if not self.comment or "<!--" in self.lines[self.number][1]:
                    del self.root.stack[(len(text) - len(body)) // 4 :]
                    self.root.quote = None if ">" not in text[: len(text) - len(body)] else self.root.quote
                return
        self.line(offset, text, self.root)

    # Code

    def in_fence(self, text: str) -> None:
        fence, column, line, executed = self.fence
        bare = text.lstrip(" >\t")
        if bare.rstrip() == fence:
            self.fence = None
        elif bare and len(text) - len(bare) < column and column:
            # The extension gives up on a fence whose text is less indented than the fence: it would be prose.
            self.page.problem(
                self.lines[self.number][0], f"this line is less indented than the code fence of line {line}"
            )
            self.fence = None
        elif found := _SNIPPET.match(text):
            self.page.blocks.append(Block("snippet", found[1] or "", line, self.section, executed))

    # One line

    @property
    def section(self) -> int:
        return len(self.page.headings) - 1

    def line(self, offset: int, text: str, context: _Context) -> None:
        text = text.expandtabs(4) if "\t" in text[: len(text) - len(text.lstrip())] else text
        body = text.lstrip(" ")
        if not body:
            self.flush()
            self.table = self.options = False
            while context:
                context.blank, context = True, context.quote
            return
        indent = len(text) - len(body)
        lazy = self.open is not None and self.open.context is context and not context.blank
        if self.options and indent >= 4:
            return
        self.options = False
        if self.html or (self.open and self.open.formula):
            return self.continued(offset + indent, body)
        level = min(indent // 4, len(context.stack))
        rest = indent - 4 * level
        if level < len(context.stack) and not (lazy and not self.starts(body)):
            del context.stack[level:]
        if rest >= 4 and not lazy:
            context.blank = False
            return None  # indented code
        if body.startswith(">") and (rest < 4):
            return self.quoted(offset + indent, body, context, lazy)
        if context.quote and not lazy:
            context.quote = None
        self.block(offset + indent, body, rest, level, context, lazy)
        context.blank = False
        return None

    def quoted(self, offset: int, body: str, context: _Context, lazy: bool) -> None:
        if not context.quote:
            if not lazy:
                self.flush()
            context.quote = _Context()
        context.blank = False
        cut = 2 if body.startswith("> ") else 1
        inner = body[cut:]
        if self.open and self.open.context is context:
            self.flush()
        self.line(offset + cut, inner, context.quote)

    def starts(self, body: str) -> bool:
        """Whether a line that is less indented than its list or admonition begins something of its own."""
        return bool(
            _FENCE.match(body) or _HEADING.match(body) or _BLOCK.match(body) or _BLOCK_END.match(body)
            or _ADMONITION.match(body) or _TAB.match(body) or _FOOTNOTE.match(body)
            or (self.open.kind == "item" and (_BULLET.match(body) or _NUMBER.match(body)))
        )  # fmt: skip

    def continued(self, offset: int, body: str) -> None:
        """A line inside raw HTML or a displayed formula: text as it stands."""
        if self.html:
            name, depth = self.html
            for found in re.finditer(rf"<(/?){name}\b[^<>]*?(/?)>", body, re.I):
                depth += -1 if found[1] else 0 if found[2] else 1
            skipped = name in _NOT_TEXT
            self.html = (name, depth) if depth > 0 else None
            if skipped:
                return
            self.extend(offset, body, "html", "html", self.root)
            if not self.html:
                self.flush()
        else:
            self.open.pieces.append((offset, body))
            if body.rstrip().endswith(self.open.formula):
                self.open.formula = ""

    def block(self, offset: int, body: str, rest: int, level: int, context: _Context, lazy: bool) -> None:
        """A line with its containers' indentation and quotes taken off."""
        if found := _FENCE.match(body):
            if "`" not in found[2] or found[1][0] == "~":
                return self.open_fence(offset, body, found)
        if _SNIPPET.match(body):
            self.flush()
            self.page.problem(offset, "a snippet outside a code fence brings in text that is not checked")
            return None
        if (found := _BLOCK_END.match(body)) or (found := _BLOCK.match(body)):
            return self.block_syntax(offset, found)
        if self.table and not lazy:
            return self.row(offset, body)
        if not rest and (found := _HEADING.match(body)):
            return self.heading(offset, found[2], found.start(2), len(found[1]))
        if lazy and (found := _SETEXT.match(body)) and self.open.kind == "text" and len(self.open.pieces) == 1:
            start, text = self.open.pieces[0]
            self.open = None
            return self.heading(start, text, 0, 1 if found[1][0] == "=" else 2)
        if not lazy or self.open.kind == "item" or body.startswith(": "):
            if self.container(offset, body, level, context, lazy):
                return None
        if not lazy and self.table_head(body):
            self.flush()
            self.table = True
            return self.row(offset, body)
        if _RULE.match(body):
            self.flush()
            return None
        if (found := _HTML.match(body)) and found[2].lower() in _BLOCK_TAGS and not lazy:
            return self.open_html(offset, body, found)
        self.extend(offset, body, "text", self.where(context), context)
        for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\begin{", "}")):
            if body.startswith(opening) and not (len(body) > 2 and body.rstrip()[2:].endswith(closing)):
                self.open.formula = closing
        return None

    def where(self, context: _Context) -> str:
        names = [name for _, name, _ in self.blocks]
        if any(name in _CAPTIONS for name in names):
            return "caption"
        return names[-1] if names else context.stack[-1] if context.stack else "prose"

    # Leaf blocks

    def place(self, where: str, text_only: bool = False) -> Place:
        self.count += 1
        return Place(where, self.section, self.count, text_only)

    def extend(self, offset: int, body: str, kind: str, where: str, context: _Context | None) -> None:
        if self.open and self.open.context is context:
            self.open.pieces.append((offset, body))
        else:
            self.flush()
            self.open = _Open(kind, where, [(offset, body)], context)

    def flush(self) -> None:
        if self.open:
            block, self.open = self.open, None
            if block.pieces != [(block.pieces[0][0], "")]:
                Scanner(self.page, Source(block.pieces), self.place(block.where)).run()

    def text(self, offset: int, text: str, where: str, text_only: bool = False) -> str:
        """Scan one line of its own (heading, cell, title); its visible text."""
        self.flush()
        return Scanner(self.page, Source([(offset, text)]), self.place(where, text_only)).run().text

    def heading(self, offset: int, text: str, cut: int, level: int) -> None:
        self.flush()
        text = text.rstrip()
        attributes = next((m for m in ATTRIBUTES.finditer(text) if m.end() == len(text)), None)
        ident = _ID.search(attributes[0]) if attributes else None
        shown = text[: attributes.start()] if attributes else text
        shown = re.sub(r"[ ]+#+$|^#+$", "", shown.rstrip()).rstrip()
        line = self.page.line(offset)
        self.page.headings.append(Heading(level, ident[1] if ident else "", "", offset, line))
        visible = self.text(offset + cut, shown, "heading").strip()
        self.page.headings[-1] = Heading(level, ident[1] if ident else "", visible, offset, line)

    def open_fence(self, offset: int, body: str, found: re.Match) -> None:
        self.flush()
        number = self.number + 1
        self.fence = (found[1], offset - self.lines[self.number][0], number, bool(_EXEC.search(found[2])))
        if title := _TITLE.search(found[2]):
            group = 1 if title[1] is not None else 2
            self.text(offset + found.start(2) + title.start(group), title[group], "title", True)

    def open_html(self, offset: int, body: str, found: re.Match) -> None:
        self.flush()
        name = found[2].lower()
        if not found[1] and name != "hr" and not re.search(r"<[^<>]*\smarkdown\b", body):
            self.html = (name, 0)
            self.continued(offset, body)
        else:
            self.extend(offset, body, "html", "html", self.root)

    def table_head(self, body: str) -> bool:
        if "|" not in body or self.number + 1 >= len(self.lines):
            return False
        following = self.lines[self.number + 1][1].lstrip(" >\t")
        return bool(_SEPARATOR.match(following)) and "-" in following

    def row(self, offset: int, body: str) -> None:
        if not _SEPARATOR.match(body):
            for start, end in cells(body):
                self.text(offset + start, body[start:end], "table")

    def block_syntax(self, offset: int, found: re.Match) -> None:
        self.flush()
        slashes = len(found[1])
        if found.re is _BLOCK_END:
            if not self.blocks or slashes != self.blocks[-1][0]:
                self.page.problem(offset, f"{found[1]} closes no block that is open")
            else:
                self.blocks.pop()
            return
        name, argument = found[2], (found[3] or "").strip()
        self.blocks.append((slashes, name, self.number + 1))
        self.options = True
        ident = argument if name in _LINK_IDS else ""
        self.page.blocks.append(Block(name, ident, self.number + 1, self.section))
        if argument and name not in _LINK_IDS:
            self.text(offset + found.start(3), argument, "title")

    def container(self, offset: int, body: str, level: int, context: _Context, lazy: bool) -> bool:
        """Open a list item, admonition, tab, footnote or definition; True where the line did."""
        if not lazy:
            for pattern in (_ADMONITION, _TAB):
                if found := pattern.match(body):
                    if found[1]:
                        self.text(offset + found.start(1), found[1], "title")
                    self.push(context, level, "prose")
                    return True
            if found := _LABEL.match(body):
                if found[2].startswith(("fact:", "given:")):
                    self.page.problem(offset, f"[{found[1]}]: {found[2]} belongs into the page's .facts file")
                return True
            if found := _ABBREVIATION.match(body):
                self.text(offset + found.end(), body[found.end() :], "abbreviation", True)
                return True
        if _RULE.match(body):
            return False
        for pattern, where in _ITEMS:
            if found := pattern.match(body):
                self.flush()
                if pattern is _NUMBER:
                    self.ordinal(offset, int(found[1]), level, context)
                else:
                    context.counter.pop(level, None)
                self.push(context, level, where)
                item = body[found.end() :]
                self.open = _Open("item", self.where(context), [(offset + found.end(), item)], context)
                context.blank = False
                return True
        if not lazy:
            context.counter.pop(level, None)
        return False

    def ordinal(self, offset: int, number: int, level: int, context: _Context) -> None:
        """A sentence that begins with a year and a full stop becomes a list and loses the year."""
        before = context.counter.get(level)
        if number > 1 if before is None else number not in (before, before + 1):
            self.page.problem(
                offset, f"the line opens with '{number}.', which Markdown takes for a list marker and drops; "
                "reword it, or number the list from 1"
            )  # fmt: skip
        context.counter[level] = number

    def push(self, context: _Context, level: int, where: str) -> None:
        self.flush()
        del context.stack[level:]
        context.stack.append(where)
        for deeper in [k for k in context.counter if k > level]:
            del context.counter[deeper]


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


def scan(markdown: str, path: str, lang: str) -> Page:
    """Scan one page. ``path`` and ``lang`` are kept for messages; nothing is evaluated here.

    What is broken in the Markdown itself (an open fence, an open block, a year that becomes a list) is in
    ``Page.problems``.
    """
    page = Page(path, lang, markdown)
    _Walk(page).walk()
    page.items.sort(key=lambda item: item.start)
    return page
