"""The map of how the block's parts changed: four parts by five eras, one exhibit a part.

Each exhibit draws the whole map, dwells on its own part, and walks through the eras: what was done, and what spoke for
another step. The cells stand in :mod:`blocklib.charts.design.evolution_rows`.
"""

from __future__ import annotations

from functools import cache

from blocklib.charts import Axis, Chart, Series, State, Steps, Table, exhibit
from blocklib.charts.design.evolution_rows import ROWS, Cell
from blocklib.text import Text

ERAS = (
    (Text.same("2017"), Text("**2017**，原版 Transformer", "**2017**, the original Transformer")),
    (Text.same("2019"), Text("**2019**，GPT-2", "**2019**, GPT-2")),
    (Text("2020 起", "2020 on"), Text("**2020** 年起，Llama 一系", "From **2020**, the Llama line")),
    (Text.same("2026"), Text("**2026**，Qwen3.8-27B", "**2026**, Qwen3.8-27B")),
    (Text("分岔", "apart"), Text("眼下，各家分岔", "By now, going apart")),
)
PARTS = ("ffn", "residual", "norm", "gate")
NAMES = {"ffn": Text.same("FFN"), "residual": Text("残差", "residual"), "norm": Text("归一化", "norm"),
         "gate": Text("门", "gate")}  # fmt: skip


@cache
def table_of(part: str) -> tuple[Cell, ...]:
    """The five cells of a part, oldest first."""
    return ROWS[part]()


def bare(words: Text) -> Text:
    """Without the marks of bold."""
    return Text(words.zh.replace("**", ""), words.en.replace("**", ""))


def mark(words: Text, chosen: bool) -> Text:
    """With a pointer before the chosen row's head."""
    return Text(f"▸ {words.zh}", f"▸ {words.en}") if chosen else words


def walk(part: str, era: int) -> State:
    """The whole map with one part's column set off and one of its cells marked, and that cell in words."""
    cell, own = table_of(part)[era], PARTS.index(part)
    others = [(x, y) for x in range(len(PARTS)) for y in range(len(ERAS)) if x != own]
    mine = [(own, y) for y in range(len(ERAS)) if y != era]
    here = [(own, era)]
    series = [
        Series(name, x=[x for x, _ in at], y=[y for _, y in at], mark="cells", role=role, thickness=0.94,
               alpha=[alpha] * len(at), labels=[table_of(PARTS[x])[y].short for x, y in at], bold=role == "c1" and alpha == 1)
        for name, at, role, alpha in (
            (Text("其他部件", "other parts"), others, "ghost", 0.18),
            (Text("本行其他年代", "this part, other eras"), mine, "c1", 0.2),
            (Text("所选年代", "chosen era"), here, "c1", 1.0),
        )
    ]  # fmt: skip
    when, plain = ERAS[era][1], bare(ERAS[era][1])
    last = era == len(ERAS) - 1
    sentence = Text(
        f"{when.zh}。{NAMES[part].zh}：{cell.practice.zh}。" + ("" if last else f"换代的理由：{cell.next.zh}。"),
        f"{when.en}. {NAMES[part].en[0].upper()}{NAMES[part].en[1:]}: {cell.practice.en}."
        + ("" if last else f" What spoke for a change: {cell.next.en}."),
    )
    rows = [
        tuple(bare(words) for words in (mark(ERAS[i][1], i == era), c.practice, c.next))
        for i, c in enumerate(table_of(part))
    ]
    return State(
        Chart(
            series, height=270, narrow_height=260,
            x=Axis(categories=[NAMES[p] for p in PARTS]),
            y=Axis(categories=[short for short, _ in ERAS]),
            summary=Text(f"四列五行的表，{NAMES[part].zh}一列加重，{plain.zh}的一格最深：{cell.short.zh}。",
                         f"A map of four columns and five rows; the column of the {NAMES[part].en} stands out, and in it "
                         f"the cell of {plain.en}: {cell.short.en}."),
        ),
        sentence,
        Table((Text("年代", "Era"), Text("做法", "Practice"), Text("换代的理由", "What spoke for a change")), rows),
    )  # fmt: skip


def steps() -> Steps:
    """The control that all four share."""
    return Steps(
        "era", Text("年代", "Era"), values=tuple(range(len(ERAS))), labels=tuple(short for short, _ in ERAS), default=1
    )


@exhibit(
    "evolution-norm",
    number=26,
    title=Text("归一化：每一步为什么换？", "The norm: why did each step follow?"),
    controls=(steps(),),
)
def evolution_norm(era: int) -> State:
    """The norm's column of the map."""
    return walk("norm", era)


@exhibit(
    "evolution-ffn",
    number=50,
    title=Text("FFN：每一步为什么换？", "The FFN: why did each step follow?"),
    controls=(steps(),),
)
def evolution_ffn(era: int) -> State:
    """The FFN's column of the map."""
    return walk("ffn", era)


@exhibit(
    "evolution-residual",
    number=51,
    title=Text("残差：每一步为什么换？", "The residual: why did each step follow?"),
    controls=(steps(),),
)
def evolution_residual(era: int) -> State:
    """The residual's column of the map."""
    return walk("residual", era)


@exhibit(
    "evolution-gate",
    number=52,
    title=Text("门：每一步为什么换？", "The gate: why did each step follow?"),
    controls=(steps(),),
)
def evolution_gate(era: int) -> State:
    """The gate's column of the map."""
    return walk("gate", era)
