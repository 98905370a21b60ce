"""Markdown as the site uses it: our blocks, Chinese bold, numbers that Markdown would eat."""

from __future__ import annotations

import re
from pathlib import Path

import markdown
import pytest
import yaml

from blocklib.problems import BlocklibError
from blocklib.site.markdown import ClaimParts, PlainNumbers, SiteBlocks

ROOT = Path(__file__).resolve().parents[2]


class Times:
    def __init__(self, room):
        self.room, self.total = room, "In all 7 minutes."

    def __getitem__(self, link):
        if link == "gone":
            raise BlocklibError("no page 'gone'")
        return f"{len(link)} min & more"


class Furnisher:
    def __init__(self):
        self.faults = []

    def claim(self, ident, number):
        if ident == "nope":
            raise BlocklibError("no claim 'nope'")
        return ClaimParts("tl-claim--run", f"<b>Claim {number}</b>", "how: <code>test</code>")

    def exhibit(self, ident, caption):
        if ident == "nope":
            raise BlocklibError("no exhibit 'nope'")
        return f'<figure id="ex-{ident}"><figcaption>{caption}</figcaption></figure>'

    def chapters(self, room):
        return Times(room)

    def leans_on(self, room):
        if room == "nope":
            raise BlocklibError("no room 'nope'")
        return f'<ul class="tl-leans"><li><a href="../{room}/a.md">A</a></li></ul>'

    def fault(self, kind, ident, error):
        self.faults.append((kind, ident, str(error)))


def convert(text: str, furnisher: Furnisher | None = None) -> str:
    """With the very extensions of mkdocs.yml."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ENV", lambda loader, node: None)
    listed = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader)["markdown_extensions"]
    names = [next(iter(e)) if isinstance(e, dict) else e for e in listed]
    configs = {k: v for e in listed if isinstance(e, dict) for k, v in e.items()}
    extensions = [*names, SiteBlocks(furnisher or Furnisher()), PlainNumbers()]
    return markdown.markdown(text, extensions=extensions, extension_configs=configs)


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("**真，**她", "真，"), ("**参数量（8.03B）**为", "参数量（8.03B）"), ("在**“引号”**里", "“引号”"), ("字**粗体**字", "粗体"),
        ("在**`d_model`**处", "<code>d_model</code>"), ("**注意：**下一句", "注意："), ("a **bold** b", "bold"),
        ('**<a class="tl-num" href="#n-x">8</a> 层。**下', '<a class="tl-num" href="#n-x">8</a> 层。'),
    ],
)  # fmt: skip
def test_bold_beside_chinese_and_punctuation(text, bold):
    html = convert(text)
    assert f"<strong>{bold}</strong>" in html and "**" not in html


@pytest.mark.parametrize(
    "text",
    [
        "2026. 年的事",
        "16384. 是宽度",
        "2*3*4 = 24",
        "1024*1024",
        "a 2 * 3 * 4 b",
        "x_1_y 与 d_model_2",
        "3.14 与 1,024",
    ],
)
def test_numbers_survive(text):
    shown = re.sub(r"<[^>]+>", "", convert(text))
    assert re.findall(r"\d+", shown) == re.findall(r"\d+", text) and "<ol" not in convert(text)


def test_control_a_short_ordered_list_is_still_a_list():
    assert convert("1. a\n2. b").count("<li>") == 2
    assert "<em>word</em>" in convert("a *word* b")


def test_headings_carry_their_explicit_ids():
    html = convert("## KV 缓存 { #kv-cache }\n\n## 两本账 { #two-ledgers }")
    assert re.findall(r'<h2 id="([^"]+)"', html) == ["kv-cache", "two-ledgers"]


@pytest.mark.parametrize(
    "text", ["# T { #t }\n\n开头一句。\n{ .tl-standfirst }", "# T { #t }\n\n开头 **一句**。 { .tl-standfirst }"]
)
def test_the_standfirst_may_end_its_line_or_stand_below(text):
    html = convert(text)
    assert '<p class="tl-standfirst">开头' in html and "{" not in html


def test_a_claim_stands_between_head_and_foot():
    html = convert("/// claim | a-b\nThe *sentence* with $x$.\n///\n\n/// claim | c\nTwo.\n///")
    assert html.count('<div class="tl-claim tl-claim--run"') == 2
    assert '<div class="tl-claim__head"><b>Claim 1</b></div>' in html and "<b>Claim 2</b>" in html
    assert re.search(r'__head">.*</div>\s*<p class="tl-claim__body">The <em>sentence</em>', html)
    assert '<div class="tl-claim__foot">how: <code>test</code></div>' in html and 'id="claim-a-b"' in html


def test_an_exhibit_gets_its_finished_caption():
    html = convert("/// exhibit | norm-ops\n**Bold** and `code` and $x$.\n///")
    assert (
        '<figcaption><strong>Bold</strong> and <code>code</code> and <span class="arithmatex">\\(x\\)</span>.</figcaption>'
        in html
    )
    two = convert("/// exhibit | norm-ops\nOne.\n\nTwo.\n///")
    assert "<figcaption><p>One.</p>\n<p>Two.</p></figcaption>" in two


def test_a_margin_note_is_an_aside():
    assert re.search(r'<aside class="tl-margin">\s*<p>note</p>\s*</aside>', convert("/// margin\nnote\n///"))


@pytest.mark.parametrize("kind", ["claim", "exhibit"])
def test_unknown_ids_are_noted_and_the_text_stays(kind):
    furnisher = Furnisher()
    assert "words" in convert(f"/// {kind} | nope\nwords\n///", furnisher)
    assert furnisher.faults == [(kind, "nope", f"no {kind} 'nope'")]


def test_bound_numbers_stand_in_every_place():
    link = '<a class="tl-num" href="#n-x">8</a>'
    for text in (f"a {link} b", f"- a {link}", f"| h |\n| - |\n| {link} |", f"## H {link} {{ #h }}", f"> {link}", f"??? note\n    {link}",
                 f"t\n:   {link}", f"a[^1]\n\n[^1]: {link}", f'=== "t"\n    {link}', f"/// claim | x\n{link}\n///"):  # fmt: skip
        assert link in convert(text), text


CHAPTERS = """
/// chapters | design
| Chapter | Question |
|---|---|
| [One](one.md) | [elsewhere](other.md) |
| [Three](three.md#id) | why |
| no link | |
///

After.
"""


def test_chapters_get_their_minutes_below_the_link():
    found = Furnisher()
    html = convert(CHAPTERS, found)
    assert '<a href="one.md">One</a> <small class="tl-minutes">3 min &amp; more</small>' in html
    assert '<a href="three.md#id">Three</a> <small class="tl-minutes">5 min &amp; more</small>' in html
    assert html.count("tl-minutes") == 2 and found.faults == []
    assert (
        html.index("</table>") < html.index('<p class="tl-chapters__sum">In all 7 minutes.</p>') < html.index("After")
    )


def test_a_row_whose_page_is_gone_is_a_fault_and_the_table_stays():
    found = Furnisher()
    html = convert(CHAPTERS.replace("three.md", "gone.md"), found)
    assert found.faults == [("chapters", "design", "no page 'gone'")]
    assert "<table>" in html and "In all" not in html


def test_the_list_of_pages_leaned_on():
    found = Furnisher()
    assert '<ul class="tl-leans"><li><a href="../primer/a.md">A</a></li></ul>' in convert(
        "/// leans-on | primer\n///\n", found
    )
    assert "tl-leans" not in convert("/// leans-on | nope\n///\n", found)
    assert found.faults == [("leans-on", "nope", "no room 'nope'")]
