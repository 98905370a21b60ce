"""The block level: where each piece of a page stands, to the letter; and nothing that Markdown shows is left out."""

from __future__ import annotations

import re

import markdown
import pytest

from blocklib.facts.items import OPAQUE
from blocklib.facts.scan import scan
from tests.facts.test_scan import CONFIG, EXTENSIONS, Shown

# Source (⏎ a line's end, → a tab), what stands where (# for code, a formula, a footnote's mark), lines of problems.
BLOCKS = [
    ('a⏎⏎  ⏎b', 'prose: a · prose: b', []),
    ('   ⏎a', 'prose: a', [1]),
    ('---⏎title: x⏎---⏎   ⏎a', 'front matter: x · prose: a', [4]),
    ('- a⏎⏎    b⏎⏎c', 'list: a · list: b · prose: c', []),
    ('- a⏎b', 'list: a b', []),
    ('- a⏎- b⏎⏎    - c⏎⏎    d⏎⏎e', 'list: a · list: b · list: c · list: d · prose: e', []),
    ('- a⏎    <!-- x -->⏎    b', 'list: a  b', []),
    ('- a⏎⏎    b⏎<!-- x -->⏎    c', 'list: a · list: b', []),
    ('- a⏎⏎<!-- x -->⏎⏎    c', 'list: a', []),
    ('> a⏎<!-- x -->⏎b', 'prose: a · prose: b', []),
    ('> a⏎> <!-- x -->⏎> b', 'prose: a  b', []),
    ('<!-- x⏎y -->⏎a', 'prose: a', []),
    ('a⏎<!-- x -->⏎b', 'prose: a · prose: b', []),
    ('a⏎<!-- x -->b', 'prose: a · prose: b', []),
    ('a <!-- x -->⏎b', 'prose: a  b', []),
    ('- a⏎⏎    <!-- x⏎    y -->⏎    b', 'list: a · list: b', [3]),
    ('/// details | T 5⏎    open: true⏎    k: 9⏎⏎body⏎///', 'title: T 5 · details: body', []),
    ('/// details | T⏎    type: x⏎///', 'title: T', []),
    ('/// claim | id-5⏎body 5⏎///', 'claim: body 5', []),
    ('/// details | A⏎   x 5⏎///', 'title: A · details: x 5', []),
    ('→a', '', []),
    ('- a⏎⏎→b 5', 'list: a · list: b 5', []),
    ('a⏎→b', 'prose: a b', []),
    ('    code 5⏎⏎    more 6⏎⏎a', 'prose: a', []),
    ('a⏎⏎    code 5⏎    6⏎⏎b', 'prose: a · prose: b', []),
    ('    a 5⏎b', 'prose: b', []),
    ('> a 5⏎b⏎⏎c', 'prose: a 5 b · prose: c', []),
    ('> a⏎⏎b', 'prose: a · prose: b', []),
    ('> a⏎>⏎> b', 'prose: a · prose: b', []),
    ('> a⏎> # H { #h }⏎> c', 'prose: a · heading: H · prose: c', []),
    ('>a', 'prose: a', []),
    ('> > a⏎> b⏎c', 'prose: a b c', []),
    ('> - a⏎>     b⏎> c', 'list: a b c', []),
    ('    > a', '', []),
    ('a⏎    > b', 'prose: a > b', []),
    ('a⏎> b', 'prose: a · prose: b', []),
    ('> a⏎- b', 'prose: a - b', []),
    ('> a⏎# H { #h }', 'prose: a · heading: H', []),
    ('> a⏎```⏎code⏎```', 'prose: a', []),
    ('> a⏎/// claim | x⏎b⏎///', 'prose: a · claim: b', []),
    ('> a⏎!!! note "T"⏎    b', 'prose: a · title: T · prose: b', []),
    ('> a⏎=== "T"⏎    b', 'prose: a · title: T · prose: b', []),
    ('> a⏎[^1]: b', 'prose: a · footnote: b', []),
    ('- a⏎* b', 'list: a · list: b', []),
    ('- a⏎1. b', 'list: a · list: b', []),
    ('1. a⏎2. b⏎- c', 'list: a · list: b · list: c', []),
    ('- a⏎    b⏎c⏎- d', 'list: a b c · list: d', []),
    ('- a⏎    - b⏎- c', 'list: a · list: b · list: c', []),
    ('!!! note "T 5"⏎    a⏎⏎    b⏎c', 'title: T 5 · prose: a · prose: b c', []),
    ('??? x⏎    a', 'prose: a', []),
    ('=== "T 5"⏎    a⏎⏎b', 'title: T 5 · prose: a · prose: b', []),
    ('[^1]: a⏎    b⏎⏎c[^1]', 'footnote: a b · prose: c#', []),
    ('a⏎:   b⏎⏎    c', 'prose: a · list: b · list: c', []),
    ('<div>⏎a 5⏎</div>⏎b', 'html: a 5 · prose: b', []),
    ('<div>a</div> b', 'html: a  b', []),
    ('<div><div>a</div>b</div>⏎c', 'html: a b · prose: c', []),
    ('<div>⏎<div>⏎a⏎</div>⏎b⏎</div>⏎⏎c', 'html: a   b · prose: c', []),
    ('<pre>5⏎6</pre> 7⏎⏎8', 'html: 7 · prose: 8', []),
    ('<pre>5</pre>6', 'html: 6', []),
    ('<script>⏎5⏎</script>⏎⏎a', 'prose: a', []),
    ('<hr>⏎a', 'html:  · prose: a', []),
    ('<hr/> a', 'html: a', []),
    ('<div markdown>⏎⏎a⏎⏎</div>', 'html:  · prose: a · html: ', []),
    ('<p>a<br/>b</p> c', 'html: a b  c', []),
    ('<details><summary>a</summary>⏎⏎b⏎⏎</details>⏎⏎c', 'html: a · html: b · html:  · prose: c', []),
    ('</div> a', 'html: a', []),
    ('```` `x` ````⏎b', 'prose: `x` (code) · prose: # b', []),
    ('```py⏎5⏎```⏎a', 'prose: # a', []),
    ('~~~ a`b⏎5', 'prose: ~ a`b 5', []),
    ('- a⏎⏎→```py⏎→5⏎→```⏎→b', 'list: a · prose: # b', []),
    ('-→a⏎⏎→b 5⏎⏎    c 6', 'list: a · list: b 5 · list: c 6', []),
    ('1.→a⏎2.→b⏎⏎→c', 'list: a · list: b · list: c', []),
    ('>→a⏎>→b 5', 'prose: a b 5', []),
    ('>→- a⏎>⏎>→    b 5', 'list: a · list: b 5', []),
    ('a⏎⏎:→b 5⏎⏎→c 6', 'prose: a · list: b 5 · list: c 6', []),
    ('- a⏎⏎→<!-- x⏎→y -->⏎→b', 'list: a · list: b', [3]),
    ('>→a 5', 'prose: a 5', []),
    ('```py title="T 5"⏎6⏎```', 'title: T 5', []),
    ("```py title='T 5'⏎6⏎```", 'title: T 5', []),
    ('- a⏎⏎    ```⏎    5⏎    ```⏎⏎    b', 'list: a · list: b', []),
    ('> ```⏎> 5⏎> ```⏎> a', 'prose: # a', []),
    ('```⏎--8<-- "a.py"⏎```⏎', '', []),
    ('```python exec="on"⏎--8<-- "a/b.py"⏎```⏎', '', []),
    ('a⏎===', 'heading: a', []),
    ('a⏎---', 'heading: a', []),
    ('a⏎b⏎---⏎c', 'prose: a b · prose: c', []),
    ('# A { #a }⏎===', 'heading: A · prose: =', []),
    ('a⏎=', 'heading: a', []),
    ('a⏎-', 'heading: a', []),
    ('- a⏎---', 'list: a', []),
    ('A 5⏎==⏎⏎B⏎--⏎', 'heading: A 5 · heading: B', []),
    ('$$⏎x = 5⏎$$⏎⏎a', 'prose: # · prose: a', []),
    ('$$x = 5$$⏎⏎a', 'prose: # · prose: a', []),
    ('$$x', 'prose: $$x', [1]),
    ('\\[⏎x⏎\\]⏎a', 'prose: \\[ x ] a', [1]),
    ('\\begin{align}⏎x⏎\\end{align}⏎a', 'prose: \\begin{align} x \\end{align} a', [1]),
    ('$$$$⏎a', 'prose: $$$$ a', []),
    ('$$a $$ ⏎b', 'prose: $$a $$  b', [1]),
    ('| a 5 | b |⏎|---|---|⏎| c | d 6 |⏎e⏎⏎f', 'table: a 5 · table: b · table: c · table: d 6 · table: e · prose: f', []),
    ('a | b⏎--- | ---⏎c | d', 'table: a · table: b · table: c · table: d', []),
    ('| a |⏎| b |', 'prose: | a | | b |', []),
    ('a | b', 'prose: a | b', []),
    ('a|b⏎-', 'table: a · table: b', []),
    ('x⏎| a |⏎|---|⏎| b |', 'prose: x | a | |---| | b |', []),
    ('[a]: x.md⏎⏎[a]', 'prose: [a]', []),
    ('[a]: x.md "T 5"⏎⏎[a]', 'title: T 5 · prose: [a]', []),
    ("[a]: x.md 'T 5'⏎⏎[a]", 'title: T 5 · prose: [a]', []),
    ('[a]: x.md (T 5)⏎⏎[a]', 'title: T 5 · prose: [a]', []),
    ('[a]: fact:x⏎', '', [1]),
    ('*[AB]: long 5⏎⏎AB', 'abbreviation: long 5 · prose: AB', []),
    ('text⏎*[AB]: long 5⏎⏎AB', 'prose: text · abbreviation: long 5 · prose: AB', []),
    ('1. a⏎2. b⏎4. c', 'list: a · list: b · list: c', [3]),
    ('2. a', 'list: a', [1]),
    ('1. a⏎1. b⏎3. c', 'list: a · list: b · list: c', [3]),
    ('- a⏎    1. b⏎    2. c⏎- d⏎    1. e⏎    2. f', 'list: a · list: b · list: c · list: d · list: e · list: f', []),
    ('1. a⏎⏎b⏎⏎2. c', 'list: a · prose: b · list: c', [5]),
    ('- a⏎    2. b', 'list: a · list: b', [2]),
    ('***⏎a', 'prose: a', []),
    ('a⏎***⏎b', 'prose: a · prose: b', []),
    ('* * *⏎', '', []),
    ('/// a⏎/// b⏎///⏎///', '', []),
    ('//// a⏎///⏎////', '', [2]),
    ('/// figure-caption⏎Fig 5⏎///', 'caption: Fig 5', []),
    ('/// details | x⏎- a⏎///⏎', 'title: x · details: a', []),
    ('# A { #a }⏎⏎## B 5 ## { #b }⏎⏎text', 'heading: A · heading: B 5 · prose: text', []),
    ('  # A', 'prose: # A', []),
    ('#A', 'heading: A', []),
    ('####### A', 'prose: ####### A', []),
    ('- # A { #a }⏎- b', 'list: # A · list: b', []),
    ('a  ⏎b', 'prose: a   b', []),
    ('a\\⏎b', 'prose: a\\ b', []),
]  # fmt: skip


def plain(source: str) -> str:
    return source.replace("⏎", "\n").replace("→", "\t")


@pytest.mark.parametrize(("source", "runs", "problems"), BLOCKS)
def test_what_stands_where(source, runs, problems):
    page = scan(plain(source), "p", "en")
    found = " · ".join(
        f"{run.place.where}: {run.text.replace(OPAQUE, '#').strip()}{' (code)' if run.kind == 'code' else ''}"
        for run in page.runs
    )
    assert found.replace("\n", " ") == runs
    assert [problem.line for problem in page.problems] == problems
    for run in page.runs:
        for char, offset in zip(run.text, run.at, strict=True):
            assert char in (page.source[offset], OPAQUE, " ", "\n")
    blocks = [run.place.block for run in page.runs if run.kind != "code"]
    assert blocks == sorted(set(blocks)) == list(range(1, len(blocks) + 1))


@pytest.mark.parametrize("source", [source for source, _, problems in BLOCKS if not problems and "///" not in source])
def test_what_markdown_shows_is_there(source):
    shown = Shown()
    shown.feed(markdown.markdown(plain(source), extensions=EXTENSIONS, extension_configs=CONFIG))
    words = set(re.findall(r"[A-Za-z0-9]+", " ".join(shown.text)))
    there = set(re.findall(r"[A-Za-z0-9]+", " ".join(run.text for run in scan(plain(source), "p", "en").runs)))
    assert words & set(re.findall(r"[A-Za-z0-9]+", source)) <= there | {"1"}  # a footnote's number is Markdown's


@pytest.mark.parametrize(("source", "headings"), [
    ("a⏎===", [(1, "", "a", 1)]), ("a⏎---", [(2, "", "a", 1)]), ("A 5⏎==⏎⏎B⏎--⏎", [(1, "", "A 5", 1), (2, "", "B", 4)]),
    ("# A { #a }⏎⏎## B 5 ## { #b .c }⏎", [(1, "a", "A", 1), (2, "b", "B 5", 3)]), ("> a⏎> ### H { #h }", [(3, "h", "H", 2)]),
    ("#A", [(1, "", "A", 1)]), ("####### A", []), ("# `x` *y*", [(1, "", "\ufffc y", 1)]), ("# #", [(1, "", "", 1)]),
])  # fmt: skip
def test_headings(source, headings):
    page = scan(plain(source), "p", "en")
    assert [(h.level, h.id, h.text, h.line) for h in page.headings] == headings
    assert all(page.source[h.start] not in "\n" for h in page.headings)


@pytest.mark.parametrize(("source", "blocks"), [
    ("/// details | T 5⏎    open: true⏎⏎b⏎///", [("details", "", 1, -1, False)]), ("a⏎⏎/// claim | id-5⏎b⏎///", [("claim", "id-5", 3, -1, False)]),
    ("# A⏎/// a⏎/// exhibit | x⏎///⏎///", [("a", "", 2, 0, False), ("exhibit", "x", 3, 0, False)]),
    ("```⏎--8<-- \"a.py\"⏎```", [("snippet", "a.py", 1, -1, False)]),
    ("a⏎⏎```python exec=\"on\"⏎--8<-- \"a/b.py\"⏎```", [("snippet", "a/b.py", 3, -1, True)]), ("```⏎--8<--⏎```", [("snippet", "", 1, -1, False)]),
])  # fmt: skip
def test_blocks(source, blocks):
    assert [(b.kind, b.id, b.line, b.section, b.executed) for b in scan(plain(source), "p", "en").blocks] == blocks


@pytest.mark.parametrize(("source", "text_only"), [
    ("---⏎title: 5⏎---", True), ('```py title="5"⏎x⏎```', True), ('[a]: b.md "5"', True), ("*[AB]: 5", True), ("/// details | 5⏎///", False),
    ('!!! note "5"', False), ("# 5", False), ("| 5 |⏎|---|", False), ("![5](b)", True), ("5", False),
])  # fmt: skip
def test_where_no_link_can_stand(source, text_only):
    assert scan(plain(source), "p", "en").runs[0].place.text_only is text_only
