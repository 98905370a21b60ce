"""Expansion puts links where numbers stand, line for line, and Markdown renders them as such."""

from __future__ import annotations

import re

import markdown
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.facts.expand import expand, plain
from blocklib.facts.pages import evaluate_page
from blocklib.facts.refs import parse_facts
from blocklib.facts.scan import scan
from tests.facts.library import make_library, row_at

FACTS = "[ln]: fact:norm_ops?kind=layernorm&d_model\n[rms]: fact:norm_ops?kind=rmsnorm&d_model=4096\n"
LN, RMS = "n-norm_ops-kind-layernorm-d_model-4096", "n-norm_ops-kind-rmsnorm-d_model-4096"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("lib"))


def numbers_of(source, registry):
    return evaluate_page(scan(source, "docs/a.en.md", "en"), parse_facts(FACTS, "docs/a.facts"), registry)


def expanded(source, registry):
    numbers = numbers_of(source, registry)
    return expand(source, numbers), numbers


@pytest.mark.parametrize("source, result", [
    ("At [4,096](given:d_model) it takes [28,672][ln].",
     f'At <span class="tl-given">4,096</span> it takes <a class="tl-num" href="#{LN}">28,672</a>.'),
    ("[16,384](fact:norm_ops?kind=rmsnorm&d_model=4096)", f'<a class="tl-num" href="#{RMS}">16,384</a>'),
    ("| a |\n|---|\n| [16,384][rms] |", f'| a |\n|---|\n| <a class="tl-num" href="#{RMS}">16,384</a> |'),
    ("## [16,384][rms] ops { #x }", f'## <a class="tl-num" href="#{RMS}">16,384</a> ops {{ #x }}'),
    ("- a\n    > [16,384\n    > ][rms] b", f'- a\n    > <a class="tl-num" href="#{RMS}">16,384\n    > </a> b'),
    ("![shows [16,384][rms] dots](a.png)", "![shows 16,384 dots](a.png)"),
    ('<img alt="[16,384][rms]" src="x.png">', '<img alt="16,384" src="x.png">'),
    ('[t](u.md "has [16,384][rms]")', '[t](u.md "has 16,384")'),
    ("$x = \\fact{16{,}384}{rms} + \\given{4{,}096}{d_model}$", f"$x = \\href{{\\#{RMS}}}{{16{{,}}384}} + {{4{{,}}096}}$"),
    ("**[`16,384`][rms]**", f'**<a class="tl-num" href="#{RMS}">`16,384`</a>**'),
    ("`[16,384][rms]` and \\[16,384][rms]", "`[16,384][rms]` and \\[16,384][rms]"),
    ("```\n[16,384][rms]\n```", "```\n[16,384][rms]\n```"),
    ("[16,384][nokey]", '<span class="tl-wrong">16,384</span>'),
    ("[text](page.md) stays", "[text](page.md) stays"),
    ("- a\n\n\tb [16,384][rms] c", f'- a\n\n\tb <a class="tl-num" href="#{RMS}">16,384</a> c'),
    ("> \tb [16,384][rms] c", f'> \tb <a class="tl-num" href="#{RMS}">16,384</a> c'),
])  # fmt: skip
def test_what_a_link_becomes(registry, source, result):
    assert expanded(source, registry)[0] == result


LATER = {"inference#cache-80": 'To come: the "cache"'}
SPAN = '<span class="tl-later" title="To come: the &quot;cache&quot;">'


@pytest.mark.parametrize("source, result", [
    ("See [the cache](later:inference#cache-80).", f"See {SPAN}the cache</span>."),
    ("## [A `cache`](later:inference#cache-80) { #x }", f"## {SPAN}A `cache`</span> {{ #x }}"),
    ("- a\n    > [the\n    > cache](later:inference#cache-80) b", f"- a\n    > {SPAN}the\n    > cache</span> b"),
    ("| a |\n|---|\n| [c](later:inference#cache-80) |", f"| a |\n|---|\n| {SPAN}c</span> |"),
    ('[c](later:inference#cache-80 "a title")', f"{SPAN}c</span>"),
    ("![shows [c](later:inference#cache-80)](a.png)", "![shows c](a.png)"),
    ("[c](later:lab#results)", '<span class="tl-wrong">c</span>'),
    ("`[c](later:lab#results)`", "`[c](later:lab#results)`"),
    ("[c](later) and [c](later.md)", "[c](later) and [c](later.md)"),
])  # fmt: skip
def test_what_a_link_to_a_section_to_come_becomes(registry, source, result):
    numbers = numbers_of(source, registry)
    assert (expand(source, numbers, LATER), numbers.problems) == (result, [])


GRADES = {"x": ("tl-grade tl-<p>", "../claims/#x", 'A "title"')}
BADGE = '<a class="tl-grade tl-&lt;p&gt;" href="../claims/#x" title="A &quot;title&quot;">proved</a>'


@pytest.mark.parametrize("source, result", [
    ("[proved](claim:x) it.", f"{BADGE} it."), ("It ([proved](claim:x)).", f'It <span class="tl-keep">({BADGE})</span>.'),
    ("([proved](claim:x))", f'<span class="tl-keep">({BADGE})</span>'), ("它（[proved](claim:x)）。", f'它<span class="tl-keep">（{BADGE}）</span>。'),
    ("It ([proved](claim:x) too).", f"It ({BADGE} too)."), ("It (see [proved](claim:x)).", f"It (see {BADGE})."),
    ("[proved](claim:y)", '<span class="tl-wrong">proved</span>'), ("![is [proved](claim:x)](a.png)", "![is proved](a.png)"),
    ("([proved](claim:x)", f"({BADGE}"), ("[proved](claim:x))", f"{BADGE})"), ("([proved](claim:x)）", f"({BADGE}）"),
])  # fmt: skip
def test_what_a_quoted_grade_becomes(registry, source, result):
    assert expand(source, numbers_of(source, registry), grades=GRADES) == result


def test_a_body_that_begins_with_a_link(registry):
    for link, shown in (("[16,384][rms]", f'<a class="tl-num" href="#{RMS}">16,384</a>'), ("[proved](claim:x)", BADGE)):
        numbers = numbers_of(f"---\ntitle: has {link}\n---\n{link} x", registry)
        assert expand(f"{link} x", numbers, grades=GRADES) == f"{shown} x"
    assert (
        expand("[proved](claim:x)", numbers_of("[proved](claim:x)", registry)) == '<span class="tl-wrong">proved</span>'
    )


def test_a_wrong_number_still_leads_to_its_row(registry):
    text, numbers = expanded("[16,385][rms]", registry)
    assert numbers.problems and f'href="#{RMS}"' in text


def test_front_matter_may_be_gone_and_nothing_else(registry):
    source = "---\ntitle: has [16,384][rms]\n---\n# T { #t }\n\n[16,384][rms]\n"
    numbers = numbers_of(source, registry)
    body = source.split("---\n", 2)[2]
    assert expand(body, numbers) == f'# T {{ #t }}\n\n<a class="tl-num" href="#{RMS}">16,384</a>\n'
    assert expand(source, numbers).startswith("---\ntitle: has 16,384\n---\n")
    with pytest.raises(ValueError, match="not the end of the text"):
        expand(body + "x", numbers)


def test_front_matter_text_alone():
    assert plain("At [4,096](given:d_model), [28,672][ln] ops, see [x](y.md)") == "At 4,096, 28,672 ops, see [x](y.md)"
    assert plain("See [the cache](later:inference#cache-80).") == "See the cache."


def test_rendered_links(registry):
    source = (
        "# T { #t }\n\nAt [4,096](given:d_model): **[28,672][ln]** ops.\n\n| a | b |\n|---|---|\n| [16,384][rms] | x |\n\n"
        "- [16,384][rms]\n\n!!! note\n    [16,384][rms] in `code`\n\n$y = \\fact{16{,}384}{rms}$ end\n"
    )
    text, numbers = expanded(source, registry)
    extensions = [
        "tables",
        "admonition",
        "attr_list",
        "pymdownx.superfences",
        "pymdownx.arithmatex",
        "pymdownx.betterem",
    ]
    html = markdown.markdown(text, extensions=extensions, extension_configs={"pymdownx.arithmatex": {"generic": True}})
    assert html.count(f'<a class="tl-num" href="#{RMS}">16,384</a>') == 3
    assert f'<strong><a class="tl-num" href="#{LN}">28,672</a></strong>' in html
    assert f"\\(y = \\href{{\\#{RMS}}}{{16{{,}}384}}\\)" in html
    assert [row.key for row in numbers.rows] == [LN[2:], RMS[2:]]
    assert numbers.rows[1].printed == [("16,384", 7), ("16,384", 9), ("16,384", 12), ("16,384", 14)]
    assert row_at(numbers, 7, "rms") is numbers.rows[1] and row_at(numbers, 8, "rms") is None


PIECES = ["[4,096](given:d_model)", "[28,672][ln]", "[16,384][rms]", "[1\n6][rms]", "\n\n", "> ", "- ", "| ", "$", "`",
          "\\fact{1}{rms}", "text", "\n    ", "![a [16,384][rms]](b)", "```\n", "## ", "<div>", "中文", "\n"]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_lines_stay_and_only_links_change(parts):
    source = "".join(parts)
    page = scan(source, "docs/a.en.md", "en")
    from blocklib.facts.pages import PageNumbers

    text = expand(source, PageNumbers(page, parse_facts(FACTS, "x")))
    assert text.count("\n") == source.count("\n")
    if not page.items:
        assert text == source
    assert re.sub(r"</?(?:a|span)[^>]*>", "", text).count("text") == source.count("text")
