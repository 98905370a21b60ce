"""Exhibits on depth: folds in sequence and side by side, the bill of a fixed budget, sharing, experts held and used."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent, short
from blocklib.facts.registry import evaluate
from blocklib.ledger import params
from blocklib.text import Text
from blocklib.theory import depth_width as theory
from blocklib.theory.scaling import equal_budget_width

WAYS = {
    "sequence": Text("两个一层，先后相接", "two a layer, in sequence"),
    "beside": Text("并排成一层", "all in one layer"),
}


@cache
def zigzag(pieces: int) -> tuple[list[float], list[float]]:
    """Corners of a curve of so many equal pieces between 0 and 1."""
    return [k / pieces for k in range(pieces + 1)], [float(k % 2) for k in range(pieces + 1)]


@exhibit(
    "depth-pieces", number=64, title=Text("同样多的神经元，折得出几段？", "How many pieces from as many neurons?"),
    controls=(
        Range("layers", Text("对折次数（每次两个神经元）", "Folds, two neurons each"), values=(1, 2, 3, 4, 5, 6), default=4),
        Choice("way", Text("排法", "Put"), options=tuple(WAYS.items()), default="sequence"),
    ),
)  # fmt: skip
def depth_pieces(layers: int, way: str) -> State:
    """The curve that the neurons make when they stand in sequence, and the most that one layer of them makes."""
    neurons = theory.folded_neurons(layers)
    counts = {"sequence": theory.folded_pieces(layers), "beside": theory.shallow_pieces(neurons)}
    x, y = zigzag(counts[way])
    if way == "sequence":  # the curve of the folds themselves
        grid = [Fraction(k, 2**layers) for k in range(2**layers + 1)]
        x, y = [float(v) for v in grid], [float(theory.folds(v, layers)) for v in grid]
    series = [Series(WAYS[way], x=x, y=y, mark="line", role="c1")]
    deep, wide = counts["sequence"], counts["beside"]
    sentence = Text(
        f"**{neurons}** 个 ReLU 神经元，两个一层、先后相接，折出 **{deep}** 段；并排成一层，最多 **{wide}** 段。图中是{WAYS[way].zh}的。",
        f"**{neurons}** ReLU neurons, two a layer and in sequence, make **{deep}** pieces; all in one layer they make at most **{wide}**. "
        f"The picture has them {WAYS[way].en}.")  # fmt: skip
    rows = [(("▸ " if n == layers else "") + str(theory.folded_neurons(n)), num(theory.folded_pieces(n)),
             num(theory.shallow_pieces(theory.folded_neurons(n))), Text(WAYS[way].zh, WAYS[way].en) if n == layers else "—")
            for n in (1, 2, 3, 4, 5, 6)]  # fmt: skip
    return State(
        Chart(series, height=230, narrow_height=220,
              x=Axis(unit=Text("输入", "input"), range=(0, 1), ticks=(0, 0.5, 1)),
              y=Axis(label=Text("输出", "output"), range=(0, 1.05), ticks=(0, 1)),
              summary=Text(f"一条锯齿线，在零和一之间上下 {counts[way]} 段。", f"A saw-toothed curve between zero and one, of {counts[way]} pieces.")),
        sentence,
        Table((Text("神经元", "Neurons"), Text("先后相接，段数", "In sequence, pieces"), Text("并排成一层，至多", "In one layer, at most"),
               Text("图中", "Shown")), rows),
    )  # fmt: skip


DEPTHS = (6, 12, 24, 48, 96, 192, 384)
QUANTITIES = (
    ("weights", "ghost", Text("权重", "weights")),
    ("width", "c2", Text("宽度", "width")),
    ("cache", "c1", Text("缓存、打分", "cache, scores")),
    ("steps", "c3", Text("先后步数", "serial steps")),
)


@exhibit(
    "budget-bill", number=65, title=Text("权重一样多，账单一样吗？", "Equal weights, equal bills?"),
    controls=(
        Range("blocks", Text("块数 N", "Blocks N"), values=DEPTHS, default=192),
        Choice("base", Text("预算取自", "Budget of"), options=(("gpt3-175b", "GPT-3"), ("gpt2-xl", "GPT-2 XL")), default="gpt3-175b"),
    ),
)  # fmt: skip
def budget_bill(blocks: int, base: str) -> State:
    """With N·d² fixed: what grows with depth and what falls, relative to the model the budget is from."""
    c, name = load(base).config, load(base).name
    factor = Fraction(blocks, c.n_layers)
    reach = [Fraction(n, c.n_layers) for n in DEPTHS]
    series = []
    for what, role, words in QUANTITIES:
        ys = [theory.fixed_budget_factor(what, f) for f in reach]
        series.append(Series(words, x=DEPTHS, y=ys, mark="line", role=role, dash=False, end=words))
    here = {what: theory.fixed_budget_factor(what, factor) for what, _, _ in QUANTITIES}
    series.append(Series(Text("此处", "here"), x=[blocks] * 3, y=[here[w] for w in ("width", "cache", "steps")], mark="points",
                         role="ink"))  # fmt: skip
    series.append(Series(name, x=[c.n_layers], y=[1], mark="points", role="ghost", labels=[name], place="below"))
    width = equal_budget_width(blocks, c.n_layers, c.d_model)
    cached, steps = 2 * 2 * blocks * width, 2 * blocks
    sentence = Text(
        f"预算取自 {name}（{c.n_layers} 块，宽 {num(c.d_model)}）：**{blocks}** 块的宽度是 **{num(width)}**，除取整外权重总数不变；每个 token 的缓存是 **{num(cached)}** 字节"
        f"（bf16，各头自有 KV），为原来的 **{num(here['cache'])}** 倍，打分的算力同此；先后相接的子层是 **{num(steps)}** 个，为原来的 **{num(here['steps'])}** 倍。",
        f"On the budget of {name} ({c.n_layers} blocks, width {num(c.d_model)}), **{blocks}** blocks are **{num(width)}** wide and hold as many weights but for rounding. "
        f"A token's cache is **{num(cached)}** bytes (bf16, every head with its own keys and values), **{num(here['cache'])}** times the model's, and the "
        f"compute of scores changes alike; **{num(steps)}** sublayers wait for one another, **{num(here['steps'])}** times as many.")  # fmt: skip
    rows = [
        (Text(f"{'▸ ' if n == blocks else ''}{n} 块", f"{'▸ ' if n == blocks else ''}{n} blocks"), equal_budget_width(n, c.n_layers, c.d_model),
         num(theory.fixed_budget_factor("cache", Fraction(n, c.n_layers))), num(theory.fixed_budget_factor("steps", Fraction(n, c.n_layers))))
        for n in DEPTHS
    ]  # fmt: skip
    low, high = float(min(min(reach), 1)), float(max(reach))
    return State(
        Chart(series, height=300, narrow_height=290,
              x=Axis(unit=Text("块数 N", "blocks N"), log=True, range=(5.4, 430), ticks=(6, 24, 96, 384)),
              y=Axis(label=Text("为原来的几倍", "times the model's"), log=True, range=(low * 0.8, high * 1.3),
                     ticks=[(t, words) for t, words in ((0.0625, "1/16"), (0.25, "1/4"), (1, "1"), (4, "4")) if low * 0.8 <= t <= high * 1.3]),
              summary=Text("四条线随块数变化：权重不动，宽度下降，缓存与打分按平方根上升，先后步数按一次方上升。",
                           "Four lines over the number of blocks: weights flat, width falling, cache and scores rising with the root, serial steps in proportion.")),
        sentence,
        Table((Text("块数", "Blocks"), Text("宽度", "Width"), Text("缓存、打分的倍数", "Cache and scores, times"), Text("先后步数的倍数", "Serial steps, times")), rows),
    )  # fmt: skip


SHARING = {
    "none": Text("都不共用", "nothing"),
    "attention": Text("只共用 attention", "attention only"),
    "ffn": Text("只共用 FFN", "FFNs only"),
    "all": Text("全部共用", "everything"),
}


@cache
def albert(run: str) -> tuple[Fraction, int]:
    """Score and parameters of a row of ALBERT's table."""
    score, size = (evaluate(f"albert_sharing_{what}?run={run}").value for what in ("score", "parameters"))
    return Fraction(str(score)), int(size)


@exhibit(
    "shared-layers", number=66, title=Text("各层共用权重，省下多少，丢掉多少？", "Weights shared by all layers: what is saved, what is lost?"),
    controls=(
        Choice("sharing", Text("共用", "Share"), options=tuple(SHARING.items()), default="all"),
        Choice("width", Text("embedding 宽度 E", "Embedding width E"), options=((768, "768"), (128, "128")), default=768),
    ),
)  # fmt: skip
def shared_layers(sharing: str, width: int) -> State:
    """ALBERT's ablation: parameters across, average score of five tasks up."""
    runs = {s: albert(f"{s}-{width}") for s in SHARING}
    other = 128 if width == 768 else 768
    score, size = runs[sharing]
    base_score, base_size = runs["none"]
    rest = [s for s in SHARING if s != sharing]
    series = [
        Series(Text(f"E = {other}", f"E = {other}"), x=[albert(f"{s}-{other}")[1] / 1e6 for s in SHARING],
               y=[albert(f"{s}-{other}")[0] for s in SHARING], mark="points", role="ghost"),
        Series(Text(f"E = {width}", f"E = {width}"), x=[runs[s][1] / 1e6 for s in rest], y=[runs[s][0] for s in rest], mark="points",
               role="c1", labels=[SHARING[s] for s in rest], place="above"),
        Series(Text("所选", "chosen"), x=[size / 1e6], y=[score], mark="points", role="ink", labels=[SHARING[sharing]], bold=True, place="below"),
    ]  # fmt: skip
    if sharing == "none":
        compare = Text("这是比较的起点。", "This is where the comparison starts.")
    else:
        change = score - base_score
        compare = Text(
            f"比都不共用少 **{percent(1 - Fraction(size, base_size))}** 的参数，平均分{'低' if change < 0 else '高'} **{num(abs(change))}**。",
            f"That is **{percent(1 - Fraction(size, base_size))}** fewer parameters than with nothing shared, and an average **{num(abs(change))}** {'lower' if change < 0 else 'higher'}.",
        )  # fmt: skip
    sentence = Text(
        f"E = {width}，{SHARING[sharing].zh}：**{short(size, 'zh')}** 个参数，五项任务平均 **{num(score)}** 分。{compare.zh}",
        f"With E = {width} and {SHARING[sharing].en} shared: **{short(size, 'en')}** parameters, an average of **{num(score)}** over five tasks. {compare.en}")  # fmt: skip
    rows = [(Text(f"{'▸ ' if (s, e) == (sharing, width) else ''}{SHARING[s].zh}，E = {e}", f"{'▸ ' if (s, e) == (sharing, width) else ''}{SHARING[s].en}, E = {e}"),
             Text(short(albert(f"{s}-{e}")[1], "zh"), short(albert(f"{s}-{e}")[1], "en")), num(albert(f"{s}-{e}")[0]))
            for e in (768, 128) for s in SHARING]  # fmt: skip
    return State(
        Chart(series, height=280, narrow_height=290,
              x=Axis(unit=Text("百万个参数", "million parameters"), range=(0, 122), ticks=(0, 40, 80, 120)),
              y=Axis(label=Text("五项任务平均分", "average of five tasks"), range=(79, 83), ticks=(79, 80, 81, 82)),
              summary=Text(f"八个点，横轴参数、纵轴平均分；所选的在 {num(size / 10**6)} 百万与 {num(score)} 分。",
                           f"Eight points, parameters across and average score up; the chosen one at {num(size / 10**6)} million and {num(score)}.")),
        sentence,
        Table((Text("共用", "Shared"), Text("参数", "Parameters"), Text("平均分", "Average")), rows),
    )  # fmt: skip


MIXTURES = (
    "mixtral-8x7b",
    "gpt-oss-20b",
    "qwen3-next-80b-a3b",
    "deepseek-v4-flash",
    "deepseek-v3",
    "kimi-k2",
    "kimi-k3",
)


@cache
def sizes(model: str, table: str) -> tuple[int, int]:
    """All parameters and those that one token passes; without the input table, both."""
    config = load(model).config
    total, active = params.count(config).total, params.active(config)
    if table == "with":
        return total, active.with_embeddings
    return total - (active.with_embeddings - active.without_input_embedding), active.without_input_embedding


@exhibit(
    "experts-held-and-used", number=67, title=Text("存着的参数，和用到的参数", "Parameters held, parameters used"),
    controls=(
        Range("model", Text("模型", "Model"), values=MIXTURES, labels=tuple(load(m).name for m in MIXTURES), default="mixtral-8x7b"),
        Choice("table", Text("输入的 embedding 表", "Input table"), options=(
            ("with", Text("计入", "counted")), ("without", Text("不计", "left out"))), default="with"),
    ),
)  # fmt: skip
def experts_held_and_used(model: str, table: str) -> State:
    """All parameters and those on one token's way, in models with mixtures of experts."""
    rows_of = {m: sizes(m, table) for m in MIXTURES}
    row = MIXTURES.index(model)
    total, active = rows_of[model]
    others = [i for i in range(len(MIXTURES)) if i != row]
    held = [rows_of[MIXTURES[i]][0] / 1e9 for i in others]
    used = [rows_of[MIXTURES[i]][1] / 1e9 for i in others]
    series = [
        Series(Text("差距", "gap"), x=[v for i in range(len(MIXTURES)) for v in (rows_of[MIXTURES[i]][1] / 1e9, rows_of[MIXTURES[i]][0] / 1e9)],
               y=[v for i in range(len(MIXTURES)) for v in (i, i)], mark="links", role="line-2"),
        Series(Text("全部，其他模型", "all, other models"), x=held, y=others, mark="points", role="ghost"),
        Series(Text("用到的，其他模型", "used, other models"), x=used, y=others, mark="points", role="ghost"),
        Series(Text("全部", "all"), x=[total / 1e9], y=[row], mark="points", role="ink", labels=[Text(short(total, "zh", 4), short(total, "en", 4))], bold=True, place="right"),
        Series(Text("用到的", "used"), x=[active / 1e9], y=[row], mark="points", role="c1", labels=[Text(short(active, "zh", 4), short(active, "en", 4))], place="left"),
    ]  # fmt: skip
    config, name = load(model).config, load(model).name
    moe = config.moe
    both = (
        Text("计入输入的 embedding 表", "The input table counted")
        if table == "with"
        else Text("不计输入的 embedding 表", "The input table left out")
    )
    plus = Text("，外加一个共享专家", " and a shared one") if moe.shared else Text("", "")
    sentence = Text(
        f"{name}（{both.zh}）：一共 **{num(total)}** 个参数，每个 token 走过 **{num(active)}** 个，占 **{percent(Fraction(active, total))}**；"
        f"混合专家层里是 **{moe.n_experts}** 个专家中的 **{moe.top_k}** 个{plus.zh}。",
        f"{name}. {both.en}, it has **{num(total)}** parameters, and a token passes **{num(active)}** of them, **{percent(Fraction(active, total))}**: "
        f"in a layer of experts, **{moe.top_k}** of **{moe.n_experts}**{plus.en}.")  # fmt: skip
    rows = [(Text.same(("▸ " if m == model else "") + load(m).name), f"{load(m).config.moe.top_k} / {load(m).config.moe.n_experts}",
             rows_of[m][0], rows_of[m][1], percent(Fraction(rows_of[m][1], rows_of[m][0]))) for m in MIXTURES]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=300,
              x=Axis(unit=Text("十亿个参数", "billion parameters"), log=True, range=(0.9, 9000), ticks=(10, 100, 1000)),
              y=Axis(categories=[load(m).name for m in MIXTURES]),
              summary=Text(f"每个模型一行两点，右为全部，左为用到的；{name} 是 {short(total, 'zh', 4)} 与 {short(active, 'zh', 4)}。",
                           f"Two points a model, all at the right and used at the left; {name} has {short(total, 'en', 4)} and {short(active, 'en', 4)}.")),
        sentence,
        Table((Text("模型", "Model"), Text("用到 / 共有的专家", "Experts used / held"), Text("全部参数", "All parameters"),
               Text("用到的", "Used"), Text("比例", "Share")), rows),
    )  # fmt: skip
