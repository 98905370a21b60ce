"""A scene as inline SVG, drawn with matplotlib: text stays text, colours are the page's CSS tokens.

matplotlib's own file is read back and its shapes set again, compactly: no metadata, no style sheet, no font
name, no ids. The same scene gives the same bytes on every run.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from html import escape
from xml.etree import ElementTree

from blocklib.charts.layout import scene
from blocklib.charts.model import Chart, ChartError
from blocklib.charts.scene import Boxes, Dots, Margin, Path, Scene

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
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def _draw(s: Scene) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    w, h, m = s.width, s.height, s.margin
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "two-ledgers", "path.simplify": False}):
        fig = Figure(figsize=(w / 72, h / 72), dpi=72)
        FigureCanvasSVG(fig)
        fig.patch.set_visible(False)
        plot_w, plot_h = w - m.left - m.right, h - m.top - m.bottom
        top = h - m.top
        if s.square:
            unit = min(plot_w / abs(s.x[1] - s.x[0]), plot_h / abs(s.y[1] - s.y[0]))
            plot_w, plot_h = unit * abs(s.x[1] - s.x[0]), unit * abs(s.y[1] - s.y[0])
        ax = fig.add_axes((m.left / w, (top - plot_h) / h, plot_w / w, plot_h / h))
        ax.set_axis_off()
        ax.set_xscale("log" if s.xlog else "linear")
        ax.set_yscale("log" if s.ylog else "linear")
        ax.set_xlim(*s.x)
        ax.set_ylim(*s.y)
        for order, mark in enumerate(s.marks, 1):
            colour = _SENTINEL[mark.role]
            if isinstance(mark, Boxes):
                ghost = mark.role == "ghost"
                for k, (cx, bw, base, bh) in enumerate(zip(mark.cx, mark.width, mark.base, mark.height, strict=True)):
                    ax.add_patch(
                        Rectangle(
                            (cx - bw / 2, base),
                            bw,
                            bh,
                            facecolor=colour,
                            zorder=order,
                            clip_on=False,
                            edgecolor=_SENTINEL["line-2" if ghost else "paper"],
                            linewidth=mark.rim,
                            alpha=None if mark.alpha is None else mark.alpha[k],
                        )
                    )
            elif isinstance(mark, Path):
                y = [float("nan") if v is None else v for v in mark.y]
                ax.plot(
                    mark.x,
                    y,
                    color=colour,
                    linewidth=mark.width,
                    zorder=order,
                    clip_on=False,
                    linestyle=(0, (5 / mark.width, 3 / mark.width)) if mark.dash else "-",
                    solid_capstyle="butt",
                )
            elif isinstance(mark, Dots):
                ax.plot(
                    mark.x,
                    mark.y,
                    linestyle="",
                    marker="o",
                    zorder=order,
                    clip_on=False,
                    markersize=7,
                    markerfacecolor=_SENTINEL["paper"] if mark.hollow else colour,
                    markeredgecolor=colour if mark.hollow else _SENTINEL["paper"],
                    markeredgewidth=1.75 if mark.hollow else 1,
                )
        across, up = ax.get_xaxis_transform(), ax.get_yaxis_transform()
        coords = {(0, 0): ax.transData, (0, 1): across, (1, 0): up, (1, 1): ax.transAxes}
        for t in s.words:
            ax.annotate(
                t.text.replace("$", r"\$"),
                (t.x, t.y),
                xycoords=coords[t.px, t.py],
                xytext=(t.dx, t.dy - 0.36 * t.size),
                textcoords="offset points",
                ha=_ANCHORS[t.anchor],
                va="baseline",
                fontsize=t.size,
                color=_SENTINEL[t.role],
                fontweight=700 if t.bold else 400,
                annotation_clip=False,
                zorder=1000,
                gid="halo" if t.halo else None,
            )
        out = io.StringIO()
        # The reader's browser has the glyphs; matplotlib's own font need not.
        quiet, level = logging.getLogger("matplotlib"), logging.getLogger("matplotlib").level
        quiet.setLevel(logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                fig.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        finally:
            quiet.setLevel(level)
        return out.getvalue()


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
        if node.get("id") == "halo":
            inherited = inherited | {"halo": "1"}
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
        elif tag == "text":
            size = re.search(r"([\d.]+)px", style.get("font", "") or style.get("font-size", ""))
            bold = "700" in style.get("font", "") or style.get("font-weight") in ("700", "bold")
            anchor = style.get("text-anchor", "start")
            x, y = _short(node.get("x", "0")), _short(node.get("y", "0"))
            attrs = f' text-anchor="{anchor}"' if anchor != "start" else ""
            attrs += ' font-weight="700"' if bold else ""
            words = escape("".join(node.itertext()))
            rim = ";paint-order:stroke;stroke:var(--tl-paper);stroke-width:3.5" if "halo" in style else ""
            if size is None:
                raise ChartError("static picture: text without a size")
            out.append(
                f'<text x="{x}" y="{y}" font-size="{float(size[1]):g}"{attrs} '
                f'style="{_paint(style)}{rim}">{words}</text>'
            )
        for child in node:
            walk(child, in_defs or tag == "defs", style if tag == "g" else inherited)

    walk(root, False, {})
    return "".join(out)


def svg(chart: Chart, lang: str, narrow: bool = False, margin: Margin | None = None) -> str:
    """``chart`` as one ``<svg>`` element with ``role="img"`` and the chart's summary as its label.

    It has no ids, so any number of pictures share a page. Raises ChartError for a colour that is no token.
    """
    s = scene(chart, lang, narrow, margin)
    kind = "narrow" if narrow else "wide"
    return (
        f'<svg class="tl-svg tl-svg--{kind}" viewBox="0 0 {s.width} {s.height}" role="img" '
        f'aria-label="{escape(chart.summary[lang])}" style="font-family:var(--tl-sans)">'
        f"{_compact(_draw(s))}</svg>"
    )
