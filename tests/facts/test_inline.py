"""The inline level: what a reader sees of each piece of markup, and that every character keeps its offset."""

from __future__ import annotations

import pytest

from blocklib.facts.items import OPAQUE
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound


def shown(source: str) -> list[str]:
    return [run.text.replace(OPAQUE, "#") for run in scan(source, "p", "en").runs]


@pytest.mark.parametrize(("source", "runs"), [
    ("a\\*", ["a*"]), ("a\\", ["a\\"]), ("\\a", ["\\a"]), ("\\*\\_", ["*_"]), ("a ` 5", ["a ` 5"]), ("a `` b ` c", ["` b ", "a # c"]), ("a `` b", ["a `` b"]),
    ("`` ` ``x", [" ` ", "#x"]), ("`a` `b`", ["a", "b", "# #"]), ("*a* **b** a * b", ["a b a * b"]), ("a_b _c_ _", ["a_b c "]),
    ("snake_case_9 and _x", ["snake_case_9 and x"]), ("==a== ~~b~~ ^^c^^ a=b ~c", ["a b c a=b ~c"]), ("a=", ["a="]), ("a==", ["a"]),
    ("&amp; &#50; &nope; &", ["& 2 &nope; &"]), ("<https://x.org/5> a", ["# a"]), ("<b title=x>c</b>", ["x", "c"]), ("a<br>b", ["a b"]),
    ("a<p>b", ["a\nb"]), ("10<sup>6</sup> x<sub>2</sub>", ["10^6 x_2"]), ("a <code>b</code> c", ["b", "a # c"]), ("a < b", ["a < b"]),
    ("a <code/> b", ["a  b"]), ("a <script>5</script> b", ["a # b"]), ("a <kbd>b", ["a b"]), ("see https://x.org/5 now", ["see # now"]),
    ("xhttps://x.org/5", ["xhttps://x.org/5"]), ("mailto:a@b.c x", ["# x"]), ("hat", ["hat"]),
    ("![a 5](b.png) c", ["a 5", "# c"]), ('![a](b.png "t 5") c', ["a", "t 5", "# c"]), ("![a][b]", ["a", "#"]), ("![a] b", ["![a] b"]),
    ("a !", ["a !"]), ("!a", ["!a"]), ("![a", ["![a"]), ("[a](b.md) c", ["a c"]), ('[a](b.md "t 5") c', ["t 5", "a c"]), ("[a] b", ["[a] b"]),
    ("[a](<b c.md>) d", ["a d"]), ("[a][b]\n\n[b]: c.md", ["a"]), ("a[^1] b\n\n[^1]: note", ["a# b", "note"]), ("a[^2] b", ["a[^2] b"]),
    ("[^", ["[^"]), ("a [b] (c)", ["a [b] (c)"]), ("$x$ a", ["# a"]), ("costs $5 and $6", ["costs $5 and $6"]), ("\\(x\\) a", ["# a"]),
    ("a\nb", ["a b"]), ("`a\nb`", ["a\nb", "#"]), ("a [`b\nc`][k]", ["a b c"]), ("[a `b`](u:v) c", ["b", "a # c"]), ("aéhttps://x.org/5", ["aé#"]), ("a<!--xy-->b", ["ab"]), ("x[(y) a", ["x[(y) a"]),
        ("[a\\]b](c.md) d", ["a]b d"]), ("[a `]` b](c.md) d", ["]", "a # b d"]), ("[a $]$ b](c.md) d", ["a # b d"]), ("[[a]](b.md)", ["[a]"]),
        ("[a\\\\](c.md) d", ["a\\ d"]),
        ("a <code/> b</code> c", ["a  b c"]), ("<b title='x 5'>c</b>", ["x 5", "c"]), ("a *b", ["a b"]), ("_b", ["b"]), ("a_b", ["a_b"]),
        ("x{ .c } y", ["x y"]), ("**x**{ .c } y", ["x y"]),
    ("x\n{ .c }", ["x "]), ("x\n{ #a24 }", ["x "]), ("[a](b.md){ k=24 } c", ["a c"]),
])  # fmt: skip
def test_what_is_shown(source, runs):
    assert shown(source) == runs


def test_offsets_of_parts_shown_elsewhere():
    source = 'x ![a\n5 b](c.png) and [t](u.md "v\n7 w\n8") and <b title="q\n9">z</b>\n'
    page = scan(source, "p", "en")
    for run in page.runs:
        for char, offset in zip(run.text, run.at, strict=True):
            assert source[offset] == char or char in (OPAQUE, " ")
    assert [n.start for n in find_unbound(page)] == [source.index(digit) for digit in "5789"]


@pytest.mark.parametrize(("source", "digits"), [
    ("x{ k=24 } y", ["24"]), ("**x**{ k=24 } y", []), ("x\n{ k=24 }", []), ("{ k=24 }", []), ("x { k=24 }", ["24"]), ("a { .b } 5", ["5"]),
])  # fmt: skip
def test_attributes_behind_an_element_are_none_of_the_text(source, digits):
    assert [n.text for n in find_unbound(scan(source, "p", "en"))] == digits


@pytest.mark.parametrize(("source", "text"), [
    ("$$5 = x$$", None), ("\\[5\\]", None), ("\\begin{align}5\\end{align}", None), ("a $5$ b", None), ("a \\(5\\) b", None),
    ("a $$5$$", "a $#$"), ("$$5$$ a", "$#$ a"), ("a \\[5\\]", "a \\[5]"), ("\\[5\\] a", "\\[5] a"),
    ("a \\begin{align}5\\end{align}", "a \\begin{align}5\\end{align}"), ("\\begin{align}5\\end{align} a", "\\begin{align}5\\end{align} a"),
])  # fmt: skip
def test_a_displayed_formula_stands_alone_or_is_text(source, text):
    page = scan(source, "p", "en")
    told = any("a displayed formula stands alone" in p.message for p in page.problems)
    assert told is (text is not None) and (text is None or shown(source) == [text])
    assert text is not None or (shown(source)[0].count("#") == 1 and "5" not in shown(source)[0])


def test_front_matter_hides_comments_too():
    page = scan("---\ntitle: a <!-- 5 --> b <!-- c\n---\n", "p", "en")
    assert [run.text for run in page.runs] == ["a  b <!-- c"]


def test_alt_text_is_no_other_attribute():
    page = scan('<img alt="a 5" title="b 6">', "p", "en")
    assert [(run.place.where, run.text) for run in page.runs[:2]] == [("alt text", "a 5"), ("attribute", "b 6")]
