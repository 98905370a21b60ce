"""Addresses in both languages, sitemap, robots, commit; one set of assets; what the files are called."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from blocklib.problems import BlocklibError
from blocklib.site import languages, meta, notices, vendor
from blocklib.site.preview import banner
from tests.conftest import ROOT

SITE = "https://books.example/two/"


def test_each_page_names_both_languages_and_the_default():
    found = [(a.lang, a.url) for a in meta.alternates(SITE, "primer/shape/")]
    assert found == [
        ("zh", SITE + "primer/shape/"), ("en", SITE + "en/primer/shape/"), ("x-default", SITE + "primer/shape/"),
    ]  # fmt: skip
    assert [a.url for a in meta.alternates(SITE, "./")] == [SITE, SITE + "en/", SITE]
    assert meta.alternates("", "x/") == []


def test_the_sitemap_holds_every_page_once_a_language_with_alternates_and_no_dates():
    text = meta.sitemap(SITE, ["./", "a/", "a/"])
    root = ElementTree.fromstring(text)
    ns = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    assert [e.text for e in root.findall("s:url/s:loc", ns)] == [SITE, SITE + "en/", SITE + "a/", SITE + "en/a/"]
    assert all(len(u.findall("x:link", ns)) == 3 for u in root.findall("s:url", ns))
    assert "lastmod" not in text


def test_robots_names_the_sitemap_where_it_can():
    assert meta.robots(SITE).endswith(f"Sitemap: {SITE}sitemap.xml\n")
    assert "Sitemap" not in meta.robots("")


def test_the_commit_comes_from_the_environment_first(monkeypatch, tmp_path):
    meta.commit.cache_clear()
    monkeypatch.setenv("SOURCE_COMMIT", "0123456789abcdef")
    assert meta.commit(tmp_path) == "0123456789ab"
    meta.commit.cache_clear()
    monkeypatch.delenv("SOURCE_COMMIT")
    assert meta.commit(tmp_path) == ""
    meta.commit.cache_clear()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<link href="../../assets/a.css">', '<link href="../../../assets/a.css">'),
        ('<link href="assets/a.css">', '<link href="../assets/a.css">'),
        ('<img src="./assets/a.png">', '<img src="../assets/a.png">'),
        ('<i data-worker="../assets/w.js">', '<i data-worker="../../assets/w.js">'),
        ('<a href="../x/assets/">', '<a href="../x/assets/">'),
        ('<a href="https://h/assets/a">', '<a href="https://h/assets/a">'),
    ],
)
def test_pages_of_the_second_language_reach_the_assets_of_the_root(before, after):
    assert meta.lift_assets(before) == after


@pytest.mark.parametrize(
    ("lang", "url", "expected"),
    [
        ("zh", "./", "./x"),
        ("zh", "primer/shape/", "../../x"),
        ("en", "./", "../x"),
        ("en", "primer/shape/", "../../../x"),
    ],
)
def test_addresses_below_the_root_resolve_at_any_depth(lang, url, expected):
    assert (
        meta.from_root('<a href="site:/x" data-p="site:/x">', lang, url) == f'<a href="{expected}" data-p="{expected}">'
    )


@pytest.mark.parametrize(
    ("root", "before", "after"),
    [
        ("/", '<a href="/./reference/x/?q#a">', '<a href="/reference/x/?q#a">'),
        ("/", '<a href="/en/../">', '<a href="/">'),
        ("/", '<link href="/en/assets/a.css">', '<link href="/assets/a.css">'),
        ("/two/", '<link href="/two/en/assets/a.css">', '<link href="/two/assets/a.css">'),
        ("/two/", '<a href="/two/en/primer/">', '<a href="/two/en/primer/">'),
        ("/", '<a href="//host/x">', '<a href="//host/x">'),
    ],
)
def test_an_error_page_has_clean_addresses_from_the_root(root, before, after):
    assert meta.settle_rooted(before, root) == after


def test_sources_belong_to_a_language():
    assert languages.split_source("primer/shape.zh.md") == ("primer/shape.md", "zh")
    assert languages.split_source("primer/pre-post-norm.en.md") == ("primer/pre-post-norm.md", "en")
    for other in ("a.md", "a.fr.md", "assets/js/site.js", "x.zh.txt"):
        assert languages.split_source(other) is None
    assert languages.source_path("primer/shape.md", "zh") == "docs/primer/shape.zh.md"
    assert languages.page_of("docs/primer/shape.zh.md") == "primer/shape"


def test_the_browser_parts_are_there_and_katex_asks_only_for_woff2():
    assets = {a.uri: a for a in vendor.assets(ROOT)}
    assert {vendor.PLOTLY, vendor.KATEX_CSS, f"{vendor.FOLDER}/minisearch.js"} <= set(assets)
    css = assets[vendor.KATEX_CSS].text
    fonts = {u.split("fonts/")[1] for u in assets if "/fonts/" in u}
    import re

    named = set(re.findall(r"url\(fonts/([^)]+)\)", css))
    assert named == fonts and all(name.endswith(".woff2") for name in named) and len(named) >= 15


def test_missing_packages_say_what_to_do(tmp_path):
    with pytest.raises(BlocklibError, match="npm ci"):
        vendor.assets(tmp_path)
    with pytest.raises(BlocklibError, match="npm ci"):
        notices.collect(tmp_path)


def test_every_browser_part_has_its_notice():
    shipped = {str(a.source.relative_to(ROOT / "node_modules")).split("/")[0] for a in vendor.assets(ROOT) if a.source}
    assert shipped <= {part.package for part in notices.PARTS if part.origin == "npm"}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_notices_hold_every_part_with_its_licence_text(lang):
    page = notices.page(ROOT, lang)
    for part in notices.PARTS:
        assert f"## {part.name} " in page
    assert page.count("<pre>") == len(notices.PARTS)
    assert page.lower().count("permission is hereby granted") >= 4
    assert "Plotly" in page and "Open Font License" in page and "Zeno Rocha" in page


def test_the_banner_lists_faults_as_text():
    assert banner([], "en") == ""
    shown = banner(["docs/a.en.md:3: printed <b>"], "en")
    assert "docs/a.en.md:3: printed &lt;b&gt;" in shown and "1 fault" in shown and "<b>" not in shown
