"""The site's own Markdown blocks: claims, exhibits and margin notes, as pymdownx blocks.

    /// claim | paths-share-weights        one or two sentences
    /// exhibit | norm-ops                 the caption
    /// margin                             a note beside the text
    /// chapters | design                  a table of a room's pages, each row with its reading time
    /// leans-on | primer                  the pages of another room to which this one's pages send the reader

What stands around the author's words (badge, chart, table) comes from a :class:`Furnisher`, so this module
needs neither MkDocs nor the charts.
"""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as etree
from dataclasses import dataclass
from typing import Protocol

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import SimpleTextInlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension
from pymdownx.blocks.block import Block

from blocklib.problems import BlocklibError


@dataclass(frozen=True)
class ClaimParts:
    """What surrounds a claim's sentence, as HTML: CSS modifier classes, the head's parts and the foot."""

    css: str
    head: str
    foot: str


class ChapterTimes(Protocol):
    """Reading times by the link of a row of the table (``qkv``), and the line below it."""

    total: str

    def __getitem__(self, link: str) -> str: ...


class Furnisher(Protocol):
    """Where the blocks get their data. All raise :class:`BlocklibError` for an unknown id."""

    def claim(self, ident: str, number: int) -> ClaimParts: ...

    def exhibit(self, ident: str, caption: str) -> str: ...

    def chapters(self, room: str) -> ChapterTimes: ...

    def leans_on(self, room: str) -> str: ...

    def fault(self, kind: str, ident: str, error: BlocklibError) -> None:
        """Take note of a block that could not be furnished; the page goes on without it."""


class Margin(Block):
    """``/// margin``: an aside that stands beside the text, or between hairlines on a phone."""

    NAME = "margin"
    ARGUMENT = None

    def on_create(self, parent: etree.Element) -> etree.Element:
        return etree.SubElement(parent, "aside", {"class": "tl-margin"})


class Claim(Block):
    """``/// claim | id``: the sentence between a head (number, grade, ledger) and a foot (how it is known)."""

    NAME = "claim"
    ARGUMENT = True

    def on_create(self, parent: etree.Element) -> etree.Element:
        self.number = self.tracker["n"] = self.tracker.get("n", 0) + 1
        self.ident = self.argument.strip()
        return etree.SubElement(parent, "div", {"class": "tl-claim", "id": f"claim-{self.ident}"})

    def on_end(self, block: etree.Element) -> None:
        furnisher: Furnisher = self.config["furnisher"]
        for child in block:
            if child.tag == "p":
                child.set("class", "tl-claim__body")
        try:
            parts = furnisher.claim(self.ident, self.number)
        except BlocklibError as error:
            furnisher.fault("claim", self.ident, error)
            return
        block.set("class", f"tl-claim {parts.css}".strip())
        stash = self.md.htmlStash.store
        # A stashed paragraph of its own becomes a block of raw HTML again in the end.
        head, foot = etree.Element("p"), etree.Element("p")
        head.text = stash(f'<div class="tl-claim__head">{parts.head}</div>')
        foot.text = stash(f'<div class="tl-claim__foot">{parts.foot}</div>')
        block.insert(0, head)
        block.append(foot)


class Chapters(Block):
    """``/// chapters | room``: a table whose rows begin with a link to a page; its reading time goes below the link."""

    NAME = "chapters"
    ARGUMENT = True
    LINK = re.compile(r"\]\(([^()#\s]+)\.md(?:#[^()\s]*)?\)\s*$")

    def on_create(self, parent: etree.Element) -> etree.Element:
        return etree.SubElement(parent, "div", {"class": "tl-chapters"})

    def on_end(self, block: etree.Element) -> None:
        furnisher: Furnisher = self.config["furnisher"]
        try:
            times = furnisher.chapters(self.argument.strip())
            for row in block.iter("tr"):
                cell = row[0]
                if (link := self.LINK.search(cell.text or "")) and cell.tag == "td":
                    cell.text += f' <small class="tl-minutes">{html.escape(times[link[1]])}</small>'
        except BlocklibError as error:
            furnisher.fault("chapters", self.argument.strip(), error)
            return
        etree.SubElement(block, "p", {"class": "tl-chapters__sum"}).text = times.total


class LeansOn(Block):
    """``/// leans-on | room``: a generated list; it has no body."""

    NAME = "leans-on"
    ARGUMENT = True

    def on_create(self, parent: etree.Element) -> etree.Element:
        return etree.SubElement(parent, "div")

    def on_end(self, block: etree.Element) -> None:
        furnisher: Furnisher = self.config["furnisher"]
        try:
            listed = furnisher.leans_on(self.argument.strip())
        except BlocklibError as error:
            furnisher.fault("leans-on", self.argument.strip(), error)
            return
        etree.SubElement(block, "p").text = self.md.htmlStash.store(listed)


class Exhibit(Block):
    """``/// exhibit | id``: keeps the caption in a slot that the postprocessor replaces by the figure."""

    NAME = "exhibit"
    ARGUMENT = True

    def on_create(self, parent: etree.Element) -> etree.Element:
        return etree.SubElement(parent, "tl-exhibit-slot", {"data-id": self.argument.strip()})


SLOT = re.compile(r'(?:<p>)?<tl-exhibit-slot data-id="([^"]*)">(.*?)</tl-exhibit-slot>(?:</p>)?', re.S)


class ExhibitFigures(Postprocessor):
    """Replaces each slot by its figure, once the caption is finished HTML."""

    def __init__(self, md: Markdown, furnisher: Furnisher):
        super().__init__(md)
        self.furnisher = furnisher

    def run(self, text: str) -> str:
        return SLOT.sub(self._figure, text)

    def _figure(self, match: re.Match[str]) -> str:
        ident, caption = html.unescape(match[1]), match[2].strip()
        if caption.count("<p>") == 1 and caption.startswith("<p>") and caption.endswith("</p>"):
            caption = caption[3:-4]
        try:
            return self.furnisher.exhibit(ident, caption)
        except BlocklibError as error:
            self.furnisher.fault("exhibit", ident, error)
            return f"<p>{caption}</p>"


class SiteBlocks(BlocksExtension):
    """These blocks, furnished by ``furnisher``."""

    def __init__(self, furnisher: Furnisher):
        self.furnisher = furnisher
        super().__init__()

    def extendMarkdownBlocks(self, md: Markdown, block_mgr) -> None:
        md.block_level_elements.append("tl-exhibit-slot")
        block_mgr.block_tags.add("tl-exhibit-slot")
        block_mgr.block_level_tags.add("tl-exhibit-slot")
        for block in (Claim, Exhibit, Margin, Chapters, LeansOn):
            block_mgr.register(block, {"furnisher": self.furnisher})
        # After `raw_html` (30) and `amp_substitute` (20): the caption's own stashed HTML is back by then.
        md.postprocessors.register(ExhibitFigures(md, self.furnisher), "tl-exhibits", 5)
        md.treeprocessors.register(Standfirst(md), "tl-standfirst", 9)  # before `attr_list` (8) looks at it


STANDFIRST = re.compile(r"\s*\{:?\s*\.tl-standfirst\s*\}\s*$")


class Standfirst(Treeprocessor):
    """Lets ``{ .tl-standfirst }`` stand at the end of its paragraph's last line, as it does after a heading."""

    def run(self, root: etree.Element) -> None:
        for paragraph in root.iter("p"):
            last = paragraph[-1] if len(paragraph) else None
            text = (last.tail if last is not None else paragraph.text) or ""
            if not STANDFIRST.search(text):
                continue
            text = STANDFIRST.sub("", text)
            if last is not None:
                last.tail = text
            else:
                paragraph.text = text
            paragraph.set("class", "tl-standfirst")


class PlainNumbers(Extension):
    """Keeps numbers that Markdown would eat: ``2026. 年`` stays a sentence and ``2*3*4`` a product.

    Python-Markdown opens an ordered list at any count of digits and takes a star between digits for emphasis;
    here one to three digits open a list and a star between digits is a star.
    """

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(SimpleTextInlineProcessor(r"(?<=\d)(\*)(?=\d)"), "tl-times", 175)
        for name in ("olist", "ulist"):
            processor = md.parser.blockprocessors[name]
            for pattern in ("RE", "CHILD_RE"):
                old = getattr(processor, pattern)
                setattr(processor, pattern, re.compile(old.pattern.replace(r"\d+\.", r"\d{1,3}\."), old.flags))
