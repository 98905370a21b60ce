"""The lists at the back and the page's ledger of numbers, read as HTML by a parser of its own."""

from __future__ import annotations

import re
from fractions import Fraction
from html.parser import HTMLParser

import markdown
import pytest

from blocklib.claims import sources
from blocklib.claims.registry import load
from blocklib.facts.pages import Row
from blocklib.facts.reading import read
from blocklib.facts.registry import Evaluated, evaluate
from blocklib.facts.values import Range
from blocklib.site import reference
from blocklib.site.numbers import exact_text, numbers, page_ledger
from tests.conftest import ROOT
from tests.minisite import edit, write_site


def url(page, anchor):
    return f"/{page}/" + (f"#{anchor}" if anchor else "")


def report_url(page, fact):
    return f"/report/?page={page}&fact={fact}"


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path)


class Reader(HTMLParser):
    """Ids, links and whether every element that is opened is closed."""

    VOID = ("br", "hr", "img", "meta", "input")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        self.open += [] if tag in self.VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def rendered(text):
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    html = markdown.markdown(body, extensions=["attr_list", "md_in_html"])
    reader = Reader(html)
    assert reader.open == [] and len(set(reader.ids)) == len(reader.ids)
    return html, reader


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_claims_by_grade_with_sentence_and_place(site, lang):
    html, reader = rendered(reference.claims(site, lang, url))
    order = [f"grade-{g}" for g in ("proved", "computed", "measured", "cited", "convention")]
    assert [i for i in reader.ids if i.startswith("grade-")] == order
    assert reader.ids.index("claim-short-paths") > reader.ids.index("grade-cited")
    assert "/primer/paths/#claim-short-paths" in reader.links and "/reference/sources/#veit2016" in reader.links
    sentence = {"zh": "梯度主要来自短的路径。", "en": "The gradient comes mostly from short paths."}[lang]
    assert sentence in html
    assert "tests/paths/test_paths.py::TestControls::test_share_control" in html
    # The sentence's own links lead nowhere from here: only their text is kept.
    assert "fact:" not in html and "[all]" not in html and "16,777,216" in html


def test_retired_claims_still_have_an_anchor(site):
    (site / "docs/redirects.toml").write_text('[claims]\n"old-name" = "short-paths"\n')
    assert '<span id="claim-old-name"></span>' in reference.claims(site, "en", url)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a [1,024][key] b", "a 1,024 b"),
        ("a [1,024](fact:x?y=2&z) b", "a 1,024 b"),
        ("see [*it*](a_(b).md#c \"t\")", "see *it*"),
        (r"$\fact{16{,}777}{paths?n}$", r"$16{,}777$"),
        ("[a [nested] b](x.md)", "a [nested] b"),
        ("[not a link] (x), ![picture](x.png)", "[not a link] (x), ![picture](x.png)"),
    ],
)  # fmt: skip
def test_links_are_reduced_to_their_text(text, plain):
    assert reference.plain_links(text) == plain


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_sources_say_who_cites_them(site, lang):
    text = reference.source_list(site, lang, url)
    html, reader = rendered(text)
    assert "veit2016" in reader.ids
    assert {"/primer/paths/#claim-short-paths", "/primer/paths/"} <= set(reader.links)
    assert "@misc{veit2016," in html and "annote" not in html
    assert ("（abstract）" if lang == "zh" else "(abstract)") in html


def test_text_of_sources_is_escaped(site):
    edit(site, "docs/sources.bib", "Residual Networks Behave", r"Is <b>x</b> \& y")
    assert "Is &lt;b&gt;x&lt;/b&gt; &amp; y" in reference.source_list(site, "en", url)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_glossary_rows(site, lang):
    html, reader = rendered(reference.glossary(site, lang))
    assert [i for i in reader.ids if i.startswith("term-")] == (
        ["term-residual-stream", "term-layernorm"] if lang == "zh" else ["term-layernorm", "term-residual-stream"]
    )
    assert "LayerNorm（层归一化）" in html and "residual stream" in html


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_stands_round_a_claim(site, lang):
    claim = load(site)["paths-share"]
    parts = reference.claim_parts(claim, 3, lang, sources.load(site), url)
    assert parts.css == "tl-claim--train"
    words = {
        "zh": ("断言 3", "可证", "记入训练账", "测试："),
        "en": ("Claim 3", "proved", "training ledger", "Tests: "),
    }
    assert all(word in parts.head + parts.foot for word in words[lang])
    assert "<code>test_share</code>" in parts.foot and claim.how[lang] in parts.foot
    reader = Reader(f'<div id="{claim.anchor}">{parts.head}<p>Body.</p>{parts.foot}</div>')
    assert reader.open == [] and reader.ids == ["claim-paths-share"]


def row(expr, *printed):
    return Row(evaluate(expr), [(text, 1) for text in printed])


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_page_ledger_columns_ids_and_links(site, lang):
    rows = [row("implicit_paths?blocks=24", "16,777,216"), row("resnet_error?network=plain-34", "28.54%")]
    library = sources.load(ROOT)
    html = page_ledger(rows, lang, page="primer/paths", library=library, url=url, report_url=report_url)
    reader = Reader(html)
    assert reader.open == [] and reader.ids == [one.anchor for one in rows]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", part) for part in html.split("<tr ")[1:]]
    assert [len(one) for one in cells] == [6, 6]
    assert [re.sub("<[^>]*>", "", one[0]) for one in cells] == ["16,777,216", "28.54%"]
    assert "tl-grade--computed" in cells[0][3] and "tl-grade--cited" in cells[1][3]
    assert "/reference/sources/#he2015" in cells[1][4] and "Table 2" in cells[1][4]
    assert f"/reference/numbers/#{rows[0].anchor}" in reader.links
    assert 'data-report="/report/?page=primer/paths&amp;fact=implicit_paths?blocks=24"' in html
    assert page_ledger([], lang, page="x", library=library, url=url, report_url=report_url) == ""


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_list_of_numbers(lang):
    one, two = row("implicit_paths?blocks=24", "16,777,216"), row("implicit_paths?blocks=12", "4,096")
    cited = row("resnet_error?network=plain-34", "28.54%")
    text = numbers(
        {"primer/a": [one, cited], "primer/b": [one, two]}, lang, titles={"primer/a": "A"}, library=sources.load(ROOT),
        url=url, report_url=report_url, retired={"implicit_paths": ["old_name"]},
    )  # fmt: skip
    html, reader = rendered(text)
    for ident in ("fact-implicit_paths", "fact-resnet_error", "fact-old_name", one.anchor, two.anchor, cited.anchor):
        assert reader.ids.count(ident) == 1
    assert {f"/primer/a/#{one.anchor}", f"/primer/b/#{one.anchor}", f"/primer/b/#{two.anchor}"} <= set(reader.links)
    assert sum(link.startswith("/report/") for link in reader.links) == 3
    assert "/reference/sources/#he2015" in reader.links and "28.54%" in html and "2^blocks" in html.replace(" ", "")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (16777216, None, "16,777,216"),
        (2**48, None, "281,474,976,710,656"),
        (10**30, None, f"{10**30:,}"),
        (Fraction(1, 8), None, "0.125"),
        (Fraction(14, 3), None, "14/3 ≈ 4.6666667"),
        (Fraction(1, 10**24), None, "1 × 10⁻²⁴"),
        (131072, "B", "131,072 B"),
        (2**0.5, None, "≈ 1.4142136"),
        (Fraction(3, 5) ** 24, None, "≈ 4.7383813 × 10⁻⁶"),
        (Range(10, 34), None, "10–34"),
    ],
)
def test_exact_text(value, unit, shown):
    assert exact_text(value, unit, "en") == shown


def test_exact_text_in_per_cent():
    assert exact_text(Fraction(2794, 10000), None, "en", percent=True) == "27.94%"
    assert exact_text(Fraction(1, 3), None, "en", percent=True) == "1/3 ≈ 33.333333%"


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("value", [0, 7, -12, Fraction(1, 7), Fraction(-3, 8), 123456.789, 1e-9, 5e20])
def test_what_is_shown_reads_back(value, lang):
    shown = exact_text(value, None, lang).split("≈")[-1].strip()
    assert float(read(shown, lang).value) == pytest.approx(float(value), rel=1e-7)


def test_a_row_needs_only_what_the_check_gives():
    assert isinstance(row("implicit_paths?blocks=3").fact, Evaluated)


def test_titles_are_the_first_headings():
    assert reference.titles(ROOT, "en")["primer/shape"] == "The shape contract"
