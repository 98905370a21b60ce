"""Small exhibits for tests: every mark once, and some that break a rule. They are never registered."""

from __future__ import annotations

from blocklib.charts import Axis, Chart, Choice, Exhibit, Range, Series, State, Steps, Table
from blocklib.text import Text


def state(value: float = 1.0, words: str = "", rows: float | None = None) -> State:
    chart = Chart([Series("s", x=[value], y=[0], mark="hbar", labels=[Text("值", "value")])],
                  y=Axis(categories=[Text("行", "row")]), summary=Text("一根横条", "one bar"))  # fmt: skip
    return State(chart, Text(f"值 **{words or value}**", f"value **{words or value}**"),
                 Table(("k", Text("值", "value")), [("a", value if rows is None else rows)]))  # fmt: skip


def sample(function, *controls) -> Exhibit:
    return Exhibit("sample", 1, Text("样本", "Sample"), tuple(controls), function, __name__)


NUMBER = Range("number", Text("数", "Number"), values=(1, 2, 3), default=2)
WAY = Choice("way", Text("方式", "Way"), options=((1, Text("甲", "one")), (10, Text("乙", "ten"))))
WALK = Steps("step", Text("步", "Step"), values=(0, 1), labels=(Text("起", "start"), Text("止", "stop")))

GOOD = sample(lambda number, way, step: state(number * way + step / 2), NUMBER, WAY, WALK)

T = Text
EVERY_MARK = {
    "hbars": Chart(
        [Series(T("甲", "a"), x=[3, 2], y=[0, 1], mark="hbar", stack="s", role="ghost",
                labels=[T("共有", "shared"), T("共有", "shared")]),
         Series(T("乙", "b"), x=[1], y=[0], mark="hbar", stack="s", role="run", labels=[T("独有", "own")])],
        y=Axis(categories=[T("上行", "upper row"), T("下行", "lower row")]),
        x=Axis(label=T("次数", "count"), unit=T("次", "times")), totals=["4", "2"], summary=T("横条", "bars")),
    "bars": Chart(
        [Series(T("甲", "a"), x=[0, 1], y=[2, -1], role="train", labels=["2", "−1"]),
         Series(T("乙", "b"), x=[0, 1], y=[1, 1], role="c2", labels=["1", "1"]),
         Series(T("均值", "mean"), x=[], y=[0.5], mark="rule", end=T("均值线", "mean line"))],
        x=Axis(categories=[T("左", "left"), T("一个很长的名字", "a rather long name")]), y=Axis(label=T("值", "value")),
        summary=T("柱", "columns")),
    "lines": Chart(
        [Series(T("甲", "a"), x=[0, 1, 2], y=[1, None, 1e-4], mark="line", role="train", end=T("甲线", "line a")),
         Series(T("乙", "b"), x=[0, 1, 2], y=[1, 2, 3], mark="step", role="run", end=T("乙线", "line b")),
         Series(T("点", "p"), x=[1], y=[0.1], mark="points", role="c3", labels=[T("模型", "model")], notes=["n"]),
         Series(T("竖", "v"), x=[1], y=[], mark="rule", end=T("此处", "here")),
         Series(T("字", "w"), x=[0.5], y=[0.01], mark="label", labels=[T("旁注 <b>&", "aside <b>&")])],
        x=Axis(label=T("层", "layer")), y=Axis(label=T("尺度", "scale"), log=True), summary=T("线", "lines")),
    "cells": Chart(
        [Series(T("连", "links"), x=[0, 1], y=[0, 1], mark="links", role="ink"),
         Series(T("格", "cells"), x=[0, 1], y=[0, 1], mark="cells", role="run", alpha=[0.2, 1], labels=["x", "y"])],
        x=Axis(hidden=True), y=Axis(hidden=True), square=True, summary=T("格 \"与\" 线", "cells \"and\" links")),
}  # fmt: skip
