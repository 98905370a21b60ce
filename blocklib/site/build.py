"""One build of the site in both languages: what it knows, what it found wrong, and how a page is made.

Nothing here imports MkDocs. ``adapter`` calls :class:`Job` around MkDocs' own Markdown conversion: ``prepare``
before it, ``finish`` after it. The result of both is cached on disk under a key of everything it depends on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from blocklib.charts.discover import fingerprint
from blocklib.claims import registry, sources
from blocklib.facts import lessons
from blocklib.facts.expand import expand
from blocklib.facts.fingerprint import closure_hash
from blocklib.facts.lines import EXEC
from blocklib.problems import BlocklibError, Problem
from blocklib.site import (
    apipages,
    badges,
    blocks,
    cache,
    checked,
    languages,
    later,
    math,
    notebooks,
    notebooks_run,
    numbers,
    reading,
    redirects,
    reference,
    search,
    vendor,
)
from blocklib.site.blockhtml import render_block
from blocklib.site.markdown import ClaimParts
from blocklib.site.meta import SITE_ROOT

FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})(?P<rest>[^`]*)$")
BLOCK = re.compile(r"^[ \t]*/// (claim|exhibit|chapters|leans-on) \|(.*)$", re.M)
SLOT = '<div data-tl-slot="numbers"></div>'


@dataclass
class Build:
    """The state of one build; ``editions`` share it."""

    root: Path
    serving: bool = False
    issues_url: str = ""
    lang: str = languages.DEFAULT  # the language in hand
    urls: list[str] = field(default_factory=list)  # of the pages, within a language
    problems: set[Problem] = field(default_factory=set)
    exhibits: set[tuple[str, str]] = field(default_factory=set)
    job: Job | None = None  # the page in hand

    def __post_init__(self) -> None:
        self.store = cache.Store(cache.cache_folder(self.root))
        self.store.recall_imports()
        self.formulas = math.Formulas(self.root, self.store)
        self.entries: dict[str, list[search.Entry]] = {}
        self.rows: dict[str, dict[str, list]] = {lang: {} for lang in languages.LANGUAGES}  # by page, blocks' included
        self.stamps: dict[str, str] = {}
        self.block_stamps: dict[str, str | None] = {}
        self.runs: dict[tuple[str, str], list[notebooks_run.Outcome]] = {}
        self.charts: dict[str, str] = {}  # states of charts that code drew, by file
        self.rendered: list[str] = []  # pages that did not come from the cache
        self.checked = checked.check_site(self.root)
        self.problems.update(self.checked.problems)
        self.claims, self.sources = registry.load(self.root), sources.load(self.root)
        self.claim_places = badges.places(self.root)
        self.redirects = redirects.load(self.root)
        self.later = {lang: later.titles(self.root, lang) for lang in languages.LANGUAGES}
        # Code that makes pages, and the settings it is called with.
        self.machinery = cache.key(
            cache.versions(), closure_hash("blocklib.site.adapter"), (self.root / "mkdocs.yml").read_text("utf-8")
        )
        self.api = apipages.ApiPages(self)

    def url(self, lang: str) -> Callable[[str, str], str]:
        """Addresses for HTML that does not know where it will stand: ``url("primer/shape", "claim-x")``."""
        prefix = SITE_ROOT + languages.LANGUAGES[lang].prefix

        def address(page: str, anchor: str = "") -> str:
            place = page.removesuffix("index").rstrip("/")
            return prefix + (f"{place}/" if place else "") + (f"#{anchor}" if anchor else "")

        return address

    def report(self, lang: str) -> Callable[[str, str], str]:
        """Addresses of a report about a page or a number of it."""
        return checked.report_url(languages.LANGUAGES[lang].prefix, self.root)

    def printed_facts(self) -> set[str]:
        """Names of the facts that pages print; those that only blocks print are not known before the blocks ran."""
        return {row.fact.name for page in self.checked.pages.values() for row in page.rows}

    def number_list(self, lang: str) -> str:
        """Markdown of reference/numbers; only complete once every other page of the language is made."""
        return checked.number_list(self.rows[lang], lang, self.root, self.sources, self.url(lang), self.report(lang))

    def exhibit_stamp(self, ident: str) -> str:
        """The exhibit's fingerprint, looked up once a build. Raises :class:`BlocklibError` for an unknown id."""
        if ident not in self.stamps:
            self.stamps[ident] = fingerprint(ident)
        return self.stamps[ident]

    def block_stamp(self, name: str) -> str | None:
        """Cache key of a snippet's block, once a build; None where the snippet cannot be read."""
        if name not in self.block_stamps:
            self.block_stamps[name] = _or_none(
                lambda: blocks.block_key(self.root, blocks.read_snippet(self.root, name))
            )
        return self.block_stamps[name]

    def outcomes(self, path: str, lang: str) -> list[notebooks_run.Outcome]:
        """What the cells of the lesson behind a page did, run once a build and language at most."""
        if (path, lang) not in self.runs:
            source, lesson = notebooks.lesson_of(self.root, path)
            self.runs[path, lang] = notebooks_run.outcomes(self.root, source, lesson, lang, self.store)
        return self.runs[path, lang]

    def note(self, path: str, line: int, message: object) -> None:
        """Take note of a fault; building goes on, so that all faults are found at once."""
        self.problems.update(lessons.told(self.root, [Problem(path, line, str(message))]))

    def close(self) -> None:
        """End what runs beside the build, and keep the cache small."""
        self.formulas.close()
        self.store.keep_imports()
        self.store.prune()


class Job:
    """One page in one language, from its Markdown to finished HTML."""

    def __init__(self, build: Build, lang: str, path: str, markdown: str, offset: int = 0):
        """``path`` names the source in messages; ``offset`` lines of front matter stand before ``markdown``."""
        self.build, self.lang, self.path, self.offset = build, lang, path, offset
        self.source = markdown
        self.printed: list[tuple[int, str]] = []  # Markdown that blocks printed, with the block's line
        self.charts: dict[str, str] = {}  # states of the charts that code on the page drew, by file
        self.lesson = (notebooks.lesson_of(build.root, path) or (None, None))[1]
        self.numbers = build.checked.numbers(path)
        self.rows = list(self.numbers.rows) if self.numbers else []
        self.aliases = redirects.aliases(build.root, languages.page_of(path)) if any(build.redirects.values()) else {}

    # ---- before Markdown --------------------------------------------------------------------------

    def prepare(self) -> str:
        """The Markdown to convert: numbers expanded, executed fences marked with their line, a ledger's place."""
        text = self._expanded() if self.numbers else self.source
        lines, self.snippets, fence = text.split("\n"), [], ""
        for index, line in enumerate(lines):
            match = FENCE.match(line)
            if not match:
                continue
            if fence:
                if match["mark"].startswith(fence) and not match["rest"].strip():
                    fence = ""
                continue
            fence = match["mark"]
            if EXEC.search(match["rest"]):
                lines[index] = f'{line.rstrip()} line="{index + 1 + self.offset}"'
                self.snippets += blocks.INCLUDE.findall("\n".join(lines[index + 1 : index + 2]))
        self.text = "\n".join(lines)
        if self.rows:
            heading = languages.HEADINGS["numbers"][self.lang]
            self.text = f"{self.text.rstrip()}\n\n## {heading} {{ #numbers }}\n\n{SLOT}\n"
        return self.text

    def _expanded(self) -> str:
        grades = {}
        if self.numbers.page.badges:
            page = languages.page_of(self.path)
            grades = badges.links(page, self.lang, self.build.claims, self.build.claim_places)
        return expand(self.source, self.numbers, self.build.later[self.lang], grades)

    def key(self, links: str) -> str:
        """Cache key of the finished page; ``links`` stands for the pages that links may lead to."""
        found = BLOCK.findall(self.text)
        parts: list[object] = [self.build.machinery, links, self.lang, self.path, self.text, self.aliases]
        parts += [self.build.block_stamp(name) for name in self.snippets]
        if self.lesson:
            parts.append(notebooks_run.stamp(self.build.root, self.lesson))
        for kind, ident in found:
            ident = ident.strip()
            if kind == "claim":
                claim = self.build.claims.claims.get(ident)
                parts.append(
                    [repr(claim), [repr(self.build.sources.entries.get(c.key)) for c in claim.sources] if claim else 0]
                )
            elif kind == "exhibit":
                parts.append(_or_none(lambda ident=ident: self.build.exhibit_stamp(ident)))
                self.build.exhibits.add((ident, self.lang))
            else:
                parts.append(reading.stamp(self.build.root, languages.page_of(self.path), self.lang))
        if "$" in self.text:
            parts.append(_or_none(lambda: self.build.formulas.stamp))
        return cache.key(*parts)

    # ---- while Markdown is converted --------------------------------------------------------------

    def claim(self, ident: str, number: int) -> ClaimParts:
        """Furnish a claim block from its entry."""
        claim = self.build.claims[ident]
        return reference.claim_parts(claim, number, self.lang, self.build.sources, self.build.url(self.lang))

    def exhibit(self, ident: str, caption: str) -> str:
        """Furnish an exhibit: its static figure, cached by what the exhibit depends on."""
        key = cache.key("figure", self.build.exhibit_stamp(ident), cache.versions(), ident, self.lang, caption)
        known = self.build.store.get("figures", key)
        if isinstance(known, str):
            return known
        from blocklib.charts.html import static_html  # draws: only a figure that is not in the cache needs it

        figure = static_html(
            ident, self.lang, caption,
            payload_url=f"{SITE_ROOT}{payload_path(ident, self.lang)}", plotly_url=f"{SITE_ROOT}{vendor.PLOTLY}",
        )  # fmt: skip
        self.build.store.put("figures", key, figure)
        return figure

    def chapters(self, room: str) -> reading.Chapters:
        """Furnish a table of chapters: reading times of the pages of ``room``."""
        return reading.chapters(self.build.root, languages.page_of(self.path), room, self.lang)

    def leans_on(self, room: str) -> str:
        """Furnish the list of the pages of ``room`` on which the pages of this one lean."""
        return reading.leans_on_html(self.build.root, languages.page_of(self.path), room, self.lang)

    def fault(self, kind: str, ident: str, error: BlocklibError) -> None:
        """Note a block that could not be furnished, at its line."""
        if kind == "claim" and ident in self.build.claims.unread:
            return  # its file is reported
        self.build.note(self.path, self._line_of(rf"^[ \t]*/// {kind} \|\s*{re.escape(ident)}\s*$"), error)

    def block(self, fence: str, line: int, convert: Callable[[str], str]) -> str:
        """Run (or recall) one executed fence and return its HTML; a failure is noted and shown in its place."""
        name = ""
        try:
            name = blocks.included(fence)
            source = blocks.read_snippet(self.build.root, name)
            output = blocks.output_of(self.build.root, name, source, self.lang, self.build.store)
        except BlocklibError as error:
            self.build.note(self.path, line, error)
            return f'<p class="tl-fault"><code>{html.escape(str(error))}</code></p>'

        return render_block(name, source, output.parts, self.lang, self._printing(line, convert), self.chart)

    def cell(self, number: int, line: int, convert: Callable[[str], str]) -> str:
        """The lesson's code cell of this number, run or recalled, as HTML; a failure is noted and shown after it."""
        cell = self.lesson.code[number - 1]
        outcome = self.build.outcomes(self.path, self.lang)[number - 1]
        if outcome.fault:
            self.build.note(self.path, outcome.line, f"cell {number}: {outcome.fault}")
        return notebooks.cell_html(cell, outcome, self.lang, self._printing(line, convert), self.chart)

    def _printing(self, line: int, convert: Callable[[str], str]) -> Callable[[str], str]:
        """What turns Markdown that the code on ``line`` printed into HTML."""

        def printed(text: str) -> str:
            self.printed.append((line, text))
            return convert(self.check_printed(line, text))

        return printed

    def check_printed(self, line: int, text: str) -> str:
        """Check Markdown printed by the block at ``line``; expanded, its rows added to the page's ledger."""
        expanded, problems, rows = checked.printed(text, self.numbers, self.path, self.lang, line, self.build.root)
        self.build.problems.update(lessons.told(self.build.root, problems))
        known = {row.key for row in self.rows}
        self.rows += [row for row in rows if row.key not in known]
        return expanded

    def chart(self, part: list) -> str:
        """The figure of a chart that code on the page drew; its states go to a file of their own, as an exhibit's do."""
        from blocklib.charts.shown import placed

        page = languages.page_of(self.path).replace("/", "-")
        ident = f"chart-{len(self.charts) + 1}"
        place = payload_path(f"{page}-{ident}", self.lang)
        self.charts[place] = part[2]
        return placed(part[1], ident, SITE_ROOT + place, SITE_ROOT + vendor.PLOTLY)

    # ---- after Markdown ---------------------------------------------------------------------------

    def finish(self, content: str) -> str:
        """Let retired ids lead to their heirs, link a lesson to its notebook, and render the page's formulas."""
        if self.lesson:
            content = notebooks.with_download(content, languages.page_of(self.path), self.lang)
        for ident, retired in self.aliases.items():
            spans = "".join(f'<span id="{html.escape(old)}"></span>' for old in retired)
            content = re.sub(rf'<[a-z0-9]+ [^>]*\bid="{re.escape(ident)}"[^>]*>', lambda m, s=spans: m[0] + s, content)
        try:
            content, faults = self.build.formulas.render(content)
        except BlocklibError as error:
            self.build.note(self.path, 0, error)
            return content
        for fault in faults:
            line = math.formula_line(self.source, fault) or math.formula_line(self.text, fault)
            self.build.note(self.path, line + self.offset if line else 0, f"formula {fault.tex!r}: {fault.message}")
        return content

    def with_ledger(self, content: str) -> str:
        """Put the page's ledger of numbers in its place; only now are the blocks' numbers known."""
        if not self.rows:
            return content
        build, page = self.build, languages.page_of(self.path)
        build.rows[self.lang][page] = self.rows
        table = numbers.page_ledger(
            self.rows,
            self.lang,
            page=page,
            library=build.sources,
            url=build.url(self.lang),
            report_url=build.report(self.lang),
        )
        ledger = f"<div data-search-exclude>{table}</div>"
        if SLOT in content:
            return content.replace(SLOT, ledger)
        return f'{content}\n<h2 id="numbers">{languages.HEADINGS["numbers"][self.lang]}</h2>\n{ledger}'

    def _line_of(self, pattern: str) -> int:
        match = re.search(pattern, self.source, re.M)
        return self.source.count("\n", 0, match.start()) + 1 + self.offset if match else 0


def _or_none(call: Callable[[], object]) -> object:
    """A part of a key, or None where it cannot be known: the fault is noted when the page is made."""
    try:
        return call()
    except BlocklibError:
        return None


def payload_path(ident: str, lang: str) -> str:
    """Where an exhibit's states stand, below the site's root."""
    return f"assets/exhibits/{ident}.{lang}.json"


def payload(build: Build, ident: str, lang: str) -> str:
    """All states of an exhibit as JSON, cached by what the exhibit depends on."""
    key = cache.key("payload", build.exhibit_stamp(ident), cache.versions(), ident, lang)
    known = build.store.get("payloads", key)
    if isinstance(known, str):
        return known
    from blocklib.charts.payload import payload_json

    text = payload_json(ident, lang)
    build.store.put("payloads", key, text)
    return text
