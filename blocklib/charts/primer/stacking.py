"""Exhibits of the page on stacking: blocks one by one, depth against width, equal budgets, paths."""

from __future__ import annotations

from fractions import Fraction

from blocklib.atlas.model_facts import stack_params
from blocklib.atlas.models import PRIMER_IDS, load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.ledger import params
from blocklib.ledger.config import Config
from blocklib.text import Text
from blocklib.theory import paths
from blocklib.theory.scaling import (
    depth_scaling,
    equal_budget_residual,
    equal_budget_width,
    matrix_params,
    width_scaling,
)

BASE = "gpt3-175b"
GPT2 = ("gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b")


def both(text: str) -> Text:
    """The same characters in both languages."""
    return Text.same(text)


@exhibit(
    "build-stack", number=18, title=Text("再添一块，变了什么？", "One block more: what changes?"),
    controls=(
        Range("blocks", Text("块数 N", "Blocks N"), values=(1, 2, 4, 8, 12, 24, 36, 48, 96), default=12),
        Choice("model", Text("宽度取自", "Width of"), options=(
            ("gpt2-small", "GPT-2 small"), ("gpt3-175b", "GPT-3")), default="gpt2-small"),
    ),
)  # fmt: skip
def build_stack(blocks: int, model: str) -> State:
    """A pile of equally wide blocks: the width stays, the count and the parameters of the blocks grow."""
    config, name = load(model).config, load(model).name
    one = stack_params(model) // config.n_layers
    at_depth = [load(m).name for m in GPT2 if load(m).config.n_layers == blocks]
    rows = range(1, blocks + 1)
    label = Text(f"宽 {num(config.d_model)}", f"width {num(config.d_model)}")
    series = [Series(Text("块", "blocks"), x=[config.d_model] * blocks, y=list(rows), mark="hbar", role="ghost",
                     thickness=0.72)]  # fmt: skip
    series.append(Series(Text("宽度", "width"), x=[config.d_model], y=[blocks + 0.07 * max(blocks, 24)], mark="label",
                         role="ink", labels=[label], place="left", bold=True))  # fmt: skip
    total = blocks * one
    named = Text(f"这也是 {'、'.join(at_depth)} 的深度。", f"That is also the depth of {' and '.join(at_depth)}.")
    sentence = Text(
        f"宽度取 {name} 的 **{num(config.d_model)}**，叠 **{blocks}** 个块：宽度不变，所有块一共 **{num(total)}** 个参数，"
        f"每块 **{num(one)}** 个。" + (named.zh if at_depth else ""),
        f"At the width of {name}, **{num(config.d_model)}**, a stack of **{blocks}** keeps its width and has "
        f"**{num(total)}** parameters in its blocks, **{num(one)}** each. " + (named.en if at_depth else ""))  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=280,
              x=Axis(unit=Text("宽度 d", "width d"), range=(0, config.d_model * 1.02)),
              y=Axis(range=(0, 1.16 * max(blocks, 24)), ticks=[(1, both("1")), *([(blocks, both(str(blocks)))] if blocks > 8 else [])],
                     label=Text("第几块", "block")),
              summary=Text(f"{blocks} 条同样长的横条叠在一起，每条宽 {num(config.d_model)}。",
                           f"{blocks} bars of equal length, one above the other, each {num(config.d_model)} wide.")),
        sentence,
        Table((Text("读数", "Reading"), Text("数值", "Value")), (
            (Text("块数", "blocks"), blocks), (Text("宽度", "width"), config.d_model),
            (Text("每块参数", "parameters a block"), one), (Text("所有块的参数", "parameters of all blocks"), total))),
    )  # fmt: skip


def matrices(config: Config) -> int:
    """Weights in the matrices of all blocks of a model with attention in every block: its own, not the textbook's."""
    return config.n_layers * (params.attention_weights(config) + params.ffn_weights(config))


FACTORS = (1, 1.5, 2, 2.5, 3, 4, 6, 8)


@exhibit(
    "depth-scaling", number=19, title=Text("同一个倍数，加深与加宽", "One factor, spent on depth or on width"),
    controls=(
        Range("factor", Text("倍数 k", "Factor k"), values=FACTORS, default=4),
        Choice("base", Text("起点", "From"), options=(
            ("gpt2-small", "GPT-2 small"), ("llama-3-8b", "Llama-3-8B")), default="gpt2-small"),
    ),
)  # fmt: skip
def depth_scaling_exhibit(factor: float, base: str) -> State:
    """Block matrices against the factor: k for depth, k² for width (inner widths in step); real models by their own count."""
    k = Fraction(str(factor))
    origin = load(base)
    start = matrices(origin.config)
    deep, wide = depth_scaling(k), width_scaling(k)
    grid = [Fraction(i, 8) for i in range(8, 65)]
    lines = [
        Series(Text("只加宽", "wider only"), x=grid, y=[width_scaling(g) for g in grid], mark="line", role="c1",
               end=Text("只加宽 k²", "wider only, k²")),
        Series(Text("只加深", "deeper only"), x=grid, y=[depth_scaling(g) for g in grid], mark="line", role="c2",
               end=Text("只加深 k", "deeper only, k")),
        Series(Text("只加宽", "wider only"), x=[k], y=[wide], mark="points", role="ink", place="left", bold=True,
               labels=[num(wide) if wide != deep else None]),
        Series(Text("只加深", "deeper only"), x=[k], y=[deep], mark="points", role="ink", bold=True,
               place="right" if k < FACTORS[-1] else "below", labels=[num(deep)]),
    ]  # fmt: skip
    rows, points = [], []
    for model in PRIMER_IDS:
        c = load(model).config
        if c.recurrent_layers:  # a hybrid's recurrent layers have other matrices
            continue
        ratio = Fraction(matrices(c), start)
        depth, width = Fraction(c.n_layers, origin.config.n_layers), Fraction(c.d_model, origin.config.d_model)
        rows.append((load(model).name, num(depth), num(width), num(ratio)))
        if 1 <= width <= 8 and 1 <= ratio <= 64 and model != base:
            note = Text(
                f"{load(model).name}：深 {num(depth)} 倍，宽 {num(width)} 倍，共 {num(ratio)} 倍",
                f"{load(model).name}: {num(depth)} × depth, {num(width)} × width, {num(ratio)} × in all",
            )
            points.append((width, ratio, note))
    if points:
        lines.append(
            Series(
                Text("真实模型，按宽度", "real models, by width"),
                x=[p[0] for p in points],
                y=[p[1] for p in points],
                mark="points",
                role="ghost",
                notes=[p[2] for p in points],
            )
        )
    sentence = Text(
        f"从 {origin.name} 出发，倍数 **{num(k)}**：只加深，块内矩阵变成 **{num(deep)}** 倍，共 **{num(start * deep)}** 个；"
        f"只加宽，变成 **{num(wide)}** 倍，共 **{num(start * wide)}** 个。",
        f"From {origin.name} with factor **{num(k)}**: deeper only, the blocks' matrices hold **{num(deep)}** times as many "
        f"weights, **{num(start * deep)}**; wider only, **{num(wide)}** times as many, **{num(start * wide)}**.",
    )
    return State(
        Chart(lines, height=300, narrow_height=300,
              x=Axis(unit=Text("倍数 k", "factor k"), range=(1, 8), ticks=(1, 2, 4, 8), log=True),
              y=Axis(label=Text("块内矩阵的倍数", "block matrices, times"), range=(0.9, 70), ticks=(1, 4, 16, 64), log=True),
              summary=Text(f"两条线：只加深是 k，只加宽是 k²；在 k = {num(k)} 处分别是 {num(deep)} 和 {num(wide)}。散点是真实模型。",
                           f"Two lines, k for deeper and k² for wider: {num(deep)} and {num(wide)} at k = {num(k)}. "
                           "Dots are real models.")),
        sentence,
        Table((Text("模型或做法", "Model or move"), Text("深度倍数", "depth ×"), Text("宽度倍数", "width ×"),
               Text("块内矩阵倍数", "matrices ×")),
              [(Text("只加深", "deeper only"), num(k), "1", num(deep)), (Text("只加宽", "wider only"), "1", num(k), num(wide)),
               *rows]),
    )  # fmt: skip


DEPTHS = (6, 12, 24, 48, 96, 192, 384)


def beside(blocks: int, width: int, words: Text | str, below: bool | None = None) -> Series:
    """Words beside a point of the falling line where the line is not: over it to the right, under it to the left."""
    below = blocks > 24 if below is None else below
    at, place = ((blocks * 0.96, width / 1.2), "left") if below else ((blocks * 1.04, width * 1.2), "right")
    return Series(
        Text("读数", "reading"),
        x=[at[0]],
        y=[at[1]],
        mark="label",
        role="ink",
        labels=[words],
        place=place,
        bold=isinstance(words, Text),
    )


@exhibit(
    "equal-budget", number=20, title=Text("同一笔预算，浅而宽还是深而窄？", "One budget: shallow and wide, or deep and narrow?"),
    controls=(
        Range("blocks", Text("块数 N", "Blocks N"), values=DEPTHS, default=96),
        Choice("base", Text("预算取自", "Budget of"), options=(
            ("gpt3-175b", "GPT-3"), ("gpt2-small", "GPT-2 small")), default="gpt3-175b"),
    ),
)  # fmt: skip
def equal_budget(blocks: int, base: str) -> State:
    """All shapes with the same N·d²: the width that goes with each depth, and what rounding leaves over."""
    c, name = load(base).config, load(base).name
    widths = {n: equal_budget_width(n, c.n_layers, c.d_model) for n in DEPTHS}
    width, left = widths[blocks], equal_budget_residual(blocks, c.n_layers, c.d_model)
    budget = matrix_params(c.n_layers, c.d_model)
    series = [
        Series(Text("同一预算", "equal budget"), x=DEPTHS, y=[widths[n] for n in DEPTHS], mark="line", role="c0"),
        Series(name, x=[c.n_layers], y=[c.d_model], mark="points", role="ghost"),
        Series(Text("此处", "here"), x=[blocks], y=[width], mark="points", role="ink"),
        beside(blocks, width, Text.same(f"{blocks} × {num(width)}")),
    ]
    if blocks != c.n_layers:
        series.append(beside(c.n_layers, c.d_model, name, below=True))
    rows = [(Text(f"{n} 块", f"{n} blocks"), num(widths[n]), num(equal_budget_residual(n, c.n_layers, c.d_model)))
            for n in DEPTHS]  # fmt: skip
    sentence = Text(
        f"预算是 {name} 的 **{num(budget)}** 个矩阵参数：叠 **{blocks}** 块，宽度就是 **{num(width)}**，"
        f"与预算差 **{num(left)}** 个参数。",
        f"On the budget of {name}, **{num(budget)}** weights, **{blocks}** blocks can be **{num(width)}** wide, "
        f"**{num(left)}** weights off the budget.")  # fmt: skip
    high, low = max(widths.values()), min(widths.values())
    ticks = (4096, 8192, 16384, 32768) if base == BASE else (128, 256, 512, 1024)
    return State(
        Chart(series, height=280, narrow_height=280,
              x=Axis(unit=Text("块数 N", "blocks N"), log=True, range=(5, 460), ticks=(6, 24, 96, 384)),
              y=Axis(label=Text("宽度 d", "width d"), log=True, range=(low * 0.75, high * 1.4), ticks=ticks),
              summary=Text(f"一条下降的线：块数越多，宽度越小；{blocks} 块处宽 {num(width)}。",
                           f"A falling line: more blocks, less width; {num(width)} at {blocks} blocks.")),
        sentence,
        Table((Text("块数", "Blocks"), Text("宽度", "Width"), Text("与预算之差", "Off the budget by")),
              [*rows, (Text("此处", "here"), num(width), num(left))]),
    )  # fmt: skip


PATH_BLOCKS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 80, 96)


def counted(count: int) -> str:
    """A count in full while it is short, then with its magnitude or as a power."""
    return num(count) if count < 10**16 else num(float(count))


@exhibit(
    "path-counts", number=21, title=Text("展开成路径：有多少条，各有多长？", "Expanded into paths: how many, how long?"),
    controls=(
        Range("blocks", Text("块数 N", "Blocks N"), values=PATH_BLOCKS, default=24),
        Choice("weight", Text("计法", "Count"), options=(("each", Text("每条一份", "each path once")),
               ("gradient", Text("按梯度，g = 0.3", "by gradient, g = 0.3"))), default="each"),
    ),
)  # fmt: skip
def path_counts(blocks: int, weight: str) -> State:
    """Histogram of path lengths, each path once or weighted by the gradient it carries; real models by their depth."""
    gain = Fraction(3, 10)
    total = paths.implicit_paths(blocks)
    if weight == "each":
        shares = [Fraction(n, total) for n in paths.path_histogram(blocks)]
        mean, sd = paths.path_length_mean(blocks), paths.path_length_sd(blocks)
    else:
        shares = list(paths.path_weights(blocks, gain))
        mean, sd = paths.weighted_path_length(blocks, gain), paths.weighted_path_length_sd(blocks, gain)
    top = max(shares)
    series = [
        Series(Text("路径的份额", "share of paths"), x=list(range(blocks + 1)), y=[s * 100 for s in shares], mark="bar",
               role="c1", thickness=0.8),
        Series(Text("平均长度", "mean length"), x=[mean], y=[], mark="rule", role="ink-2",
               end=Text(f"平均 {num(mean)}", f"mean {num(mean)}")),
    ]  # fmt: skip
    depths: dict[int, list[str]] = {}
    for model in PRIMER_IDS:
        depths.setdefault(load(model).config.n_layers, []).append(load(model).name)
    here = depths.get(blocks, [])
    marks = [d for d in depths if d <= blocks]
    if marks:
        series.append(Series(Text("真实模型的深度", "depths of real models"), x=marks, y=[-top * 6] * len(marks),
                             mark="points", role="ghost",
                             notes=[Text(f"{'、'.join(depths[d])}：{d} 块", f"{', '.join(depths[d])}: {d} blocks")
                                    for d in marks]))  # fmt: skip
    how = {"each": Text("每条路径算一份", "With each path counted once"),
           "gradient": Text("按各自携带的梯度加权（每条支路的增益是 0.3）",
                            "Weighted by the gradient each path carries (gain 0.3 a branch)")}[weight]  # fmt: skip
    users = Text(f"这个深度的真实模型：{'、'.join(here)}。", f" Real models of this depth: {', '.join(here)}.")
    sentence = Text(
        f"**{blocks}** 个块有 **{counted(total)}** 条路径。{how.zh}，平均长度 **{num(mean)}**，标准差 **{num(sd)}**。"
        + (users.zh if here else ""),
        f"**{blocks}** {'block has' if blocks == 1 else 'blocks have'} **{counted(total)}** paths. {how.en}, the mean length is **{num(mean)}** with a "
        f"standard deviation of **{num(sd)}**." + (users.en if here else ""))  # fmt: skip
    rows = [(Text(f"长度 {k}", f"length {k}"), counted(n), percent(s) if s >= Fraction(1, 10**6) else num(float(s)))
            for k, (n, s) in enumerate(zip(paths.path_histogram(blocks), shares, strict=True))]  # fmt: skip
    rows += [(Text(f"{load(m).name}（{load(m).config.n_layers} 块）", f"{load(m).name} ({load(m).config.n_layers} blocks)"),
              counted(paths.implicit_paths(load(m).config.n_layers)), "—") for m in PRIMER_IDS]  # fmt: skip
    return State(
        Chart(series, height=280, narrow_height=270,
              x=Axis(unit=Text("路径长度（经过的块数）", "path length (blocks gone through)"), range=(-0.7, blocks + 0.7)),
              y=Axis(label=Text("份额，%", "share, %"), range=(-top * 12, top * 112)),
              summary=Text(f"路径长度的直方图，峰在 {num(mean)} 附近；下方圆点是真实模型的深度。",
                           f"Histogram of path lengths, peaked near {num(mean)}; dots below mark depths of real models.")),
        sentence,
        Table((Text("长度或模型", "Length or model"), Text("路径数", "Paths"), Text("份额", "Share")), rows),
    )  # fmt: skip
