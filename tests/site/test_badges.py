"""Quoted grades: checked against the claim's entry, shown as a badge that leads to the claim."""

from __future__ import annotations

import pytest

from blocklib.check import check_before_signing
from blocklib.facts.expand import expand, plain
from blocklib.facts.pages import evaluate_page
from blocklib.facts.refs import Refs
from blocklib.facts.registry import default
from blocklib.facts.scan import scan
from blocklib.site import badges, twins
from tests.minisite import edit, faults, line_of, write_site

ZH, EN, CLAIMS = "docs/primer/paths.zh.md", "docs/primer/paths.en.md", "docs/claims.toml"


@pytest.fixture
def site(tmp_path):
    write_site(tmp_path, sign=False)
    edit(tmp_path, ZH, "一句导语。", "权重共用[可证](claim:paths-share)。")
    edit(tmp_path, EN, "An opening sentence.", "Weights are shared ([proved](claim:paths-share)).")
    return tmp_path


def said(site):
    return [(p.path, p.line, p.message) for p in badges.check(site)]


def test_control_the_grade_of_the_entry(site):
    assert badges.check(site) == [] and faults(site) == []


def test_a_grade_that_changes_is_found_where_it_is_quoted(site):
    edit(site, CLAIMS, 'grade = "proved"', 'grade = "computed"')
    assert said(site) == [
        (EN, line_of(site, EN, "Weights"),
         "printed 'proved' but claim 'paths-share' is graded 'computed'; write [computed](claim:paths-share)"),
        (ZH, line_of(site, ZH, "权重共用"), "printed '可证' but claim 'paths-share' is graded '可算'; write [可算](claim:paths-share)"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["Proved", "proved here", "", "可证", "`proved`", "**proved**"])
def test_only_the_word_itself_is_a_grade(site, text):
    edit(site, EN, "[proved](claim:", f"[{text}](claim:")
    assert [m for _, _, m in said(site)] == ([] if text == "**proved**" else [
        f"printed {text.replace('`proved`', '…')!r} but claim 'paths-share' is graded 'proved'; "
        "write [proved](claim:paths-share)"
    ])  # fmt: skip


def test_a_claim_that_vanishes(site):
    edit(site, CLAIMS, "[paths-share]", "[path-share]")
    messages = [m for path, _, m in said(site) if path == EN]
    assert messages == ["quotes claim 'paths-share', which docs/claims.toml does not have; did you mean 'path-share'?"]


def test_a_claim_that_has_an_heir(site):
    (site / "docs/redirects.toml").write_text('[claims]\n"old-paths" = "paths-share"\n')
    edit(site, EN, "(claim:paths-share)", "(claim:old-paths)")
    assert [m for _, _, m in said(site)] == ["claim 'old-paths' is now 'paths-share'"]


def test_claims_that_cannot_be_read_are_not_missing(site):
    edit(site, CLAIMS, 'ledger = "training"\ntests', 'ledger = "training\ntests')
    assert badges.check(site) == []


def test_twins_quote_the_same_claims(site):
    edit(site, EN, " ([proved](claim:paths-share))", "")
    assert [p.message for p in twins.check(site, strict=False)] == [
        f"section #paths lacks the grade of claim 'paths-share'; it stands in {ZH}:{line_of(site, ZH, '权重共用')}"
    ]


def test_signing_waits_for_it(site):
    edit(site, EN, "[proved](claim:", "[cited](claim:")
    assert any("write [proved](claim:paths-share)" in p.message for p in check_before_signing(site, [EN]))


def grades(site, page="primer/other"):
    from blocklib.claims.registry import load

    return badges.links(page, "en", load(site), badges.places(site))


def test_the_address_is_seen_from_the_page(site):
    css, address, title = grades(site)["paths-share"]
    assert (css, address) == ("tl-grade tl-grade--proved", "paths.md#claim-paths-share")
    assert title == "Change one module and half of the paths change."
    assert grades(site, "index")["paths-share"][1] == "primer/paths.md#claim-paths-share"
    assert grades(site, "lab/lessons/x")["short-paths"][1] == "../../primer/paths.md#claim-short-paths"


def numbers(text, lang="en"):
    return evaluate_page(scan(text, f"docs/x.{lang}.md", lang), Refs(), default())


def test_the_reader_sees_a_badge_with_a_link():
    text = "So [proved](claim:a-b), | [cited](claim:c) |\n"
    shown = expand(text, numbers(text), None, {"a-b": ("css", "p.md#claim-a-b", 'by "x"')})
    assert shown == (
        'So <a class="css" href="p.md#claim-a-b" title="by &quot;x&quot;">proved</a>, '
        '| <span class="tl-wrong">cited</span> |\n'
    )
    assert plain("So [proved](claim:a-b).") == "So proved."


@pytest.mark.parametrize("brackets", ["()", "（）"])
def test_brackets_round_a_badge_stay_with_it(brackets):
    text = f"x {brackets[0]}[proved](claim:a){brackets[1]}; ([proved](claim:a)]\n"
    badge = '<a class="css" href="p.md" title="t">proved</a>'
    shown = expand(text, numbers(text), None, {"a": ("css", "p.md", "t")})
    assert shown == f'x <span class="tl-keep">{brackets[0]}{badge}{brackets[1]}</span>; ({badge}]\n'


def test_where_no_link_can_stand_only_the_word_stays():
    text = "![so [proved](claim:a) it is](x.svg)\n"
    assert expand(text, numbers(text), None, {"a": ("css", "p.md", "t")}) == "![so proved it is](x.svg)\n"


@pytest.mark.parametrize("text", ['<a href="claim:a-b">proved</a>\n', "[proved]\n\n[proved]: claim:a-b\n"])
def test_other_forms_are_refused(text):
    assert scan(text, "docs/x.en.md", "en").problems


def test_a_block_prints_none(site):
    from blocklib.facts.check import check_text

    found = check_text("[proved](claim:paths-share)", EN, "en", 9).problems
    assert [p.line for p in found] == [9] and "quotes grades of claims in its own text alone" in found[0].message
