"""Exhibits of the page on the shape contract: who feeds whom, one vector through a block, widths of real models."""

from __future__ import annotations

from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num
from blocklib.charts.primer.normalization import WIDTH_MODELS
from blocklib.charts.primer.vectors import DRAWS, components, listed, two
from blocklib.text import Text

POSITIONS = 6
WIDTH = 6
SUBLAYERS = (
    ("full", Text("attention，无掩码", "attention, unmasked")),
    ("causal", Text("attention，因果掩码", "attention, causal mask")),
    ("ffn", Text("FFN", "FFN")),
)


@cache
def feeds(sublayer: str) -> tuple[tuple[int, ...], ...]:
    """For each output position the input positions it depends on, read off the Jacobian of a real sublayer.

    Random weights in double precision: a dependence shows as a derivative that is not zero, and where there is
    none the derivative is exactly zero.
    """
    import torch

    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.ffn import FeedForward

    with torch.random.fork_rng():
        torch.manual_seed(0)
        f = FeedForward(WIDTH) if sublayer == "ffn" else MultiHeadAttention(WIDTH, 2, causal=sublayer == "causal")
        x = torch.randn(POSITIONS, WIDTH, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda rows: f.double()(rows[None])[0], x)
    size = jacobian.abs().amax((1, 3))
    return tuple(tuple(j for j in range(POSITIONS) if size[i, j] > 0) for i in range(POSITIONS))


@exhibit(
    "feeds-token", number=1, title=Text("谁能影响这个位置？", "Who can influence this position?"),
    controls=(
        Choice("sublayer", Text("子层", "Sublayer"), options=SUBLAYERS, default="full"),
        Range("position", Text("位置", "Position"), values=tuple(range(POSITIONS)), default=2),
    ),
)  # fmt: skip
def feeds_token(sublayer: str, position: int) -> State:
    """Lines into one output, from every input that it depends on."""
    sources = feeds(sublayer)[position]
    rest = [i for i in range(POSITIONS) if i not in sources]
    others = [i for i in range(POSITIONS) if i != position]
    out, into = 0, 1
    side = 0.36
    series = [
        Series(Text("依赖", "dependence"), mark="links", role="c1",
               x=[v for j in sources for v in (j, position)], y=[into - side / 2, out + side / 2] * len(sources)),
        Series(Text("其他输出", "other outputs"), mark="cells", role="ghost", thickness=side, x=others,
               y=[out] * len(others), labels=[str(i) for i in others]),
        Series(Text("所选输出", "the chosen output"), mark="cells", role="ink", thickness=side, x=[position], y=[out],
               labels=[str(position)], bold=True),
        Series(Text("够得着的输入", "inputs within reach"), mark="cells", role="c1", thickness=side, x=sources,
               y=[into] * len(sources), labels=[str(j) for j in sources]),
    ]  # fmt: skip
    if rest:
        series.append(Series(Text("够不着的输入", "inputs out of reach"), mark="cells", role="ghost", thickness=side,
                             x=rest, y=[into] * len(rest), labels=[str(j) for j in rest]))  # fmt: skip
    name = dict(SUBLAYERS)[sublayer]
    names = "、".join(map(str, sources)), ", ".join(map(str, sources))
    only = sources == (position,)
    sentence = Text(
        f"{name.zh}：位置 **{position}** 的输出取决于 **{len(sources)}** 个输入，即 **{names[0]}**"
        + ("，也就是它自己。" if only else f"；另外 **{len(rest)}** 个怎么改都没有影响。" if rest else "，全部都在内。"),
        f"{name.en[0].upper()}{name.en[1:]}: output **{position}** depends on **{len(sources)}** of the inputs, **{names[1]}**"
        + (", which is itself." if only else f"; changing the other **{len(rest)}** does nothing." if rest
           else ", that is, on all of them."))  # fmt: skip
    mark = "▸ "
    rows = [(Text(f"{mark * (i == position)}输出 {i}", f"{mark * (i == position)}output {i}"), len(found),
             ", ".join(map(str, found))) for i, found in enumerate(feeds(sublayer))]  # fmt: skip
    return State(
        Chart(series, height=230, narrow_height=210,
              x=Axis(range=(-0.5, POSITIONS - 0.5), hidden=True),
              y=Axis(categories=(Text("输出", "outputs"), Text("输入", "inputs"))),
              summary=Text(f"上排六个输出，下排六个输入；从输入 {names[0]} 各有一条线连到输出 {position}。",
                           f"Six outputs above, six inputs below; lines run from inputs {names[1]} to output {position}.")),
        sentence,
        Table((Text("位置", "Position"), Text("来源个数", "Sources"), Text("来自输入", "From inputs")), rows),
    )  # fmt: skip


STOPS = (Text("进块时", "on entry"), Text("attention 之后", "after attention"), Text("FFN 之后", "after the FFN"))


@cache
def through_block(seed: int) -> tuple[tuple[list[float], ...], int]:
    """One token's vector at the three stops of a pre-norm block with random weights, and the FFN's inner width."""
    import torch

    from blocklib.charts.primer.vectors import small_ffn
    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.block import PreNormBlock

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        block = PreNormBlock(WIDTH, MultiHeadAttention(WIDTH, n_heads=2), small_ffn(WIDTH)).double()
        x = torch.randn(1, 4, WIDTH, dtype=torch.float64)
    with torch.no_grad():
        stages = block.stages(x)
    vectors = (x, stages["add_attention"], stages["add_ffn"])
    return tuple(v[0, -1].tolist() for v in vectors), block.ffn.up.out_features


@exhibit(
    "one-vector", number=2, title=Text("走过一个块，什么变了，什么没变？", "Through a block: what changes and what does not?"),
    controls=(
        Steps("stop", Text("停在", "Stop"), values=(0, 1, 2), labels=STOPS, default=1),
        Choice("draw", Text("数值", "Values"), options=DRAWS, default=0),
    ),
)  # fmt: skip
def one_vector(stop: int, draw: int) -> State:
    """A bar a component at one of three stops; the components at the stop before stand behind them."""
    vectors, inner = through_block(draw)
    here = vectors[stop]
    place = list(range(WIDTH))
    series = [Series(Text("此刻", "here"), x=[i + 0.14 * bool(stop) for i in place], y=here, mark="bar", role="c1",
                     thickness=0.42, labels=[two(v) for v in here])]  # fmt: skip
    if stop:
        series.insert(0, Series(Text("上一站", "the stop before"), x=[i - 0.18 for i in place], y=vectors[stop - 1],
                                mark="bar", role="ghost", thickness=0.2))  # fmt: skip
    reach = max(abs(v) for s, _ in DRAWS for row in through_block(s)[0] for v in row) * 1.15
    before = vectors[stop - 1] if stop else None
    sentence = Text(
        f"{STOPS[stop].zh}：向量是 **{listed(here)}**，**{len(here)}** 个数。"
        + (f"上一站是 {listed(before)}，也是 **{len(before)}** 个。" if before else "")
        + (f"FFN 里面曾展开到 **{inner}** 个，出来前收了回来。" if stop == 2 else ""),
        f"{STOPS[stop].en[0].upper()}{STOPS[stop].en[1:]} the vector is **{listed(here)}**, **{len(here)}** numbers."
        + (f" At the stop before it was {listed(before)}, **{len(before)}** as well." if before else "")
        + (f" Inside the FFN there were **{inner}**, folded back before the exit." if stop == 2 else ""))  # fmt: skip
    rows = [(head, *(two(vectors[s][i]) if s <= stop else "—" for s in range(3)))
            for i, head in enumerate(components(WIDTH))]  # fmt: skip
    rows.append((Text("个数", "count"), *(str(len(vectors[s])) if s <= stop else "—" for s in range(3))))
    return State(
        Chart(series, height=230, narrow_height=220,
              x=Axis(categories=[str(i + 1) for i in place], unit=Text("第几维", "component")),
              y=Axis(range=(-reach, reach), hidden=True),
              summary=Text(f"六根柱子：{STOPS[stop].zh}的向量{'，旁边的细柱是上一站' if stop else ''}。",
                           f"Six bars for the vector {STOPS[stop].en}"
                           f"{', thin ones beside them for the stop before' if stop else ''}.")),
        sentence,
        Table((Text("维", "Component"), *STOPS), rows),
    )  # fmt: skip


# Four of the six widths stand far enough apart to mark the axis.
TICK_WIDTHS = tuple(load(m).config.d_model for m in ("gpt2-small", "llama-3-8b", "llama-3-70b", "gpt3-175b"))


@exhibit(
    "contract-widths", number=3, title=Text("换一个模型，三处读数会不会分开？", "Another model: do the three readings part?"),
    controls=(
        Range("model", Text("模型", "Model"), values=WIDTH_MODELS, default="llama-3-8b",
              labels=tuple(load(m).name for m in WIDTH_MODELS)),
    ),
)  # fmt: skip
def contract_widths(model: str) -> State:
    """Three equal bars, the width at a block's three doors; the axis is marked at widths of real models."""
    widths = {m: load(m).config.d_model for m in WIDTH_MODELS}
    width, name = widths[model], load(model).name
    series = [Series(Text("宽度", "width"), x=[width] * 3, y=(0, 1, 2), mark="hbar", role="c1", thickness=0.56)]
    sentence = Text(
        f"**{name}**：进块时 **{num(width)}**，attention 之后 **{num(width)}**，FFN 之后 **{num(width)}**，三处相同。",
        f"**{name}**: **{num(width)}** on entry, **{num(width)}** after attention, **{num(width)}** after the FFN, the same "
        "at all three.")  # fmt: skip
    rows = [(Text(f"{'▸ ' * (m == model)}{load(m).name}", f"{'▸ ' * (m == model)}{load(m).name}"),
             *[num(widths[m])] * 3) for m in WIDTH_MODELS]  # fmt: skip
    return State(
        Chart(series, height=200, narrow_height=230,
              x=Axis(unit=Text("向量的宽度", "width of the vector"), range=(0, max(widths.values())), ticks=TICK_WIDTHS),
              y=Axis(categories=STOPS), totals=[num(width)] * 3,
              summary=Text(f"三根等长的横条，每根 {num(width)}；横轴的刻度是真实模型的宽度。",
                           f"Three bars of equal length, {num(width)} each; the ticks are widths of real models.")),
        sentence,
        Table((Text("模型", "Model"), *STOPS), rows),
    )  # fmt: skip
