"""The exhibits' script in a real Chromium: playback, failure of a part, palette, paper, hidden places, keyboard."""

from __future__ import annotations

import re
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from blocklib.charts.discover import load
from blocklib.charts.html import static_html
from blocklib.charts.payload import payload_json
from tests.browser.conftest import ARGS, ROOT, Handler, chromium_path

pytestmark = pytest.mark.browser
BUNDLE = ROOT / "node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js"
SHELL = """<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
<meta name="tl-plotly" content="plotly.js"><link rel="stylesheet" href="tokens.css">
<link rel="stylesheet" href="exhibits.css"><script defer src="exhibits.js"></script></head>
<body data-md-color-scheme="default" class="md-typeset"><p style="height:{gap}px">x</p>{figures}</body></html>"""


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    assert BUNDLE.is_file(), f"{BUNDLE.relative_to(ROOT)} is missing: run `make test`, which sets it up"
    folder = tmp_path_factory.mktemp("script")
    for source in ("css/tokens.css", "css/exhibits.css", "js/exhibits.js"):
        (folder / Path(source).name).write_text((ROOT / "docs/assets" / source).read_text(encoding="utf-8"))
    (folder / "plotly.js").write_bytes(BUNDLE.read_bytes())
    (folder / "norm-ops.json").write_text(payload_json("norm-ops", "en"), encoding="utf-8")
    figure = static_html("norm-ops", "en", "caption", payload_url="norm-ops.json")
    pages = {
        "near.html": (10, figure),
        "far.html": (4000, figure),
        "lost.html": (10, figure.replace('"norm-ops.json"', '"missing.json"')),
        "folded.html": (10, f"<details id=fold><summary>more</summary>{figure}</details>"),
    }
    for name, (gap, figures) in pages.items():
        (folder / name).write_text(SHELL.format(lang="en", gap=gap, figures=figures), encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    contexts = []

    def go(name: str, block: str | None = None, **options):
        context = browser.new_context(**({"viewport": {"width": 900, "height": 700}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.faults, page.asked = [], []
        page.on("pageerror", lambda e: page.faults.append(str(e)))
        page.on("request", lambda r: page.asked.append(r.url.rsplit("/", 1)[1]))
        if block:
            page.route(block, lambda route: route.abort())
        page.goto(address + name)
        return page

    yield go
    for context in contexts:
        context.close()


def reach(page, state: str) -> None:
    page.wait_for_selector(f'.tl-exhibit[data-state="{state}"]')


def move(page, name: str, value: int) -> None:
    page.evaluate("""([n, v]) => { const i = document.querySelector(`[name=${n}]`); i.value = v;
                     i.dispatchEvent(new Event("input", { bubbles: true })); }""", [name, value])  # fmt: skip


def test_playback_of_every_state(visit):
    page, exhibit = visit("near.html"), load("norm-ops")
    reach(page, "drawn")
    for indices in exhibit.indices():
        want = exhibit.at(indices)
        move(page, "d_model", indices[0])
        page.locator(f'[name=count][value="{indices[1]}"]').check(force=True)
        page.wait_for_function("t => document.querySelector('.tl-live').textContent === t",
                               arg=want.sentence.en.replace("**", ""))  # fmt: skip
        total = page.locator(".tl-total td").all_text_contents()
        assert [t.replace(",", "") for t in total] == [str(v) for v in want.table.rows[want.table.total][1:]]
        drawn = page.locator(".annotation-text").all_text_contents()
        assert want.chart.totals[0].en in drawn and want.chart.totals[1].en in drawn
        assert exhibit.setting(indices, "en") in page.locator("summary").first.text_content()
    assert page.faults == []
    assert page.locator(".tl-svg").count() == 0
    assert page.locator(".tl-plot").get_attribute("aria-hidden") == "true"


def test_table_at_once_and_sentence_after_a_rest(visit):
    page = visit("near.html")
    reach(page, "drawn")
    before = page.locator(".tl-live").text_content()
    seen = page.evaluate("""() => { const i = document.querySelector("[name=d_model]"); i.value = 0;
        i.dispatchEvent(new Event("input", { bubbles: true }));
        return [document.querySelector(".tl-total td").textContent, document.querySelector(".tl-live").textContent,
                document.querySelector(".tl-range__value").textContent, i.getAttribute("aria-valuetext")]; }""")  # fmt: skip
    assert seen == ["5,376", before, "768", "768"]
    page.wait_for_function("t => document.querySelector('.tl-live').textContent !== t", arg=before)
    page.locator("[type=reset]").click()
    page.wait_for_function("t => document.querySelector('.tl-live').textContent === t", arg=before)
    assert page.locator(".tl-range__value").text_content() == "4,096"


def test_nothing_is_fetched_before_the_exhibit_comes_near(visit):
    page = visit("far.html")
    page.wait_for_timeout(300)
    assert not {"norm-ops.json", "plotly.js"} & set(page.asked)
    assert page.locator(".tl-exhibit").get_attribute("data-state") == "waiting"
    page.evaluate("scrollTo(0, 3200)")
    reach(page, "drawn")
    assert page.asked.count("plotly.js") == 1


def test_without_the_bundle_sentence_and_table_still_work_and_no_stale_picture_stands(visit):
    page = visit("near.html", block="**/plotly.js")
    reach(page, "text")
    assert page.locator(".tl-svg--wide").is_visible()
    move(page, "d_model", 0)
    page.wait_for_function("document.querySelector('.tl-live').textContent.includes('5,376')")
    assert page.locator(".tl-total td").first.text_content() == "5,376"
    assert not page.locator(".tl-svg--wide").is_visible()
    assert page.faults == []


def test_without_the_payload_the_static_exhibit_stands(visit):
    page = visit("lost.html")
    reach(page, "static")
    assert not page.locator("form").is_visible()
    assert page.locator(".tl-svg--wide").is_visible() and page.faults == []


def test_a_folded_exhibit_is_drawn_in_full_width_when_unfolded(visit):
    page = visit("folded.html")
    page.wait_for_timeout(200)
    page.locator("#fold > summary").click()
    reach(page, "drawn")
    width = page.locator(".tl-plot").evaluate("e => e.clientWidth")
    assert page.locator(".main-svg").first.evaluate("e => e.getBoundingClientRect().width") == width > 300


def bar_colours(page) -> list[str]:
    return page.locator(".bars .point path").evaluate_all("ps => [...new Set(ps.map(p => p.style.fill))]")


def test_palette_and_width_are_followed(visit):
    page = visit("near.html")
    reach(page, "drawn")
    light = bar_colours(page)
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    page.wait_for_function("c => document.querySelector('.bars .point path').style.fill !== c", arg=light[0])
    dark = bar_colours(page)
    assert "rgb(42, 75, 141)" in light and "rgb(148, 180, 242)" in dark
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_function("document.querySelector('.main-svg').getBoundingClientRect().width < 360")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_paper_is_light_and_shows_the_table_and_the_screen_comes_back(visit):
    page = visit("near.html")
    reach(page, "drawn")
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    move(page, "d_model", 0)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert "rgb(42, 75, 141)" in bar_colours(page)
    assert page.locator(".tl-data").evaluate("d => d.open")
    assert "5,376" in page.locator(".tl-live").text_content()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("document.querySelector('.bars .point path').style.fill !== 'rgb(228, 223, 211)'")
    assert "rgb(148, 180, 242)" in bar_colours(page)
    assert not page.locator(".tl-data").evaluate("d => d.open")


def test_forced_colours_reach_the_plot(visit):
    page = visit("near.html", forced_colors="active")
    reach(page, "drawn")
    want = page.evaluate("""() => { const p = document.body.appendChild(document.createElement("p"));
        p.style.cssText = "forced-color-adjust:none;color:LinkText"; return getComputedStyle(p).color; }""")  # fmt: skip
    assert want in bar_colours(page)


def test_the_keyboard_reaches_and_moves_every_control(visit):
    page = visit("near.html")
    reach(page, "drawn")
    seen = []
    for _ in range(4):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.name || document.activeElement.type || 'summary'"))
    assert seen[:3] == ["d_model", "count", "reset"]
    page.locator("[name=d_model]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.tl-live').textContent.includes('8,192')")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.tl-live').textContent.includes('core only')")


def test_without_script_picture_sentence_and_table_stand(visit):
    for width, kind, other in ((900, "wide", "narrow"), (360, "narrow", "wide")):
        page = visit("near.html", java_script_enabled=False, viewport={"width": width, "height": 700})
        assert page.locator(f".tl-svg--{kind}").is_visible() and not page.locator(f".tl-svg--{other}").is_visible()
        assert not page.locator("form").is_visible()
        assert "28,672" in page.locator(".tl-live").text_content()
        page.locator("summary").click()
        assert page.locator("table").is_visible()


def test_the_script_names_no_colour_and_writes_no_markup():
    script = (ROOT / "docs/assets/js/exhibits.js").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3}|innerHTML|insertAdjacentHTML|document\.write|eval\(", script)
    assert len(script.splitlines()) <= 250
