"""Lessons in the browser: the charts that their cells draw, the cells themselves, and the notebook they link to."""

from __future__ import annotations

import json

import pytest
from site_pages import PAGES

pytestmark = pytest.mark.browser
LESSONS = [page for page in PAGES if "lab/lessons/" in page and not page.endswith("lessons/")]


@pytest.mark.parametrize("address", LESSONS)
def test_a_lesson_s_cells_charts_and_notebook(visit, address):
    width, palette = (360, "slate") if LESSONS.index(address) % 2 else (1280, "default")
    with visit(width=width, palette=palette) as v:
        page = v.open(address)
        cells = page.locator(".tl-cell")
        assert cells.count() > 0
        numbers = page.locator(".tl-cell__no").all_text_contents()
        assert [int(text.split()[-1]) for text in numbers] == list(range(1, cells.count() + 1))
        for chart in page.locator(".tl-cell figure.tl-exhibit").all():
            svg = chart.locator(".tl-plot > svg:visible")
            assert svg.count() == 1 and svg.get_attribute("aria-label")  # static first
            chart.scroll_into_view_if_needed()
            name = chart.get_attribute("data-exhibit")
            page.wait_for_selector(f'figure[data-exhibit="{name}"][data-state="drawn"]', state="attached")
            box = chart.locator(".js-plotly-plot .main-svg").first.bounding_box()
            assert 200 < box["width"] <= width and box["height"] > 80
            assert chart.locator(".tl-live").text_content() and chart.locator("table tbody tr").count() > 0
        link = page.locator(".tl-download a")
        with page.expect_download() as download:
            link.click()
        notebook = json.loads(download.value.path().read_text("utf-8"))
        assert download.value.suggested_filename.endswith(f".{'en' if address.startswith('en/') else 'zh'}.ipynb")
        assert sum(cell["cell_type"] == "code" for cell in notebook["cells"]) == cells.count() + 1
        assert v.faults == []


def test_at_least_one_cell_draws_a_chart(built_site):
    drawn = [
        page for page in LESSONS if 'data-exhibit="chart-1"' in (built_site / page / "index.html").read_text("utf-8")
    ]
    assert len(drawn) >= 2
