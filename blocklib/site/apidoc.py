"""Docstrings as HTML: prose, code spans, lists and indented code, with the sections Args, Attributes, Returns, Raises.

Docstrings document code. They are no prose of a page: their numerals are as little bound as those of a code block, and
Markdown beyond code spans, lists and indented code is shown as it stands (``2 * d * d`` is no emphasis).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from markdown import Markdown
from markdown.inlinepatterns import SimpleTagInlineProcessor

Link = Callable[[str], str]
"""``link("RMSNorm")``: the address of what a code span names, "" where it names nothing that has a place."""

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):[ ]*$")
_ENTRY = re.compile(r"^((?:``[^`]+``|:\w+:`[^`]+`|\*{0,2}\w+)(?:, ?(?:``[^`]+``|\*{0,2}\w+))*)(?: \([^)]*\))?:\s+(.*)$")
_ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|data|attr|exc|obj|const):`([^`]+)`")
_CODE = re.compile(r"<code>(~?[A-Za-z_][\w.]*)(\(\))?</code>")
_LITERAL = re.compile(r"::[ ]*$", re.M)
_UNDERLINED = re.compile(r"^(\S.*)\n(?:={3,}|-{3,})$", re.M)
_HEAD = "\ue000"  # before a paragraph that is a heading within the docstring
_LIST = re.compile(r"^[ ]*(?:[-*]|\d+\.)[ ]")
_CHINESE = re.compile(r"(?:^|\n)中文：(.*?)(?=\n\n|\Z)", re.S)
_WRAPPED = re.compile(r"(?<![!-~])\s*\n\s*|\s*\n\s*(?![!-~])")  # between Chinese there is no blank


@dataclass
class Doc:
    """A docstring taken apart: ``text`` in Markdown, ``chinese`` the paragraph that begins 中文：, sections by name.

    A section is a list of (names, Markdown); what stands there under no name has "" for names.
    """

    text: str = ""
    chinese: str = ""
    sections: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def parse(docstring: str) -> Doc:
    """Take a docstring (already without its common indentation) apart."""
    doc, current, body = Doc(), "", []
    rows = docstring.split("\n")
    for index, line in enumerate(rows):
        found = _SECTION.match(line)
        if found and index + 1 < len(rows) and rows[index + 1].startswith(" "):
            _close(doc, current, body)
            current, body = found[1], []
        elif current and line.strip() and not line.startswith(" "):
            _close(doc, current, body)
            current, body = "", [line]
        else:
            body.append(line)
    _close(doc, current, body)
    if chinese := _CHINESE.search(doc.text):
        doc.chinese = " ".join(_WRAPPED.sub("", chinese[1]).split())
        doc.text = (doc.text[: chinese.start()] + doc.text[chinese.end() :]).strip()
    return doc


def _close(doc: Doc, section: str, body: list[str]) -> None:
    if not section:
        doc.text = f"{doc.text}\n\n" + "\n".join(body) if doc.text else "\n".join(body)
        doc.text = doc.text.strip("\n")
        return
    entries = doc.sections.setdefault(section, [])
    filled = [line for line in body if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    for line in filled:
        text = line[margin:]
        found = _ENTRY.match(text)
        if found and section != "Returns":
            entries.append((found[1], found[2]))
        elif entries and (text.startswith(" ") or section == "Returns"):
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {text.strip()}")
        else:
            entries.append(("", text))


@cache
def _converter() -> Markdown:
    made = Markdown(output_format="html")
    made.preprocessors.deregister("html_block")
    for name in ("hashheader", "setextheader", "hr", "quote", "reference"):
        made.parser.blockprocessors.deregister(name)
    for name in [pattern.name for pattern in made.inlinePatterns._priority if pattern.name != "backtick"]:
        made.inlinePatterns.deregister(name)
    made.inlinePatterns.register(
        SimpleTagInlineProcessor(r"(\*\*)(?=[^\s*])([^*]+)(?<=[^\s*])\*\*", "strong"), "bold", 60
    )
    made.inlinePatterns.register(
        SimpleTagInlineProcessor(r"(?<![\w*])(\*)(?=[^\s*])([^*]+)(?<=[^\s*])\*(?![\w*])", "em"), "em", 50
    )
    return made


def markdown(text: str, link: Link) -> str:
    """The Markdown of a docstring as HTML, its code spans linked to what they name."""
    text = _LITERAL.sub(":", _ROLE.sub(r"``\1``", text))
    text = _UNDERLINED.sub(lambda found: f"\n\n{_HEAD}{found[1]}\n\n", text)
    rows: list[str] = []
    for line in text.split("\n"):
        if (
            rows
            and rows[-1].strip()
            and _LIST.match(line)
            and not _LIST.match(rows[-1])
            and not rows[-1].startswith(" ")
        ):
            rows.append("")  # a list may follow its sentence without a blank line
        rows.append(line)
    content = _converter().reset().convert("\n".join(rows))
    return _linked(content.replace(f"<p>{_HEAD}", '<p class="tl-api__head">'), link)


def inline(text: str, link: Link) -> str:
    """The same of one paragraph, without the element round it."""
    found = markdown(text, link)
    return found.removeprefix("<p>").removesuffix("</p>") if found.count("<p>") == 1 else found


def _linked(content: str, link: Link) -> str:
    def lead(found: re.Match[str]) -> str:
        name = found[1].removeprefix("~")
        shown = name.rpartition(".")[2] if found[1].startswith("~") else name
        address = link(name)
        code = f"<code>{shown}{found[2] or ''}</code>"
        return f'<a href="{html.escape(address)}">{code}</a>' if address else code

    return _CODE.sub(lead, content)


def summary(docstring: str) -> str:
    """The first sentence of a docstring as plain text, marks of code and roles taken off."""
    first = " ".join(parse(docstring).text.split("\n\n")[0].split())
    first = _ROLE.sub(
        lambda found: found[1].removeprefix("~") if "~" not in found[1] else found[1].rpartition(".")[2], first
    )
    return re.split(r"(?<=[.!?])\s+(?=[A-Z``(])", first, maxsplit=1)[0].replace("``", "").removesuffix(":")
