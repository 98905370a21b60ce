"""A scene as a Plotly figure: plain dicts, no template but the words' defaults, colours as ``@token``.

Only keys that end in ``color`` hold tokens; the page's script replaces them by the value of the CSS token at
the moment of drawing. All axes are numeric and bare: ticks and labels are the scene's own words.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from blocklib.charts.layout import scene
from blocklib.charts.model import Chart
from blocklib.charts.scene import Boxes, Dots, Margin, Path, Words


def rounded(value: float | None) -> float | int | None:
    """``value`` to six significant digits, whole numbers as int: what a screen can show, and short to send."""
    if value is None:
        return None
    near = float(f"{value:.6g}")
    return int(near) if near.is_integer() and abs(near) < 1e15 else near


def _list(values: list) -> list:
    return _rounded(tuple(values))


@lru_cache(maxsize=4096)  # the same points stand in both languages, at both widths and in many states
def _rounded(values: tuple) -> list:
    return [rounded(v) for v in values]


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _format(log: bool) -> str:
    return ".4~g" if log else ",.4~r"


def _boxes(b: Boxes) -> dict[str, Any]:
    line = {"color": "@line-2" if b.role == "ghost" else "@paper", "width": rounded(b.rim)}
    trace = {
        "type": "bar",
        "name": b.name,
        "x": _list(b.cx),
        "width": _list(b.width),
        "base": _list(b.base),
        "y": _list(b.height),
        "marker": {"color": f"@{b.role}", "line": line},
    }
    if b.alpha is not None:
        trace["marker"]["opacity"] = _list(list(b.alpha))
    return trace | _notes(b.notes)


def _notes(notes: list[str] | None) -> dict[str, Any]:
    if notes is None:
        return {"hoverinfo": "skip"}
    return {"hovertext": [_escape(n) for n in notes], "hovertemplate": "%{hovertext}<extra></extra>"}


def _path(p: Path, xlog: bool, ylog: bool) -> dict[str, Any]:
    trace = {
        "type": "scatter",
        "mode": "lines",
        "name": p.name,
        "x": _list(p.x),
        "y": _list(p.y),
        "line": {"color": f"@{p.role}", "width": p.width},
        "cliponaxis": False,
    }
    if p.dash:
        trace["line"]["dash"] = "5px,3px"
    if p.hover:
        x, y = _format(xlog), _format(ylog)
        trace["hovertemplate"] = f"{_escape(p.name)}<br>%{{x:{x}}}: <b>%{{y:{y}}}</b><extra></extra>"
    else:
        trace["hoverinfo"] = "skip"
    return trace


def _dots(d: Dots) -> dict[str, Any]:
    marker = {
        "color": "@paper" if d.hollow else f"@{d.role}",
        "size": 8 if d.hollow else 7,
        "line": {"color": f"@{d.role}" if d.hollow else "@paper", "width": 1.75 if d.hollow else 1},
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "name": d.name,
        "x": _list(d.x),
        "y": _list(d.y),
        "marker": marker,
        "cliponaxis": False,
    } | _notes(d.notes)


def _words(w: Words, xlog: bool, ylog: bool) -> dict[str, Any]:
    x = math.log10(w.x) if xlog and not w.px else w.x
    y = math.log10(w.y) if ylog and not w.py else w.y
    out: dict[str, Any] = {"text": _escape(w.text), "x": rounded(x), "y": rounded(y)}
    out["xanchor"] = {"start": "left", "middle": "center", "end": "right"}[w.anchor]
    if w.px:
        out["xref"] = "x domain"
    if w.py:
        out["yref"] = "y domain"
    if w.dx:
        out["xshift"] = rounded(w.dx)
    if w.dy:
        out["yshift"] = rounded(w.dy)
    if w.halo:
        out["bgcolor"] = "@paper"
    font = {"size": w.size, "color": f"@{w.role}"} | ({"weight": 700} if w.bold else {})
    return out | {"font": font}


def figure(chart: Chart, lang: str, narrow: bool = False, margin: Margin | None = None) -> dict[str, Any]:
    """``{"data": […], "layout": {…}}`` of ``chart`` in ``lang``; colours are token names such as ``"@run"``."""
    s = scene(chart, lang, narrow, margin)
    data: list[dict[str, Any]] = []
    layer = 0
    for mark, before in zip(s.marks, [None, *s.marks], strict=False):
        if isinstance(mark, Boxes):
            data.append(_boxes(mark))
            # Plotly puts bars under lines whatever their order; a layer of its own keeps ours.
            layer += before is not None and not isinstance(before, Boxes)
        elif isinstance(mark, Path):
            data.append(_path(mark, s.xlog, s.ylog))
        else:
            data.append(_dots(mark))
        if layer:
            data[-1]["zorder"] = layer

    def axis(ends: tuple[float, float], log: bool) -> dict[str, Any]:
        bare = {
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "showticklabels": False,
            "ticks": "",
            "fixedrange": True,
            "automargin": False,
        }
        ends = tuple(math.log10(v) for v in ends) if log else ends
        return bare | {"range": _list(list(ends))} | ({"type": "log"} if log else {"type": "linear"})

    x, y = axis(s.x, s.xlog), axis(s.y, s.ylog)
    if s.square:
        x |= {"constrain": "domain", "constraintoward": "left"}
        y |= {"constrain": "domain", "constraintoward": "top", "scaleanchor": "x", "scaleratio": 1}
    m = s.margin
    live = any("hovertemplate" in trace for trace in data)
    layout = {
        "height": s.height,
        "margin": {"l": m.left, "r": m.right, "t": m.top, "b": m.bottom, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "barmode": "overlay",
        "hovermode": "closest" if live else False,
        "font": {"size": 13, "color": "@ink"},
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@line-2",
            "align": "left",
            "font": {"size": 12.5, "color": "@ink"},
        },
        "xaxis": x,
        "yaxis": y,
        "annotations": [_words(w, s.xlog, s.ylog) for w in s.words],
        "template": {"layout": {"annotationdefaults": {"showarrow": False, "yanchor": "middle", "borderpad": 0}}},
    }
    return {"data": data, "layout": layout}
