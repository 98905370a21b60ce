"""A chart that code on a page makes: an exhibit without controls, registered nowhere, drawn where the code stands."""

from __future__ import annotations

import re
import sys

from blocklib.charts.exhibit import Exhibit, State
from blocklib.charts.html import figure_html
from blocklib.charts.model import ChartError, Label, text_of
from blocklib.charts.payload import encoded, table_document
from blocklib.charts.svg import svg

# Places in the markup that are known only where the page is put together.
ID, PAYLOAD, PLOTLY = "@chart@", "@payload@", "@plotly@"
# The light palette of the site's tokens, for a notebook that has no style sheet of ours.
LIGHT = {
    "paper": "#FBFAF5", "raise": "#F3F0E7", "card": "#FFFEFB", "ink": "#1E1C19", "ink-2": "#5A554C", "ink-3": "#6E685E",
    "line": "#DCD7CA", "line-2": "#8E887C", "train": "#B23A1E", "run": "#2A4B8D", "ghost": "#E4DFD3", "c0": "#646566",
    "c1": "#60284F", "c2": "#4E9A86", "c3": "#B18939", "on-c": "#1E1C19", "on-train": "#FFFFFF", "on-run": "#FFFFFF",
    "sans": "sans-serif",
}  # fmt: skip


def checked(state: object) -> State:
    """``state``; raises ChartError for anything else."""
    if not isinstance(state, State):
        raise ChartError(f"show.chart takes a State (chart, sentence, table), found {type(state).__name__}")
    return state


def _exhibit(state: State, title: Label) -> Exhibit:
    return Exhibit(ID, 0, text_of(title, "title"), (), lambda: state, __name__)


def figure(state: State, title: Label, lang: str) -> tuple[str, str]:
    """Markup and payload of the chart in ``lang``; the markup holds :data:`ID`, :data:`PAYLOAD` and :data:`PLOTLY`."""
    made = _exhibit(state, title)
    return figure_html(made, lang, payload_url=PAYLOAD, plotly_url=PLOTLY), encoded(made, lang)[0]


def placed(html: str, ident: str, payload_url: str, plotly_url: str) -> str:
    """The markup of :func:`figure` at its place in a page."""
    return html.replace(ID, ident).replace(PAYLOAD, payload_url).replace(PLOTLY, plotly_url)


def table(state: State, lang: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the chart's table as strings."""
    found = table_document(state.table, lang)
    return found["head"], found["rows"]


def in_jupyter(state: State, lang: str) -> bool:
    """Draw the picture in the light palette, where the code runs in Jupyter; whether it does."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return False
    from IPython.display import HTML, display

    display(HTML(f'<div style="max-width:646px">{inked(svg(state.chart, lang, False))}</div>'))
    return True


def inked(markup: str) -> str:
    """SVG with the light palette in place of the page's tokens."""
    return re.sub(r"var\(--tl-([\w-]+)\)", lambda m: LIGHT[m[1]], markup)
