"""Exhibits of the page on normalisation that act on numbers: compound growth, LayerNorm's steps, two norms compared."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num
from blocklib.charts.primer.vectors import components, listed, mean, rms, two, variance
from blocklib.text import Text
from blocklib.theory.growth import compound_curve, compound_factor
from blocklib.theory.norm_ops import rmsnorm_output_mean

LAYERS = 24
FACTORS = tuple(Fraction(f) for f in ("0.6", "0.8", "0.9", "0.95", "1", "1.05", "1.1", "1.2", "1.3", "1.4"))


@exhibit(
    "growth", number=4, title=Text("每层差一点，二十四层之后差多少？", "A little a layer: how much after twenty-four?"),
    controls=(Range("factor", Text("每层的因子", "Factor per layer"), values=FACTORS, default=Fraction("1.1")),),
)  # fmt: skip
def growth(factor: Fraction) -> State:
    """Size after each layer on a log axis; the other factors of the slider stand behind as a fan."""
    depth = list(range(LAYERS + 1))
    last = compound_factor(factor, LAYERS)
    said = num(last, 5)
    series = [Series(Text(f"因子 {num(f)}", f"factor {num(f)}"), x=(0, LAYERS), y=(1, compound_factor(f, LAYERS)),
                     mark="line", role="ghost") for f in FACTORS if f != factor]  # fmt: skip
    series += [
        Series(Text("量级", "size"), x=depth, y=[float(v) for v in compound_curve(factor, LAYERS)], mark="line", role="c1",
               end=Text(f"{said} 倍", f"{said} times")),
        Series(Text("末层", "the last layer"), x=[LAYERS], y=[last], mark="points", role="c1"),
    ]  # fmt: skip
    way = (Text("既不涨也不缩", "neither growth nor shrinkage") if factor == 1 else
           Text("爆炸的一侧", "the exploding side") if factor > 1 else Text("消失的一侧", "the vanishing side"))  # fmt: skip
    sentence = Text(
        f"每层乘 **{num(factor)}**，**{LAYERS}** 层之后量级是起点的 **{said}** 倍：{way.zh}。",
        f"With a factor of **{num(factor)}** per layer, the size after **{LAYERS}** layers is **{said}** times the "
        f"start: {way.en}.")  # fmt: skip
    rows = [
        (Text(f"{k} 层之后", f"after layer {k}"), num(compound_factor(factor, k), 5))
        for k in (0, 1, 2, 4, 8, 12, 16, 20, LAYERS)
    ]
    return State(
        Chart(series, height=270, narrow_height=250,
              x=Axis(unit=Text("层", "layer"), range=(0, LAYERS), ticks=(0, 8, 16, LAYERS)),
              y=Axis(label=Text("量级，起点为一", "size, starting from one"), log=True, range=(1e-6, 1e4)),
              summary=Text(f"对数纵轴上的一条直线，从一到 {said}；背后是其他因子的直线。",
                           f"A straight line on a log axis, from one to {said}; behind it the lines of other factors.")),
        sentence,
        Table((Text("层", "Layer"), Text("量级", "Size")), rows),
    )  # fmt: skip


# An input that can be checked by hand: eight whole numbers with mean 3 and population standard deviation 4, so
# their root mean square is 5.
VECTOR = (6, -2, 10, 1, -1, 7, 0, 3)
STEPS = (
    Text("原样", "as it came"),
    Text("减去均值", "mean subtracted"),
    Text("再除以标准差", "then divided by the deviation"),
)
AT_STEP = ("As it came", "With its mean subtracted", "Then divided by its standard deviation")


@cache
def normed(kind: str, values: tuple[float, ...], eps: float | None = None) -> tuple[float, ...]:
    """``values`` through the library's norm, gain one and bias zero; ``eps`` is the norm's own default if None."""
    import torch

    from blocklib.nn.norm import LayerNorm, RMSNorm

    norm = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}[kind](len(values), affine=False)
    norm.eps = norm.eps if eps is None else eps
    return tuple(norm(torch.tensor(values, dtype=torch.float64)).tolist())


def stages() -> tuple[tuple[float, ...], ...]:
    """The vector as it came, centred, and after LayerNorm."""
    centre = mean(VECTOR)
    return tuple(map(float, VECTOR)), tuple(v - centre for v in VECTOR), normed("layernorm", VECTOR)


@exhibit(
    "layernorm-steps", number=5, title=Text("两步之后，均值和方差是多少？", "After two steps, what are mean and variance?"),
    controls=(Steps("step", Text("步骤", "Step"), values=(0, 1, 2), labels=STEPS, default=1),),
)  # fmt: skip
def layernorm_steps(step: int) -> State:
    """Eight components before LayerNorm, centred, and scaled, with mean and variance at each stop."""
    values = stages()[step]
    centre, spread = mean(values), variance(values)
    short_of_one = 1 - spread
    place = list(range(len(values)))
    shown = Text(f"1 − {num(short_of_one, 3)}", f"1 − {num(short_of_one, 3)}") if step == 2 else Text.same(num(spread))
    sentence = Text(
        f"{STEPS[step].zh}：向量是 **{listed(values)}**，均值 **{two(centre)}**，方差 **{shown.zh}**。"
        + ("差的那一点来自 ε = 10⁻⁵；增益取一，偏置取零。" if step == 2 else ""),
        f"{AT_STEP[step]}, the vector is **{listed(values)}**, with mean **{two(centre)}** and "
        f"variance **{shown.en}**." + (" What is missing is ε = 10⁻⁵; the gain is one, the bias zero." if step == 2 else ""))  # fmt: skip
    rows = [(head, *(two(stages()[s][i]) if s <= step else "—" for s in range(3)))
            for i, head in enumerate(components(len(values)))]  # fmt: skip
    rows.append((Text("均值", "mean"), *(two(mean(stages()[s])) if s <= step else "—" for s in range(3))))
    rows.append((Text("方差", "variance"), *((shown if s == 2 else num(variance(stages()[s]))) if s <= step else "—"
                                           for s in range(3))))  # fmt: skip
    reach = max(VECTOR)
    return State(
        Chart([
            Series(Text("分量", "components"), x=place, y=values, mark="bar", role="c1", thickness=0.62,
                   labels=[two(v) for v in values]),
            Series(Text("均值", "mean"), x=(), y=[centre], mark="rule", role="ink"),
            Series(Text("统计量", "statistics"), x=[len(values) - 0.5], y=[reach * 1.28], mark="label", role="ink", place="left",
                   labels=[Text(f"均值 {two(centre)}，方差 {shown.zh}", f"mean {two(centre)}, variance {shown.en}")], bold=True),
        ], height=250, narrow_height=240,
              x=Axis(categories=[str(i + 1) for i in place], unit=Text("第几维", "component")),
              y=Axis(range=(-reach * 0.75, reach * 1.4), hidden=True),
              summary=Text(f"八根柱子与一条虚线：虚线是均值 {two(centre)}，方差 {shown.zh}。",
                           f"Eight bars and a dashed line at their mean, {two(centre)}; the variance is {shown.en}.")),
        sentence,
        Table((Text("维", "Component"), *STEPS), rows),
    )  # fmt: skip


MEANS = (-6, -3, -1, 0, 1, 3, 6)
NORMS = (("layernorm", "LayerNorm"), ("rmsnorm", "RMSNorm"))


def moved(to: int) -> tuple[float, ...]:
    """The vector with the same number added to all components, so that its mean becomes ``to``."""
    return tuple(v - mean(VECTOR) + to for v in VECTOR)


@exhibit(
    "norm-toggle", number=6, title=Text("输出的均值落在哪里？", "Where does the mean of the output lie?"),
    controls=(
        Choice("norm", Text("归一化", "Norm"), options=NORMS, default="rmsnorm"),
        Range("centre", Text("输入的均值", "Mean of the input"), values=MEANS, default=3),
    ),
)  # fmt: skip
def norm_toggle(norm: str, centre: int) -> State:
    """The output of either norm for one vector moved to different means. Epsilon is zero, so the means are exact."""
    given = moved(centre)
    out = normed(norm, given, 0.0)
    name, place = dict(NORMS)[norm], list(range(len(out)))
    if norm == "layernorm":
        size, middle = variance(given) ** 0.5, 0
        how = Text(
            f"减去均值，再除以标准差 **{num(size)}**",
            f"less their mean, divided by the standard deviation **{num(size)}**",
        )
        why = Text("减过均值，所以总是零", "always zero, since the mean was subtracted")
    else:
        size, middle = rms(given), rmsnorm_output_mean(centre, Fraction(variance(given) ** 0.5))
        how = Text(f"除以均方根 **{num(size)}**", f"divided by their root mean square **{num(size)}**")
        why = Text("输入的均值除以均方根", "the input's mean over its root mean square")
        if centre == 0:
            why = Text(
                "输入的均值本来就是零，此时两种归一化重合",
                "the input's mean was zero already, and the two norms coincide",
            )
    sentence = Text(
        f"**{name}**：输入 {listed(given)} 的均值是 **{num(centre)}**；{how.zh}，得到 **{listed(out)}**，均值 **{num(middle)}**：{why.zh}。",
        f"**{name}**: the inputs {listed(given)} have mean **{num(centre)}**; {how.en}, they become **{listed(out)}** with mean "
        f"**{num(middle)}**: {why.en}.")  # fmt: skip
    rows = [(head, two(given[i]), two(out[i])) for i, head in enumerate(components(len(out)))]
    rows.append((Text("均值", "mean"), num(centre), num(middle)))
    every = [v for kind, _ in NORMS for to in MEANS for v in normed(kind, moved(to), 0.0)]
    return State(
        Chart([
            Series(Text("输出", "output"), x=place, y=out, mark="bar", role="c1", thickness=0.62, labels=[two(v) for v in out]),
            Series(Text("输出的均值", "mean of the output"), x=(), y=[middle], mark="rule", role="ink"),
            Series(Text("读数", "reading"), x=[len(out) - 0.5], y=[max(every) * 1.3], mark="label", role="ink", place="left",
                   labels=[Text(f"均值 {num(middle, 3)}", f"mean {num(middle, 3)}")], bold=True),
        ], height=270, narrow_height=260,
              x=Axis(categories=[str(i + 1) for i in place], unit=Text("第几维", "component")),
              y=Axis(range=(min(every) * 1.2, max(every) * 1.4), hidden=True),
              summary=Text(f"八根柱子是 {name} 的输出，虚线是它们的均值 {num(middle)}。",
                           f"Eight bars for the output of {name}, a dashed line at their mean, {num(middle)}.")),
        sentence,
        Table((Text("维", "Component"), Text("输入", "Input"), Text(f"{name} 的输出", f"Output of {name}")), rows),
    )  # fmt: skip
