"""The lists at the back: claims by grade, sources with BibTeX, the glossary; and what stands round one claim.

Each list is Markdown with HTML tables; links come from the site's callback ``url(page, anchor)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from html import escape
from pathlib import Path

from blocklib.claims import closure, sources
from blocklib.claims.pages import titles
from blocklib.claims.registry import GRADES, LEDGERS, Claim, load
from blocklib.site import redirects
from blocklib.site.markdown import ClaimParts
from blocklib.site.terms import load as load_terms
from blocklib.text import Text

Url = Callable[[str, str], str]
"""Address of an anchor on a page, relative to the page being written: ``url("primer/shape", "claim-x")``."""

CLAIM = Text("断言", "Claim")
TEST, TESTS = Text("测试", "Test"), Text("测试", "Tests")
SOURCE, SOURCES = Text("出处", "Source"), Text("出处", "Sources")
EXPERIMENT = Text("实验", "Experiment")
STANDS = Text("所在页面", "Stands on")
CITED_BY = Text("引用它的有", "Cited by")
BIBTEX = Text("BibTeX", "BibTeX")
NONE_YET = Text("这一级目前没有断言。", "No claim has this grade so far.")
KINDS = {
    "claim": Text("断言", "claim"),
    "fact": Text("数字", "number"),
    "model": Text("模型", "model"),
    "page": Text("页面", "page"),
}

CLAIMS_PAGE = Text(
    """---
title: 断言总表
description: 本站每一句带论证的话，按证据等级排列，附测试、出处与所在位置。
---

# 断言总表 { #claims }

带论证的句子都写成断言，标明凭什么知道。等级不同，凭据也不同。
{ .tl-standfirst }
""",
    """---
title: Claims
description: Every sentence on this site that carries an argument, by the grade of its evidence, with tests, sources and place.
---

# Claims { #claims }

A sentence that carries an argument is written as a claim and says how it is known. The grade tells which kind of evidence that is.
{ .tl-standfirst }
""",
)
SOURCES_PAGE = Text(
    """---
title: 文献
description: 本站引用的全部文献，附 BibTeX，以及引用它们的断言、数字与页面。
---

# 文献 { #sources }

凡是写着「有据」的断言和数字，都能在这里找到原文。
{ .tl-standfirst }
""",
    """---
title: Sources
description: Every work this site cites, with BibTeX, and the claims, numbers and pages that cite it.
---

# Sources { #sources }

Claims and numbers graded as cited lead here, and from here to the work itself.
{ .tl-standfirst }
""",
)
GLOSSARY_PAGE = Text(
    """---
title: 术语表
description: 本站使用的中英文术语，成对列出，各附一句定义。
---

# 术语表 { #glossary }

每个术语在两种语言里各有一个写法，正文须与此一致，构建时检查。
{ .tl-standfirst }
""",
    """---
title: Glossary
description: The terms this site uses, in English and Chinese, in pairs, each with a one-line definition.
---

# Glossary { #glossary }

Each term has one form in either language. The text must use it, and the build checks that it does.
{ .tl-standfirst }
""",
)
_STOP = {"zh": "；", "en": "; "}
_COLON = {"zh": "：", "en": ": "}
_FACT_MATH = re.compile(r"\\fact\{((?:[^{}]|\{[^{}]*\})*)\}\{[^{}]*\}")
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])"
)


def plain_links(markdown: str) -> str:
    """Markdown whose links, bound numbers and givens are reduced to their text: it can stand on any page."""
    return _LINK.sub(lambda found: found[1], _FACT_MATH.sub(lambda found: found[1], markdown))


def _source_link(key: str, place: str, library: sources.Library, lang: str, url: Url) -> str:
    """``He et al. 2015, Table 2`` linked to the list of sources."""
    source = library.entries.get(key)
    label = escape(source.label(lang) if source else key)
    comma = "，" if lang == "zh" else ", "
    return f'<a href="{escape(url("reference/sources", key))}">{label}</a>' + (comma + escape(place) if place else "")


def _evidence(claim: Claim, library: sources.Library, lang: str, url: Url, full: bool) -> str:
    """Tests, sources and experiments of a claim; ``full`` gives tests with their file."""
    parts = []
    if claim.tests:
        names = (f"<code>{escape(test if full else test.rpartition('::')[2])}</code>" for test in claim.tests)
        parts.append(f"{(TESTS if len(claim.tests) > 1 else TEST)[lang]}{_COLON[lang]}{_STOP[lang].join(names)}")
    if claim.sources:
        links = (_source_link(cite.key, cite.place, library, lang, url) for cite in claim.sources)
        parts.append(f"{(SOURCES if len(claim.sources) > 1 else SOURCE)[lang]}{_COLON[lang]}{_STOP[lang].join(links)}")
    if claim.experiments:
        names = (f"<code>{escape(name)}</code>" for name in claim.experiments)
        parts.append(f"{EXPERIMENT[lang]}{_COLON[lang]}{_STOP[lang].join(names)}")
    return ("。" if lang == "zh" else ". ").join(parts) + ("。" if parts and lang == "zh" else "." if parts else "")


def claim_parts(claim: Claim, number: int, lang: str, library: sources.Library, url: Url) -> ClaimParts:
    """What stands round a claim on its page: CSS modifier, head (number, grade, ledger) and foot (evidence)."""
    head = (
        f"<b>{CLAIM[lang]} {number}</b>{GRADES[claim.grade].badge(lang)}"
        f"<span>{escape(LEDGERS[claim.ledger].entered[lang])}</span>"
    )
    evidence = _evidence(claim, library, lang, url, full=False)
    foot = escape(claim.how[lang]) + ("" if lang == "zh" or not evidence else " ") + evidence
    return ClaimParts(LEDGERS[claim.ledger].css, head, foot)


def claims(root: Path, lang: str, url: Url) -> str:
    """Markdown of reference/claims: every claim by grade, its sentence as it stands on the page."""
    registry, library = load(root), sources.load(root)
    names = titles(root, lang)
    found = {use.claim: use for use in reversed(closure.uses(root)) if use.lang == lang}
    retired = {new: [old for old, to in redirects.load(root)["claims"].items() if to == new] for new in registry.claims}
    out = [CLAIMS_PAGE[lang]]
    for grade in GRADES.values():
        out.append(f"\n## {grade.label[lang]} {{ #grade-{grade.name} }}\n\n{grade.meaning[lang]}\n")
        rows = [claim for claim in registry.claims.values() if claim.grade == grade.name and claim.id in found]
        for claim in rows:
            use = found[claim.id]
            anchors = "".join(f'<span id="claim-{escape(old)}"></span>' for old in retired[claim.id])
            link = f'<a href="{escape(url(use.page, claim.anchor))}">{escape(names.get(use.page, use.page))}</a>'
            ledger = LEDGERS[claim.ledger]
            out.append(
                f'\n<div class="tl-claim {ledger.css}" id="{claim.anchor}" markdown="1">\n'
                f'<div class="tl-claim__head">{anchors}{grade.badge(lang)}<span>{escape(ledger.entered[lang])}</span>'
                f"<span>{link}</span></div>\n\n"
                f"{plain_links(use.body)}\n{{ .tl-claim__body }}\n\n"
                f'<div class="tl-claim__foot">{escape(claim.how[lang])}{"" if lang == "zh" else " "}'
                f"{_evidence(claim, library, lang, url, full=True)}</div>\n</div>\n"
            )
        if not rows:
            out.append(f"\n{NONE_YET[lang]}\n")
    return "".join(out)


def source_list(root: Path, lang: str, url: Url, listed: Collection[str] | None = None) -> str:
    """Markdown of reference/sources: every work, linked, with BibTeX and with what cites it.

    ``listed``: the facts that reference/numbers has, for only those can be linked; without it all are.
    """
    library, names = sources.load(root), titles(root, lang)
    where = {use.claim: use.page for use in reversed(closure.uses(root)) if use.lang == lang}
    cited: dict[str, dict[tuple[str, str], set[str]]] = {}
    for cite in sources.citations(root):
        name = cite.name
        if cite.kind == "page":
            if not name.endswith(f".{lang}.md"):
                continue
            name = name.removeprefix("docs/").removesuffix(f".{lang}.md")
        places = cited.setdefault(cite.key, {}).setdefault((cite.kind, name), set())
        places |= {cite.place} - {""}

    def citing(kind: str, name: str, places: set[str]) -> str:
        if kind == "page":
            return f'<a href="{escape(url(name, ""))}">{escape(names.get(name, name))}</a>'
        target = {"claim": (where.get(name, "reference/claims"), f"claim-{name}"),
                  "fact": ("reference/numbers", f"fact-{name}")}.get(kind)  # fmt: skip
        if kind == "fact" and listed is not None and name not in listed:
            target = None  # cited by the code, printed on no page
        label = f"{KINDS[kind][lang]} <code>{escape(name)}</code>"
        label = f'<a href="{escape(url(*target))}">{label}</a>' if target else label
        at = ("、" if lang == "zh" else ", ").join(escape(place) for place in sorted(places))
        return label + ((f"（{at}）" if lang == "zh" else f" ({at})") if at else "")

    out = [SOURCES_PAGE[lang], '\n<ol class="tl-sources">\n']
    order = sorted(library.entries.values(), key=lambda s: (s.authors[0][1].casefold() if s.authors else "", s.year))
    for source in order:
        by = _STOP[lang].join(
            citing(kind, name, places) for (kind, name), places in sorted(cited.get(source.key, {}).items())
        )
        out.append(
            f'<li id="{escape(source.anchor)}">{source.reference(lang)}'
            + (f"<br>{CITED_BY[lang]}{_COLON[lang]}{by}" if by else "")
            + f"<details><summary>{BIBTEX[lang]}</summary><pre><code>{escape(source.bibtex().strip())}</code></pre></details></li>\n"
        )
    return "".join(out) + "</ol>\n"


def glossary(root: Path, lang: str) -> str:
    """Markdown of reference/glossary: the pairs, this page's language first, in the order of its alphabet."""
    other = "en" if lang == "zh" else "zh"
    # Chinese has no alphabet to sort by here: the file's order, by subject, is kept.
    terms = list(load_terms(root).terms)
    if lang == "en":
        terms.sort(key=lambda term: term.name.en.casefold())
    head = ("中文", "English", "含义") if lang == "zh" else ("English", "中文", "Meaning")
    label = GLOSSARY_PAGE[lang].split("title: ")[1].split("\n")[0]
    rows = "".join(
        f'<tr id="term-{term.id}"><th scope="row">{escape(term.name[lang])}</th>'
        f'<td lang="{"zh-Hans" if other == "zh" else "en"}">{escape(term.name[other])}</td>'
        f"<td>{escape(term.note[lang])}</td></tr>\n"
        for term in terms
    )
    return (
        f'{GLOSSARY_PAGE[lang]}\n<div class="tl-scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="tl-numbers tl-glossary">\n<thead><tr>{"".join(f"<th>{h}</th>" for h in head)}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )
