"""What so many seeds can tell: how often a true difference would be reported, called sameness, or left open."""

from __future__ import annotations

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.lab.power import MARGIN, MEASURED, PLANNED, chances
from blocklib.text import Text

EFFECTS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08)  # the reader's own
SEEDS = (5, 6, 8, 12, 20)
GRID = tuple(k * 0.004 for k in range(26))  # points of the lines: nought to a tenth of a nat
KINDS = (
    ("differs", Text("报告有差别", "a difference"), "c1"),
    ("same", Text("报告相同", "the same"), "c2"),
    ("open", Text("没有显出差别", "none shown"), "c0"),
)
SPREADS = (
    (PLANNED["same-shapes"], Text("试跑，同形", "pilot, same shapes")),
    (PLANNED["other-shapes"], Text("试跑，异形", "pilot, others")),
    (MEASURED, Text("后来的中位数", "median since")),
)


def share(value: float) -> str:
    """A share of repeats; neither never nor always is claimed by rounding."""
    return "<0.1%" if value < 0.0005 else ">99.9%" if value > 0.9995 else percent(round(value, 3))


@exhibit(
    "noise-floor", number=70, title=Text("这么多种子，看得出多大的差别？", "How small a difference can so many seeds show?"),
    controls=(
        Range("effect", Text("真正的差，nat", "True difference, nats"), values=EFFECTS, default=0.02),
        Range("seeds", Text("种子", "Seeds"), values=SEEDS, default=8),
        Choice("sd", Text("配对差的离散", "Spread of a pair"), options=SPREADS, default=MEASURED),
        Choice("comparisons", Text("同一问题的对照", "Comparisons in the question"),
               options=((1, Text.same("1")), (5, Text.same("5"))), default=5),
    ),
)  # fmt: skip
def noise_floor(effect: float, seeds: int, sd: float, comparisons: int) -> State:
    """Chances of the three verdicts over the true difference, for a number of seeds and a spread."""
    here = chances(effect, sd, seeds, comparisons)
    along = [chances(x, sd, seeds, comparisons) for x in GRID]
    series: list[Series] = [
        Series(
            name,
            x=GRID,
            y=[round(100 * getattr(c, kind), 2) for c in along],
            mark="line",
            role=role,
            dash=False,
            end=name,
        )
        for kind, name, role in KINDS
    ]
    series += [
        Series(Text("此处", "here"), x=[effect], y=[], mark="rule", role="ink-2"),
        Series(
            Text("此处", "here"),
            x=[effect] * 3,
            y=[round(100 * getattr(here, kind), 2) for kind, *_ in KINDS],
            mark="points",
            role="ink",
        ),
    ]
    spread = num(sd)
    sentence = Text(
        f"真正的差是 **{num(effect)}** nat，配对差的标准差 **{spread}**，**{seeds}** 个种子，问题里有 **{comparisons}** 项对照"
        f"（按 Holm 最严的一步算）：报告有差别的占 **{share(here.differs)}**，报告在 ±{MARGIN} 以内相同的占 **{share(here.same)}**，"
        f"没有显出差别的占 **{share(here.open)}**。",
        f"A true difference of **{num(effect)}** nats, pairs that spread by **{spread}**, **{seeds}** seeds, **{comparisons}** "
        f"comparison{'s' * (comparisons > 1)} in the question (taken at Holm's strictest step): **{share(here.differs)}** of "
        f"repeats report a difference, **{share(here.same)}** report sameness within ±{MARGIN}, and **{share(here.open)}** show "
        "no difference.",
    )
    rows = [
        (f"{'▸ ' * (x == effect)}{num(x)}", *(share(v) for v in chances(x, sd, seeds, comparisons))) for x in EFFECTS
    ]
    return State(
        Chart(
            series,
            height=280,
            narrow_height=280,
            x=Axis(
                unit=Text("真正的差，nat", "true difference, nats"), range=(0, GRID[-1]), ticks=(0, 0.03, 0.06, 0.1)
            ),
            y=Axis(label=Text("重复实验中的百分数", "per cent of repeats"), range=(-6, 104), ticks=(0, 50, 100)),
            summary=Text(
                f"三条曲线随真正的差变化：在 {num(effect)} 处，有差别 {share(here.differs)}，相同 {share(here.same)}，未显出 {share(here.open)}。",
                f"Three lines over the true difference: at {num(effect)}, a difference {share(here.differs)}, the same "
                f"{share(here.same)}, none shown {share(here.open)}.",
            ),
        ),
        sentence,
        Table((Text("真正的差", "True difference"), *(name for _, name, _ in KINDS)), rows),
    )
