"""Exhibits of the page on residuals: what is passed on, gradients against depth, the rail, and the record of 2015."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.charts.primer.vectors import components, listed, small_ffn, two
from blocklib.facts.registry import evaluate
from blocklib.text import Text
from blocklib.theory.residual import bare_gradient, residual_gradient, scaled_skip_gradient

WIDTH = 6
SCALES = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1))


@cache
def branch() -> tuple[list[float], list[float]]:
    """An input x and what an FFN with random weights makes of it, f(x)."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(5)
        ffn, x = small_ffn(WIDTH, 0.5), torch.randn(WIDTH, dtype=torch.float64)
    with torch.no_grad():
        return x.tolist(), ffn(x).tolist()


@exhibit(
    "residual-toggle", number=8, title=Text("加号在不在，往后传什么？", "With or without the plus sign: what is passed on?"),
    controls=(
        Choice("skip", Text("残差", "Residual"), options=((True, Text("有", "on")), (False, Text("无", "off"))), default=True),
        Range("scale", Text("f 的输出乘以", "Output of f times"), values=SCALES, default=Fraction(1)),
    ),
)  # fmt: skip
def residual_toggle(skip: bool, scale: Fraction) -> State:
    """Input beside what is passed on, with the branch at full strength, weaker or silent."""
    x, full = branch()
    f = [float(scale) * v for v in full]
    y = [a + b if skip else b for a, b in zip(x, f, strict=True)]
    place = list(range(WIDTH))
    passed = Text("x + f(x)", "x + f(x)") if skip else Text("f(x)", "f(x)")
    same = skip and scale == 0
    end = (Text("恰好是 x 本身", "x itself, exactly") if same else Text("什么也没剩下", "nothing is left") if scale == 0 else
           Text("x 还在，f 只添了修正", "x is still there, f only corrects it") if skip else
           Text("x 不在里面，全靠 f 重造", "x is gone, all of it has to come from f"))  # fmt: skip
    times = Text(f"f 的输出乘以 {num(scale)}", f"f's output times {num(scale)}")
    sentence = Text(
        f"输入 x 是 {listed(x)}，{times.zh}，往后传的 **{passed.zh}** 是 **{listed(y)}**：{end.zh}。",
        f"The input x is {listed(x)}; with {times.en}, **{passed.en}** passes on **{listed(y)}**: {end.en}.",
    )
    reach = max(abs(a) + abs(b) for a, b in zip(x, full, strict=True)) * 1.15
    rows = [(head, two(x[i]), two(f[i]), two(y[i])) for i, head in enumerate(components(WIDTH))]
    return State(
        Chart([
            Series("x", x=[i - 0.24 for i in place], y=x, mark="bar", role="ghost", thickness=0.2),
            Series(passed, x=[i + 0.1 for i in place], y=y, mark="bar", role="c1", thickness=0.42, labels=[two(v) for v in y]),
        ], height=240, narrow_height=230,
              x=Axis(categories=[str(i + 1) for i in place], unit=Text("第几维", "component")),
              y=Axis(range=(-reach, reach), hidden=True),
              summary=Text(f"细柱是输入 x，粗柱是往后传的 {passed.zh}{'，两者等高' if same else ''}。",
                           f"Thin bars for the input x, thick ones for what is passed on, {passed.en}"
                           f"{', equally high' if same else ''}.")),
        sentence,
        Table((Text("维", "Component"), "x", Text("乘过的 f(x)", "f(x), scaled"), Text(f"往后传：{passed.zh}",
               f"passed on: {passed.en}")), rows),
    )  # fmt: skip


DEEPEST = 24
DEPTHS = (0, 1, 2, 4, 8, 12, 16, 20, DEEPEST)
GAINS = tuple(Fraction(g) for g in ("-0.9", "-0.3", "0.1", "0.3", "0.5", "0.7", "0.9"))
BARE, IDENTITY, WHOLE = Text("裸链条", "bare chain"), Text("恒等路径", "identity path"), Text("全部路径", "all paths")


def size(value: float | Fraction) -> str:
    """A gradient to four digits, but with every digit before the point: 339,449, not 339,400, which reads as exact."""
    return num(value, max(4, len(str(int(value)))))


@exhibit(
    "gradient-depth", number=9, title=Text("传到第一层，梯度还剩多少？", "How much gradient reaches the first layer?"),
    controls=(
        Range("layers", Text("层数 L", "Layers L"), values=DEPTHS, default=12),
        Range("gain", Text("每层的 g", "g per layer"), values=GAINS, default=Fraction("0.7")),
    ),
)  # fmt: skip
def gradient_depth(layers: int, gain: Fraction) -> State:
    """Sizes of the bare product, the identity path and the whole product up to the chosen depth."""
    depth = list(range(layers + 1))
    bare = [abs(bare_gradient(gain, k)) for k in depth]
    whole = [residual_gradient(gain, k) for k in depth]
    series = [
        Series(WHOLE, x=depth, y=whole, mark="line", role="c1", end=Text(f"全部路径 {size(whole[-1])}",
               f"all paths {size(whole[-1])}")),
        Series(IDENTITY, x=depth, y=[1] * len(depth), mark="line", role="c0", dash=True,
               end=Text("恒等路径 1", "identity path 1")),
        Series(BARE, x=depth, y=bare, mark="line", role="c2", end=Text(f"裸链条 {num(bare[-1])}", f"bare chain {num(bare[-1])}")),
    ]  # fmt: skip
    for s in list(series):
        series.append(Series(s.name, x=[layers], y=[s.y[-1]], mark="points", role=s.role))
    ends = [f(gain, DEEPEST) for f in (bare_gradient, residual_gradient)]
    low, high = (float(f(1, *(abs(v) for v in ends))) for f in (min, max))
    span = max(high / low, 10)  # room for three lines of words over the highest line
    sentence = Text(
        f"每层的 g 是 **{num(gain)}**，穿过 **{layers}** 层：裸链条剩 **{num(bare[-1])}**；残差链条里恒等路径是 **1**，"
        f"全部路径加起来是 **{size(whole[-1])}**。",
        f"With g at **{num(gain)}** and **{layers}** layers to cross, the bare chain keeps **{num(bare[-1])}**; in the residual "
        f"chain the identity path is **1** and all paths together come to **{size(whole[-1])}**.")  # fmt: skip
    rows = [(Text(f"{'▸ ' * (k == layers)}{k} 层", f"{'▸ ' * (k == layers)}{k} layers"), abs(bare_gradient(gain, k)), 1,
             size(residual_gradient(gain, k))) for k in DEPTHS]  # fmt: skip
    return State(
        Chart(series, height=290, narrow_height=280,
              x=Axis(unit=Text("梯度穿过的层数", "layers crossed"), range=(0, DEEPEST), ticks=(0, 8, 16, DEEPEST)),
              y=Axis(label=Text("梯度的大小", "size of the gradient"), log=True,
                     range=(low / span**0.15, high * span**0.35)),
              summary=Text(f"对数纵轴上三条线，画到第 {layers} 层：裸链条 {num(bare[-1])}，恒等路径平在 1，"
                           f"全部路径 {size(whole[-1])}。",
                           f"Three lines on a log axis up to layer {layers}: the bare chain at {num(bare[-1])}, the "
                           f"identity path flat at 1, all paths at {size(whole[-1])}.")),
        sentence,
        Table((Text("层数", "Layers"), Text("裸链条 |g|ᴸ", "bare chain |g|ᴸ"), IDENTITY,
               Text("全部路径 (1+g)ᴸ", "all paths (1+g)ᴸ")), rows),
    )  # fmt: skip


RAIL_GAIN = Fraction("0.7")
RAIL_BLOCKS = (1, 2, 4, 6, 8, 12, 16, 20, DEEPEST)


@exhibit(
    "skip-rail", number=10, title=Text("拆掉捷径，第一块收到什么？", "Remove the rail: what reaches the first block?"),
    controls=(
        Choice("rail", Text("捷径", "Skip"), options=((True, Text("保留", "in place")), (False, Text("拆掉", "removed"))),
               default=True),
        Range("blocks", Text("块数 N", "Blocks N"), values=RAIL_BLOCKS, default=12),
    ),
)  # fmt: skip
def skip_rail(rail: bool, blocks: int) -> State:
    """A row of blocks, with or without the rail above it; each block fades with the gradient that reaches its input."""
    place = list(range(1, blocks + 1))
    reaching = [scaled_skip_gradient(int(rail), RAIL_GAIN, blocks - i + 1) for i in place]
    first = reaching[0]
    line, top, side = 0.0, 1.0, 0.56
    series = [Series(Text("主路", "main line"), x=(0.3, blocks + 0.7), y=(line, line), mark="links", role="line-2")]
    if rail:
        posts = [v for i in place for edge in (i - 0.42, i + 0.42) for v in (edge, edge)]
        series += [
            Series(Text("捷径", "skips"), x=(0.3, blocks + 0.7), y=(top, top), mark="line", role="c1"),
            Series(
                Text("分岔与汇合", "forks and joins"), x=posts, y=[line, top] * (2 * blocks), mark="links", role="c1"
            ),
        ]
    series.append(
        Series(
            Text("块", "blocks"),
            x=place,
            y=[line] * blocks,
            mark="cells",
            role="c0",
            thickness=side,
            alpha=[min(1.0, max(0.08, float(v))) for v in reaching],
        )
    )
    said = Text(f"第一块收到 {size(first)}", f"block 1 receives {size(first)}")
    if rail:
        said = Text(f"第一块：恒等路径 1，全部路径 {size(first)}", f"block 1: identity path 1, all paths {size(first)}")
    series.append(Series(Text("读数", "reading"), x=[0.3], y=[-0.85], mark="label", role="ink", labels=[said], place="right",
                         bold=True))  # fmt: skip
    series.append(
        Series(
            Text("来向", "where it comes from"),
            x=[blocks + 0.9],
            y=[line],
            mark="label",
            role="ink-2",
            labels=[Text("← 梯度", "← gradient")],
            place="right",
        )
    )
    bare = bare_gradient(RAIL_GAIN, blocks)
    g = num(RAIL_GAIN)
    sentence = Text(
        f"**{blocks}** 块，每块的 g 是 {g}。" + (
            f"捷径在：恒等路径给第一块的梯度是 **1**，全部路径加起来是 **{size(first)}**。" if rail else
            f"捷径拆掉：传到第一块的梯度是 **{size(first)}**，就是裸链条的那个数，没有一条不衰减的路。"),
        f"**{blocks}** {'block' if blocks == 1 else 'blocks'}, g = {g} in each. " + (
            f"With the skips in place the identity path brings the first block a gradient of **1**, and all paths together "
            f"bring **{size(first)}**." if rail else
            f"With the skips removed, **{size(first)}** of the gradient reaches the first block, the number of the bare "
            f"chain, and no path is left that does not decay."))  # fmt: skip
    rows = [
        (Text("块数", "blocks"), blocks),
        (Text("经恒等路径传到第一块", "reaches block 1 by the identity path"), 1 if rail else "—"),
        (Text("经全部路径传到第一块", "reaches block 1 in all"), size(first)),
        (Text("裸链条作对照", "the bare chain, for comparison"), size(bare)),
    ]
    return State(
        Chart(series, height=170, narrow_height=160,
              x=Axis(range=(0.2, 1.26 * max(blocks, 12) + 1), hidden=True), y=Axis(range=(-1.2, 1.3), hidden=True),
              summary=Text(f"一排 {blocks} 个块，{'上方是一条连通的捷径' if rail else '上方没有捷径，越靠前的块颜色越淡'}。",
                           f"A row of {blocks} blocks, {'with an unbroken rail above' if rail else 'no rail above, paler towards the first'}.")),
        sentence,
        Table((Text("读数", "Reading"), Text("数值", "Value")), rows),
    )  # fmt: skip


def cited(expr: str) -> Fraction | int:
    """Value of a figure from the literature, from the registry of facts."""
    return evaluate(expr).value


@exhibit(
    "trainable-depth", number=11, title=Text("加深之后，是更好还是更差？", "Deeper: better or worse?"),
    controls=(
        Choice("show", Text("看", "Show"), options=(
            ("error", Text("同样深度的误差", "error at equal depth")), ("depth", Text("几个网络的深度", "depths of networks"))),
            default="error"),
    ),
)  # fmt: skip
def trainable_depth(show: str) -> State:
    """ImageNet errors of plain and residual networks at two depths, or the depths that the papers report."""
    return errors() if show == "error" else depths()


def errors() -> State:
    """Top-1 errors of four networks of He et al. 2015, Table 2."""
    error = {(kind, n): cited(f"resnet_error?network={kind}-{n}") for kind in ("plain", "resnet") for n in (18, 34)}
    names = {"plain": Text("不带残差", "without residuals"), "resnet": Text("带残差", "with residuals")}
    say = {key: percent(v, 4) for key, v in error.items()}
    rise = error["plain", 34] - error["plain", 18]
    fall = error["resnet", 18] - error["resnet", 34]
    sentence = Text(
        f"ImageNet 的 top-1 错误率：不带残差，18 层 **{say['plain', 18]}**，34 层 **{say['plain', 34]}**，加深反而升了 "
        f"**{num(rise * 100)}** 个百分点；带残差，**{say['resnet', 18]}** 与 **{say['resnet', 34]}**，降了 **{num(fall * 100)}** 个。",
        f"Top-1 error on ImageNet: without residuals **{say['plain', 18]}** at 18 layers and **{say['plain', 34]}** at 34, up "
        f"by **{num(rise * 100)}** points; with residuals **{say['resnet', 18]}** and **{say['resnet', 34]}**, down by "
        f"**{num(fall * 100)}**.")  # fmt: skip
    layers = [Text("18 层", "18 layers"), Text("34 层", "34 layers")]
    series = [Series(names[kind], x=[float(error[kind, n] * 100) for n in (18, 34)], y=(0, 1), mark="hbar", role=role,
                     labels=[Text(f"{names[kind].zh} {say[kind, n]}", f"{names[kind].en} {say[kind, n]}") for n in (18, 34)],
                     place="inside") for kind, role in (("plain", "ghost"), ("resnet", "c1"))]  # fmt: skip
    return State(
        Chart(series, height=230, narrow_height=250,
              x=Axis(unit=Text("top-1 错误率，%", "top-1 error, %"), range=(0, 30)), y=Axis(categories=layers),
              summary=Text("四根横条，两种深度各两根：不带残差的加深后变长，带残差的变短。",
                           "Four bars, two at each depth: deeper, the one without residuals is longer and the one with them shorter.")),
        sentence,
        Table((Text("网络", "Network"), Text("18 层", "18 layers"), Text("34 层", "34 layers")),
              [(names[kind], say[kind, 18], say[kind, 34]) for kind in names]),
    )  # fmt: skip


def depths() -> State:
    """Layers of the networks named on the page; Highway Networks say "hundreds" and get no bar."""
    shallow, deep = (cited(f"plain_depth?network={which}") for which in ("shallower", "deeper"))
    deepest, next_year = cited("resnet_depth"), cited("preact_resnet_depth")
    rows = [
        (
            Text("不带残差，CIFAR-10，训练误差较低的", "without residuals, CIFAR-10, the lower training error"),
            "2015-12",
            num(shallow),
        ),
        (
            Text("不带残差，CIFAR-10，训练误差较高的", "without residuals, CIFAR-10, the higher training error"),
            "2015-12",
            num(deep),
        ),
        (Text("Highway，门控捷径", "Highway, gated skips"), "2015-05", Text("数百", "hundreds")),
        (Text("ResNet-152，ImageNet", "ResNet-152, ImageNet"), "2015-12", num(deepest)),
        (Text("预激活 ResNet，CIFAR", "pre-activation ResNet, CIFAR"), "2016-03", num(next_year)),
    ]
    sentence = Text(
        f"不带残差，CIFAR-10 上 **{deep}** 层的训练误差已高于 **{shallow}** 层；带残差，同一篇 2015 年的论文在 ImageNet 上训到 **{deepest}** "
        f"层，次年另一篇在 CIFAR 上训到 **{num(next_year)}** 层。更早的 Highway Networks（2015 年 5 月）用门控捷径，自述「数百层」。",
        f"Without residuals **{deep}** layers already have a higher training error than **{shallow}** on CIFAR-10; with them the same 2015 paper "
        f"goes to **{deepest}** on ImageNet, and another, a year later, to **{num(next_year)}** on CIFAR. The paper on Highway "
        f"Networks, which have gated skips, speaks of hundreds of layers in May 2015.")  # fmt: skip
    names = [
        Text("不带残差，较浅", "without, shallower"),
        Text("不带残差，较深", "without, deeper"),
        Text("ResNet-152", "ResNet-152"),
    ]
    return State(
        Chart([Series(Text("不带残差", "without residuals"), x=(shallow, deep), y=(0, 1), mark="hbar", role="ghost", thickness=0.6),
               Series(Text("带残差", "with residuals"), x=[deepest], y=[2], mark="hbar", role="c1", thickness=0.6)],
              height=230, narrow_height=250,
              x=Axis(unit=Text("层", "layers"), range=(0, deepest)), y=Axis(categories=names),
              totals=[num(shallow), Text(f"{deep}，误差更高", f"{deep}, higher error"), num(deepest)],
              summary=Text(f"三根横条：不带残差 {shallow} 层与 {deep} 层，带残差 {deepest} 层。",
                           f"Three bars: {shallow} and {deep} layers without residuals, {deepest} with them.")),
        sentence,
        Table((Text("网络", "Network"), Text("论文发布", "Paper"), Text("层数", "Layers")), rows),
    )  # fmt: skip
