"""Sections to come: shown as text, listed in one place, and asked for as soon as they exist."""

from __future__ import annotations

import pytest

from blocklib.site import later, twins
from tests.minisite import edit, faults, line_of, write_site

ZH, EN, LATER = "docs/primer/paths.zh.md", "docs/primer/paths.en.md", "docs/later.toml"
LISTED = """\
# what is to come
["inference#exact-cache"]
zh = "缓存为何分毫不差"
en = "why cached results are exact"
"""
LINK_ZH = "[缓存](later:inference#exact-cache)与路径无关。"
LINK_EN = "[The cache](later:inference#exact-cache) is another matter."


@pytest.fixture
def site(tmp_path):
    write_site(tmp_path, sign=False)
    (tmp_path / LATER).write_text(LISTED)
    edit(tmp_path, ZH, "一句导语。", LINK_ZH)
    edit(tmp_path, EN, "An opening sentence.", LINK_EN)
    return tmp_path


def said(site, path=None):
    return [(p.path, p.line, p.message) for p in later.check(site) if path in (None, p.path)]


def page(site, name, anchor):
    for lang in ("zh", "en"):
        file = site / f"docs/{name}.{lang}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\ntitle: T\ndescription: D.\n---\n\n# T {{ #top }}\n\n## S {{ #{anchor} }}\n\nText.\n")


def test_control_a_listed_id_that_is_used(site):
    assert later.check(site) == [] and faults(site) == []
    assert later.titles(site, "zh") == {"inference#exact-cache": "待写：缓存为何分毫不差"}
    assert later.titles(site, "en") == {"inference#exact-cache": "To come: why cached results are exact"}


def test_no_list_is_no_fault_where_nothing_is_to_come(tmp_path):
    assert later.check(write_site(tmp_path, sign=False)) == []


def test_an_id_that_is_not_listed(site):
    edit(site, EN, "later:inference#exact-cache", "later:inference#exact-cashe")
    assert said(site) == [
        (EN, line_of(site, EN, "The cache"),
         "later:inference#exact-cashe is not listed in docs/later.toml; did you mean 'inference#exact-cache'?")
    ]  # fmt: skip


def test_a_listed_id_that_no_page_uses(site):
    (site / LATER).write_text(LISTED + '\n["lab#results"]\nzh = "结果"\nen = "results"\n')
    assert said(site) == [(LATER, 6, "no page points to lab#results; take it out")]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("inference/cache", "../inference/cache.md"),
        ("inference", "../inference.md"),
        ("inference/deep/er", "../inference/deep/er.md"),
    ],
)
def test_a_section_that_exists_by_now(site, name, target):
    page(site, name, "exact-cache")
    message = f"later:inference#exact-cache is written by now; make it a link: [text]({target}#exact-cache)"
    assert said(site) == [
        (LATER, 2, f"inference#exact-cache is written, at docs/{name}.en.md:8; take it out"),
        (EN, line_of(site, EN, "The cache"), message),
        (ZH, line_of(site, ZH, "缓存"), message),
    ]


@pytest.mark.parametrize(("name", "anchor"), [("inferences/cache", "exact-cache"), ("inference/cache", "exact-caches")])
def test_another_room_or_another_anchor_is_not_that_section(site, name, anchor):
    page(site, name, anchor)
    assert later.check(site) == []


def test_real_links_settle_it(site):
    page(site, "inference/cache", "exact-cache")
    for path in (ZH, EN):
        edit(site, path, "later:inference#exact-cache", "../inference/cache.md#exact-cache")
    (site / LATER).write_text("")
    assert later.check(site) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('en = "why', 'fr = "non"\nen = "why', 4, "unknown field 'fr'"),
        ('zh = "缓存为何分毫不差"\n', "", 2, "zh is missing"),
        ('"why cached results are exact"', '"why 12,345 results are exact"', 4, "holds no numerals"),
        ("# what is to come", 'stray = "x"', 1, "'stray' is not ROOM#ANCHOR"),
        ("# what is to come", '["Exact Cache"]\nzh = "某"\nen = "x"', 1, "'Exact Cache' is not ROOM#ANCHOR"),
    ],
)
def test_faults_of_the_list_have_their_line(site, old, new, line, message):
    edit(site, LATER, old, new)
    found = [(p.line, p.message) for p in later.check(site)]
    assert {at for at, says in found} == {line} and message in found[-1][1] + found[0][1]


def test_a_list_that_is_no_toml_makes_no_id_unknown(site):
    edit(site, LATER, 'en = "why', "en = why")
    assert [(path, line, "not valid TOML" in says) for path, line, says in said(site)] == [(LATER, 4, True)]


def test_a_link_without_text(site):
    edit(site, EN, "[The cache]", "[]")
    assert [(p[0], "has no text" in p[2]) for p in said(site)] == [(EN, True)]


def test_terms_hold_in_the_titles(site):
    edit(site, LATER, "why cached results", "why residue streams")
    assert [(p.path, p.line) for p in faults(site)] == [(LATER, 4)]


def test_twins_ask_no_more_of_it_than_of_a_link(site):
    edit(site, EN, LINK_EN, "Something else.")
    assert twins.check(site, strict=False) == [] and later.check(site) == []
