"""Every page, both languages, phone and desktop, both palettes: quiet, on-host, no sideways scroll, every exhibit drawn."""

from __future__ import annotations

import pytest
from site_pages import PAGES, exhibits_of, matrix

pytestmark = pytest.mark.browser

OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth, root = document.scrollingElement;
  if (root.scrollWidth <= wide) return [];
  return [...document.body.querySelectorAll('*')].filter(e => {
    const r = e.getBoundingClientRect();
    return r.right > wide + 1 && r.width > 0 && !e.closest('.md-sidebar, .tl-scroll, pre, .highlight');
  }).slice(0, 5).map(e => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right));
}"""


def draw_all(page, ids):
    """Scroll to every exhibit and wait until its chart stands."""
    for name in ids:
        figure = page.locator(f'figure[data-exhibit="{name}"]')
        figure.scroll_into_view_if_needed()
        page.wait_for_selector(f'figure[data-exhibit="{name}"][data-state="drawn"]', state="attached")
        box = figure.locator(".js-plotly-plot .main-svg").first.bounding_box()
        assert box and box["width"] > 200 and box["height"] > 80, f"{name}: drawn at {box}"
        assert box["width"] <= page.viewport_size["width"], f"{name}: wider than the window"


@pytest.mark.parametrize(("address", "width", "palette"), list(matrix()))
def test_page_is_sound(visit, address, width, palette):
    with visit(width=width, palette=palette) as v:
        page = v.open(address)
        assert page.locator("html").get_attribute("lang") == ("en" if address.startswith("en/") else "zh")
        assert page.evaluate("document.body.dataset.mdColorScheme") == palette
        draw_all(page, exhibits_of(address))
        assert page.evaluate(OVERFLOW) == []
        assert v.faults == []


def test_the_sideways_check_sees_a_wide_element(visit):
    with visit(width=360) as v:
        page = v.open(PAGES[0])
        page.evaluate("document.querySelector('.md-content__inner').insertAdjacentHTML('beforeend', "
                      "'<div style=\"width:900px\">wide</div>')")  # fmt: skip
        assert page.evaluate("document.scrollingElement.scrollWidth > document.documentElement.clientWidth")


def test_the_visit_sees_an_off_host_request_and_a_console_error(visit):
    with visit() as v:
        page = v.open(PAGES[0])
        page.evaluate("fetch('https://example.org/x').catch(() => 0); console.error('planted')")
        page.wait_for_timeout(200)
        assert any("off-host" in f for f in v.faults) and any("planted" in f for f in v.faults)


@pytest.mark.parametrize("width", [640])
@pytest.mark.parametrize("address", PAGES[:4])
def test_zoom_of_200_percent_does_not_scroll_sideways(visit, address, width):
    with visit(width=width, device_scale_factor=2) as v:  # 1280 px at 200 % zoom lays out as 640 CSS pixels
        page = v.open(address)
        assert page.evaluate(OVERFLOW) == []
