"""Exhibits of the lesson on four phrases: a line that is folded, and what a neuron reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num
from blocklib.text import Text
from blocklib.theory.four_phrases import PHRASES, TARGETS, error, line, phrase_error

NAMES = (Text("好吃", "tasty"), Text("不好吃", "not tasty"), Text("难吃", "awful"), Text("不难吃", "not awful"))
VALUES = tuple(Fraction(v, 2) for v in range(-2, 3))
STRAIGHT, FOLDED = Text("直的", "straight"), Text("在零处折一下", "folded at zero")
PLAN = ((False, STRAIGHT), (True, FOLDED))


def told(values: Sequence[Fraction], lang: str) -> str:
    """``tasty **1**, not tasty **0**, …``: the outputs in a sentence."""
    parts = [f"{name[lang]} **{num(v)}**" for name, v in zip(NAMES, values, strict=True)]
    return "、".join(parts) if lang == "zh" else ", ".join(parts)


@exhibit(
    "four-phrases", number=27, title=Text("一条直线判得了四个短语吗？", "Can one straight line judge four phrases?"),
    controls=(
        Range("negated", Text("否定的权重", "Weight of the negation"), values=VALUES, default=Fraction(-1)),
        Range("bad", Text("贬义的权重", "Weight of the bad word"), values=VALUES, default=Fraction(-1)),
        Range("bias", Text("偏置", "Bias"), values=VALUES, default=Fraction(1)),
        Choice("folded", Text("直线", "The line"), options=PLAN, default=False),
    ),
)  # fmt: skip
def four_phrases(negated: Fraction, bad: Fraction, bias: Fraction, folded: bool) -> State:
    """Outputs of an affine map of the two signals, straight, or folded by two ReLU neurons that take a side each."""
    height = line(negated, bad, bias)
    outputs = [abs(v) for v in height] if folded else list(height)
    places = list(range(len(PHRASES)))
    up, down, zero = ([i for i in places if sign == (height[i] > 0) - (height[i] < 0)] for sign in (1, -1, 0))
    parts = ((up, "c1", Text("线在零以上", "above zero")), (down, "c2", Text("线在零以下", "below zero")))
    series = [
        Series(name, x=some, y=[float(outputs[i]) for i in some], mark="bar", role=role, thickness=0.5,
               labels=[num(outputs[i]) for i in some])
        for some, role, name in parts if some
    ]  # fmt: skip
    if zero:
        series.append(
            Series(Text("零", "zero"), x=zero, y=[0.3] * len(zero), mark="label", role="ink", labels=["0"] * len(zero))
        )
    series.append(Series(Text("目标", "target"), x=[i + 0.36 for i in places], y=TARGETS, mark="points", role="ink"))
    missed, best = error(outputs), phrase_error("affine")
    verdict = (
        Text("，全部正确", ", all of them right") if missed == 0 else
        Text(f"；直线最好能到 **{num(best)}**", f"; a straight line gets to **{num(best)}** at best")
    )  # fmt: skip
    weights = f"**{num(negated)}**", f"**{num(bad)}**", f"**{num(bias)}**"
    how = Text("折过的", "folded") if folded else STRAIGHT
    sentence = Text(
        f"{how.zh}线，权重 {weights[0]}（否定）、{weights[1]}（贬义），偏置 {weights[2]}。输出：{told(outputs, 'zh')}。"
        f"均方误差 **{num(missed, 3)}**{verdict.zh}。",
        f"The {how.en} line with weights {weights[0]} (negation) and {weights[1]} (bad word) and bias {weights[2]} gives: "
        f"{told(outputs, 'en')}. Mean squared error **{num(missed, 3)}**{verdict.en}.",
    )  # fmt: skip
    head = [Text("短语", "Phrase"), Text("目标", "Target"), Text("直线", "Line")]
    rows = [[name, t, v] for name, t, v in zip(NAMES, TARGETS, height, strict=True)]
    if folded:
        head += [Text("神经元一", "Neuron one"), Text("神经元二", "Neuron two")]
        rows = [[*row, max(v, 0), max(-v, 0)] for row, v in zip(rows, height, strict=True)]
    head.append(Text("输出", "Output"))
    rows = [[*row, o] for row, o in zip(rows, outputs, strict=True)]
    rows.append([Text("均方误差", "mean squared error"), *["—"] * (len(head) - 2), num(missed, 3)])
    return State(
        Chart(series, height=270, narrow_height=260, x=Axis(categories=NAMES, range=(-0.5, 3.6)),
              y=Axis(label=Text("输出；圆点是目标", "output; the dot is the target"), range=(-3.4, 3.4), ticks=(-2, 0, 1, 2)),
              summary=Text(f"四根柱子，输出依次为 {'、'.join(num(v) for v in outputs)}；圆点是目标一、零、零、一。",
                           f"Four bars with outputs {', '.join(num(v) for v in outputs)}; dots at the targets one, zero, zero, one.")),
        sentence,
        Table(head, rows),
    )  # fmt: skip


READ = (
    ((-1, -1), Text("−否定 −贬义", "−neg −bad")),
    ((1, 1), Text("否定 + 贬义", "neg + bad")),
    ((1, 0), Text("否定", "neg")),
    ((0, 1), Text("贬义", "bad")),
    ((1, -1), Text("否定 − 贬义", "neg − bad")),
)
WIDE, TALL = (-1.6, 2.6), (-0.6, 1.6)  # the picture: the four phrases in the middle, room for their names
WRITE = ((1, Text("加进褒义", "adds to praise")), (-1, Text("从褒义里减", "takes from praise")))


def hinge(read: tuple[int, int], threshold: Fraction) -> list[tuple[float, float]]:
    """The ends of the line ``read · x = threshold`` within the picture; none where it does not cross it."""
    (a, b), c = read, float(threshold)
    ends = [(edge, (c - a * edge) / b) for edge in WIDE if b] + [((c - b * edge) / a, edge) for edge in TALL if a]
    inside = sorted({(x, y) for x, y in ends if WIDE[0] <= x <= WIDE[1] and TALL[0] <= y <= TALL[1]})
    return [inside[0], inside[-1]] if len(inside) > 1 else []


@exhibit(
    "read-threshold-write", number=28, title=Text("一个神经元读什么、何时开口、写什么？", "What one neuron reads, when it speaks, what it writes"),
    controls=(
        Range("read", Text("读的方向", "Reads along"), values=tuple(r for r, _ in READ), labels=tuple(t for _, t in READ),
              default=(-1, -1)),
        Range("threshold", Text("门槛", "Threshold"), values=VALUES, default=Fraction(-1)),
        Choice("write", Text("写", "Writes"), options=WRITE, default=1),
    ),
)  # fmt: skip
def read_threshold_write(read: tuple[int, int], threshold: Fraction, write: int) -> State:
    """The plane of the two signals with the neuron's hinge: at each phrase the amount it writes."""
    along = [read[0] * a + read[1] * b for a, b in PHRASES]
    active = [max(v - threshold, Fraction(0)) for v in along]
    written = [write * v for v in active]
    name, ends = dict(READ)[read], hinge(read, threshold)
    series = []
    if ends:
        series.append(Series(Text("折线：读数等于门槛", "hinge: reading equals threshold"), x=[p[0] for p in ends],
                             y=[p[1] for p in ends], mark="line", role="ink-2", dash=True))  # fmt: skip
    start = (0.5 - read[0] * 0.25, 0.5 - read[1] * 0.25)
    tip = (0.5 + read[0] * 0.25, 0.5 + read[1] * 0.25)
    series.append(Series(Text("读的方向", "read direction"), x=[start[0], tip[0]], y=[start[1], tip[1]], mark="line",
                         role="c1", dash=False))  # fmt: skip
    series.append(Series(Text("箭头", "its head"), x=[tip[0]], y=[tip[1]], mark="points", role="c1"))
    for quiet, side in product((False, True), (0, 1)):
        some = [i for i, v in enumerate(active) if (v == 0) is quiet and PHRASES[i][0] == side]
        if some:
            series.append(
                Series(Text("不说话", "silent") if quiet else Text("开口", "speaks"), x=[side] * len(some),
                       y=[PHRASES[i][1] for i in some], mark="points", role="c0" if quiet else "c1", bold=not quiet,
                       labels=[Text(f"{NAMES[i].zh} {num(written[i])}", f"{NAMES[i].en} {num(written[i])}") for i in some],
                       place="right" if side else "left"))  # fmt: skip
    firing = [i for i, v in enumerate(active) if v]
    said = {
        lang: told_some(firing, written, lang) if firing else {"zh": "它一个都不响应", "en": "it answers to none"}[lang]
        for lang in ("zh", "en")
    }
    does = dict(WRITE)[write]
    sentence = Text(
        f"读数是**{name.zh}**，门槛 **{num(threshold)}**，超出的部分{does.zh}：{said['zh']}。",
        f"It reads **{name.en}** against a threshold of **{num(threshold)}** and {does.en} by the excess: {said['en']}.",
    )
    rows = [
        (label, v, a, w) for label, v, a, w in zip(NAMES, along, active, written, strict=True)
    ]  # fmt: skip
    return State(
        Chart(series, height=330, narrow_height=240, square=True,
              x=Axis(label=Text("否定", "negation"), range=WIDE, ticks=(0, 1)),
              y=Axis(label=Text("贬义", "bad word"), range=TALL, ticks=(0, 1)),
              summary=Text(f"平面上四个短语，一条折线；神经元写：{'、'.join(num(w) for w in written)}。",
                           f"Four phrases in a plane and a hinge; the neuron writes {', '.join(num(w) for w in written)}.")),
        sentence,
        Table((Text("短语", "Phrase"), Text("读数", "Reading"), Text("超出门槛", "Above threshold"), Text("写入", "Written")), rows),
    )  # fmt: skip


def told_some(some: Sequence[int], written: Sequence[Fraction], lang: str) -> str:
    """The phrases at which the neuron speaks, with what it writes, and that it is silent at the others."""
    parts = [f"{NAMES[i][lang]} **{num(written[i])}**" for i in some]
    rest = len(some) < len(NAMES)
    if lang == "zh":
        return "、".join(parts) + ("，其余为 **0**" if rest else "")
    return ", ".join(parts) + (", the rest **0**" if rest else "")


def found_chart(found: Sequence[tuple[Text, int]], starts: int) -> State:
    """How often training found the solution: (name of the model, how many of ``starts`` random starts reached it)."""
    shares = [Fraction(count, starts) for _, count in found]

    def percent(share: Fraction) -> str:
        return f"{num(share * 100)}%"

    told_ = {
        lang: ("；" if lang == "zh" else "; ").join(
            f"{name[lang]} **{percent(share)}**" for (name, _), share in zip(found, shares, strict=True))
        for lang in ("zh", "en")
    }  # fmt: skip
    return State(
        Chart(
            [Series(Text("找到的份额", "share that found it"), x=[float(s * 100) for s in shares], y=range(len(found)), mark="hbar",
                    role="c1", labels=[percent(s) for s in shares], place="end")],
            height=60 + 34 * len(found), x=Axis(unit="%", range=(0, 100), ticks=(0, 50, 100)),
            y=Axis(categories=[name for name, _ in found]),
            summary=Text("横条：各种网络里，训练找到解的起点所占的份额。", "Bars: for each network, the share of starts from which training found the solution."),
        ),
        Text(f"{starts} 个随机起点里，训练找到解的份额：{told_['zh']}。",
             f"Of {starts} random starts, training found the solution from this share: {told_['en']}."),
        Table((Text("网络", "Network"), Text("找到的起点", "Starts that found it"), Text("份额", "Share")),
              [(name, count, percent(share)) for (name, count), share in zip(found, shares, strict=True)]),
    )  # fmt: skip
