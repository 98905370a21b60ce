"""Exhibits of the page on the whole model: six lines and their shapes, the causal mask."""

from __future__ import annotations

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num, percent
from blocklib.text import Text
from blocklib.theory.masks import causal_cells, grid_cells, visible_positions

SIX = (
    ("x = embed(ids)", Text("编号换成向量", "ids become vectors")),
    ("for block in blocks:", Text("对每个块重复", "repeat for each block")),
    ("x = x + attention(norm(x))", Text("attention 写一笔", "attention writes")),
    ("x = x + ffn(norm(x))", Text("FFN 写一笔", "the FFN writes")),
    ("x = final_norm(x)", Text("最后一次归一化", "a last norm")),
    ("logits = head(x)", Text("给每个编号打分", "a score for every id")),
)
POSITIONS = 6


@exhibit(
    "assemble", number=22, title=Text("每一行交出什么形状？", "What shape does each line hand on?"),
    controls=(
        Steps("line", Text("第几行", "Line"), values=tuple(range(1, 7)), default=6,
              labels=tuple(Text.same(f"{i} {code}") for i, (code, _) in enumerate(SIX, 1))),
        Choice("model", Text("模型", "Model"), options=tuple((m, load(m).name) for m in ("gpt2-small", "llama-3-8b")),
               default="gpt2-small"),
    ),
)  # fmt: skip
def assemble(line: int, model: str) -> State:
    """The width of what each line of the model hands on, for one position, up to the chosen line."""
    c, name = load(model).config, load(model).name
    widths = [c.d_model] * 5 + [c.vocab_size]
    shapes = [Text.same(f"T × {num(w)}") for w in widths]
    code, what = SIX[line - 1]
    y = list(range(6))
    before = y[: line - 1]
    series = [
        Series(Text("此行", "this line"), x=[widths[line - 1]], y=[line - 1], mark="hbar", role="c1", thickness=0.6)
    ]
    if before:
        series.insert(0, Series(Text("已装好", "in place"), x=[widths[i] for i in before], y=before, mark="hbar",
                                role="ghost", thickness=0.6))  # fmt: skip
    loop = c.n_layers
    sentence = Text(
        f"第 **{line}** 行 {code}：{what.zh}，交出 **{shapes[line - 1].zh}**。"
        f"{name} 的宽度是 **{num(c.d_model)}**，块两行重复 **{loop}** 次，词表有 **{num(c.vocab_size)}** 个编号。",
        f"Line **{line}**, {code}: {what.en}, and **{shapes[line - 1].en}** goes on. In {name} the width is "
        f"**{num(c.d_model)}**, the block's two lines run **{loop}** times, and the vocabulary has **{num(c.vocab_size)}** ids.")  # fmt: skip
    rows = [(Text.same(f"{i}. {lines}"), words if i <= line else Text("（还没装）", "(not yet)"), shape if i <= line else "—")
            for i, ((lines, words), shape) in enumerate(zip(SIX, shapes, strict=True), 1)]  # fmt: skip
    return State(
        Chart(series, height=260, narrow_height=300,
              x=Axis(unit=Text("每个位置的数字个数", "numbers per position"), range=(0, c.vocab_size * 1.02)),
              y=Axis(categories=[Text(f"{i} {w.zh}", f"{i} {w.en}") for i, (_, w) in enumerate(SIX, 1)]),
              totals=[shapes[i] if i < line else None for i in y],
              summary=Text(f"六行中装好了 {line} 行；前五行交出 T × {num(c.d_model)}，最后一行交出 T × {num(c.vocab_size)}。",
                           f"{line} of six lines in place; the first five hand on T × {num(c.d_model)}, the last T × {num(c.vocab_size)}.")),
        sentence,
        Table((Text("行", "Line"), Text("做什么", "What it does"), Text("交出", "Hands on")), rows),
    )  # fmt: skip


@exhibit(
    "causal-mask", number=23, title=Text("哪些格子是开着的？", "Which cells are open?"),
    controls=(
        Range("position", Text("位置", "Position"), values=tuple(range(POSITIONS)), default=2),
        Choice("mask", Text("掩码", "Mask"), options=(("causal", Text("因果", "causal")), ("none", Text("没有", "none"))),
               default="causal"),
    ),
)  # fmt: skip
def causal_mask(position: int, mask: str) -> State:
    """The grid of who may read whom; the chosen position's row is filled."""

    def opened(row: int) -> int:
        return visible_positions(row) if mask == "causal" else POSITIONS

    rows = range(POSITIONS)
    cells = [(key, row) for row in rows for key in range(opened(row)) if row != position]
    mine = [(key, position) for key in range(opened(position))]
    total = causal_cells(POSITIONS) if mask == "causal" else grid_cells(POSITIONS)
    series = [
        Series(Text("其他位置可读", "open to others"), x=[c[0] for c in cells], y=[c[1] for c in cells], mark="cells",
               role="ghost", thickness=0.9),
        Series(Text("所选位置可读", "open to the chosen one"), x=[c[0] for c in mine], y=[c[1] for c in mine], mark="cells",
               role="c1", thickness=0.9),
    ]  # fmt: skip
    names = [str(i) for i in rows]
    reads = "、".join(str(k) for k, _ in mine), ", ".join(str(k) for k, _ in mine)
    sentence = Text(
        f"{'因果掩码下' if mask == 'causal' else '没有掩码时'}，位置 **{position}** 能读 **{opened(position)}** 个位置：{reads[0]}。"
        f"整张网格 **{grid_cells(POSITIONS)}** 格，开着 **{total}** 格（**{percent(total / grid_cells(POSITIONS))}**）。",
        f"{'Under the causal mask' if mask == 'causal' else 'Without a mask'}, position **{position}** reads "
        f"**{opened(position)}**: {reads[1]}. Of **{grid_cells(POSITIONS)}** cells **{total}** are open "
        f"(**{percent(total / grid_cells(POSITIONS))}**).")  # fmt: skip
    table = [(Text(f"位置 {i}", f"position {i}") if i != position else Text(f"▸ 位置 {i}", f"▸ position {i}"), opened(i),
              ", ".join(str(k) for k in range(opened(i)))) for i in rows]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=300, square=True,
              x=Axis(categories=names, unit=Text("被读的位置", "position read")),
              y=Axis(categories=names, label=Text("正在读的位置", "position reading")),
              summary=Text(f"六乘六的网格，{'对角线及其以下' if mask == 'causal' else '全部'}涂色，位置 {position} 的一行加重。",
                           f"A six by six grid, filled {'on and below the diagonal' if mask == 'causal' else 'all over'}, "
                           f"with the row of position {position} marked.")),
        sentence,
        Table((Text("位置", "Position"), Text("能读几个", "Reads"), Text("哪几个", "Which")), table),
    )  # fmt: skip
