"""The frame of a chart: where its bars and cells lie, what its axes span, and the margin its words need."""

from __future__ import annotations

from itertools import pairwise

from blocklib.charts.model import Axis, Chart, Series
from blocklib.charts.scale import span, ticks
from blocklib.charts.scene import FIT, NARROW, WIDE, Boxes, Margin, Scene, measure
from blocklib.text import Text

THICK = 0.66  # share of a category's row that its bars fill


class Frame:
    """Geometry of one chart in one language; ``margin`` overrides the one that the chart alone would need."""

    def __init__(self, chart: Chart, lang: str, narrow: bool, margin: Margin | None = None):
        self.chart, self.lang, self.narrow = chart, lang, narrow
        marks = {s.mark for s in chart.series}
        self.horizontal = "hbar" in marks
        self.named_rows = self.horizontal and chart.y.categories is not None
        self.above = self.named_rows and narrow  # row names stand above the bars
        self.label_size = 11 if narrow else 12.5
        self.boxes = self._boxes()
        self.xr = span(chart.x, [v for s in chart.series for v in s.x], self._extent(0))
        self.yr = span(chart.y, [v for s in chart.series for v in s.y if v is not None], self._extent(1))
        if chart.y.categories is not None:  # the first category stands on top
            self.yr = (self.yr[1], self.yr[0])
        limit = 3 if narrow else 4
        self.xticks = ticks(chart.x, self.xr, lang, limit)
        self.yticks = ticks(chart.y, self.yr, lang, 4)
        self.margin = margin or self.need()
        rows = len(chart.y.categories or ())
        height = chart.height
        if narrow:
            height = chart.narrow_height or (64 + 58 * rows if self.named_rows else chart.height)
        self.scene = Scene(
            NARROW if narrow else WIDE, height, self.margin, self.xr, self.yr, chart.x.log, chart.y.log, chart.square
        )

    def t(self, text: Text) -> str:
        """``text`` in the language of the frame."""
        return text[self.lang]

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
                out[i] = Boxes(
                    self.t(s.name),
                    list(s.x),
                    [side] * n,
                    [v - side / 2 for v in s.y],
                    [side] * n,
                    s.role,
                    s.alpha,
                    self._notes(s),
                )
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

    def _axis_label(self, axis: Axis) -> str | None:
        if axis.hidden or (axis.label is None and axis.unit is None):
            return None
        parts = [self.t(v) for v in (axis.label, axis.unit) if v is not None]
        return parts[0] if len(parts) == 1 else "{}（{}）".format(*parts) if self.lang == "zh" else ", ".join(parts)

    def need(self) -> Margin:
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
            lines = [
                s.end
                for s in chart.series
                if s.end is not None and (s.mark in ("line", "step") or (s.mark == "rule" and s.y))
            ]
            right = max([right, *(round(measure(self.t(t), 12.5)) + 14 for t in lines)])
        if self.above:
            top = 12
        if self._axis_label(chart.y):
            top = max(top, 26)
        lifted = not self.horizontal and (
            chart.totals or any(s.labels and (self._place(s) in ("end", "above")) for s in chart.series)
        )
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
        lines = [""]
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and measure(longer, size) > room:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def _tick_lines(self) -> int:
        if self.chart.x.categories is None or self.chart.x.hidden:
            return 1
        size = 11 if self.narrow else 12
        return max(len(self._wrap(text, self._slot() - 4, size)) for _, text in self.xticks)

    def _place(self, s: Series) -> str:
        if s.place is not None:
            return s.place
        if s.mark in ("bar", "hbar"):
            return "inside" if s.stack else "end"
        return {"cells": "inside", "label": "center"}.get(s.mark, "right")
