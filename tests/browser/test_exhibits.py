"""Every control of every exhibit, moved to another value, changes the chart, the sentence and the table."""

from __future__ import annotations

import contextlib

import pytest
from playwright.sync_api import TimeoutError
from site_pages import FULL, WITH_EXHIBITS, exhibits_of
from test_pages import draw_all

pytestmark = pytest.mark.browser

STATE = """figure => {
  const plot = figure.querySelector('.js-plotly-plot');
  const round = v => typeof v === 'number' ? +v.toPrecision(8) : v;
  const data = plot.data.map(t => [t.type, t.x, t.y, t.z, t.text, t.marker && t.marker.color, t.name]);
  const notes = (plot.layout.annotations || []).map(a => [a.text, a.x, a.y]);
  const shapes = (plot.layout.shapes || []).map(s => [s.x0, s.x1, s.y0, s.y1]);
  return { chart: JSON.stringify([data, notes, shapes], (k, v) => round(v)),
           sentence: figure.querySelector('.tl-live').textContent,
           table: figure.querySelector('.tl-data').textContent };
}"""


def controls(figure):
    """(kind, locator) of each control that holds a value: ranges, and groups of radios by name."""
    for element in figure.locator("form.tl-controls input[type=range]").all():
        yield "range", element.get_attribute("name")
    names = dict.fromkeys(e.get_attribute("name") for e in figure.locator("form.tl-controls input[type=radio]").all())
    for name in names:
        yield "radio", name


def move(page, figure, kind: str, name: str):
    """Move one control with the keyboard to another value."""
    if kind == "range":
        element = figure.locator(f'input[type=range][name="{name}"]')
        element.focus()
        at_end = element.evaluate("e => +e.value >= +e.max")
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    else:
        figure.locator(f'input[type=radio][name="{name}"]:checked').focus()
        page.keyboard.press("ArrowRight")


def settled(page, figure, change: str, then: dict) -> dict:
    """The figure's state as soon as every part of it has changed so against ``then``, or after two seconds."""
    with contextlib.suppress(TimeoutError):
        page.wait_for_function(
            f"([figure, then]) => {{ const now = ({STATE})(figure); return Object.keys(then).every({change}); }}",
            arg=[figure.element_handle(), then],
            timeout=2000,
        )
    return figure.evaluate(STATE)


@pytest.mark.parametrize("palette", ["default", "slate"] if FULL else ["default"])
@pytest.mark.parametrize("address", WITH_EXHIBITS)
def test_controls_move_chart_sentence_and_table(visit, address, palette):
    with visit(width=1280, palette=palette) as v:
        page = v.open(address)
        for name in exhibits_of(address):
            draw_all(page, [name])
            figure = page.locator(f'figure[data-exhibit="{name}"]')
            start = figure.evaluate(STATE)
            found = list(controls(figure))
            assert found, f"{name} has no control"
            for kind, control in found:
                before = figure.evaluate(STATE)
                move(page, figure, kind, control)
                after = settled(page, figure, "part => now[part] !== then[part]", before)
                stale = [part for part in before if before[part] == after[part]]
                assert not stale, f"{name}: {control} moved and left {stale} as they were"
            figure.locator("form.tl-controls button[type=reset]").click()
            restored = settled(page, figure, "part => now[part] === then[part]", start)
            assert restored == start, f"{name}: reset does not restore"
        assert v.faults == []


def test_charts_follow_the_palette(visit):
    with visit(width=1280) as v:
        page = v.open(WITH_EXHIBITS[0])
        ids = exhibits_of(WITH_EXHIBITS[0])
        draw_all(page, ids[:1])
        figure = page.locator(f'figure[data-exhibit="{ids[0]}"]')
        colour = "f => f.querySelector('.js-plotly-plot').layout.font.color"
        light = figure.evaluate(colour)
        page.evaluate("document.body.setAttribute('data-md-color-scheme', 'slate')")
        page.wait_for_timeout(300)
        assert figure.evaluate(colour) != light


def test_a_chart_in_a_hidden_container_is_drawn_at_full_width_when_shown(visit):
    with visit(width=1280) as v:
        page = v.open(WITH_EXHIBITS[0])
        name = exhibits_of(WITH_EXHIBITS[0])[-1]
        page.evaluate("""name => {
          const figure = document.querySelector(`figure[data-exhibit="${name}"]`), box = document.createElement('details');
          box.innerHTML = '<summary>box</summary>'; figure.replaceWith(box); box.append(figure);
        }""", name)  # fmt: skip
        page.locator("details:has(figure) > summary").scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        page.locator("details:has(figure) > summary").first.click()
        draw_all(page, [name])
        widths = page.locator(f'figure[data-exhibit="{name}"]').evaluate(
            "f => [f.querySelector('.main-svg').getBoundingClientRect().width, f.querySelector('.tl-plot').clientWidth]"
        )
        assert abs(widths[0] - widths[1]) <= 2


def test_without_plotly_the_sentence_and_the_table_still_follow(visit):
    with visit(width=1280) as v:
        v.page.route("**/plotly*.js", lambda route: route.abort())
        page = v.open(WITH_EXHIBITS[0])
        name = exhibits_of(WITH_EXHIBITS[0])[0]
        figure = page.locator(f'figure[data-exhibit="{name}"]')
        figure.scroll_into_view_if_needed()
        page.wait_for_selector(f'figure[data-exhibit="{name}"][data-state="text"]', state="attached")
        before = figure.locator(".tl-live").text_content(), figure.locator(".tl-data").text_content()
        picture = figure.locator(".tl-plot svg").locator("visible=true")
        assert picture.count() == 1
        kind, control = next(controls(figure))
        move(page, figure, kind, control)
        page.wait_for_timeout(450)
        after = figure.locator(".tl-live").text_content(), figure.locator(".tl-data").text_content()
        assert before[0] != after[0] and before[1] != after[1]
        assert picture.count() == 0, "a picture of another setting must not stay beside the new sentence"


def test_print_opens_the_tables_and_uses_light_ink(visit, tmp_path):
    with visit(width=1280, palette="slate") as v:
        page = v.open(WITH_EXHIBITS[0])
        name = exhibits_of(WITH_EXHIBITS[0])[0]
        draw_all(page, [name])
        figure = page.locator(f'figure[data-exhibit="{name}"]')
        colour = "f => f.querySelector('.js-plotly-plot').layout.font.color"
        dark = figure.evaluate(colour)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.wait_for_timeout(200)
        assert page.evaluate("[...document.querySelectorAll('details.tl-data')].every(d => d.open)")
        light = figure.evaluate(colour)
        assert light != dark
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        page.wait_for_timeout(200)
        assert figure.evaluate(colour) == dark
        page.pdf(path=str(tmp_path / "page.pdf"), prefer_css_page_size=True)
        assert (tmp_path / "page.pdf").stat().st_size > 20_000
