"""A scene as inline SVG, drawn with matplotlib: text stays text, colours are the page's CSS tokens.

matplotlib's own file is read back and its shapes set again, compactly: no metadata, no style sheet, no font
name, no ids. The same scene gives the same bytes on every run.
"""

from __future__ import annotations

import io
import re
from functools import cache
from html import escape
from xml.etree import ElementTree

from blocklib.charts.layout import scene
from blocklib.charts.model import Chart, ChartError
from blocklib.charts.scene import Boxes, Dots, Margin, Path, Scene, Words

TOKENS = (
    "paper",
    "raise",
    "card",
    "ink",
    "ink-2",
    "ink-3",
    "line",
    "line-2",
    "train",
    "run",
    "ghost",
    "c0",
    "c1",
    "c2",
    "c3",
    "on-c",
    "on-train",
    "on-run",
)
# A colour that stands for a token inside matplotlib and never leaves this module.
_SENTINEL = {token: f"#a1b2{i:02x}" for i, token in enumerate(TOKENS)}
_TOKEN = {colour: token for token, colour in _SENTINEL.items()}
_NUMBER = re.compile(r"-?\d+\.\d+")


@cache
def _axes():
    """One empty figure of matplotlib's, used for every picture: to make one takes longer than to draw."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    fig = Figure(dpi=72)
    FigureCanvasSVG(fig)
    fig.patch.set_visible(False)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    return ax


def _draw(s: Scene) -> tuple[str, list[tuple[Words, float, float]]]:
    """The marks as matplotlib's SVG, and the words with the px at which they stand."""
    import matplotlib
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    ax, w, h, m = _axes(), s.width, s.height, s.margin
    plot_w, plot_h = w - m.left - m.right, h - m.top - m.bottom
    top = h - m.top
    if s.square:
        unit = min(plot_w / abs(s.x[1] - s.x[0]), plot_h / abs(s.y[1] - s.y[0]))
        plot_w, plot_h = unit * abs(s.x[1] - s.x[0]), unit * abs(s.y[1] - s.y[0])
    ax.figure.set_size_inches(w / 72, h / 72)
    ax.set_position((m.left / w, (top - plot_h) / h, plot_w / w, plot_h / h))
    ax.set_xscale("log" if s.xlog else "linear")
    ax.set_yscale("log" if s.ylog else "linear")
    ax.set_xlim(*s.x)
    ax.set_ylim(*s.y)
    drawn = []
    for order, mark in enumerate(s.marks, 1):
        colour, paper = _SENTINEL[mark.role], _SENTINEL["paper"]
        if isinstance(mark, Boxes):
            rim = _SENTINEL["line-2"] if mark.role == "ghost" else paper
            for k, (cx, bw, base, bh) in enumerate(zip(mark.cx, mark.width, mark.base, mark.height, strict=True)):
                alpha = None if mark.alpha is None else mark.alpha[k]
                how = {"facecolor": colour, "edgecolor": rim, "linewidth": mark.rim, "alpha": alpha}
                drawn.append(Rectangle((cx - bw / 2, base), bw, bh, zorder=order, clip_on=False, **how))
        elif isinstance(mark, Path):
            y = [float("nan") if v is None else v for v in mark.y]
            dash = (0, (5 / mark.width, 3 / mark.width)) if mark.dash else "-"
            how = {"color": colour, "linewidth": mark.width, "linestyle": dash, "solid_capstyle": "butt"}
            drawn.append(Line2D(mark.x, y, zorder=order, clip_on=False, **how))
        elif isinstance(mark, Dots):
            face, edge, rim = (paper, colour, 1.75) if mark.hollow else (colour, paper, 1)
            how = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": rim, "markersize": 7}
            drawn.append(Line2D(mark.x, mark.y, linestyle="", marker="o", zorder=order, clip_on=False, **how))
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "two-ledgers", "path.simplify": False}):
        for artist in drawn:
            ax.add_artist(artist)
        ax.figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        for artist in drawn:
            artist.remove()
    across, up = ax.get_xaxis_transform(), ax.get_yaxis_transform()
    coords = {(0, 0): ax.transData, (0, 1): across, (1, 0): up, (1, 1): ax.transAxes}
    places = [coords[t.px, t.py].transform((t.x, t.y)) for t in s.words]
    words = [(t, x + t.dx, h - (y + t.dy - 0.36 * t.size)) for t, (x, y) in zip(s.words, places, strict=True)]
    return out.getvalue(), words


def _short(numbers: str) -> str:
    """Coordinates to a tenth of a px."""
    near = _NUMBER.sub(lambda m: f"{round(float(m[0]), 1) + 0.0:.1f}".removesuffix(".0"), numbers)
    return " ".join(near.split())


def _style(raw: str) -> dict[str, str]:
    return dict(part.strip().split(": ", 1) for part in raw.split(";") if ": " in part)


def _paint(style: dict[str, str]) -> str:
    keep = []
    for key in ("fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity"):
        value = style.get(key)
        if value is None:
            continue
        if value.startswith("#"):
            if value not in _TOKEN:
                raise ChartError(f"static picture: colour {value} is no token")
            value = f"var(--tl-{_TOKEN[value]})"
        keep.append(f"{key}:{value}")
    return ";".join(keep)


def _compact(raw: str) -> str:
    root = ElementTree.fromstring(raw)
    paths: dict[str, str] = {}
    out: list[str] = []

    def walk(node: ElementTree.Element, in_defs: bool, inherited: dict[str, str]) -> None:
        tag = node.tag.rsplit("}", 1)[-1]
        style = inherited | _style(node.get("style", ""))
        if tag in ("metadata", "style", "clipPath"):
            return
        if tag == "path" and in_defs:
            paths[node.get("id", "")] = _short(node.get("d", ""))
            return
        if tag == "path":
            if style.get("fill") is None:
                style["fill"] = "none"
            out.append(f'<path d="{_short(node.get("d", ""))}" style="{_paint(style)}"/>')
        elif tag == "use":
            ref = node.get("{http://www.w3.org/1999/xlink}href", "")[1:]
            x, y = (_short(node.get(k, "0")) for k in ("x", "y"))
            radius = paths[ref].split()[2]  # every marker is a circle, from (0, r) round
            out.append(f'<circle cx="{x}" cy="{y}" r="{radius}" style="{_paint(style)}"/>')
        for child in node:
            walk(child, in_defs or tag == "defs", style if tag == "g" else inherited)

    walk(root, False, {})
    return "".join(out)


def _text(t: Words, x: float, y: float) -> str:
    attrs = f' text-anchor="{t.anchor}"' if t.anchor != "start" else ""
    attrs += ' font-weight="700"' if t.bold else ""
    rim = ";paint-order:stroke;stroke:var(--tl-paper);stroke-width:3.5" if t.halo else ""
    return (
        f'<text x="{_short(f"{x:f}")}" y="{_short(f"{y:f}")}" font-size="{t.size:g}"{attrs} '
        f'style="fill:var(--tl-{t.role}){rim}">{escape(t.text)}</text>'
    )


def svg(chart: Chart, lang: str, narrow: bool = False, margin: Margin | None = None) -> str:
    """``chart`` as one ``<svg>`` element with ``role="img"`` and the chart's summary as its label.

    It has no ids, so any number of pictures share a page. Raises ChartError for a colour that is no token.
    """
    s = scene(chart, lang, narrow, margin)
    marks, words = _draw(s)
    kind = "narrow" if narrow else "wide"
    return (
        f'<svg class="tl-svg tl-svg--{kind}" viewBox="0 0 {s.width} {s.height}" role="img" '
        f'aria-label="{escape(chart.summary[lang])}" style="font-family:var(--tl-sans)">'
        f"{_compact(marks)}{''.join(_text(*word) for word in words)}</svg>"
    )
