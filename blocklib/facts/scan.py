"""The block level of Markdown: a line-exact walk of one page's source.

Python-Markdown keeps no lines, so the walk is ours; it follows its rules (four columns a level, a paragraph
ends at a blank line, code is what is indented without a container) and those of the site's extensions.
Where the two could differ the walk reads text as prose: a number too many is asked for, never one too few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from blocklib.facts import lines as md
from blocklib.facts.inline import Scanner, Source
from blocklib.facts.items import BLOT, OPAQUE, Block, Heading, Page, Place


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
        self.fence: md.Fence | None = None
        self.table = self.coded = False  # coded: the line before is indented code
        self.comments = md.Comments()
        self.fenced = self.root  # the context in which the last fence stands
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
        self.page.labels.update(md.labels(self.lines))
        start = self.front_matter()
        if start < len(self.lines) and self.lines[start][1].isspace():
            self.page.problem(self.lines[start][0], "blanks alone on the first line shift what follows: empty the line")
        for number in range(start, len(self.lines)):
            self.number = number
            offset, text = self.lines[number]
            if self.fence:
                self.in_fence(text)
            else:
                lead, body = md.before(text)  # with tabs as columns; the offset stays that of the text behind
                offset, text = offset + len(text) - len(body) - len(lead), self.comments.blot(lead + body)
                if self.comments.broken:
                    self.page.problem(self.lines[number][0], "a comment inside a line ends on it and holds no other")
                self.with_comments(offset, text)
        self.flush()
        end = len(self.page.source)
        if self.fence:
            line_offset = self.lines[self.fence.line - 1][0]
            self.page.problem(line_offset, "the code fence that opens here is never closed: all after it is code")
        if self.comments.open:
            self.page.problem(end, "an HTML comment is never closed: the text after it is not shown")
        for _, name, number in self.blocks:
            self.page.problem(self.lines[number - 1][0], f"the block '/// {name}' is never closed by ///")

    def front_matter(self) -> int:
        """Scan title and description; the index of the first line after the front matter."""
        entries, end = md.front_matter(self.lines)
        for key, offset, pieces in entries:
            self.page.front[key] = self.page.line(offset)
            if key in md.FRONT:
                self.count += 1
                Scanner(self.page, Source(pieces), Place("front matter", -1, self.count, True)).run()
        return end

    def with_comments(self, offset: int, text: str) -> None:
        """A comment that begins a line divides paragraphs; a line that holds nothing else is blank."""
        body = text.lstrip(" >\t")
        if body.startswith(BLOT) and not self.comments.inside:
            self.line(offset, "", self.root)
            if not body.strip(BLOT + " \t"):
                self.root.stack.clear()
                self.root.quote = None
                return
        self.line(offset, text, self.root)

    # Code

    def in_fence(self, text: str) -> None:
        if (fence := self.fence).closed_by(text):
            self.fence = None
            # To Markdown the fence is one word: what follows without a blank line goes on with its paragraph.
            offset = self.lines[self.number][0]
            self.open = _Open("fence", "prose", [(offset, OPAQUE)], self.fenced)
        elif fence.left_by(text):
            where, self.fence = self.lines[self.number][0], None
            self.page.problem(where, f"this line is less indented than the code fence of line {fence.line}")
        elif found := md.SNIPPET.match(text):
            self.page.blocks.append(Block("snippet", found[1] or "", fence.line, self.section, fence.executed))

    # One line

    @property
    def section(self) -> int:
        return len(self.page.headings) - 1

    def line(self, offset: int, text: str, context: _Context) -> None:
        body = text.lstrip(" ")
        if not body:
            self.flush()
            self.table = self.options = self.coded = False
            while context:
                context.blank, context = True, context.quote
            return
        indent = len(text) - len(body)
        lazy = self.open is not None and self.open.context is context and not context.blank
        if self.options and indent >= 4:
            return
        if self.in_quote(context) and not body.startswith(">") and not self.starts(body):
            self.open.pieces.append((offset + indent, body))  # the quoted paragraph goes on without its mark
            return
        self.options = False
        if self.html or (self.open and self.open.formula):
            context.blank = False
            return self.continued(offset + indent, body)
        level = min(indent // 4, len(context.stack))
        rest = indent - 4 * level
        if level < len(context.stack) and not (lazy and not self.starts(body)):
            del context.stack[level:]
        if rest >= 4 and not lazy and (context.blank or self.coded):
            context.blank = False
            self.coded = True
            return None
        if body.startswith(">") and (rest < 4):
            return self.quoted(offset + indent, body, context)
        if not lazy:
            context.quote = None
        self.block(offset + indent, body, rest, level, context, lazy)
        context.blank = False
        return None

    def in_quote(self, context: _Context) -> bool:
        """Whether the open paragraph stands in a block quote of this context, with no blank line since."""
        inner = context.quote
        while inner and self.open and not context.blank:
            if inner is self.open.context:
                return not inner.blank
            inner = inner.quote
        return False

    def quoted(self, offset: int, body: str, context: _Context) -> None:
        if not context.quote:
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
            md.FENCE.match(body) or md.HEADING.match(body) or md.BLOCK.match(body) or md.BLOCK_END.match(body)
            or md.ADMONITION.match(body) or md.TAB.match(body) or md.FOOTNOTE.match(body)
            or (self.open.kind == "item" and (md.BULLET.match(body) or md.NUMBER.match(body)))
        )  # fmt: skip

    def continued(self, offset: int, body: str) -> None:
        """A line inside raw HTML or a displayed formula: text as it stands."""
        if self.html:
            name, depth = self.html
            end = 0
            for found in re.finditer(rf"<(/?){name}\b[^<>]*?(/?)>", body, re.I):
                depth += -1 if found[1] else 0 if found[2] else 1
                end = found.end()
            self.html = (name, depth) if depth > 0 else None
            start = 0 if name not in md.NOT_TEXT else len(body) if self.html else end
            self.extend(offset + start, body[start:], "html", "html", self.root)
            if not self.html:
                self.flush()
        else:
            self.open.pieces.append((offset, body))
            if body.rstrip().endswith(self.open.formula):
                self.open.formula = ""

    def block(self, offset: int, body: str, rest: int, level: int, context: _Context, lazy: bool) -> None:
        """A line with its containers' indentation and quotes taken off."""
        if found := md.FENCE.match(body):
            if "`" not in found[2]:
                return self.open_fence(offset, found, context)
        if md.SNIPPET.match(body):
            self.flush()
            self.page.problem(offset, "a snippet outside a code fence brings in text that is not checked")
            return None
        if (found := md.BLOCK_END.match(body)) or (found := md.BLOCK.match(body)):
            return self.block_syntax(offset, found)
        if self.table and not lazy:
            return self.row(offset, body)
        if not rest and (found := md.HEADING.match(body)):
            return self.heading(offset, found[2], found.start(2), len(found[1]))
        if lazy and (found := md.SETEXT.match(body)) and self.open.kind == "text" and len(self.open.pieces) == 1:
            start, text = self.open.pieces[0]
            self.open = None
            return self.heading(start, text, 0, 1 if found[1][0] == "=" else 2)
        if self.container(offset, body, level, context, lazy and self.open.kind != "item"):
            return None
        if not lazy and self.table_head(body):
            self.flush()
            self.table = True
            return self.row(offset, body)
        if md.RULE.match(body):
            self.flush()
            return None
        if (found := md.HTML.match(body)) and found[2].lower() in md.BLOCK_TAGS:
            return self.open_html(offset, body, found)
        self.extend(offset, body, "text", self.where(context), context)
        for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\begin{", "}")):
            if body.startswith(opening) and not body.rstrip()[2:].endswith(closing):
                self.open.formula = closing
        return None

    def where(self, context: _Context) -> str:
        names = [name for _, name, _ in self.blocks]
        if any(name in md.CAPTIONS for name in names):
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
            if block.formula:
                self.page.problem(block.pieces[0][0], "the displayed formula that opens here is never closed")
            if any(text not in ("", OPAQUE) for _, text in block.pieces):
                Scanner(self.page, Source(block.pieces), self.place(block.where)).run()

    def text(self, offset: int, text: str, where: str, text_only: bool = False) -> str:
        """Scan one line of its own (heading, cell, title); its visible text."""
        self.flush()
        return Scanner(self.page, Source([(offset, text)]), self.place(where, text_only)).run().text

    def heading(self, offset: int, text: str, cut: int, level: int) -> None:
        self.flush()
        shown, ident = md.heading(text)
        line = self.page.line(offset)
        self.page.headings.append(Heading(level, ident, "", offset, line))
        visible = self.text(offset + cut, shown, "heading").strip()
        self.page.headings[-1] = Heading(level, ident, visible, offset, line)

    def open_fence(self, offset: int, found: re.Match, context: _Context) -> None:
        self.flush()
        if self.coded:
            self.page.problem(
                offset, "a code fence right after indented code is shown as text: put a blank line between"
            )
        self.fenced = context
        before, _ = md.before(self.lines[self.number][1])
        executed = bool(md.EXEC.search(found[2]))
        self.fence = md.Fence(found[1], len(before), before.count(">"), self.number + 1, executed)
        if title := md.TITLE.search(found[2]):
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
            self.flush()

    def table_head(self, body: str) -> bool:
        if "|" not in body or self.number + 1 >= len(self.lines):
            return False
        following = self.lines[self.number + 1][1].lstrip(" >\t")
        return bool(md.SEPARATOR.match(following))

    def row(self, offset: int, body: str) -> None:
        if not md.SEPARATOR.match(body):
            for start, end in md.cells(body):
                self.text(offset + start, body[start:end], "table")

    def block_syntax(self, offset: int, found: re.Match) -> None:
        self.flush()
        slashes = len(found[1])
        if found.re is md.BLOCK_END:
            if not self.blocks or slashes != self.blocks[-1][0]:
                self.page.problem(offset, f"{found[1]} closes no block that is open")
            else:
                self.blocks.pop()
            return
        name, argument = found[2], (found[3] or "").strip()
        self.blocks.append((slashes, name, self.number + 1))
        self.options = True
        ident = argument if name in md.LINK_IDS else ""
        self.page.blocks.append(Block(name, ident, self.number + 1, self.section))
        if argument and name not in md.LINK_IDS:
            self.text(offset + found.start(3), argument, "title")

    def container(self, offset: int, body: str, level: int, context: _Context, lazy: bool) -> bool:
        """Open a list item, admonition, tab, footnote or definition; True where the line did.

        Only list items need a blank line before them: ``lazy`` says that a paragraph goes on here.
        """
        for pattern in (md.ADMONITION, md.TAB):
            if found := pattern.match(body):
                if found[1]:
                    self.text(offset + found.start(1), found[1], "title")
                self.push(context, level, "prose")
                return True
        if found := md.LABEL.match(body):
            self.flush()
            if wrong := md.misplaced(found[1], found[2]):
                self.page.problem(offset, wrong)
            for group in (g for g in (3, 4, 5) if found[g]):
                self.text(offset + found.start(group), found[group], "title", True)
            return True
        if found := md.ABBREVIATION.match(body):
            self.text(offset + found.end(), body[found.end() :], "abbreviation", True)
            return True
        for pattern, where in md.ITEMS:
            found = pattern.match(body) if not (lazy and pattern in (md.BULLET, md.NUMBER)) else None
            if found and not md.RULE.match(body):
                self.flush()
                if pattern is md.NUMBER:
                    self.ordinal(offset, int(found[1]), level, context)
                else:
                    context.counter.pop(level, None)
                self.push(context, level, where)
                item = body[found.end() :]
                self.open = _Open("item", self.where(context), [(offset + found.end(), item)], context)
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


def scan(markdown: str, path: str, lang: str) -> Page:
    """Scan one page. ``path`` and ``lang`` are kept for messages; nothing is evaluated here.

    What is broken in the Markdown itself (an open fence, an open block, a year that becomes a list) is in
    ``Page.problems``.
    """
    page = Page(path, lang, markdown)
    _Walk(page).walk()
    page.items.sort(key=lambda item: item.start)
    return page
