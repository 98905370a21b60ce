"""axe finds no violation of WCAG 2.2 A and AA; the keyboard alone reaches everything; without script nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_pages import FULL, PAGES, WITH_EXHIBITS, exhibits_of
from test_pages import draw_all

pytestmark = pytest.mark.browser

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = """() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})
  .then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(' | ')))"""


def violations(page) -> list[str]:
    page.add_script_tag(path=str(AXE))
    return page.evaluate(RUN)


@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_nothing(visit, address):
    palettes = ("default", "slate") if FULL else (("default", "slate")[(PAGES.index(address) // 2) % 2],)
    for palette in palettes:
        with visit(width=1280 if PAGES.index(address) % 2 else 360, palette=palette) as v:
            page = v.open(address)
            draw_all(page, exhibits_of(address))
            assert violations(page) == [], palette


def test_axe_sees_a_planted_fault(visit):
    with visit() as v:
        page = v.open(PAGES[0])
        page.evaluate("document.querySelector('.md-content__inner').insertAdjacentHTML('beforeend', "
                      "'<img src=\"/assets/none.png\"><p style=\"color:#ccc;background:#fff\">faint</p>')")  # fmt: skip
        found = violations(page)
        assert any(f.startswith("image-alt") for f in found) and any(f.startswith("color-contrast") for f in found)


@pytest.mark.parametrize("address", [*PAGES[:2], *WITH_EXHIBITS])
def test_keyboard_alone_reaches_every_control_and_number(visit, address):
    with visit(width=1280) as v:
        page = v.open(address)
        draw_all(page, exhibits_of(address))
        page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
        wanted = page.evaluate("""() => {
          let n = 0;
          const visible = e => e.checkVisibility({visibilityProperty: true}) && !e.closest('[hidden]');
          for (const e of document.querySelectorAll('.md-content a.tl-num, .tl-controls input, .tl-controls button'))
            if (visible(e) && !(e.type === 'radio' && !e.checked) && !e.disabled) e.dataset.wanted = n++;
          return n; }""")
        reached = set()
        for _ in range(900):
            page.keyboard.press("Tab")
            now = page.evaluate(
                "[document.activeElement.dataset.wanted ?? null, document.activeElement === document.body]"
            )
            if now[1]:
                break
            if now[0] is not None:
                reached.add(int(now[0]))
        missing = set(range(wanted)) - reached
        assert wanted and not missing, f"{len(missing)} of {wanted} never got the focus"


PLACE = """skip => { const now = document.activeElement, table = skip.nextElementSibling;
  return table.contains(now) ? 'inside' : table.compareDocumentPosition(now) & 4 ? 'past' : 'before'; }"""


@pytest.mark.parametrize("address", [*PAGES[:2], *WITH_EXHIBITS[:4], "reference/sources/", "en/reference/numbers/"])
def test_a_link_skips_past_each_table_of_links(visit, address):
    with visit(width=1280) as v:
        page = v.open(address)
        long = page.evaluate("""[...document.querySelectorAll('.md-content table')]
          .filter(t => t.querySelectorAll('a[href]').length >= 3).length""")
        skips = page.locator(".tl-skip")
        assert skips.count() == long
        for skip in skips.all():
            skip.focus()
            assert skip.bounding_box()["height"] > 15, "the link shows itself when it has the focus"
            page.keyboard.press("Tab")
            assert skip.evaluate(PLACE) == "inside"  # control: without it the table's links come first
            skip.focus()
            page.keyboard.press("Enter")
            page.keyboard.press("Tab")
            assert skip.evaluate(PLACE) == "past"


@pytest.mark.parametrize("address", [address for address in WITH_EXHIBITS if "primer/" in address][:2])
def test_a_number_opens_its_card_and_escape_closes_it(visit, address):
    for width in (360, 1280):
        with visit(width=width) as v:
            page = v.open(address)
            number = page.locator(".md-content__inner > p a.tl-num").first
            number.focus()
            page.keyboard.press("Enter")
            card = page.locator(".tl-card")
            assert card.is_visible() and number.get_attribute("aria-expanded") == "true"
            box = card.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            page.keyboard.press("Escape")
            assert not card.is_visible() and number.get_attribute("aria-expanded") != "true"


@pytest.mark.parametrize("address", WITH_EXHIBITS)
def test_without_script_everything_is_there(visit, address):
    with visit(width=1280, java_script_enabled=False) as v:
        page = v.open(address)
        for name in exhibits_of(address):
            figure = page.locator(f'figure[data-exhibit="{name}"]')
            assert figure.locator(".tl-plot > svg").first.bounding_box()["height"] > 80, name
            assert figure.locator(".tl-plot svg text").count() > 0, f"{name}: a picture without labels"
            assert len(figure.locator(".tl-live").text_content()) > 15
            assert figure.locator(".tl-data table tr").count() >= 2
            assert not figure.locator("form.tl-controls").is_visible()
        number = page.locator("a.tl-num").first
        target = number.get_attribute("href")
        assert target.startswith("#n-") and page.locator(f'[id="{target[1:]}"]').count() == 1
        assert v.faults == []
