"""Exhibits on the ratio of the two sublayers: what arrangements of one budget cost, how real models mix their layers."""

from __future__ import annotations

from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Range, Series, State, Table, exhibit, num, percent
from blocklib.text import Text
from blocklib.theory.arrangements import EQUAL, Stack

WIDTH = 4096
NAMES = {
    "one-to-one": Text("一比一", "one to one"),
    "two-attentions": Text("二比一", "two to one"),
    "two-ffns": Text("一比二", "one to two"),
    "macaron": Text("Macaron", "Macaron"),
    "sandwich": Text("三明治", "sandwich"),
    "parallel": Text("并行块", "parallel"),
    "attention-only": Text("只有 attention", "attention only"),
    "ffn-only": Text("只有 FFN", "FFN only"),
}
HOW = {
    "one-to-one": Text("attention 与 FFN 交替", "attention and FFN in turn"),
    "two-attentions": Text("每两个 attention 配一个 FFN", "two attentions, then an FFN"),
    "two-ffns": Text("每个 attention 配两个 FFN", "an attention, then two FFNs"),
    "macaron": Text(
        "每个 attention 前后各一个半宽的 FFN", "an FFN of half the width on either side of every attention"
    ),
    "sandwich": Text("attention 往下挪，FFN 往上挪，个数不变", "attention moved down and FFNs up, counts unchanged"),
    "parallel": Text("attention 与 FFN 并排读同一份输入", "attention and FFN side by side on the same input"),
    "attention-only": Text("没有 FFN", "no FFN"),
    "ffn-only": Text("没有 attention", "no attention"),
}
CONTEXTS = (512, 2048, 8192, 32_768, 131_072)


@cache
def stack(layout: str) -> Stack:
    """The stack of a layout, by its key in ``EQUAL``; made once."""
    return Stack(EQUAL[layout])


def billions(flops: int) -> str:
    """FLOPs in billions, three significant digits."""
    return num(flops / 10**9, 3)


@exhibit(
    "sublayer-orders", number=62, title=Text("同一笔参数，八种排法", "One budget of weights, eight arrangements"),
    controls=(
        Range("layout", Text("排法", "Arrangement"), values=tuple(EQUAL), labels=tuple(NAMES.values()), default="one-to-one"),
        Range("tokens", Text("看到的位置数 T", "Positions seen T"), values=CONTEXTS, default=8192),
    ),
)  # fmt: skip
def sublayer_orders(layout: str, tokens: int) -> State:
    """FLOPs of one token in stacks of equal weights: the matrices cost the same, the scores follow the attentions."""
    names = tuple(EQUAL)
    chosen, row = stack(layout), names.index(layout)
    weights = chosen.weight_flops(WIDTH)
    scores = {n: stack(n).score_flops(WIDTH, tokens) for n in names}
    others = [i for i in range(len(names)) if i != row]
    series = [
        Series(Text("矩阵，其他排法", "matrices, other arrangements"), x=[weights / 1e9] * len(others), y=others, mark="hbar",
               role="ghost", stack="flops", thickness=0.5),
        Series(Text("打分与加权，其他排法", "scores and values, other arrangements"), x=[scores[names[i]] / 1e9 for i in others],
               y=others, mark="hbar", role="ghost", stack="flops", thickness=0.5),
        Series(Text("矩阵", "matrices"), x=[weights / 1e9], y=[row], mark="hbar", role="c2", stack="flops",
               labels=[Text("矩阵", "matrices")], thickness=0.5),
    ]  # fmt: skip
    if scores[layout]:
        series.append(Series(Text("打分与加权", "scores and values"), x=[scores[layout] / 1e9], y=[row], mark="hbar", role="c1",
                             stack="flops", labels=[Text("打分", "scores")], thickness=0.5))  # fmt: skip
    total = weights + scores[layout]
    share = percent(scores[layout] / total)
    cached = 2 * chosen.cache_elements(WIDTH)
    sentence = Text(
        f"{NAMES[layout].zh}（{HOW[layout].zh}）：**{chosen.attentions}** 个 attention、**{chosen.ffns}** 个 FFN，向残差流写 **{chosen.steps}** 次。"
        f"宽度 {num(WIDTH)}，看到 **{num(tokens)}** 个位置的 token 前向要 **{billions(total)}** GFLOP，其中打分与加权占 **{share}**；"
        f"每个 token 往缓存里添 **{num(cached)}** 字节（bf16）。",
        f"{NAMES[layout].en[0].upper()}{NAMES[layout].en[1:]} ({HOW[layout].en}): **{chosen.attentions}** attentions, **{chosen.ffns}** FFNs, **{chosen.steps}** writes to the stream. "
        f"At width {num(WIDTH)}, a token that sees **{num(tokens)}** positions takes **{billions(total)}** GFLOP forward, **{share}** of it in scores and values, "
        f"and adds **{num(cached)}** bytes (bf16) to the cache.")  # fmt: skip
    rows = [
        (Text(("▸ " if n == layout else "") + NAMES[n].zh, ("▸ " if n == layout else "") + NAMES[n].en), stack(n).attentions,
         stack(n).ffns, stack(n).steps, billions(weights), billions(scores[n]), 2 * stack(n).cache_elements(WIDTH))
        for n in names
    ]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=430,
              x=Axis(unit=Text("GFLOP / token，前向", "GFLOP per token, forward"),
                     range=(0, (weights + max(scores.values())) / 1e9 * 1.12)),
              y=Axis(categories=tuple(NAMES.values())),
              totals=[Text.same(billions(weights + scores[n])) for n in names],
              summary=Text(f"八条横条，矩阵部分一样长，打分部分随 attention 的个数变；{NAMES[layout].zh}合计 {billions(total)}。",
                           f"Eight bars with matrices of equal length and scores as long as the attentions are many; {NAMES[layout].en} comes to {billions(total)}.")),
        sentence,
        Table((Text("排法", "Arrangement"), Text("attention", "Attentions"), Text("FFN", "FFNs"), Text("写入次数", "Writes"),
               Text("矩阵 GFLOP", "Matrices, GFLOP"), Text("打分 GFLOP", "Scores, GFLOP"), Text("缓存字节", "Cache, bytes")), rows),
    )  # fmt: skip


# Models with different mixers, by what their layers reach; every layer of each has an FFN or a mixture of experts.
MIXED = ("llama-3-8b", "gemma-2-9b", "gpt-oss-20b", "gemma-3-1b", "qwen3-next-80b-a3b", "qwen3.8-27b", "kimi-k3",
         "deepseek-v4-flash", "mistral-7b")  # fmt: skip
REACH = {
    "full": ("c1", Text("看到全部位置", "see all positions")),
    "window": ("c2", Text("只看滑动窗口", "see a window")),
    "state": ("c3", Text("只留固定大小的状态", "keep a state of fixed size")),
    "compressed": ("c0", Text("看压缩过的位置", "see compressed positions")),
}
KINDS = {
    "full": "full", "latent": "full", "sliding": "window", "window": "window", "gated_delta": "state",
    "kimi_delta": "state", "compressed": "compressed", "heavily compressed": "compressed",
}  # fmt: skip


@cache
def reaches(model: str) -> tuple[str, ...]:
    """What the mixer of each block reaches, in order: a key of :data:`REACH`."""
    return tuple(KINDS[kind] for kind in load(model).config.mixers)


@exhibit(
    "mixer-strips", number=63, title=Text("每一层都有 FFN，每一层都有完整的 attention 吗？", "An FFN in every layer, and full attention?"),
    controls=(Range("model", Text("模型", "Model"), values=MIXED, labels=tuple(load(m).name for m in MIXED), default="qwen3.8-27b"),),
)  # fmt: skip
def mixer_strips(model: str) -> State:
    """One cell a block, coloured by what its mixer reaches; the chosen model in full colour."""
    series = []
    mine = reaches(model)
    counts = {reach: mine.count(reach) for reach in REACH}
    for below, (reach, (role, name)) in enumerate(REACH.items()):
        cells = [(x, row, m) for row, m in enumerate(MIXED) for x, kind in enumerate(reaches(m)) if kind == reach]
        cells += [(x, len(MIXED) + below, model) for x in range(counts[reach])]
        series.append(Series(name, x=[c[0] for c in cells], y=[c[1] for c in cells], mark="cells", role=role, thickness=0.82,
                             alpha=[1.0 if c[2] == model else 0.4 for c in cells]))  # fmt: skip
    found = [(name, counts[reach]) for reach, (_, name) in REACH.items() if counts[reach]]
    listed = Text("、".join(f"**{n}** 个{name.zh}" for name, n in found),
                  ", ".join(f"**{n}** {name.en}" for name, n in found))  # fmt: skip
    full = counts["full"]
    ratio = Text("没有一层看到全部位置", "no layer sees all positions")
    if full:
        each = num(len(mine) / full)
        ffns = "is **1** FFN" if full == len(mine) else f"are **{each}** FFNs"
        ratio = Text(f"每有一个看到全部位置的 attention，就有 **{each}** 个 FFN",
                     f"to each attention over all positions there {ffns}")  # fmt: skip
    name = load(model).name
    sentence = Text(
        f"{name} 有 **{len(mine)}** 个块，个个带 FFN。它们的混合层里有 {listed.zh}；{ratio.zh}。",
        f"{name} has **{len(mine)}** blocks, each with an FFN. Of their mixers {listed.en}; {ratio.en}.")  # fmt: skip
    rows = [
        (
            Text.same(("▸ " if m == model else "") + load(m).name),
            len(reaches(m)),
            *(reaches(m).count(reach) for reach in REACH),
        )
        for m in MIXED
    ]
    return State(
        Chart(series, height=400, narrow_height=400,
              x=Axis(unit=Text("第几块", "block"), range=(-0.5, max(len(reaches(m)) for m in MIXED) - 0.5), ticks=[(n - 1, str(n)) for n in (1, 32, 64, 93)]),
              y=Axis(categories=[*(load(m).name for m in MIXED), *(name for _, name in REACH.values())]),
              summary=Text(f"九行方格，一行一个模型，一格一块；{name} 一行颜色最深，其中 {full} 格看到全部位置；下面四行把它的格子按种类收拢。",
                           f"Nine rows of cells, one a model and one cell a block; the row of {name} stands out, {full} of its cells see all positions; four rows below gather its cells by kind.")),
        sentence,
        Table((Text("模型", "Model"), Text("块", "Blocks"), *(Text(n.zh, n.en[0].upper() + n.en[1:]) for _, n in REACH.values())), rows),
    )  # fmt: skip
