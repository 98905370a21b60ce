"""Exhibits of the page on pre-norm and post-norm: two walks, the factor on the skip, the growing stream."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.atlas.models import PRIMER_IDS, load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num
from blocklib.charts.primer.vectors import components, listed, rms, small_ffn, two
from blocklib.text import Text
from blocklib.theory.residual import (
    cancelling_gain,
    post_norm_gradient,
    post_norm_identity,
    pre_norm_gradient,
    unit_write_norm_factor,
)
from blocklib.theory.stream import stream_rms

WIDTH = 6
POST = (Text("x", "x"), Text("f(x)", "f(x)"), Text("x + f(x)", "x + f(x)"), Text("N(x + f(x))", "N(x + f(x))"))
PRE = (Text("x", "x"), Text("N(x)", "N(x)"), Text("f(N(x))", "f(N(x))"), Text("x + f(N(x))", "x + f(N(x))"))
SIZES = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


@cache
def walks(size: Fraction) -> tuple[tuple[list[float], ...], tuple[list[float], ...]]:
    """Post-norm's and pre-norm's vectors at the four steps, for one input whose RMS is ``size``."""
    import torch

    from blocklib.nn.norm import LayerNorm, RMSNorm

    with torch.random.fork_rng():
        torch.manual_seed(1)
        f, x = small_ffn(WIDTH), torch.randn(WIDTH, dtype=torch.float64)
    norm = LayerNorm(WIDTH, affine=False)
    with torch.no_grad():
        x = RMSNorm(WIDTH, eps=0.0, affine=False)(x) * float(size)
        post = (x, f(x), x + f(x), norm(x + f(x)))
        pre = (x, norm(x), f(norm(x)), x + f(norm(x)))
    return tuple(v.tolist() for v in post), tuple(v.tolist() for v in pre)


@exhibit(
    "pre-post-walk", number=12, title=Text("走完一个子层，谁的出口归一化过？", "Through one sublayer: whose exit is normalised?"),
    controls=(
        Steps("step", Text("步骤", "Step"), values=(0, 1, 2, 3), default=3,
              labels=(Text("0 输入", "0 input"), Text("1", "1"), Text("2", "2"), Text("3 出口", "3 exit"))),
        Range("size", Text("输入的均方根", "RMS of the input"), values=SIZES, default=Fraction(2)),
    ),
)  # fmt: skip
def pre_post_walk(step: int, size: Fraction) -> State:
    """The same token on both lines at one step, side by side, with its root mean square."""
    post, pre = (walk[step] for walk in walks(size))
    at_post, at_pre = POST[step].en, PRE[step].en
    right = WIDTH + 0.6
    last = step == len(POST) - 1
    reach = max(abs(v) for line in walks(size) for row in line for v in row) * 1.12
    holds = [f"{name}, RMS {num(rms(v), 3)}" for name, v in ((at_post, post), (at_pre, pre))]
    edges = (-0.4, right - 0.4)
    sentence = Text(
        f"第 **{step}** 步，输入的均方根是 {num(size)}。post-norm 手里是 {at_post} = {listed(post)}，均方根 **{num(rms(post), 3)}**；"
        f"pre-norm 手里是 {at_pre} = {listed(pre)}，均方根 **{num(rms(pre), 3)}**。"
        + ("这是出口：前者刚归一化过，后者是没有归一化碰过的和。" if last else ""),
        f"Step **{step}**, for an input with RMS {num(size)}. Post-norm holds {at_post} = {listed(post)}, RMS "
        f"**{num(rms(post), 3)}**; pre-norm holds {at_pre} = {listed(pre)}, RMS **{num(rms(pre), 3)}**."
        + (" This is the exit: one has just been normalised, the other is a sum that no norm has touched." if last else ""))  # fmt: skip
    rows = [(head, two(post[i]), two(pre[i])) for i, head in enumerate(components(WIDTH))]
    rows.append((Text("均方根", "RMS"), num(rms(post), 3), num(rms(pre), 3)))
    return State(
        Chart([
            Series("post-norm", x=list(range(WIDTH)), y=post, mark="bar", role="c1", thickness=0.6),
            Series("pre-norm", x=[right + i for i in range(WIDTH)], y=pre, mark="bar", role="c2", thickness=0.6),
            Series(Text("排法", "order"), x=edges, y=[reach * 1.48] * 2, mark="label", role="ink", place="right", bold=True,
                   labels=("post-norm", "pre-norm")),
            Series(Text("手里的向量", "what it holds"), x=edges, y=[reach * 1.2] * 2, mark="label", role="ink", place="right",
                   labels=holds),
        ], height=240, narrow_height=230,
              x=Axis(range=(-0.6, right + WIDTH - 0.4), hidden=True), y=Axis(range=(-reach, reach * 1.6), hidden=True),
              summary=Text(f"左边六根柱子是 post-norm 的 {at_post}，右边六根是 pre-norm 的 {at_pre}。",
                           f"Six bars at the left for post-norm's {at_post}, six at the right for pre-norm's {at_pre}.")),
        sentence,
        Table((Text("维", "Component"), Text(f"post-norm：{at_post}", f"post-norm: {at_post}"),
               Text(f"pre-norm：{at_pre}", f"pre-norm: {at_pre}")), rows),
    )  # fmt: skip


LAYERS = 24
FACTORS = (Fraction("0.5"), unit_write_norm_factor(), Fraction("0.9"), Fraction(1), Fraction("1.1"))
BRANCHES = (
    Fraction(0),
    Fraction("0.1"),
    Fraction("0.2"),
    cancelling_gain(Fraction(unit_write_norm_factor())),
    Fraction("0.7"),
)


@exhibit(
    "norm-factor", number=13, title=Text("捷径上多一个 c，梯度剩多少？", "A factor c on the skip: how much gradient is left?"),
    controls=(
        Range("norm_factor", Text("归一化的 c", "The norm's c"), values=FACTORS, default=FACTORS[2]),
        Range("gain", Text("支路的 g", "The branch's g"), values=BRANCHES, default=Fraction("0.2")),
    ),
)  # fmt: skip
def norm_factor_exhibit(norm_factor: Fraction, gain: Fraction) -> State:
    """Whole gradient and identity path of both arrangements against depth."""
    c = Fraction(norm_factor)
    depth = list(range(LAYERS + 1))
    post = [float(post_norm_gradient(c, gain, k)) for k in depth]
    identity = [float(post_norm_identity(c, k)) for k in depth]
    pre = [float(pre_norm_gradient(c, gain, k)) for k in depth]
    lines = (
        ("pre", Text("pre-norm 全部", "pre-norm, all"), pre, "c2", False),
        ("pre-id", Text("pre-norm 恒等", "pre-norm, identity"), [1.0] * len(depth), "c2", True),
        ("post", Text("post-norm 全部", "post-norm, all"), post, "c1", False),
        ("post-id", Text("post-norm 恒等", "post-norm, identity"), identity, "c1", True),
    )
    series = [Series(name, x=depth, y=values, mark="line", role=role, dash=dash,
                     end=Text(f"{name.zh} {num(values[-1], 3)}", f"{name.en} {num(values[-1], 3)}"))
              for _, name, values, role, dash in lines]  # fmt: skip
    low, high = min(0.1, *(v / 4 for v in identity)), max(10, *(v * 4 for v in (*post, *pre)))
    say_post, say_id, say_pre = (num(v[-1]) for v in (post, identity, pre))
    if c == 1:
        note = Text("c 等于一，两种排法重合。", " At c equal to one the two coincide.")
    elif abs(post[-1] - 1) < 1e-9:
        note = Text(
            "c(1+g) 恰好是一，总量守住了，捷径的一份没有。",
            " Here c(1+g) is one: the total holds, the skip's share does not.",
        )
    else:
        note = Text("", "")
    sentence = Text(
        f"c 是 **{num(c)}**，g 是 **{num(gain)}**，**{LAYERS}** 个子层：post-norm 全部路径 **{say_post}**，其中恒等路径 **{say_id}**；"
        f"pre-norm 全部路径 **{say_pre}**，恒等路径 **1**。{note.zh}",
        f"With c at **{num(c)}** and g at **{num(gain)}** over **{LAYERS}** sublayers, post-norm keeps **{say_post}** in all and "
        f"**{say_id}** on the identity path; pre-norm keeps **{say_pre}** in all and **1** on the identity path.{note.en}")  # fmt: skip
    rows = [
        (Text(f"{k} 个子层", f"{k} sublayers"), post[k], identity[k], pre[k], 1)
        for k in (0, 1, 2, 4, 8, 12, 16, 20, LAYERS)
    ]
    return State(
        Chart(series, height=290, narrow_height=300,
              x=Axis(unit=Text("子层", "sublayers"), range=(0, LAYERS), ticks=(0, 8, 16, LAYERS)),
              y=Axis(label=Text("梯度的大小", "size of the gradient"), log=True, range=(low, high)),
              summary=Text(f"对数纵轴上四条线，到 {LAYERS} 个子层时：post-norm {say_post}，其恒等路径 {say_id}；pre-norm {say_pre}，"
                           "其恒等路径平在 1。",
                           f"Four lines on a log axis; at {LAYERS} sublayers post-norm is at {say_post}, its identity path at "
                           f"{say_id}, pre-norm at {say_pre} and its identity path flat at 1.")),
        sentence,
        Table((Text("深度", "Depth"), Text("post-norm 全部", "post-norm, all"), Text("post-norm 恒等", "post-norm, identity"),
               Text("pre-norm 全部", "pre-norm, all"), Text("pre-norm 恒等", "pre-norm, identity")), rows),
    )  # fmt: skip


DEEPEST = 96
BLOCKS = (1, 6, 12, 24, 32, 48, 64, 80, DEEPEST)
STREAM_WIDTH, TOKENS = 128, 64


@cache
def measured_stream(kind: str) -> tuple[float, ...]:
    """RMS of the stream at the input and after each block of a real pre-norm stack with random weights.

    ``unit``: both sublayers are random linear maps, so that every write has unit size. ``block``: attention and
    FFN as torch initialises them.
    """
    import torch
    from torch import nn

    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.block import PreNormBlock
    from blocklib.nn.ffn import FeedForward
    from blocklib.nn.norm import RMSNorm

    def linear() -> nn.Module:
        layer = nn.Linear(STREAM_WIDTH, STREAM_WIDTH, bias=False)
        nn.init.normal_(layer.weight, 0.0, STREAM_WIDTH**-0.5)
        return layer

    def sublayers() -> tuple[nn.Module, nn.Module]:
        if kind == "unit":
            return linear(), linear()
        return MultiHeadAttention(STREAM_WIDTH, n_heads=4), FeedForward(STREAM_WIDTH)

    def norm(width: int) -> nn.Module:
        return RMSNorm(width, affine=False)

    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        x = norm(STREAM_WIDTH)(torch.randn(1, TOKENS, STREAM_WIDTH, dtype=torch.float64))
        sizes = [x.square().mean().sqrt().item()]
        for _ in range(DEEPEST):
            x = PreNormBlock(STREAM_WIDTH, *sublayers(), norm=norm).double()(x)
            sizes.append(x.square().mean().sqrt().item())
    return tuple(sizes)


WRITES = (("unit", Text("随机线性，单位大小", "random linear, unit size")),
          ("block", Text("attention 与 FFN", "attention and FFN")))  # fmt: skip
BRANCHED = {
    "unit": Text("单位大小的随机线性映射", "random linear maps of unit size"),
    "block": Text("默认初始化的 attention 与 FFN", "attention and FFN as torch initialises them"),
}


RIGHT = 64  # the curve bends down: up to here words fit under it to the right of a point, then over it to the left


def stream_words(blocks: int, theory: float, measured: float, expected: str, found: str) -> list[Series]:
    """The two values in words beside their points, one above the other where the points are close."""
    said = (Text(f"实测 {found}", f"measured {found}"), True), (Text(f"理论 {expected}", f"theory {expected}"), False)
    close = abs(theory - measured) < 3.5
    if blocks <= RIGHT:
        top = max(theory - 1.2, 1.9)
        heights = (top, top - 1.5) if close else (measured, theory - 1.2)
        x, place = blocks + 2.5, "right"
    else:
        top = max(theory, measured)
        heights = (top + 2.7, top + 1.2) if close else (measured + 1.3, theory + 1.2)
        x, place = blocks - 0.5, "left"
    return [Series(Text("读数", "reading"), x=[x], y=[height], mark="label", role="ink", place=place, bold=bold, labels=[words])
            for (words, bold), height in zip(said, heights, strict=True)]  # fmt: skip


@exhibit(
    "stream-growth", number=14, title=Text("没人校准，残差流会长到多大？", "Nobody resets it: how large does the stream grow?"),
    controls=(
        Range("blocks", Text("块数 L", "Blocks L"), values=BLOCKS, default=24),
        Choice("writes", Text("支路", "Branches"), options=WRITES, default="unit"),
    ),
)  # fmt: skip
def stream_growth(blocks: int, writes: str) -> State:
    """The stream of a real stack up to the chosen depth, over the curve for unit, uncorrelated writes."""
    measured = measured_stream(writes)
    theory = [float(stream_rms(k)) for k in range(DEEPEST + 1)]
    depth = list(range(blocks + 1))
    found, expected = num(measured[blocks], 3), num(stream_rms(blocks))
    users = [load(m).name for m in PRIMER_IDS if load(m).config.n_layers == blocks]
    how = BRANCHED[writes]
    sentence = Text(
        f"**{blocks}** 块之后，假设写入都是单位大小、互不相关，残差流的均方根是 **{expected}**；"
        f"实测（支路是{how.zh}）**{found}**。" + (f"这个深度的真实模型：{'、'.join(users)}。" if users else ""),
        f"After **{blocks}** {'block' if blocks == 1 else 'blocks'} the stream's RMS is **{expected}** if all writes are of unit "
        f"size and uncorrelated; measured, with {how.en} for branches, it is **{found}**."
        + (f" Real models of this depth: {', '.join(users)}." if users else ""))  # fmt: skip
    rows = [(Text(f"{'▸ ' * (k == blocks)}{k} 块", f"{'▸ ' * (k == blocks)}{k} blocks"), stream_rms(k), num(measured[k], 3))
            for k in BLOCKS]  # fmt: skip
    return State(
        Chart([
            Series(Text("√(1 + 2L)", "√(1 + 2L)"), x=list(range(DEEPEST + 1)), y=theory, mark="line", role="ghost",
                   end=Text("理论 √(1 + 2L)", "theory √(1 + 2L)") if blocks <= RIGHT else None),
            Series(Text("实测", "measured"), x=depth, y=[round(v, 4) for v in measured[: blocks + 1]], mark="line", role="c1"),
            Series(Text("理论值", "theory here"), x=[blocks], y=[theory[blocks]], mark="points", role="ghost"),
            Series(Text("实测值", "measured here"), x=[blocks], y=[measured[blocks]], mark="points", role="c1"),
            *stream_words(blocks, theory[blocks], measured[blocks], expected, found),
        ], height=270, narrow_height=260,
              x=Axis(unit=Text("块", "blocks"), range=(0, DEEPEST), ticks=(0, 24, 48, DEEPEST)),
              y=Axis(label=Text("残差流的均方根", "RMS of the stream"), range=(0, 18)),
              summary=Text(f"一条先快后慢上升的曲线；{blocks} 块处理论 {expected}，实测 {found}。",
                           f"A curve that rises ever more slowly; at {blocks} blocks theory says {expected}, the measured "
                           f"stack {found}.")),
        sentence,
        Table((Text("块数", "Blocks"), Text("理论 √(1 + 2L)", "theory √(1 + 2L)"), Text("实测", "measured")), rows),
    )  # fmt: skip
