"""Exhibits of the chapter on the inside of the FFN: the curve of one neuron, and a curve made of hinges."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import pi, sin

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num
from blocklib.exact import DomainError
from blocklib.text import Text
from blocklib.theory.activations import activation_slope, activation_value

KINDS = (("relu", "ReLU"), ("gelu", "GELU"), ("silu", "SiLU"), ("relu2", "ReLU²"))
READINGS = tuple(Fraction(n, 2) for n in range(-4, 5))
THRESHOLDS = (Fraction(0), Fraction(1, 2), Fraction(1))
WRITE = (Fraction("0.8"), Fraction("-0.6"))
LOW, HIGH = -2, 2


def listed(values: list[float]) -> str:
    """A vector in brackets, to three digits."""
    return f"({', '.join(num(v, 3) for v in values)})"


def slope_said(kind: str, at: Fraction) -> Text:
    """The slope there in words: ReLU has two at its hinge."""
    try:
        value = num(activation_slope(kind, at), 3)
        return Text(f"斜率 **{value}**", f"its slope **{value}**")
    except DomainError:
        return Text("左边的斜率 **0**，右边的 **1**", "its slope **0** to the left and **1** to the right")


@exhibit(
    "neuron-curve", number=56, title=Text("一个神经元：读多少，写多少？", "One neuron: how much is read, how much written?"),
    controls=(
        Choice("kind", Text("激活函数", "Activation"), options=KINDS, default="relu"),
        Range("reading", Text("读数 w·x", "Reading w·x"), values=READINGS, default=Fraction(2)),
        Range("threshold", Text("门槛 θ", "Threshold θ"), values=THRESHOLDS, default=Fraction(1, 2)),
    ),
)  # fmt: skip
def neuron_curve(kind: str, reading: Fraction, threshold: Fraction) -> State:
    """The activation along the read direction, moved to the threshold, and what is written at one reading."""
    name, at = dict(KINDS)[kind], reading - threshold
    steps = [LOW + i * (HIGH - LOW) / 120 for i in range(121)]
    value = activation_value(kind, at)
    written = [round(float(w) * value, 3) for w in WRITE]
    curves = [
        Series(label, x=steps, y=[activation_value(k, s - float(threshold)) for s in steps], mark="line",
               role="c1" if k == kind else "ghost", dash=False)
        for k, label in sorted(KINDS, key=lambda pair: pair[0] == kind)
    ]  # fmt: skip
    amount, vector = num(value, 3), listed(written)
    slope = slope_said(kind, at)
    by = num(abs(at))
    side = Text("正在门槛上", "right at it")
    if at:
        side = (
            Text(f"距门槛还差 **{by}**", f"**{by}** short of it")
            if at < 0
            else Text(f"越过门槛 **{by}**", f"**{by}** past it")
        )
    sentence = Text(
        f"**{name}**，门槛 **{num(threshold)}**，读数 **{num(reading)}**，{side.zh}：激活值 **{amount}**，{slope.zh}；"
        f"沿写方向 ({num(WRITE[0])}, {num(WRITE[1])}) 写入 **{vector}**。",
        f"**{name}** with threshold **{num(threshold)}** and reading **{num(reading)}**, {side.en}: the "
        f"activation is **{amount}**, {slope.en}, and along the write direction ({num(WRITE[0])}, {num(WRITE[1])}) it "
        f"writes **{vector}**.",
    )
    rows = [
        (label if k != kind else f"▸ {label}", num(activation_value(k, at), 3), said_plain(k, at)) for k, label in KINDS
    ]
    rows.append((Text("读数，门槛", "reading, threshold"), num(reading), num(threshold)))
    return State(
        Chart(
            [
                *curves,
                Series(Text("门槛", "threshold"), x=[threshold], y=(), mark="rule", role="line-2"),
                Series(Text("此处", "here"), x=[reading], y=[value], mark="points", role="ink"),
                Series(Text("读数", "readout"), x=[LOW + 0.15], y=[4.4], mark="label", role="ink", place="right", bold=True,
                       labels=[Text(f"{name}：激活 {amount}", f"{name}: activation {amount}")]),
                Series(Text("写入", "written"), x=[LOW + 0.15], y=[3.7], mark="label", role="ink", place="right",
                       labels=[Text(f"写入 {vector}", f"writes {vector}")]),
            ],
            height=270, narrow_height=260,
            x=Axis(label=Text("读数 w·x", "reading w·x"), range=(LOW, HIGH), ticks=(-2, 0, 2)),
            y=Axis(range=(-0.5, 4.8), ticks=(0, 2, 4)),
            summary=Text(f"{name} 的曲线，门槛处一条竖虚线，读数 {num(reading)} 处的激活值 {amount}；背后是另外三种。",
                         f"The curve of {name} with a dashed line at the threshold; at reading {num(reading)} it stands at "
                         f"{amount}. The other three lie behind."),
        ),
        sentence,
        Table((Text("激活函数", "Activation"), Text("激活值", "Value"), Text("斜率", "Slope")), rows),
    )  # fmt: skip


def said_plain(kind: str, at: Fraction) -> Text:
    """The slope as a table cell."""
    try:
        return Text.same(num(activation_slope(kind, at), 3))
    except DomainError:
        return Text("左 0，右 1", "0 left, 1 right")


COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)
GRID = 480


def curve(x: float) -> float:
    """The curve to be made: a wave over [−1, 1] without symmetry, so that no two pieces happen to line up."""
    return sin(pi * x + 0.7)


@cache
def fitted(neurons: int, activation: str) -> tuple[float, ...]:
    """What an FFN of this many neurons makes of the grid: with ReLU, hinges spread evenly and pieces that meet the curve
    where they meet each other; without an activation, the line that fits best by least squares."""
    import torch

    from blocklib.nn.ffn import FeedForward

    x = torch.linspace(-1, 1, GRID + 1, dtype=torch.float64)[:, None]
    ffn = FeedForward(1, neurons, activation="relu", bias=True).double()
    knots = [-1 + 2 * i / neurons for i in range(neurons + 1)]
    heights = [curve(k) for k in knots]
    with torch.no_grad():
        if activation == "none":
            ffn.activation = lambda v: v
            target = torch.tensor([[curve(v)] for v in x[:, 0].tolist()], dtype=torch.float64)
            line = torch.linalg.lstsq(torch.cat([x, torch.ones_like(x)], 1), target).solution[:, 0].tolist()
            ffn.up.weight.fill_(1.0)
            ffn.up.bias.zero_()
            ffn.down.weight.fill_(line[0] / neurons)
            ffn.down.bias.fill_(line[1])
        else:
            slopes = [(b - a) * neurons / 2 for a, b in zip(heights, heights[1:], strict=False)]
            bends = [slopes[0], *(b - a for a, b in zip(slopes, slopes[1:], strict=False))]
            ffn.up.weight.fill_(1.0)
            ffn.up.bias.copy_(-torch.tensor(knots[:-1], dtype=torch.float64))
            ffn.down.weight.copy_(torch.tensor([bends], dtype=torch.float64))
            ffn.down.bias.fill_(heights[0])
        return tuple(ffn(x)[:, 0].tolist())


def bends_in(values: tuple[float, ...]) -> int:
    """Straight pieces of a sampled line, counted by where its slope changes."""
    second = [abs(a - 2 * b + c) > 1e-9 for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    return 1 + sum(now and not before for before, now in zip([False, *second], second, strict=False))


@exhibit(
    "hinges", number=57, title=Text("几个折点，能拼出多弯的曲线？", "How much of a curve can hinges make?"),
    controls=(
        Range("neurons", Text("神经元数", "Neurons"), values=COUNTS, default=6),
        Choice("activation", Text("中间的函数", "Function between"),
               options=(("relu", "ReLU"), ("none", Text("没有", "none"))), default="relu"),
    ),
)  # fmt: skip
def hinges(neurons: int, activation: str) -> State:
    """A wave and what an FFN of the chosen width makes of it, with an activation and without."""
    made = fitted(neurons, activation)
    xs = [-1 + 2 * i / GRID for i in range(GRID + 1)]
    missed = [abs(a - curve(x)) for a, x in zip(made, xs, strict=True)]
    worst, count = num(max(missed), 3), bends_in(made)
    shown = range(0, GRID + 1, 4)
    knots = [-1 + 2 * i / neurons for i in range(neurons)] if activation == "relu" else []
    if activation == "relu":
        said = Text(
            f"由 **{count}** 段直线拼成", f"it is made of **{count}** straight {'piece' if count == 1 else 'pieces'}"
        )
    else:
        said = Text(
            f"还是 **{count}** 条直线，取其中最好的（最小二乘）",
            f"it is still **{count}** straight line, here the best by least squares",
        )
    name = Text("带 ReLU", "with ReLU") if activation == "relu" else Text("没有激活函数", "without an activation")
    sentence = Text(
        f"**{neurons}** 个神经元，{name.zh}：{said.zh}，与曲线最多差 **{worst}**。",
        f"**{neurons}** {'neuron' if neurons == 1 else 'neurons'} {name.en}: {said.en}, at most **{worst}** from the curve.",
    )
    series = [
        Series(Text("曲线", "the curve"), x=[xs[i] for i in shown], y=[curve(xs[i]) for i in shown], mark="line", role="ghost"),
        Series(Text("FFN", "FFN"), x=[xs[i] for i in shown], y=[round(made[i], 5) for i in shown], mark="line", role="c1"),
    ]  # fmt: skip
    if knots:
        series.append(Series(Text("折点", "hinges"), x=knots, y=[curve(k) for k in knots], mark="points", role="c1"))
    series.append(Series(Text("读数", "readout"), x=[-0.95], y=[1.35], mark="label", role="ink", place="right", bold=True,
                         labels=[Text(f"{count} 段，最多差 {worst}", f"{count} {'piece' if count == 1 else 'pieces'}, off by up to {worst}")]))  # fmt: skip
    rows = []
    for n in COUNTS:
        each = {kind: fitted(n, kind) for kind in ("relu", "none")}
        off = [num(max(abs(a - curve(x)) for a, x in zip(v, xs, strict=True)), 3) for v in each.values()]
        mark = "▸ " * (n == neurons)
        rows.append((Text(f"{mark}{n}", f"{mark}{n}"), bends_in(each["relu"]), off[0], off[1]))
    rows.append(
        (Text("所选", "chosen"), count, worst if activation == "relu" else "—", worst if activation == "none" else "—")
    )
    return State(
        Chart(
            series, height=270, narrow_height=260,
            x=Axis(label=Text("输入", "input"), range=(-1, 1), ticks=(-1, 0, 1)),
            y=Axis(range=(-1.2, 1.6), ticks=(-1, 0, 1)),
            summary=Text(f"一条波浪线，和 FFN 拼出的 {count} 段直线，最多差 {worst}。",
                         f"A wave, and the {count} straight {'piece' if count == 1 else 'pieces'} the FFN makes of it, off by "
                         f"at most {worst}."),
        ),
        sentence,
        Table((Text("神经元", "Neurons"), Text("段数", "Pieces"), Text("带 ReLU 最多差", "Off by, with ReLU"),
               Text("没有激活最多差", "Off by, without")), rows),
    )  # fmt: skip
