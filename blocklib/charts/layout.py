"""From a chart to a scene: hairlines, series and words put in their places."""

from __future__ import annotations

from blocklib.charts.frame import Frame
from blocklib.charts.model import Chart, Series
from blocklib.charts.scale import fraction
from blocklib.charts.scene import FIT, Boxes, Dots, Margin, Path, Scene, Words, ink_for, ink_on, measure, stroke

LINE = 15  # least distance of two lines of direct labels, px


class Layout(Frame):
    """Places one chart in one language into its scene."""

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
                    self.scene.marks.append(
                        Dots(self.t(s.name), list(s.x), list(s.y), stroke(s.role), s.role == "run", self._notes(s))
                    )
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
            if axis.log and not axis.hidden:  # hairline decades
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
                if not chart.x.categories:  # a number at the edge stays inside the picture
                    anchor = "start" if at - half < -m.left else "end" if at + half > room + m.right else "middle"
                for k, line in enumerate(lines):
                    self._say(line, v, 0, py=True, dy=-15 - 14 * k, size=size, anchor=anchor)
        if not chart.y.hidden and not self.above:
            for v, text in self.yticks:
                cats = chart.y.categories is not None
                self._say(
                    text, 0, v, px=True, dx=-10, anchor="end", size=13 if cats else 12, role="ink" if cats else "ink-2"
                )
        if self._axis_label(chart.x):
            self._say(self._axis_label(chart.x), 1, 0, px=True, py=True, anchor="end", dy=14 - m.bottom)
        if self._axis_label(chart.y):
            self._say(self._axis_label(chart.y), 0, 1, px=True, py=True, anchor="start", dx=4 - m.left, dy=m.top - 10)
        bars = [s for s in chart.series if s.mark in ("bar", "hbar")]
        if any(v < 0 for s in bars for v in (s.x if self.horizontal else s.y)):
            zero = ([0, 0], [*self.yr]) if self.horizontal else ([*self.xr], [0, 0])
            scene.marks.append(Path("", *zero, role="line-2", width=1))

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
                if self.above and value >= 0:  # no room at the right on a phone: over the bar's end
                    self._above(s, text, far, mid)
                else:
                    sign = 1 if value >= 0 else -1
                    self._say(
                        text,
                        far,
                        mid,
                        anchor="start" if sign > 0 else "end",
                        dx=7 * sign,
                        size=self.label_size,
                        bold=s.bold,
                        role="ink",
                    )
            else:
                up = s.y[k] >= 0
                self._say(
                    text,
                    b.cx[k],
                    b.base[k] + b.height[k],
                    dy=10 if up else -10,
                    size=self.label_size,
                    bold=s.bold,
                    role="ink",
                )

    def _above(self, s: Series, text: str, far: float, mid: float) -> None:
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
            dx, dy, anchor = {
                "right": (gap, 0, "start"),
                "left": (-gap, 0, "end"),
                "above": (0, gap + 4, "middle"),
                "below": (0, -gap - 4, "middle"),
            }.get(at, (0, 0, "middle"))
            if anchor == "middle" and at != "center":  # words over a dot near an edge stay in the picture
                if px + need / 2 > room + self.margin.right:
                    anchor, dx = "end", 6
                elif px - need / 2 < -self.margin.left:
                    anchor, dx = "start", -6
            self._say(
                text,
                x,
                y,
                anchor=anchor,
                dx=dx,
                dy=dy,
                size=size,
                bold=s.bold,
                role=ink_for(s.role) if s.mark == "label" else "ink",
                halo=s.mark == "points",
            )

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
            along = fraction(x[k], self.xr, self.chart.x.log)
            how = {"anchor": "start", "dx": 8, "size": 12.5, "halo": along < 0.98}  # mid-plot it may cross a hairline
            if self.narrow:
                how = {"anchor": "end", "dx": 2, "dy": 11, "size": 11.5, "halo": True}
                first = next(v for v in y if v is not None)
                start, stop = (fraction(v, self.yr, self.chart.y.log) for v in (first, y[k]))
                if (start - stop) * self.scene.plot_height > LINE:  # over a falling line its words would cross it
                    how["dy"] = -11
                plot = FIT[True] - self.margin.left - self.margin.right
                need, room = measure(self.t(s.end), 11.5), along * plot
                if room < need and room + need + 6 <= plot + self.margin.right:
                    how |= {"anchor": "start", "dx": 6, "dy": 0}  # a line that ends early: its words go on
                elif room < need:
                    how["dx"] = round(need - room)
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
                    self._say(
                        self.t(totals[k]),
                        0,
                        top,
                        px=True,
                        anchor="start",
                        dx=round(shift),
                        dy=9,
                        size=12,
                        bold=True,
                        role="ink",
                    )
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
