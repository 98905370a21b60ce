"""A chart that contradicts itself is refused with a message that names the place."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.charts import Axis, Chart, ChartError, Choice, Range, Series, State, Table, exhibit
from blocklib.text import Text
from tests.charts.samples import EVERY_MARK, GOOD, state

S = Text("说明", "summary")
CATS = Axis(categories=["a", "b"])


def bar(**more):
    return Series("s", x=[0, 1], y=[1, 2], **more)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Series("s", x=[1], y=[1, 2]), "x has 1 values and y has 2"),
        (lambda: Series("s", x=[], y=[]), "x has 0 values"),
        (lambda: bar(mark="pie"), "unknown mark 'pie'"),
        (lambda: bar(role="red"), "unknown role 'red'"),
        (lambda: bar(place="top"), "unknown place 'top'"),
        (lambda: Series("s", x=[0], y=[float("nan")]), "finite number"),
        (lambda: Series("s", x=[0], y=[True]), "finite number"),
        (lambda: Series("s", x=[0], y=[None]), "finite number"),
        (lambda: bar(labels=["one"]), "1 labels for 2 marks"),
        (lambda: bar(labels=["one", ""]), "empty"),
        (lambda: bar(mark="cells", alpha=[0, 2]), "alpha lies between"),
        (lambda: Series("s", x=[0, 1, 2], y=[0, 1, 2], mark="links"), "pairs of points"),
        (lambda: Series("s", x=[0], y=[0], mark="rule"), "a rule has one number"),
        (lambda: Series("s", x=[0], y=[0], mark="label"), "needs labels"),
        (lambda: bar(mark="line", stack="a"), "only bars stack"),
        (lambda: bar(thickness=0), "thickness"),
        (lambda: Series(Text("", "s"), x=[0], y=[0]), "empty in Chinese"),
        (lambda: Series(3, x=[0], y=[0]), "expected Text or str"),
        (lambda: Axis(range=(1, 1)), "axis range"),
        (lambda: Axis(range=(0, 1), log=True), "log axis"),
        (lambda: Axis(ticks=[1, 2, 3, 4, 5]), "at most 4"),
        (lambda: Axis(categories=["a"], log=True), "exclude"),
        (lambda: Chart([], summary=S), "no series"),
        (lambda: Chart([bar()], summary=Text("有", "")), "empty in English"),
        (lambda: Chart([bar(), bar(mark="hbar")], summary=S), "vertical and horizontal"),
        (lambda: Chart([bar()], y=Axis(log=True), summary=S), "logarithmic axis means nothing"),
        (lambda: Chart([Series("s", x=[0], y=[1], mark="line")], x=Axis(log=True), summary=S), "≤ 0"),
        (lambda: Chart([Series("s", x=[2], y=[1])], x=CATS, summary=S), "outside the 2 categories"),
        (lambda: Chart([bar()], x=CATS, totals=["1"], summary=S), "one per category"),
        (lambda: Chart([bar()], height=5000, summary=S), "chart height"),
        (lambda: Table(("a",), [(1,)]), "two columns"),
        (lambda: Table(("a", "b"), [(1,)]), "1 cells under 2 heads"),
        (lambda: Table(("a", "b"), [("x", None)]), "no text and no number"),
        (lambda: Table(("a", "b"), [("x", 1)], total=1), "no row 1"),
        (lambda: State(state().chart, Text("**甲", "**a**"), state().table), "unclosed"),
        (lambda: Range("a b", "x", values=(1, 2)), "identifier"),
        (lambda: Range("a", "x", values=(1,)), "at least two"),
        (lambda: Range("a", "x", values=(1, 2), default=3), "none of its values"),
        (lambda: Range("a", "x", values=(1, 2), labels=("one",)), "1 labels for 2"),
        (lambda: Choice("a", "x", options=tuple((i, str(i)) for i in range(5))), "at most four"),
        (lambda: GOOD.state(number=7), "no value 7"),
        (lambda: GOOD.state(speed=7), "no control 'speed'"),
        (lambda: exhibit("Bad Id", number=1, title=S)(state), "lower-case words"),
        (lambda: exhibit("big", number=1, title=S, controls=(
            Range("a", "x", values=range(50)), Range("b", "x", values=range(50))))(state), "2500 states"),
    ],
)  # fmt: skip
def test_refused(make, words):
    with pytest.raises(ChartError, match=words):
        make()


def test_every_mark_is_accepted():
    used = {s.mark for chart in EVERY_MARK.values() for s in chart.series}
    assert used == {"bar", "hbar", "line", "step", "points", "cells", "links", "rule", "label"}


def test_exact_numbers_become_drawable_ones():
    s = Series("s", x=[Fraction(1, 2)], y=[3], mark="points")
    assert s.x == (0.5,) and s.y == (3,)
    assert s.name == Text("s", "s")


def test_states_in_order_with_the_last_control_fastest():
    order = list(GOOD.indices())
    assert len(order) == GOOD.count == 12
    assert order[:3] == [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    assert GOOD.defaults == (1, 0, 0)
    assert GOOD.state().table.rows == GOOD.at((1, 0, 0)).table.rows
    assert GOOD.setting((2, 1, 0), "zh") == "数 3，方式 乙，步 起"
