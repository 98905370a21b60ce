"""Exhibits of the lesson on where parameters and FLOPs go: a model taken apart, and the context as a slider."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

from blocklib.atlas.models import load
from blocklib.atlas.where_facts import crossover, ffn_flops_per_token
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num, percent, short
from blocklib.ledger import flops, params
from blocklib.ledger.config import Config
from blocklib.ledger.matrices import FFN_ROWS, block_rows
from blocklib.text import Text

# Models whose blocks are taken apart by matrix, in the order of their publication.
MODELS = ("gpt2-small", "gpt3-175b", "mixtral-8x7b", "llama-3-8b", "gemma-3-1b", "qwen3-8b", "qwen3-next-80b-a3b",
          "qwen3.8-27b")  # fmt: skip
COURSE = "qwen3.8-27b"
LEVELS = (Text("整个模型", "the whole model"), Text("各种块", "kinds of block"), Text("一个 attention 块", "an attention block"),
          Text("另一种块", "the other kind of block"))  # fmt: skip
COMPONENTS = {
    "embedding": Text("embedding", "embedding"), "position": Text("位置编码", "positions"),
    "attention": Text("各种 attention", "attention of all kinds"), "ffn": Text("FFN", "FFN"), "norm": Text("归一化", "norms"),
    "qk_norm": Text("QK-norm", "QK-norm"), "head": Text("输出头", "head"), "other": Text("其他", "other"),
}  # fmt: skip
MIXERS = {
    "full": Text("完整 attention", "full attention"), "sliding": Text("滑动窗口 attention", "sliding-window attention"),
    "gated_delta": Text("Gated DeltaNet", "Gated DeltaNet"),
}  # fmt: skip
MATRICES = {
    "norms": Text("归一化", "norms"), "query": Text("query", "query"), "output_gate": Text("输出门", "output gate"),
    "key": Text("key", "key"), "value": Text("value", "value"), "write_and_decay": Text("写入与衰减", "write and decay"),
    "convolution": Text("短卷积", "short convolution"), "decay_terms": Text("衰减的常数", "decay terms"),
    "sinks": Text("汇点", "sinks"), "qk_gains": Text("QK-norm", "QK-norm"), "gain": Text("输出处归一化", "output norm"),
    "output": Text("输出", "output"), "mixer_biases": Text("attention 偏置", "attention biases"),
    "router": Text("路由", "router"), "shared": Text("共享专家", "shared expert"), "gate": Text("FFN 的门", "FFN gate"),
    "up": Text("FFN 展宽", "FFN up"), "down": Text("FFN 收窄", "FFN down"), "ffn_biases": Text("FFN 偏置", "FFN biases"),
}  # fmt: skip
SMALL = Fraction(1, 500)  # rows under this share of the whole are drawn as one
LEAST = Fraction(1, 1000)  # a share under it is not worth its digits


class Row(NamedTuple):
    """One entry of the account: its name, its parameters, and whether an FFN holds them."""

    name: Text
    count: int
    ffn: bool


def by_component(config: Config) -> list[Row]:
    """The ledger's own components; those without parameters are left out."""
    found = params.count(config).components
    return [Row(COMPONENTS[name], count, name == "ffn") for name, count in found.items() if count]


def by_kind(config: Config) -> list[Row]:
    """Mixers by kind and how often each occurs, FFNs, norms, and what stands outside the blocks."""

    def times(count: int, name: Text) -> Text:
        return Text(f"{count} × {name.zh}", f"{count} × {name.en}")

    outside, whole = params.outside_blocks(config), params.count(config)
    rows = [Row(COMPONENTS[name], getattr(outside, name), False) for name in ("embedding", "position")]
    for layer, count in config.groups.items():
        mixer = params.mixer_params(layer.mixer, config.d_model)
        rows.append(Row(times(count, MIXERS[layer.mixer.kind]), count * mixer.attention, False))
    rows.append(Row(times(config.n_layers, COMPONENTS["ffn"]), whole.ffn, True))
    rows += [Row(COMPONENTS[name], getattr(whole, name), False) for name in ("norm", "qk_norm", "head")]
    return [row for row in rows if row.count]


def by_matrix(config: Config, other: bool) -> tuple[Text, list[Row]]:
    """One block by matrix, and what mixes its tokens: a block with full attention, or one of another kind where the
    model has two."""
    groups = {layer.mixer.kind: layer for layer in config.groups}
    kind = next((k for k in groups if (k == "full") != other), "full")
    rows = block_rows(config, groups[kind])
    return MIXERS[kind], [Row(MATRICES[name], count, name in FFN_ROWS) for name, count in rows.items()]


def share_of(count: int, total: int) -> Text:
    """``26.9%``, or that it is less than what is worth its digits."""
    found = Fraction(count, total)
    if found >= LEAST:
        return Text.same(percent(found))
    return Text(f"不到 {percent(LEAST, 1)}", f"under {percent(LEAST, 1)}")


def drawn(rows: list[Row]) -> list[Row]:
    """Rows as the picture shows them: small ones together."""
    total = sum(row.count for row in rows)
    large, rest = ([row for row in rows if (row.count >= SMALL * total) == big] for big in (True, False))
    name = Text(f"其余 {len(rest)} 项", f"{len(rest)} small entries")
    return large + (rest if len(rest) < 2 else [Row(name, sum(row.count for row in rest), False)])


def whose(name: str, config: Config, level: int, mixer: Text, total: str) -> Text:
    """What is taken apart, in words."""
    if level == 0:
        return Text(f"{name} 一共 {total} 个参数", f"{name} has {total} parameters")
    if level == 1:
        return Text(f"{name} 的 {total} 个参数，按块的种类分", f"The {total} parameters of {name}, by kind of block")
    if level == 3 and len({layer.mixer.kind for layer in config.groups}) == 1:
        return Text(f"{name} 只有一种块，{total} 个参数", f"{name} has one kind of block, of {total} parameters")
    return Text(
        f"{name} 的一个块（{mixer.zh}），{total} 个参数", f"One block of {name} with {mixer.en}, {total} parameters"
    )


@exhibit(
    "where-parameters-go", number=36, title=Text("一个模型的参数花在哪里？", "Where do the parameters of a model go?"),
    controls=(
        Range("model", Text("模型", "Model"), values=MODELS, default=COURSE, labels=tuple(load(m).name for m in MODELS)),
        Steps("level", Text("看到", "Down to"), values=(0, 1, 2, 3), labels=LEVELS, default=0),
    ),
)  # fmt: skip
def where_parameters_go(model: str, level: int) -> State:
    """A model's parameters: by component, by kind of block, or one block by matrix."""
    config, mixer = load(model).config, Text("—", "—")
    if level < 2:
        rows = (by_component, by_kind)[level](config)
    else:
        mixer, rows = by_matrix(config, other=level == 3)
    total, shown = sum(row.count for row in rows), drawn(rows)
    share = {row: share_of(row.count, total) for row in (*rows, *shown)}
    ffn = percent(Fraction(sum(row.count for row in rows if row.ffn), total))
    what = whose(load(model).name, config, level, mixer, f"**{num(total)}**")
    listed = [
        (f"{r.name.zh} **{num(r.count)}**（{share[r].zh}）", f"{r.name.en} **{num(r.count)}** ({share[r].en})")
        for r in shown
    ]
    sentence = Text(
        f"{what.zh}：{'，'.join(zh for zh, _ in listed)}。FFN 占 **{ffn}**。",
        f"{what.en}: {', '.join(en for _, en in listed)}. FFNs hold **{ffn}**.",
    )
    places = range(len(shown))
    parts = ((COMPONENTS["ffn"], "c1", True), (Text("其余", "the rest"), "ghost", False))
    series = []
    for name, role, in_ffn in parts:
        at = [i for i in places if shown[i].ffn == in_ffn]
        series.append(Series(name, x=[shown[i].count for i in at], y=at, mark="hbar", role=role, thickness=0.52))
    table = [(row.name, row.count, share[row]) for row in rows]
    return State(
        Chart(series, height=60 + 27 * max(5, len(shown)), narrow_height=60 + 44 * max(4, len(shown)),
              x=Axis(unit=Text("参数", "parameters"), range=(0, max(r.count for r in shown) * 1.02), ticks=(0,)),
              y=Axis(categories=[r.name for r in shown]),
              totals=[Text(f"{short(r.count, 'zh')}，{share[r].zh}", f"{short(r.count, 'en')}, {share[r].en}") for r in shown],
              summary=Text(f"横条：{'，'.join(f'{r.name.zh} {share[r].zh}' for r in shown)}。",
                           f"Bars: {', '.join(f'{r.name.en} {share[r].en}' for r in shown)}.")),
        sentence,
        Table((Text("项目", "Entry"), Text("参数", "Parameters"), Text("份额", "Share")),
              [*table, (Text("合计", "total"), total, percent(Fraction(1)))], total=len(table)),
    )  # fmt: skip


CONTEXTS = (1024, 4096, 8192, 16_384, 21_760, 32_768, 65_536, 87_040, 131_072, 174_080, 262_144, 524_288, 1_048_576)
SLIDER_MODELS = ("gpt3-175b", "llama-3-8b", "qwen3-next-80b-a3b", COURSE)
COMPARE = (
    ("last", Text("最后一个 token", "last token")),
    ("average", Text("提示的平均", "mean of a prompt")),
    ("layer", Text("一层对一层", "one layer")),
    ("mixers", Text("连投影一起", "with projections")),
)
MEANT = {
    "last": Text("最后一个 token，各层的打分与加权求和", "the last token's scores and values in all layers"),
    "average": Text("因果掩码下整段提示取平均（每个 token 只见一半），各层的打分与加权求和",
                    "scores and values in all layers, averaged over a causal prompt, whose tokens see half of it,"),
    "layer": Text("最后一个 token，一个完整 attention 层的打分与加权求和，对一个 FFN",
                  "the last token's scores and values in one full-attention layer, against one FFN,"),
    "mixers": Text("最后一个 token，各层的打分、加权、投影与循环状态",
                   "the last token's scores, values, projections and recurrent states in all layers"),
}  # fmt: skip


class Sides(NamedTuple):
    """FLOPs per token of the two sides of a comparison: attention ``fixed + slope · tokens``, the FFNs ``ffn``."""

    fixed: Fraction
    slope: Fraction
    ffn: Fraction

    def attention(self, tokens: int) -> Fraction:
        """Attention's side in a context of this length."""
        return self.fixed + self.slope * tokens


@cache
def sides(model: str, compare: str) -> Sides:
    """The two sides of a comparison for one model, in the terms of :func:`blocklib.atlas.where_facts.crossover`."""
    config = load(model).config
    slope, one = flops.attention_pieces(config)[0][1], flops.forward(config, 1)
    fixed = one.projections + one.recurrent if compare == "mixers" else 0
    part = {"average": Fraction(1, 2), "layer": Fraction(1, config.full_layers)}.get(compare, Fraction(1))
    ffn = Fraction(ffn_flops_per_token(config), config.n_layers if compare == "layer" else 1)
    return Sides(Fraction(fixed), slope * part, ffn)


@exhibit(
    "context-slider", number=37, title=Text("上下文多长时，attention 的计算反超 FFN？", "At what context does attention overtake the FFN?"),
    controls=(
        Range("tokens", Text("上下文", "Context"), values=CONTEXTS, default=32_768),
        Choice("compare", Text("比较", "Compare"), options=COMPARE, default="last"),
        Range("model", Text("模型", "Model"), values=SLIDER_MODELS, labels=tuple(load(m).name for m in SLIDER_MODELS), default=COURSE),
    ),
)  # fmt: skip
def context_slider(tokens: int, compare: str, model: str) -> State:
    """FLOPs per token of attention, which grow with the context, and of the FFNs, which do not."""
    found, two = load(model), sides(model, compare)
    meets = crossover(found.config, compare)
    ffn, cost, meets_at = two.ffn, two.attention(tokens), num(round(meets))
    ratio, low, high = num(cost / ffn, 3), CONTEXTS[0], CONTEXTS[-1]
    series = [
        Series(Text("FFN", "FFN"), x=[low, high], y=[ffn, ffn], mark="line", role="c2", dash=False, end=Text("FFN", "FFN")),
        Series(Text("attention", "attention"), x=CONTEXTS, y=[two.attention(t) for t in CONTEXTS], mark="line", role="c1",
               dash=False, end=Text("attention", "attention")),
        Series(Text("此处", "here"), x=[tokens], y=[cost], mark="points", role="ink"),
    ]  # fmt: skip
    bottom, top = min(two.attention(low), ffn) / 4, max(two.attention(high), ffn) * 3
    if meets > low:
        lift = (float(top) / float(bottom)) ** 0.07  # words stand off both lines, on the side with more room
        beside = (0.95, lift, "left") if meets > 32_768 else (1.05, 1 / lift, "right")
        series[2:2] = [
            Series(Text("相等处", "where they meet"), x=[meets], y=[ffn], mark="points", role="ghost"),
            Series(Text("相等处", "where they meet"), x=[float(meets) * beside[0]], y=[float(ffn) * beside[1]], mark="label",
                   role="ink", place=beside[2], labels=[Text(f"{meets_at} 处相等", f"equal at {meets_at}")]),
        ]  # fmt: skip
    limit = found.context_length
    past = Text(f"（超出它发布时的 {num(limit)}）", f" (beyond the {num(limit)} it was released for)") \
        if limit is not None and tokens > limit else Text("", "")  # fmt: skip
    equal = Text("，两者相等。", ", just as much.") if cost == ffn else Text(
        f"，前者是后者的 **{ratio}** 倍。两者在 **{meets_at}** 个 token 处相等。",
        f". The first is **{ratio}** times the second; they are equal at **{meets_at}** tokens.")  # fmt: skip
    meant = MEANT[compare]
    sentence = Text(
        f"{found.name}，上下文 **{num(tokens)}** 个 token{past.zh}。{meant.zh}：每个 token **{short(round(cost), 'zh')}** FLOP；"
        f"FFN **{short(round(ffn), 'zh')}** FLOP{equal.zh}",
        f"{found.name}, a context of **{num(tokens)}** tokens{past.en}: {meant.en} come to **{short(round(cost), 'en')}** FLOPs a "
        f"token, the FFN to **{short(round(ffn), 'en')}**{equal.en}")  # fmt: skip
    rows = [(Text.same(f"{'▸ ' * (t == tokens)}{num(t)}"), num(round(two.attention(t))), num(round(ffn)),
             num(two.attention(t) / ffn, 3)) for t in CONTEXTS]  # fmt: skip
    return State(
        Chart(series, height=280, narrow_height=280,
              x=Axis(unit=Text("上下文，token", "context, tokens"), log=True, range=(low, high * 1.02),
                     ticks=[(t, f"{t // 1024} Ki") for t in (1024, 8192, 65_536, 1_048_576)]),
              y=Axis(label=Text("每个 token 的 FLOP", "FLOPs per token"), log=True,
                     range=(bottom, top)),
              summary=Text(f"双对数坐标上，FFN 是水平线，attention 随上下文上升，在 {meets_at} 个 token 处相等；{num(tokens)} 处 attention 是 FFN 的 {ratio} 倍。",
                           f"On log axes the FFN is level and attention rises with the context; they are equal at {meets_at} tokens, and at "
                           f"{num(tokens)} attention costs {ratio} times the FFN.")),
        sentence,
        Table((Text("上下文", "Context"), Text("attention，FLOP", "attention, FLOPs"), Text("FFN，FLOP", "FFN, FLOPs"), Text("倍数", "Ratio")), rows),
    )  # fmt: skip
