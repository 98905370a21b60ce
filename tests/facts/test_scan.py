"""The scanner sees what Python-Markdown shows, each word on its line; the Markdown library is the oracle."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import markdown
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.facts.formula import braces, plain_text
from blocklib.facts.inline import Source
from blocklib.facts.items import Bound, Given
from blocklib.facts.lines import cells
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound

EXTENSIONS = [
    "admonition", "attr_list", "def_list", "footnotes", "md_in_html", "tables", "abbr", "pymdownx.details",
    "pymdownx.superfences", "pymdownx.tabbed", "pymdownx.arithmatex", "pymdownx.betterem", "pymdownx.blocks.details",
]  # fmt: skip
CONFIG = {"pymdownx.tabbed": {"alternate_style": True}, "pymdownx.arithmatex": {"generic": True}}


class Shown(HTMLParser):
    """Words of a rendered page by where a reader meets them."""

    def __init__(self):
        super().__init__()
        self.text, self.code, self.inside = [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("alt", "title", "aria-label") and value:
                self.text.append(value)
        if tag in ("code", "pre", "script", "style") or dict(attrs).get("class") == "arithmatex":
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        (self.code if self.inside else self.text).append(data)


def rendered(source):
    shown = Shown()
    shown.feed(markdown.markdown(source, extensions=EXTENSIONS, extension_configs=CONFIG))
    return set(re.findall(r"word\d+", " ".join(shown.text)))


def scanned(source):
    """Words in prose by the scanner, each with the line it is said to stand on."""
    page = scan(source, "docs/a.en.md", "en")
    words = {}
    for run in page.runs:
        if run.kind == "prose":
            for found in re.finditer(r"word\d+", run.text):
                words[found[0]] = page.line(run.at[found.start()])
    return words, page


def agree(source):
    words, page = scanned(source)
    assert set(words) == rendered(source), source
    for word, line in words.items():
        assert word in source.split("\n")[line - 1], (word, line, source)


# {} is a fresh word each time; a fragment is a block of its own.
FRAGMENTS = [
    "Text {} with **bold {}** and *{}*\nsecond line {} `code {}` end {}",
    "## Heading {} {{ #id-{} }}", "# {} #", "Setext {}\n---",
    "- item {}\n  more {}\n- item {}\n\n    para {}", "1. one {}\n2. two {}\n\n    - nested {}\n        - deep {}",
    "- a {}\n\n    ```python\n    {}\n    ```\n\n    after {}", "- a {}\n\n        code {}\n\n    after {}",
    "    code {}\n\n    more code {}", "```python\n{}\n# {}\n```", "~~~\n{}\n\n{}\n~~~", "````md\n```\n{}\n```\n````",
    "```python title=\"x\"\n    {}\n```",
    "| a {} | b \\| {} |\n|---|:-:|\n| `c {}` | d {} |\n| {} | **{}** |",
    "!!! note \"title {}\"\n    body {}\n\n    more {}\n\n        code {}\n\n    ```\n    {}\n    ```",
    "!!! note\n    !!! tip\n        deep {}\n\n            code {}", "??? details \"sum {}\"\n    body {}",
    "=== \"tab {}\"\n\n    in tab {}\n\n=== \"tab {}\"\n\n    in tab {}\n\n    - li {}",
    "> quote {}\n> more {}\n>\n> para {}", "> - li {}\n>\n>     para {}", ">     code {}", "> ```\n> {}\n> ```",
    "- x {}\n\n    > quote {}", "text {}[^{0}]\n\n[^{0}]: foot {}\n    and {}\n\n    para {}",
    "[link {}](https://x.org/page \"tip {}\") and [ref {}][lab]\n\n[lab]: https://x.org",
    "![alt {}](a.png) ![alt {}](b.png \"tip {}\") <https://x.org/a> {}",
    "<!-- hidden {} --> shown {}\n\n<!--\nhidden {}\n\nhidden {}\n-->\n\nshown {}",
    "<div title=\"tip {}\">\ntext {} <img alt=\"alt {}\" src=\"{}.png\">\n\n    still {}\n</div>",
    "<p class=\"{}\">para {}</p>", "<div markdown>\nmd **{}**\n\n```\n{}\n```\n</div>",
    "<script>\nvar {} = 1;\n\nvar {} = 2;\n</script>", "<style>.{} {{}}</style>",
    "math $x_{{{}}}$ and {}", "$$\nx = {}\n$$", "Term {}\n:   meaning {}\n\n    more {}",
    "text {}\n    indented continuation {}", "text {}\n- no list {}", "escaped \\*{}\\* and a\\`{}\\`",
    "a ``code ` {}`` b {}", "unmatched ` tick {}", "***\n\n{}", "{}&nbsp;{} &lt;{}&gt;", "{{ .cls }} no attr {}",
    "para {}\n{{: .cls }}", "`{}`{{ .cls }} {}", "- [ ] task {}\n- [x] task {}",
    "/// details | Sum {}\nbody {}\n\n- li {}\n///",
]  # fmt: skip


class Words:
    def __init__(self):
        self.count = 0

    def fill(self, fragment):
        def fresh(found):
            self.count += 1
            return f"word{self.count}"

        fragment = fragment.replace("{0}", f"f{self.count}")
        fragment = fragment.replace("{{", "\0").replace("}}", "\1")
        return re.sub(r"\{\}", fresh, fragment).replace("\0", "{").replace("\1", "}")


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_every_fragment_alone(fragment):
    agree(Words().fill(fragment))


@settings(max_examples=120)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=2, max_size=6))
def test_fragments_in_any_order(fragments):
    words = Words()
    # A rule between fragments: neighbours like two lists would otherwise grow together, in Markdown too.
    agree("\n\n<!-- -->\n\n".join(words.fill(fragment) for fragment in fragments))


NESTED = [
    f for f in FRAGMENTS if not f.startswith(("<", "///", "text {}[^", "Term", "Setext", "#", "    ", "$$", "***"))
]


@settings(max_examples=100)
@given(
    st.sampled_from(['!!! note "t"', "- head", '=== "tab"', "1. head"]), st.lists(st.sampled_from(NESTED), max_size=3)
)
def test_fragments_inside_a_container(opening, fragments):
    words = Words()
    body = "\n\n<!-- -->\n\n".join(words.fill(fragment) for fragment in fragments)
    agree(opening + "\n\n" + "\n".join("    " + line if line else "" for line in body.split("\n")))


PAGE = r"""---
title: A [24](fact:a?b=1) page
description: >-
  has 28 and
  [32][k]
other: 99
---
# Title { #top }

At [4,096](given:d_model) and [Twenty-four](given:blocks) it takes
**[28,672][ln]** or [`128 KiB`](fact:kv?x&y=1){ .c } now.

## Table { #table }

| a | b |
|---|---|
| [16,384][rms] | x \| [61.6 %][s] |

- [7–64 %][sp]

    [3][z]

### Sub { #sub }

!!! note "[5][title]"
    [6][adm]

> [8][q]
> and [9
> 千][q2]

/// exhibit | norm-ops
[10][cap] in ![picture of [11][alt]](x.png "tip [12][tip]")
///

<div aria-label="[13][aria]">[14][html]</div>

[^1]: [15][foot]

$$
x = \fact{16{,}777{,}216}{implicit_paths?blocks} \quad \given{4{,}096}{d_model}
$$

```python exec="on"
--8<-- "primer/a.py"
```

/// claim | paths-share
text
///
"""

EXPECTED = [
    ("24", 2, "front matter"), ("32", 5, "front matter"), ("4,096", 10, "prose"), ("Twenty-four", 10, "prose"),
    ("28,672", 11, "prose"), ("128 KiB", 11, "prose"), ("16,384", 17, "table"), ("61.6 %", 17, "table"),
    ("7–64 %", 19, "list"), ("3", 21, "list"), ("5", 25, "title"), ("6", 26, "prose"), ("8", 28, "prose"),
    ("9 千", 29, "prose"), ("10", 33, "caption"), ("11", 33, "alt text"), ("12", 33, "title"), ("13", 36, "attribute"),
    ("14", 36, "html"), ("15", 38, "footnote"), ("16,777,216", 41, "prose"), ("4,096", 41, "prose"),
]  # fmt: skip


def test_items_of_a_page():
    page = scan(PAGE, "docs/a.en.md", "en")
    assert [(item.text, page.line(item.start), item.where) for item in page.items] == EXPECTED
    assert page.problems == []
    assert [(h.level, h.id, h.text, h.line) for h in page.headings] == [
        (1, "top", "Title", 8), (2, "table", "Table", 13), (3, "sub", "Sub", 23)]  # fmt: skip
    assert [(b.kind, b.id, b.line, b.executed) for b in page.blocks] == [
        ("exhibit", "norm-ops", 32, False), ("snippet", "primer/a.py", 44, True), ("claim", "paths-share", 48, False)
    ]  # fmt: skip
    sections = {item.text: item.place.section for item in page.items}
    assert (sections["24"], sections["28,672"], sections["16,384"], sections["5"]) == (-1, 0, 1, 2)
    assert [page.section_end(i) for i in (-1, 0, 1, 2)] == [3, 3, 3, 3]
    assert isinstance(page.items[2], Given) and page.items[2].name == "d_model"
    assert isinstance(page.items[5], Bound) and (page.items[5].kind, page.items[5].target) == ("fact", "kv?x&y=1")
    assert page.items[-2].math and page.items[-2].target == "implicit_paths?blocks"


def test_links_to_sections_to_come():
    source = "See [the `cache` of 80](later:inference#cache-80), [12,345][k].\n\n<b>x</b> [y](later:lab#r)\n"
    page = scan(source, "docs/a.en.md", "en")
    assert [(link.target, page.line(link.start)) for link in page.later] == [("inference#cache-80", 1), ("lab#r", 3)]
    assert [source[slice(*span)] for span in (page.later[0].opening, page.later[0].closing)] == [
        "[", "](later:inference#cache-80)"
    ]  # fmt: skip
    # The id is no text of the page, its own text is; and it is no bound number.
    assert [n.text for n in find_unbound(page)] == ["80"] and [item.target for item in page.items] == ["k"]


@pytest.mark.parametrize("source, message", [
    ("[a][x]\n\n[x]: later:lab#r", "stands where it is used: [text](later:lab#r)"),
    ('<a href="later:lab#r">x</a>', "a link to a section to come is Markdown"),
])  # fmt: skip
def test_other_ways_to_write_them_are_problems(source, message):
    page = scan(source, "docs/a.en.md", "en")
    assert len(page.problems) == 1 and message in page.problems[0].message


def test_spans_cut_the_markup_exactly():
    page = scan(PAGE, "docs/a.en.md", "en")
    for item in page.items:
        before, after = PAGE[slice(*item.opening)], PAGE[slice(*item.closing)]
        assert before in ("[", "\\fact{", "\\given{")
        assert re.fullmatch(r"\]\([^)]*\)|\]\[\w+\]|\}\{[^}]*\}", after), after


@pytest.mark.parametrize("source, line, message", [
    ("a\n\n```python\nx", 3, "never closed"), ("a <!-- b\nc", 2, "HTML comment is never closed"),
    ("/// claim | x\ntext", 1, "'/// claim' is never closed"), ("a\n\n///", 3, "closes no block"),
    ("a\n\n2026. was a year", 3, "opens with '2026.'"), ("a\n\n1. x\n3. y", 4, "opens with '3.'"),
    ('x\n\n--8<-- "a.md"', 3, "outside a code fence"), ("[k]: fact:a?b=1", 1, "belongs into the page's .facts"),
    ("- a\n\n    ```\n    x\n  y\n    ```", 5, "less indented than the code fence of line 3"),
    ("$\\fact{3}$", 1, "takes a number and a name"),
])  # fmt: skip
def test_broken_markdown_is_a_problem(source, line, message):
    problems = scan(source, "p", "en").problems
    assert any(p.line == line and message in p.message for p in problems), problems


@pytest.mark.parametrize(
    "source", ["1. a\n2. b\n3. c", "1. a\n1. b", "- a\n    1. b\n    2. c\n- d\n    1. e", "24.5 is"]
)
def test_good_lists_are_none(source):
    assert scan(source, "p", "en").problems == []


@pytest.mark.parametrize("source, found", [
    ("$4d^2 + 8d^2 = 12d^2$", []), ("$10^{-5}$", []), ("$d = 4096$", ["4096"]), ("$x = 16{,}384$", ["16{,}384"]),
    ("$0.0138$", ["0.0138"]), ("$0.01 + x$", []), ("$\\sqrt{1 + 2 \\cdot 24} = 7$", ["7"]),
    ("$3 + 4 = 7, \\quad a = 9$", ["7"]), ("$L = 24$", []), ("$2^0 = 1$", []), ("$\\bar x = 0$", []),
    ("$\\frac{3d}{5d} = 0.6$", ["0.6"]), ("$\\fact{0.6}{r} = \\fact{0.6}{r}$", []),
    ("$\\fact{2}{a} + 3 = 5$", ["5"]), ("$$a \\\\[12pt] b \\hspace{100pt}$$", []), ("\\(123\\)", ["123"]),
    ("\\begin{align}x &= 1234\\end{align}", ["1234"]), ("`$123$`", []), ("costs $5 and $600", []),
    ("$x_{100}$", ["100"]), ("$p = 0.7^{12} \\approx 0.014$", ["0.014"]), ("$2 = 3$", ["3"]),
    ("$1 + 1 = 2 = x$", ["2"]), ("$1 + 1 = x = 2$", []), ("$2 \\cdot 3 = 6 = 12 / 2$", ["6"]),
    ("$\\fact{3} + \\fact{5}{r} + 128$", ["128"]),
])  # fmt: skip
def test_what_formulas_must_bind(source, found):
    assert [numeral.text for numeral in scan(source, "p", "en").numerals] == found


def test_numerals_of_formulas_stand_where_they_are():
    source = "a\n\n$$\n\\given{4{,}096}{d} + 2 \\cdot\n 3 = 28672 \\quad 4 + 5 =  9\n$$\n"
    page = scan(source, "p", "en")
    assert [(n.text, n.start) for n in page.numerals] == [
        ("28672", source.index("28672")),
        ("9", source.index("9\n$$")),
    ]
    broken = scan("a\n\n$$\nx +\n\\fact{3} + \\fact{5}{r} + 128\n$$\n", "p", "en")
    assert [(p.line, "takes a number and a name" in p.message) for p in broken.problems] == [(5, True)]
    assert [item.target for item in broken.items] == ["r"] and [broken.line(n.start) for n in broken.numerals] == [5]


@pytest.mark.parametrize("text, end", [
    ("{a}b", 3), ("{a{b}c}d", 7), ("{}", 2), ("{a", 0), ("{a{b}", 0), ("", 0), (r"{a\}b}c", 6), (r"{a\{b}c", 6),
    (r"{\\}}", 4), ("{a\\", 0), (r"{\}", 0),
])  # fmt: skip
def test_the_brace_that_closes(text, end):
    assert braces(text, 0) == end and braces("{" + text, 1) == (end and end + 1)


@pytest.mark.parametrize("tex, text", [
    ("16{,}777{,}216", "16,777,216"), ("61.6\\%", "61.6%"), ("\\approx 7.0", "≈7.0"), ("128~\\mathrm{KiB}", "128 KiB"),
    ("4.7 \\times 10^{-6}", "4.7 ×10^{-6}"), ("16\\,384", "16,384"), ("\\tfrac{1}{8}", "1/8"),
    ("15.8\\,\\text{ms}", "15.8 ms"), ("\\le 3", "≤3"), ("\\left(3", "\\left(3"),
])  # fmt: skip
def test_numbers_in_tex_read_as_in_prose(tex, text):
    assert plain_text(tex) == text


def test_visible_text_joins_what_markup_divides():
    page = scan("**24**B and 10<sup>6</sup> x<br>y 5&nbsp;GB 5\u202f000", "p", "en")
    assert page.runs[-1].text == "24B and 10^6 x y 5\xa0GB 5\u202f000"


def test_cells():
    row = r"| a | `b|c` | d \| e |"
    assert [row[a:b] for a, b in cells(row)] == [" a ", " `b|c` ", r" d \| e "]


def test_offsets_of_a_block_in_pieces():
    source = Source([(10, "ab"), (20, "cd")])
    assert source.text == "ab\ncd" and [source.at(i) for i in range(5)] == [10, 11, 12, 20, 21]


@settings(max_examples=200)
@given(st.text(alphabet="[]()`*_$<>!#-|{}\\ \n~=/:\"'123ab.&^^中", max_size=80))
def test_no_text_breaks_the_scanner(source):
    page = scan(source, "p", "zh")
    for run in page.runs:
        assert len(run.text) == len(run.at)
        assert all(0 <= offset < len(source) for offset in run.at)


@pytest.mark.parametrize(
    "source",
    [
        "[lab]: http://x/ word1 word2", '[a][lab]\n\n[lab]: http://x/ "word1"', "[a][lab]\n\n[lab]: http://x/ (word1)",
        "a {n=word1} b", "a {#word1} b", "`c`{.word1} word2", '[a](b){ title="word1" }', "<b title=word1>x</b>",
        "a [^word1] b", ":a-word1: b", "``` `` word1 `a` word2", "```` ` `` word1 `a` word2",
        "<div>a</div> word1\n    - word2", "<div>a</div>\n    > word1", "> word1\n    > word2", "<pre>a</pre> word1",
        "<div>`word1` $word2$ *word3*</div>", "<div>\na\n\n</div> b\n    1. word1", "<script>a</script> word1",
    ],
)  # fmt: skip
def test_what_is_shown_is_scanned(source):
    assert rendered(source) <= set(scanned(source)[0]), source


@pytest.mark.parametrize(
    "source, line, message",
    [
        ("```python\nx = 1\n\ny = 2\n   ```\n\nmore", 1, "never closed"),
        ("> ```\n> x\n```", 3, "less indented than the code fence of line 1"),
        ("   ```\n> > x\n   ```", 2, "less indented"), ("a <!-- b\n\nc --> d", 1, "a comment inside a line"),
        ("a <!-- b <!-- c --> d", 1, "a comment inside a line"), ("> <!--\n> a -->", 1, "a comment inside a line"),
        ("text\n\n$$\nx = 1\n\nafter", 3, "never closed"), ("  \n    - a", 1, "empty the line"),
    ],
)  # fmt: skip
def test_what_markdown_gives_up_on_is_a_problem(source, line, message):
    problems = scan(source, "p", "en").problems
    assert any(p.line == line and message in p.message for p in problems), problems


def test_a_comment_at_the_margin_may_run_over_lines():
    page = scan("<!-- a\n\n<!-- 28,672\n-->\n\nb <!-- c --> d", "p", "en")
    assert page.problems == [] and not any("28,672" in run.text for run in page.runs)
