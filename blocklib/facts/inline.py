"""The inline level of Markdown: from the text of one block to what the reader sees, character by character.

Markup is dropped, every remaining character keeps its source offset. Links to facts and givens, pictures,
formulas and code become items of their own. The rules are Python-Markdown's with the site's extensions.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right

from blocklib.facts.formula import scan_formula
from blocklib.facts.items import BLOT, OPAQUE, Badge, Bound, Given, Later, Page, Place, Run

ATTRIBUTES = re.compile(
    r"""\{:?[ ]*(?:[#.][\w:-]+|[\w:-]+=(?:"[^"\n]*"|'[^'\n]*'|[^\s{}"']+))"""
    r"""(?:[ ]+(?:[#.][\w:-]+|[\w:-]+(?:=(?:"[^"\n]*"|'[^'\n]*'|[^\s{}"']+))?))*[ ]*\}"""
)
_TAG = re.compile(r"""</?([A-Za-z][\w:-]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*/?>""")
_SEEN = re.compile(
    r"""(?<![\w-])(alt|title|aria-label|placeholder|label|summary)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`{}]+))"""
)
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>")
_URL = re.compile(r"(?:https?://|ftp://|mailto:)[^\s<>)\]\"'\u3000-\u9fff\uff00-\uffef]+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MATH = re.compile(
    r"(?<!\\)\$\$(.+?)\$\$|(?<!\\)\$(?![\s$])((?:\\.|[^\\$])+?)(?<!\s)\$"
    r"|\\\((.+?)\\\)|\\\[(.+?)\\\]|(\\begin\{([a-z]+\*?)\}.+?\\end\{\6\})", re.S
)  # fmt: skip
_TARGET = re.compile(
    r"""\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+("(?:\\.|[^"])*"|'(?:\\.|[^'])*'))?\s*\)""",
    re.S,
)
_LABEL = re.compile(r"\s?\[([^\[\]]*)\]")
_CODE_SPAN = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.S)  # as in Python-Markdown: a longer run may open a shorter span
_OURS = re.compile(r"""\shref\s*=\s*["']?(later|claim):""")
_FORMS = {"later": "a link to a section to come is Markdown: [text](later:ROOM#ANCHOR)",
          "claim": "the grade of a claim is quoted in Markdown: [proved](claim:ID)"}  # fmt: skip
_FLOWING = set("a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong "
               "sub sup time tt u var wbr".split())  # fmt: skip
_HIDDEN = {"script", "style", "template"}
_CODE = {"code", "pre", "samp", "kbd", "tt"}


class Source:
    """Text of one block, cut out of the page: ``at(i)`` is the source offset of its i-th character."""

    def __init__(self, pieces: list[tuple[int, str]]):
        self.text = "\n".join(text for _, text in pieces)
        self._from, self._to, here = [], [], 0
        for offset, text in pieces:
            self._from.append(here)
            self._to.append(offset)
            here += len(text) + 1

    def at(self, index: int) -> int:
        """Offset in the page's source of the ``index``-th character of the block."""
        piece = bisect_right(self._from, index) - 1
        return self._to[piece] + index - self._from[piece]


class Scanner:
    """Scan one block; results are added to the page."""

    def __init__(self, page: Page, source: Source, place: Place):
        self.page, self.source, self.place = page, source, place
        self.chars: list[str] = []
        self.at: list[int] = []
        self.bounds: list[tuple[int, int, Bound | Given]] = []
        self.edge = -1  # where the last element ended
        # Raw HTML is shown as it stands: there only tags, entities and links to facts mean anything.
        self.handlers = {c: self._HANDLERS[c] for c in BLOT + "<&["} if place.where == "html" else self._HANDLERS

    def run(self) -> Run:
        """Scan the whole block and add its run of visible text to the page."""
        self.prose(0, len(self.source.text), code_is_text=False)
        run = Run("".join(self.chars), tuple(self.at), self.place, tuple(self.bounds))
        self.page.runs.append(run)
        return run

    def emit(self, text: str, index: int) -> None:
        """Add visible text that stands for the source at ``index``."""
        offset = self.source.at(index)
        self.chars.extend(text)
        self.at.extend([offset] * len(text))

    def separate(self, start: int, end: int, where: str, text_only: bool = True) -> None:
        """Scan a part that is shown elsewhere (alt text, title): its own run."""
        pieces, here = [], start
        for line in self.source.text[start:end].split("\n"):
            pieces.append((self.source.at(here), line))
            here += len(line) + 1
        place = Place(where, self.place.section, self.place.block, text_only)
        Scanner(self.page, Source(pieces), place).run()

    def code(self, start: int, end: int) -> None:
        """Add ``source.text[start:end]`` to the page as a run of code."""
        text = self.source.text[start:end]
        at = tuple(self.source.at(i) for i in range(start, end))
        self.page.runs.append(Run(text, at, self.place, (), "code"))

    def prose(self, i: int, end: int, code_is_text: bool) -> None:
        """Visible text of ``source.text[i:end]``; inside a link to a fact, code is text too."""
        text = self.source.text
        while i < end:
            char = text[i]
            handler = self.handlers.get(char)
            step = handler(self, i, end, code_is_text) if handler else 0
            if step:
                i = self.edge = step
                continue
            self.emit(" " if char == "\n" else char, i)
            i += 1

    # Each handler returns the index after what it consumed, or 0 where the character is just text.

    def _backslash(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        if found := _MATH.match(text, i, end):
            return self._formula(found, end)
        if i + 1 < end and text[i + 1] in r"\`*_{}[]()<>#+-.!|~^$:\"'&=/":
            self.emit(text[i + 1], i + 1)
            return i + 2
        return 0

    def _code(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        span = code_span(text, i, end)
        if not span:
            # An unmatched run of backticks is text, and none of its parts opens code.
            stop = i
            while stop < end and text[stop] == "`":
                self.emit("`", stop)
                stop += 1
            return stop
        inner, stop = span
        if code_is_text:
            for k in range(*inner):
                self.emit(" " if text[k] == "\n" else text[k], k)
        else:
            self.code(*inner)
            self.emit(OPAQUE, i)
        return stop

    def _dollar(self, i: int, end: int, code_is_text: bool) -> int:
        found = _MATH.match(self.source.text, i, end)
        return self._formula(found, end) if found else 0

    def _formula(self, found: re.Match, end: int) -> int:
        group = next(k for k in (1, 2, 3, 4, 5) if found[k] is not None)
        text = self.source.text
        if group in (1, 4, 5) and (text[: found.start()].strip() or text[found.end() : end].strip()):
            offset = self.source.at(found.start())
            self.page.problem(offset, "a displayed formula stands alone, between blank lines; here it is shown as text")
            return 0
        scan_formula(self.page, found[group], found.start(group), self.source.at, self.place)
        self.emit(OPAQUE, found.start())
        return found.end()

    def _angle(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        if text.startswith("<!--", i):
            stop = text.find("-->", i, end)
            return stop + 3 if stop >= 0 else 0
        if found := _AUTOLINK.match(text, i, end):
            self.emit(OPAQUE, i)
            return found.end()
        found = _TAG.match(text, i, end)
        if not found:
            return 0
        name = found[1].lower()
        if ours := _OURS.search(found[2]):
            self.page.problem(self.source.at(i), _FORMS[ours[1]])
        self._attributes(found.start(2), found.end(2))
        opening = text[i + 1] != "/"
        if opening and name in _HIDDEN | _CODE and not found[0].endswith("/>"):
            close = re.compile(rf"</{name}\s*>", re.I).search(text, found.end(), end)
            if close:
                if name in _CODE:
                    self.code(found.end(), close.start())
                self.emit(OPAQUE, i)
                return close.end()
        if name not in _FLOWING:
            self.emit("\n" if name != "br" else " ", i)
        elif opening and name in ("sup", "sub"):
            self.emit("^" if name == "sup" else "_", i)
        return found.end()

    def _ampersand(self, i: int, end: int, code_is_text: bool) -> int:
        found = _ENTITY.match(self.source.text, i, end)
        if not found or html.unescape(found[0]) == found[0]:
            return 0
        self.emit(html.unescape(found[0]), i)
        return found.end()

    def _picture(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        if i + 1 >= end or text[i + 1] != "[":
            return 0
        close = closing_bracket(text, i + 1, end)
        if not close:
            return 0
        target = _TARGET.match(text, close + 1, end) or _LABEL.match(text, close + 1, end)
        if not target:
            return 0
        self.separate(i + 2, close, "alt text")
        if target.re is _TARGET and target[3]:
            self.separate(target.start(3) + 1, target.end(3) - 1, "title")
        self.emit(OPAQUE, i)
        return target.end()

    def _bracket(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        if i + 1 < end and text[i + 1] == "^":
            stop = text.find("]", i, end)
            if stop > 0 and text[i + 1 : stop] in self.page.labels:
                self.emit(OPAQUE, i)
                return stop + 1
        close = closing_bracket(text, i, end)
        if not close:
            return 0
        if found := _TARGET.match(text, close + 1, end):
            target = found[1] if found[1] is not None else found[2]
            if found[3] and not target.startswith(("fact:", "given:", "later:", "claim:")):
                self.separate(found.start(3) + 1, found.end(3) - 1, "title")
            return self._link(i, close, found.end(), target, end)
        if (found := _LABEL.match(text, close + 1, end)) and found[1].strip():
            if " ".join(found[1].split()).casefold() in self.page.labels:
                return self._link(i, close, found.end(), "", end)
            return self._link(i, close, found.end(), "key:" + found[1], end)
        return 0

    def _link(self, i: int, close: int, stop: int, target: str, end: int) -> int:
        scheme, _, rest = target.partition(":")
        start = len(self.chars)
        number = scheme in ("fact", "given", "key") and target != scheme
        self.prose(i + 1, close, number)
        opening = (self.source.at(i), self.source.at(i) + 1)
        closing = (self.source.at(close), self.source.at(stop - 1) + 1)
        shown = "".join(self.chars[start:])
        if scheme in ("later", "claim") and target != scheme:
            kind, where = (Later, self.page.later) if scheme == "later" else (Badge, self.page.badges)
            where.append(kind(shown.strip(), rest, opening, closing, self.place))
        elif number:
            if scheme == "given":
                item = Given(shown.strip(), rest, opening, closing, self.place)
            else:
                item = Bound(shown.strip(), rest, scheme, opening, closing, self.place)
            self.page.items.append(item)
            self.bounds.append((start, len(self.chars), item))
        self.edge = stop
        return self._brace(stop, end, False) or stop

    def _brace(self, i: int, end: int, code_is_text: bool) -> int:
        """Attributes right behind an element, or alone on their line; elsewhere braces are text and shown."""
        text = self.source.text
        found = ATTRIBUTES.match(text, i, end)
        if not found:
            return 0
        alone = not text[text.rfind("\n", 0, i) + 1 : i].strip() and not text[found.end() : end].split("\n")[0].strip()
        if i != self.edge and not alone and any(char.isdigit() for char in found[0]):
            return 0
        self._attributes(i, found.end())
        return found.end()

    def _attributes(self, start: int, end: int) -> None:
        for seen in _SEEN.finditer(self.source.text, start, end):
            group = next(g for g in (2, 3, 4) if seen[g] is not None)
            self.separate(seen.start(group), seen.end(group), "alt text" if seen[1] == "alt" else "attribute")

    def _star(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        alone = (not i or text[i - 1].isspace()) and (i + 1 >= end or text[i + 1].isspace())
        return 0 if alone else i + 1

    def _underscore(self, i: int, end: int, code_is_text: bool) -> int:
        text = self.source.text
        inside = 0 < i and text[i - 1].isalnum() and i + 1 < end and text[i + 1].isalnum()
        return 0 if inside else i + 1

    def _doubled(self, i: int, end: int, code_is_text: bool) -> int:
        return i + 2 if self.source.text.startswith(self.source.text[i] * 2, i) else 0

    def _letter(self, i: int, end: int, code_is_text: bool) -> int:
        if i and self.source.text[i - 1].isascii() and self.source.text[i - 1].isalnum():
            return 0
        found = _URL.match(self.source.text, i, end)
        if not found:
            return 0
        self.emit(OPAQUE, i)
        return found.end()

    def _blot(self, i: int, end: int, code_is_text: bool) -> int:
        return i + 1

    _HANDLERS = {
        BLOT: _blot,
        "\\": _backslash, "`": _code, "$": _dollar, "<": _angle, "&": _ampersand, "!": _picture, "[": _bracket,
        "{": _brace, "*": _star, "_": _underscore, "~": _doubled, "=": _doubled, "^": _doubled,
        "h": _letter, "f": _letter, "m": _letter,
    }  # fmt: skip


def code_span(text: str, i: int, end: int) -> tuple[tuple[int, int], int] | None:
    """Inner span and end of the code span that opens at ``i``; None where the backticks are not matched."""
    found = _CODE_SPAN.match(text, i, end)
    return (found.span(2), found.end()) if found else None


def closing_bracket(text: str, i: int, end: int) -> int:
    """Index of the bracket that closes the one at ``i``; 0 where there is none. Code and formulas are skipped."""
    depth = 0
    while i < end:
        char = text[i]
        if char == "\\":
            i += 2
            continue
        if char == "`" and (span := code_span(text, i, end)):
            i = span[1]
            continue
        if char == "$" and (found := _MATH.match(text, i, end)):
            i = found.end()
            continue
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if not depth:
                return i
        i += 1
    return 0
