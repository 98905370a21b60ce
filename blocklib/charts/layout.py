"""From a chart to a scene: boxes, paths, dots and words in one language at one size.

Both renderers draw the scene and decide nothing themselves, so the static picture and the live one carry the
same content. Coordinates are the data's; distances from them (margins, shifts) are in px.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from blocklib.charts.model import Axis, Chart, Series
from blocklib.charts.scale import fraction, span, ticks
from blocklib.text import Text

WIDE, NARROW = 646, 328          # widths of the two static pictures, px
FIT = {False: 520, True: 300}    # the least widths at which words inside bars must still fit
THICK = 0.66                     # share of a category's row that its bars fill
LINE = 15                        # least distance of two lines of direct labels, px


@dataclass(frozen=True)
class Margin:
    """Room around the plot area, px."""

    left: int
    right: int
    top: int
    bottom: int

    def join(self, other: Margin) -> Margin:
        """The larger of each side: states share one frame, so the plot does not jump under the slider."""
        return Margin(*(max(a, b) for a, b in zip(self._sides(), other._sides(), strict=True)))

    def _sides(self) -> tuple[int, int, int, int]:
        return self.left, self.right, self.top, self.bottom


@dataclass
class Boxes:
    name: str
    cx: list[float]
    width: list[float]
    base: list[float]
    height: list[float]
    role: str
    alpha: tuple[float, ...] | None = None
    notes: list[str] | None = None
    rim: float = 1.5         # width of the outline; thin boxes get a thin one, or they would be all outline


@dataclass
class Path:
    name: str
    x: list[float]
    y: list[float | None]
    role: str
    width: float = 2.0
    dash: bool = False
    hover: bool = False


@dataclass
class Dots:
    name: str
    x: list[float]
    y: list[float]
    role: str
    hollow: bool
    notes: list[str] | None = None


@dataclass
class Words:
    """One line of text. ``px``/``py``: x/y is a fraction of the plot area instead of data."""

    text: str
    x: float
    y: float
    anchor: str = "middle"
    dx: float = 0
    dy: float = 0
    size: float = 12
    bold: bool = False
    role: str = "ink-2"
    px: bool = False
    py: bool = False
    halo: bool = False       # may cross a line: keeps a rim of paper around itself


@dataclass
class Scene:
    width: int
    height: int
    margin: Margin
    x: tuple[float, float]
    y: tuple[float, float]
    xlog: bool
    ylog: bool
    square: bool
    marks: list[Boxes | Path | Dots] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)

    @property
    def plot_height(self) -> int:
        return self.height - self.margin.top - self.margin.bottom


def measure(text: str, size: float) -> float:
    """Estimated width of ``text`` in px, after Arial and its kin; the reader's font is not known."""
    em = 0.0
    for c in text:
        if ord(c) > 0x2E7F:
            em += 1.0
        elif c in " ,.:;'|!ijl()·":
            em += 0.31
        elif c.isupper() or c in "mw%+−×":
            em += 0.7
        else:
            em += 0.555
    return em * size


def ink_on(role: str, alpha: float = 1.0) -> str:
    """The ink that is legible on a box of this role."""
    if role == "ghost" or alpha < 0.5:
        return "ink"
    if role in ("train", "run"):
        return f"on-{role}"
    return "on-c" if role in ("c2", "c3") else "paper"


def ink_for(role: str) -> str:
    """The ink of words about a series: its own colour where that is legible as text, else ink."""
    return role if role in ("train", "run", "c0", "c1") else "ink"


def stroke(role: str) -> str:
    """Lines and dots need contrast that the ghost fill lacks."""
    return "line-2" if role == "ghost" else role


class Layout:
    """Places one chart in one language; ``margin`` overrides the frame that the chart alone would need."""

    def __init__(self, chart: Chart, lang: str, narrow: bool, margin: Margin | None = None):
        self.chart, self.lang, self.narrow = chart, lang, narrow
        marks = {s.mark for s in chart.series}
        self.horizontal = "hbar" in marks
        self.named_rows = self.horizontal and chart.y.categories is not None
        self.above = self.named_rows and narrow           # row names stand above the bars
        self.label_size = 11 if narrow else 12.5
        self.boxes = self._boxes()
        self.xr = span(chart.x, [v for s in chart.series for v in s.x], self._extent(0))
        self.yr = span(chart.y, [v for s in chart.series for v in s.y if v is not None], self._extent(1))
        if chart.y.categories is not None:                # the first category stands on top
            self.yr = (self.yr[1], self.yr[0])
        limit = 3 if narrow else 4
        self.xticks = ticks(chart.x, self.xr, lang, limit)
        self.yticks = ticks(chart.y, self.yr, lang, 4)
        self.margin = margin or self.frame()
        rows = len(chart.y.categories or ())
        height = chart.height
        if narrow:
            height = chart.narrow_height or (64 + 58 * rows if self.named_rows else chart.height)
        self.scene = Scene(NARROW if narrow else WIDE, height, self.margin, self.xr, self.yr,
                           chart.x.log, chart.y.log, chart.square)

    def t(self, text: Text) -> str:
        return text[self.lang]

    # -- geometry of bars and cells ---------------------------------------------------------------------

    def _boxes(self) -> dict[int, Boxes]:
        """Boxes by the series' position: stacks piled up, groups side by side."""
        chart, out = self.chart, {}
        bars = [(i, s) for i, s in enumerate(chart.series) if s.mark in ("bar", "hbar")]
        groups = list(dict.fromkeys(s.stack or f"\0{i}" for i, s in bars))
        places = sorted({v for _, s in bars for v in (s.y if self.horizontal else s.x)})
        pitch = min((b - a for a, b in pairwise(places)), default=1)
        band = pitch * (0.5 if self.above else THICK if self._spaced() else 0.86)
        piles: dict[tuple, float] = {}
        for i, s in bars:
            at, size = (s.y, s.x) if self.horizontal else (s.x, s.y)
            group = s.stack or f"\0{i}"
            thick = s.thickness or band / len(groups)
            shift = 0 if s.thickness else (groups.index(group) - (len(groups) - 1) / 2) * thick
            base, centre = [], []
            for p, v in zip(at, size, strict=True):
                pile = (group, p, v < 0)
                base.append(piles.get(pile, 0) if s.stack else 0)
                piles[pile] = base[-1] + v
                centre.append(p + shift)
            if self.horizontal:
                cx = [b + v / 2 for b, v in zip(base, size, strict=True)]
                box = (cx, [abs(v) for v in size], [c - thick / 2 for c in centre], [thick] * len(at))
            else:
                box = (centre, [thick] * len(at), base, list(size))
            out[i] = Boxes(self.t(s.name), *box, s.role, s.alpha, self._notes(s))
        for i, s in enumerate(chart.series):
            if s.mark == "cells":
                side, n = s.thickness or 0.92, len(s.x)
                out[i] = Boxes(self.t(s.name), list(s.x), [side] * n, [v - side / 2 for v in s.y], [side] * n,
                               s.role, s.alpha, self._notes(s))
        return out

    def _spaced(self) -> bool:
        axis = self.chart.y if self.horizontal else self.chart.x
        return axis.categories is not None

    def _notes(self, s: Series) -> list[str] | None:
        return None if s.notes is None else ["" if n is None else self.t(n) for n in s.notes]

    def _extent(self, side: int) -> list[float]:
        """Edges of all boxes along one side, which the axis must hold."""
        out = []
        for b in self.boxes.values():
            for cx, w, base, h in zip(b.cx, b.width, b.base, b.height, strict=True):
                out += [cx - w / 2, cx + w / 2] if side == 0 else [base, base + h]
        return out

    # -- frame ---------------------------------------------------------------------------------------------

    def _axis_label(self, axis: Axis) -> str | None:
        if axis.hidden or (axis.label is None and axis.unit is None):
            return None
        parts = [self.t(v) for v in (axis.label, axis.unit) if v is not None]
        return parts[0] if len(parts) == 1 else "{}（{}）".format(*parts) if self.lang == "zh" else ", ".join(parts)

    def frame(self) -> Margin:
        """The margin that this chart alone needs."""
        chart, narrow = self.chart, self.narrow
        left = 4 if self.above else 8
        if not self.above and not chart.y.hidden:
            size = 13 if chart.y.categories else 12
            left = max([left, *(round(measure(text, size)) + 14 for _, text in self.yticks)])
        right, top = 8, 8
        ends = [t for t in chart.totals or () if t is not None] if self.horizontal else []
        ends += [t for s in chart.series if s.mark == "hbar" and self._place(s) == "end" for t in s.labels or () if t]
        if not self.above:
            right = max([right, *(round(measure(self.t(t), 13.5)) + 12 for t in ends)])
        if not narrow:
            lines = [s.end for s in chart.series if s.end is not None and
                     (s.mark in ("line", "step") or (s.mark == "rule" and s.y))]
            right = max([right, *(round(measure(self.t(t), 12.5)) + 14 for t in lines)])
        if self.above:
            top = 12
        if self._axis_label(chart.y):
            top = max(top, 26)
        lifted = not self.horizontal and (chart.totals or any(
            s.labels and (self._place(s) in ("end", "above")) for s in chart.series))
        if lifted or any(s.mark == "rule" and s.x and s.end for s in chart.series):
            top += 18
        bottom = 8 if chart.x.hidden else 28 + 14 * (self._tick_lines() - 1)
        if self._axis_label(chart.x):
            bottom += 18
        return Margin(left, right, top, bottom)

    def _slot(self) -> float:
        """Width in px of one x category at the least width that must be legible."""
        room = FIT[self.narrow] - 40
        return room / max(1, len(self.chart.x.categories or (1,)))

    def _wrap(self, text: str, room: float, size: float) -> list[str]:
        if measure(text, size) <= room:
            return [text]
        if " " in text:
            words, lines = text.split(" "), [""]
            for word in words:
                longer = f"{lines[-1]} {word}".strip()
                if lines[-1] and measure(longer, size) > room:
                    lines.append(word)
                else:
                    lines[-1] = longer
            return lines
        return [text]

    def _tick_lines(self) -> int:
        if self.chart.x.categories is None or self.chart.x.hidden:
            return 1
        size = 11 if self.narrow else 12
        return max(len(self._wrap(text, self._slot() - 4, size)) for _, text in self.xticks)

    # -- placing ---------------------------------------------------------------------------------------------

    def build(self) -> Scene:
        """The scene: hairlines first, then the series in their order, words last."""
        self._axes()
        ends: list[tuple[float, Words]] = []
        for i, s in enumerate(self.chart.series):
            if i in self.boxes:
                self._rim(s, self.boxes[i])
                self.scene.marks.append(self.boxes[i])
                self._box_labels(s, self.boxes[i])
            elif s.mark == "rule":
                self._rule(s, ends)
            elif s.mark in ("points", "label"):
                if s.mark == "points":
                    self.scene.marks.append(Dots(self.t(s.name), list(s.x), list(s.y), stroke(s.role),
                                                 s.role == "run", self._notes(s)))
                self._point_labels(s)
            else:
                self._path(s, ends)
        self._spread(ends)
        self._totals()
        return self.scene

    def _say(self, text: str, x: float, y: float, **how) -> Words:
        words = Words(text, x, y, **how)
        self.scene.words.append(words)
        return words

    def _axes(self) -> None:
        chart, scene, m = self.chart, self.scene, self.margin
        for axis, other, at in ((chart.y, self.xr, self.yticks), (chart.x, self.yr, self.xticks)):
            if axis.log and not axis.hidden:              # hairline decades
                for v, _ in at:
                    line = ([*other], [v, v]) if axis is chart.y else ([v, v], [*other])
                    scene.marks.append(Path("", *line, role="line", width=1))
        if not chart.x.hidden:
            size = 11 if self.narrow else 12
            for v, text in self.xticks:
                lines = self._wrap(text, self._slot() - 4, size) if chart.x.categories else [text]
                room = FIT[self.narrow] - m.left - m.right
                at, half = fraction(v, self.xr, chart.x.log) * room, measure(text, size) / 2
                anchor = "middle"
                if not chart.x.categories:                # a number at the edge stays inside the picture
                    anchor = "start" if at - half < -m.left else "end" if at + half > room + m.right else "middle"
                for k, line in enumerate(lines):
                    self._say(line, v, 0, py=True, dy=-15 - 14 * k, size=size, anchor=anchor)
        if not chart.y.hidden and not self.above:
            for v, text in self.yticks:
                cats = chart.y.categories is not None
                self._say(text, 0, v, px=True, dx=-10, anchor="end", size=13 if cats else 12,
                          role="ink" if cats else "ink-2")
        if self._axis_label(chart.x):
            self._say(self._axis_label(chart.x), 1, 0, px=True, py=True, anchor="end", dy=14 - m.bottom)
        if self._axis_label(chart.y):
            self._say(self._axis_label(chart.y), 0, 1, px=True, py=True, anchor="start", dx=4 - m.left, dy=m.top - 10)
        both_signs = [v for b in self.boxes.values() for v in (b.width if self.horizontal else b.height)]
        if any(s.mark in ("bar", "hbar") and any(v < 0 for v in (s.x if self.horizontal else s.y))
               for s in chart.series) and both_signs:
            zero = ([0, 0], [*self.yr]) if self.horizontal else ([*self.xr], [0, 0])
            scene.marks.append(Path("", *zero, role="line-2", width=1))

    def _place(self, s: Series) -> str:
        if s.place is not None:
            return s.place
        if s.mark in ("bar", "hbar"):
            return "inside" if s.stack else "end"
        return {"cells": "inside", "label": "center"}.get(s.mark, "right")

    def _rim(self, s: Series, b: Boxes) -> None:
        across = (FIT[self.narrow] - self.margin.left - self.margin.right) / abs(self.xr[1] - self.xr[0])
        up = self.scene.plot_height / abs(self.yr[1] - self.yr[0])
        # the side that a bar's length does not set
        side = min(abs(v) for v in (b.height if self.horizontal else b.width)) * (up if self.horizontal else across)
        b.rim = round(min(1.0 if s.role == "ghost" else 1.5, side / 8), 2)

    def _box_labels(self, s: Series, b: Boxes) -> None:
        if s.labels is None:
            return
        room_x = (FIT[self.narrow] - self.margin.left - self.margin.right) / abs(self.xr[1] - self.xr[0])
        room_y = self.scene.plot_height / abs(self.yr[1] - self.yr[0])
        for k, label in enumerate(s.labels):
            if label is None:
                continue
            text = self.t(label)
            mid = b.base[k] + b.height[k] / 2
            if self._place(s) in ("inside", "center"):
                wide_enough = b.width[k] * room_x >= measure(text, self.label_size) + 3
                if s.mark == "cells" or (wide_enough and abs(b.height[k]) * room_y >= self.label_size + 2):
                    alpha = s.alpha[k] if s.alpha else 1.0
                    self._say(text, b.cx[k], mid, size=self.label_size, bold=s.bold, role=ink_on(s.role, alpha))
            elif self.horizontal:
                value = s.x[k]
                far = b.cx[k] + b.width[k] / 2 * (1 if value >= 0 else -1)
                if self.above and value >= 0:             # no room at the right on a phone: over the bar's end
                    self._above(k, s, text, far, mid)
                else:
                    sign = 1 if value >= 0 else -1
                    self._say(text, far, mid, anchor="start" if sign > 0 else "end", dx=7 * sign,
                              size=self.label_size, bold=s.bold, role="ink")
            else:
                up = s.y[k] >= 0
                self._say(text, b.cx[k], b.base[k] + b.height[k], dy=10 if up else -10, size=self.label_size,
                          bold=s.bold, role="ink")

    def _above(self, k: int, s: Series, text: str, far: float, mid: float) -> None:
        room = fraction(far, self.xr, False) * (FIT[True] - self.margin.left - self.margin.right)
        fits_right = room + measure(text, 11.5) + 10 < FIT[True] - self.margin.left - self.margin.right
        inside = room > measure(text, 11.5) + 12
        if fits_right or not inside:
            self._say(text, far, mid, anchor="start", dx=5, size=11.5, bold=s.bold, role="ink")
        else:
            self._say(text, far, mid, anchor="end", dx=-6, size=11.5, bold=s.bold, role=ink_on(s.role))

    def _point_labels(self, s: Series) -> None:
        place = self._place(s)
        gap = 9 if s.mark == "points" else 0
        size = 11.5 if self.narrow else 12.5
        room = FIT[self.narrow] - self.margin.left - self.margin.right
        for x, y, label in zip(s.x, s.y, s.labels or (), strict=False):
            if label is None:
                continue
            text, at = self.t(label), place
            px, need = fraction(x, self.xr, self.chart.x.log) * room, measure(text, size)
            if at == "right" and px + need + gap > room + self.margin.right:
                at = "left"
            elif at == "left" and px - need - gap < -self.margin.left:
                at = "right"
            dx, dy, anchor = {"right": (gap, 0, "start"), "left": (-gap, 0, "end"), "above": (0, gap + 4, "middle"),
                              "below": (0, -gap - 4, "middle")}.get(at, (0, 0, "middle"))
            if anchor == "middle" and at != "center":     # words over a dot near an edge stay in the picture
                if px + need / 2 > room + self.margin.right:
                    anchor, dx = "end", 6
                elif px - need / 2 < -self.margin.left:
                    anchor, dx = "start", -6
            self._say(text, x, y, anchor=anchor, dx=dx, dy=dy, size=size, bold=s.bold,
                      role=ink_for(s.role) if s.mark == "label" else "ink", halo=s.mark == "points")

    def _rule(self, s: Series, ends: list) -> None:
        dash = s.dash if s.dash is not None else True
        upright = bool(s.x)
        v = s.x[0] if upright else s.y[0]
        line = ([v, v], [*self.yr]) if upright else ([*self.xr], [v, v])
        self.scene.marks.append(Path(self.t(s.name), *line, role=stroke(s.role), width=1.25, dash=dash))
        if s.end is None:
            return
        size = 11.5 if self.narrow else 12.5
        if upright:
            f = fraction(v, self.xr, self.chart.x.log)
            anchor = "start" if f < 0.12 else "end" if f > 0.88 else "middle"
            self._say(self.t(s.end), v, 1, py=True, dy=9, anchor=anchor, size=size, role=ink_for(s.role))
        else:
            how = {"dy": 9, "anchor": "end", "halo": True} if self.narrow else {"dx": 8, "anchor": "start"}
            words = Words(self.t(s.end), 1, v, px=True, size=size, role=ink_for(s.role), **how)
            ends.append((fraction(v, self.yr, self.chart.y.log) * self.scene.plot_height, words))

    def _path(self, s: Series, ends: list) -> None:
        if s.mark == "links":
            x, y = [], []
            for k in range(0, len(s.x), 2):
                x += [s.x[k], s.x[k + 1], s.x[k + 1]]
                y += [s.y[k], s.y[k + 1], None]
            dash, hover = bool(s.dash), False
            x, y = x[:-1], y[:-1]
        else:
            x, y = list(s.x), list(s.y)
            if s.mark == "step":
                x = [v for a in s.x for v in (a, a)][1:]
                y = [v for b in s.y for v in (b, b)][:-1]
            dash, hover = (s.dash if s.dash is not None else s.role == "run"), True
        self.scene.marks.append(Path(self.t(s.name), x, y, stroke(s.role), 2 if hover else 1.5, dash, hover))
        if s.end is not None:
            k = max(i for i, v in enumerate(y) if v is not None)
            how = {"anchor": "start", "dx": 8, "size": 12.5}
            if self.narrow:
                how = {"anchor": "end", "dx": 2, "dy": 11, "size": 11.5, "halo": True}
            words = Words(self.t(s.end), x[k], y[k], role=ink_for(s.role), **how)
            ends.append((fraction(y[k], self.yr, self.chart.y.log) * self.scene.plot_height, words))

    def _spread(self, ends: list[tuple[float, Words]]) -> None:
        """Push labels at lines' ends apart until they can be read, keeping their order."""
        ends.sort(key=lambda e: e[0])
        at = [height + w.dy for height, w in ends]
        for k in range(1, len(at)):
            at[k] = max(at[k], at[k - 1] + LINE)
        top = self.scene.plot_height + self.margin.top - 8
        for k in reversed(range(len(at))):
            at[k] = min(at[k], top)
            top = at[k] - LINE
        for (height, words), y in zip(ends, at, strict=True):
            words.dy = round(y - height, 1)
            self.scene.words.append(words)

    def _totals(self) -> None:
        chart = self.chart
        names = chart.y.categories if self.named_rows else None
        far: dict[float, float] = {}
        half = 0.0
        for i, s in enumerate(chart.series):
            if s.mark not in ("bar", "hbar"):
                continue
            b = self.boxes[i]
            half = max(half, (max(b.height) if self.horizontal else 0) / 2)
            for k, p in enumerate(s.y if self.horizontal else s.x):
                edge = b.cx[k] + b.width[k] / 2 if self.horizontal else max(b.base[k], b.base[k] + b.height[k])
                far[round(p)] = max(far.get(round(p), 0), edge)
        totals = chart.totals or ()
        if self.above:
            groups = self._groups()
            for k, name in enumerate(names or ()):
                top = k - half * groups
                self._say(self.t(name), 0, top, px=True, anchor="start", dy=9, size=12, role="ink")
                if k < len(totals) and totals[k] is not None:
                    shift = measure(self.t(name), 12) + 12
                    self._say(self.t(totals[k]), 0, top, px=True, anchor="start", dx=round(shift), dy=9, size=12,
                              bold=True, role="ink")
            return
        for k, total in enumerate(totals):
            if total is None:
                continue
            if self.horizontal:
                self._say(self.t(total), far.get(k, 0), k, anchor="start", dx=7, size=13.5, bold=True, role="ink")
            else:
                self._say(self.t(total), k, far.get(k, 0), dy=11, size=12.5, bold=True, role="ink")

    def _groups(self) -> int:
        bars = [(i, s) for i, s in enumerate(self.chart.series) if s.mark in ("bar", "hbar") and not s.thickness]
        return max(1, len({s.stack or i for i, s in bars}))


def scene(chart: Chart, lang: str, narrow: bool = False, margin: Margin | None = None) -> Scene:
    """``chart`` placed in ``lang``; ``narrow`` is the layout below 460 px of plot width."""
    return Layout(chart, lang, narrow, margin).build()
