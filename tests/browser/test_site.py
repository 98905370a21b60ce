"""What a reader does with the site: switch language, search, lose the way, change the palette."""

from __future__ import annotations

import re

import pytest
from site_pages import PAGES, WITH_EXHIBITS, exhibits_of
from test_pages import draw_all

pytestmark = pytest.mark.browser


def test_the_switch_keeps_page_and_anchor_both_ways(visit):
    with visit() as v:
        page = v.open("primer/normalization/")
        anchor = page.locator(".md-content h2[id]").nth(1).get_attribute("id")
        page.goto(v.address + "primer/normalization/#" + anchor)
        page.locator(".tl-lang a[hreflang=en]").click()
        page.wait_for_url(f"**/en/primer/normalization/#{anchor}")
        page.locator(".tl-lang a[hreflang=zh]").click()
        page.wait_for_url(re.compile(rf"^{re.escape(v.address)}primer/normalization/#{anchor}$"))
        assert v.faults == []


@pytest.mark.parametrize(("query", "prefix", "hit"), [
    ("残差流", "", "primer/"), ("两本账", "", ""), ("归一化", "", "primer/normalization/"), ("KV 缓存", "", "primer/"),
    ("residual stream", "en/", "primer/"), ("LayerNorm", "en/", "primer/normalization/"), ("16,777,216", "en/", "primer/stacking/"),
])  # fmt: skip
def test_search_finds_words_of_its_own_language(visit, query, prefix, hit):
    with visit() as v:
        page = v.open(prefix)
        assert not any("search" in url and url.endswith((".json", "worker.js")) for url in v.requested)
        field = page.locator("input[type=search]")
        field.focus()
        field.fill(query)
        page.locator("[role=option] a, a[role=option]").first.wait_for()
        links = page.locator("[role=option] a, a[role=option]").evaluate_all("e => e.map(a => a.href)")
        assert any(link.startswith(v.address + prefix + hit) for link in links), links
        english = [link for link in links if "/en/" in link]
        assert len(english) == (len(links) if prefix else 0)
        assert v.faults == []


def test_search_says_when_nothing_is_found(visit):
    with visit() as v:
        page = v.open("en/")
        page.locator("input[type=search]").fill("zzzxqv")
        page.wait_for_timeout(800)
        assert page.locator("[role=option]").count() == 0
        assert page.get_by_text(re.compile("no match|nothing|no result", re.I)).first.is_visible()


@pytest.mark.parametrize(("path", "lang"), [("no/such/page/", "zh"), ("en/no/such/page/", "en")])
def test_a_missing_page_answers_in_its_language_with_working_links(visit, path, lang):
    with visit() as v:
        page = v.open(path)
        assert page.locator("html").get_attribute("lang") == lang
        home = page.locator(".md-content a").first.get_attribute("href")
        v.faults.clear()
        page.goto(page.evaluate("h => new URL(h, location.href).href", home))
        assert page.locator("h1").count() == 1 and v.faults == []
        assert page.evaluate("getComputedStyle(document.body).fontFamily") != ""


def test_a_page_without_exhibits_never_loads_plotly(visit):
    with visit() as v:
        for address in [p for p in PAGES if not exhibits_of(p)]:
            page = v.open(address)
            page.mouse.wheel(0, 20_000)
            page.wait_for_timeout(150)
        assert not [url for url in v.requested if "plotly" in url]


def test_plotly_waits_until_an_exhibit_comes_near(visit):
    with visit(width=360) as v:
        page = v.open(WITH_EXHIBITS[0])
        page.wait_for_timeout(300)
        figure = page.locator("figure.tl-exhibit").last
        if figure.bounding_box()["y"] > 2500 and page.locator("figure.tl-exhibit").first.bounding_box()["y"] > 1400:
            assert not [url for url in v.requested if "plotly" in url]
        figure.scroll_into_view_if_needed()
        page.wait_for_selector("figure.tl-exhibit[data-state=drawn]", state="attached")
        assert len([url for url in v.requested if "plotly" in url]) == 1


def test_the_palette_follows_the_system_until_the_reader_chooses(visit):
    with visit(palette="slate") as v:
        page = v.open("")
        assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
        page.locator("form[data-md-component=palette] label:visible").first.click()
        page.wait_for_timeout(100)
        chosen = page.evaluate("document.body.dataset.mdColorScheme")
        assert chosen == "default"
        page.reload()
        assert page.evaluate("document.body.dataset.mdColorScheme") == chosen


def test_the_contents_mark_the_heading_that_was_chosen(visit):
    with visit() as v:
        page = v.open("en/primer/stacking/")
        for link in page.locator(".tl-nav__toc a").all()[1:4]:
            link.click()
            page.wait_for_timeout(400)
            marked = page.locator(".tl-nav__toc .md-nav__link--active").all_text_contents()
            assert [text.strip() for text in marked] == [link.text_content().strip()]
            top = page.evaluate("document.getElementById(location.hash.slice(1)).getBoundingClientRect().top")
            header = page.evaluate("document.querySelector('.md-header').getBoundingClientRect().bottom")
            assert header < top < header + 60


def test_the_switch_leads_to_where_the_reader_is_and_keeps_what_was_asked(visit):
    with visit() as v:
        page = v.open("primer/stacking/#build")
        page.evaluate("document.getElementById('paths').scrollIntoView()")
        page.wait_for_timeout(200)
        page.evaluate("document.querySelector('.tl-lang a[hreflang=en]').click()")
        page.wait_for_url("**/en/primer/stacking/#paths")
        page = v.open("reference/report/?page=primer/stacking/&fact=x")
        page.locator(".tl-lang a[hreflang=en]").click()
        page.wait_for_url("**/en/reference/report/?page=primer/stacking/&fact=x")


def test_a_search_index_that_failed_is_asked_for_again(visit):
    with visit() as v:
        page, asked = v.page, []
        page.route("**/search/index.json", lambda r: (asked.append(1), r.abort() if len(asked) == 1 else r.continue_()))
        v.open("en/")
        page.locator("#tl-search-field").fill("norm")
        page.get_by_text("could not be loaded").wait_for()
        page.evaluate("document.activeElement.blur()")
        page.locator("#tl-search-field").focus()
        page.locator("[role=option]").first.wait_for()


def test_the_sheet_leaves_its_number_in_sight(visit):
    with visit(width=360) as v:
        page = v.open("en/primer/block/")
        draw_all(page, exhibits_of("en/primer/block/"))
        number = page.locator("#tl-text > p a.tl-num").nth(2)
        number.evaluate("e => e.scrollIntoView({block: 'end'})")
        page.wait_for_timeout(200)
        number.click()
        number_box, card = number.bounding_box(), page.locator("#tl-card").bounding_box()
        assert number_box["y"] + number_box["height"] <= card["y"]
