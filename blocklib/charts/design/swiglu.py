"""Exhibits on gates: gate against value, inner widths against 8d/3, what an output gate on attention costs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent, signed
from blocklib.ledger import params
from blocklib.text import Text
from blocklib.theory import gates
from blocklib.theory.gated_width import gated_ffn_excess, matched_width, rounded_width

REACH = 12  # the plane runs from -12 to 12, past both clamps in use
STEP = 2
# A clamp as models use it: name, function of (gate, up), words.
CLAMPS = {
    "none": (gates.swiglu, Text("无", "none")),
    "ten": (lambda g, u: gates.swiglu_clamped(g, u, Fraction(10)), Text("截在 10", "at 10")),
    "seven": (lambda g, u: gates.swiglu_gpt_oss(g, u, Fraction(7)), Text("gpt-oss，截在 7", "gpt-oss, at 7")),
}
HOW = {
    "none": Text("不截断", "Nothing is clamped."),
    "ten": Text("门的输入最高 10，内容限在 ±10", "The gate input is capped at 10 and the value kept within ±10."),
    "seven": Text("照 gpt-oss 的写法，门的输入最高 7，内容限在 ±7 再加一，sigmoid 更陡",
                  "As in gpt-oss, the gate input is capped at 7, the value kept within ±7 plus one, and the sigmoid is steeper."),
}  # fmt: skip
CORNERS = {"none": Fraction(REACH), "ten": Fraction(10), "seven": Fraction(7)}  # where the output is largest
GATE_STOPS = ("-12", "-10", "-6", "-3", "low", "-1", "-0.5", "0", "0.5", "unit", "3", "6", "10", "12")
UP_STOPS = (-12, -10, -6, -3, -1, 0, 1, 3, 6, 10, 12)


def gate_stop(stop: str) -> Fraction:
    """Input of the gate at a stop of the slider: a number, the place of SiLU's minimum, or of its unit gain."""
    special = {"low": gates.silu_minimiser, "unit": gates.silu_unit_gain}
    return Fraction(special[stop]()) if stop in special else Fraction(stop)


@cache
def plane(clamp: str) -> dict[tuple[int, int], float]:
    """What a channel hands on over the grid of gate inputs and values."""
    grid = range(-REACH, REACH + 1, STEP)
    return {(g, u): float(CLAMPS[clamp][0](Fraction(g), Fraction(u))) for g in grid for u in grid}


def shown(value) -> str:
    """Five digits; what is a whole number but for the thirtieth digit, as one."""
    return num(Fraction(round(value, 20)), 5)


def shade(value: float) -> float:
    """Opacity of a cell. A root, so that the faint negative side can be told from nothing."""
    return round(min(1.0, (abs(value) / REACH**2) ** 0.4), 3)


@exhibit(
    "gate-value-plane", number=33, title=Text("门与内容相乘，得到多少？", "Gate times value: how much comes out?"),
    controls=(
        Range("gate", Text("门的输入 g", "Gate input g"), values=GATE_STOPS, default="10",
              labels=tuple(num(gate_stop(s), 5) for s in GATE_STOPS)),
        Range("up", Text("内容 u", "Value u"), values=UP_STOPS, default=10),
        Choice("clamp", Text("截断", "Clamp"), options=tuple((c, words) for c, (_, words) in CLAMPS.items()),
               default="none"),
    ),
)  # fmt: skip
def gate_value_plane(gate: str, up: int, clamp: str) -> State:
    """The plane of gate input and value, shaded by what one channel hands on; the chosen point and its gain."""
    g, u = gate_stop(gate), Fraction(up)
    function = CLAMPS[clamp][0]
    out, field = function(g, u), plane(clamp)
    signs = {"c1": Text("正", "positive"), "c2": Text("负", "negative")}
    series = []
    for role, name in signs.items():
        cells = [p for p, v in field.items() if (v > 0) == (role == "c1") and v]
        series.append(Series(name, x=[p[0] for p in cells], y=[p[1] for p in cells], mark="cells", role=role,
                             thickness=STEP * 0.96, alpha=[shade(field[p]) for p in cells]))  # fmt: skip
    series.append(Series(Text("此处", "here"), x=[float(g)], y=[up], mark="points", role="ink", labels=[shown(out)],
                         bold=True, place="left" if g > 0 else "right"))  # fmt: skip
    corner = CORNERS[clamp]
    largest = function(corner, corner)
    if up:
        turned = out * up < 0
        said = Text(
            f"：相当于把内容乘以 **{shown(out / up)}**，符号{'翻转' if turned else '不变'}。",
            f": the value is multiplied by **{shown(out / up)}** and {'turns' if turned else 'keeps'} its sign.",
        )
    elif out:
        said = Text(
            "：内容为零，放出来的是加上去的一。", ": the value is zero, and what comes out is the one that was added."
        )
    else:
        said = Text("：内容为零，门开多大都一样。", ": the value is zero, however wide the gate stands.")
    sentence = Text(
        f"{HOW[clamp].zh}。门的输入 **{num(g, 5)}**，内容 **{num(up)}**，这个通道交出 **{shown(out)}**{said.zh}"
        f"图中最大的输出是 **{shown(largest)}**，在 ({num(corner)}, {num(corner)}) 取到。",
        f"{HOW[clamp].en} Gate input **{num(g, 5)}** and value **{num(up)}** hand on **{shown(out)}**{said.en} "
        f"The largest output in the picture is **{shown(largest)}**, reached at ({num(corner)}, {num(corner)}).")  # fmt: skip
    rows = [(Text(f"此处：g = {num(g, 5)}", f"here: g = {num(g, 5)}"), num(up), shown(out))]
    for stop in ("-10", "low", "0", "unit", "6", "10", "12"):
        at = gate_stop(stop)
        rows.append((Text.same(f"g = {num(at, 5)}"), num(up), shown(function(at, u))))
    return State(
        Chart(series, height=320, narrow_height=300,
              x=Axis(unit=Text("门的输入 g", "gate input g"), range=(-13, 13), ticks=(-10, 0, 10)),
              y=Axis(label=Text("内容 u", "value u"), range=(-13, 13), ticks=(-10, 0, 10)),
              summary=Text(f"门的输入与内容的平面：右上为正、右下为负，颜色越深输出越大；左半边颜色很淡，符号相反。标出的一点输出 {shown(out)}。",
                           f"A plane of gate input and value: positive at the upper right, negative at the lower right, darker where "
                           f"more comes out; the left half is faint, its signs turned. The marked point hands on {shown(out)}.")),
        sentence,
        Table((Text("门的输入", "Gate input"), Text("内容 u", "Value u"), Text("输出", "Output")), rows),
    )  # fmt: skip


# Models whose dense FFN is gated, by d_ff / d, and a bare width for which there is only the rule.
GATED = ("deepseek-v3", "llama-7b", "deepseek-llm-67b", "qwen3-8b", "llama-3.1-405b", "qwen3.8-27b", "mistral-7b",
         "llama-3-8b", "llama-2-70b", "gemma-2-9b", "palm-540b", "qwen2.5-7b")  # fmt: skip
BARE = 256
CHOICES = (*GATED, "bare")


def shape(choice: str) -> tuple[int, int | None]:
    """Width of the stream and inner width of the dense FFN; None where there is only a rule."""
    if choice == "bare":
        return BARE, None
    config = load(choice).config
    return config.d_model, config.dense_ffn.d_ff


def name_of(choice: str) -> Text:
    """What a choice of the width exhibit is called: a model of the atlas, or a bare width."""
    if choice == "bare":
        return Text(f"只给宽度 {BARE}", f"a bare width of {BARE}")
    words = load(choice).name
    return Text(f"{words}（非专家层）", f"{words} (dense layers)") if load(choice).config.moe else Text.same(words)


@exhibit(
    "eight-thirds", number=34, title=Text("谁真的用 8d/3？", "Who really uses 8d/3?"),
    controls=(
        Range("model", Text("模型", "Model"), values=CHOICES, labels=tuple(map(name_of, CHOICES)), default="llama-7b"),
        Range("multiple", Text("向上凑成几的倍数", "Round up to a multiple of"), values=(1, 16, 64, 128, 256, 1024),
              default=256),
    ),
)  # fmt: skip
def eight_thirds(model: str, multiple: int) -> State:
    """Inner width over the stream's width in real models with gated FFNs, beside 8/3 and the rounded rule."""
    d, actual = shape(model)
    exact, rule = matched_width(d), rounded_width(d, multiple)
    ratios = {m: Fraction(shape(m)[1], shape(m)[0]) for m in GATED} | {
        "bare": Fraction(rounded_width(BARE, multiple), BARE)
    }
    row = CHOICES.index(model)
    others = [i for i in range(len(CHOICES)) if i != row]
    series = [
        Series(Text("其他", "the others"), x=[ratios[CHOICES[i]] for i in others], y=others, mark="hbar", role="ghost", thickness=0.5),
        Series(Text("所选", "the chosen one"), x=[ratios[model]], y=[row], mark="hbar", role="c1", thickness=0.5),
    ]  # fmt: skip
    series += [
        Series(Text("参数相等", "equal parameters"), x=[Fraction(8, 3)], y=[], mark="rule", role="ink-2",
               end=Text("8/3", "8/3")),
        Series(Text(f"规则，{num(multiple)} 的倍数", f"the rule, multiples of {num(multiple)}"), x=[Fraction(rule, d)], y=[row],
               mark="points", role="ink"),
    ]  # fmt: skip
    used = actual or rule
    excess = gated_ffn_excess(d, used)
    share = percent(abs(excess))
    name = name_of(model)
    rounded = Text(
        f"宽度 **{num(d)}**，8d/3 是 **{num(exact, len(str(int(exact))) + 2)}**，凑成 **{num(multiple)}** 的倍数是 **{num(rule)}**",
        f"at width **{num(d)}**, 8d/3 is **{num(exact, len(str(int(exact))) + 2)}**, rounded up to a multiple of **{num(multiple)}** it is **{num(rule)}**",
    )  # fmt: skip
    took = Text(
        f"模型取的{'正是' if actual == rule else '是'} **{num(used)}**，宽度的 **{num(ratios[model])}** 倍",
        f"The model takes {'just that, ' if actual == rule else ''}**{num(used)}**, **{num(ratios[model])}** times its width",
    ) if actual else Text(f"取这个值就是宽度的 **{num(Fraction(rule, d))}** 倍", f"That is **{num(Fraction(rule, d))}** times the width")  # fmt: skip
    sentence = Text(
        f"{name.zh}：{rounded.zh}。{took.zh}；三个矩阵的权重比 8d² {'多' if excess > 0 else '少'} **{share}**。",
        f"{name.en[0].upper()}{name.en[1:]}: {rounded.en}. {took.en}; its three matrices hold **{share}** "
        f"{'more' if excess > 0 else 'fewer'} weights than 8d².")  # fmt: skip
    mark = {model: "▸ "}
    rows = [(Text(mark.get(m, "") + name_of(m).zh, mark.get(m, "") + name_of(m).en), shape(m)[0], shape(m)[1],
             num(ratios[m]), signed_percent(gated_ffn_excess(*shape(m)))) for m in GATED]  # fmt: skip
    rows.append((Text(f"规则，宽 {num(d)}，{num(multiple)} 的倍数", f"the rule, width {num(d)}, multiples of {num(multiple)}"), d, rule,
                 num(Fraction(rule, d)), signed_percent(gated_ffn_excess(d, rule))))  # fmt: skip
    return State(
        Chart(series, height=390, narrow_height=600,
              x=Axis(unit=Text("内部宽度 / 宽度", "inner width / width"), range=(0, 6), ticks=(0, 2, 4, 6)),
              y=Axis(categories=[name_of(m) if m == "bare" else load(m).name for m in CHOICES]), totals=[num(ratios[m]) for m in CHOICES],
              summary=Text(f"横条是各模型的内部宽度与宽度之比，竖线在 8/3；所选的{name.zh}是 {num(Fraction(used, d))}，圆点是规则给出的值。",
                           f"Bars are inner width over width, a line stands at 8/3; {name.en}, the chosen one, is at {num(Fraction(used, d))}, "
                           "and the dot is what the rule gives.")),
        sentence,
        Table((Text("模型", "Model"), Text("宽度 d", "Width d"), "d_ff", "d_ff / d", Text("与 8d² 相比", "Against 8d²")), rows),
    )  # fmt: skip


def signed_percent(share: Fraction) -> str:
    """``+0.781%``, ``−3.57%``; an exact zero without a sign."""
    return signed(share * 100) + "%"


GATE_KINDS = {
    "component": Text("每个分量一个", "one a component"),
    "head": Text("每个头一个", "one a head"),
    "none": Text("没有", "none"),
}


@exhibit(
    "output-gate-count", number=35, title=Text("attention 的输出门有多少参数？", "What does a gate on attention's output cost?"),
    controls=(
        Choice("gate", Text("门", "Gates"), options=tuple(GATE_KINDS.items()), default="component"),
        Choice("scope", Text("范围", "Count"), options=(
            ("layer", Text("一层", "one layer")), ("model", Text("所有完整 attention 层", "all full-attention layers"))),
            default="layer"),
        Choice("model", Text("模型", "Model"), options=tuple(
            (m, load(m).name) for m in ("qwen3.8-27b", "qwen3-next-80b-a3b")), default="qwen3.8-27b"),
    ),
)  # fmt: skip
def output_gate_count(gate: str, scope: str, model: str) -> State:
    """Weights of one gated attention layer by matrix: the query matrix makes the gate as well."""
    config = load(model).config
    mixer, d = config.heads_kind, config.d_model
    layers = config.full_layers if scope == "model" else 1
    width = {"component": mixer.query_width, "head": mixer.n_heads, "none": 0}[gate]
    plain = params.mixer_params(replace(mixer, gate=False, biases=frozenset()), d).attention
    parts = [
        (Text("query", "query"), d * mixer.query_width), (Text("门", "gate"), d * width),
        (Text("key", "key"), d * mixer.kv_width), (Text("value", "value"), d * mixer.kv_width),
        (Text("输出", "output"), mixer.query_width * d),
    ]  # fmt: skip
    counts = [layers * weights for _, weights in parts]
    total = layers * (plain + d * width)
    ghosts = [0, 2, 3, 4]
    series = [
        Series(Text("其余矩阵", "the other matrices"), x=[counts[i] for i in ghosts], y=ghosts, mark="hbar", role="ghost",
               thickness=0.62),
        Series(Text("门", "gate"), x=[counts[1]], y=[1], mark="hbar", role="c1", thickness=0.62),
    ]  # fmt: skip
    name, made = load(model).name, mixer.query_width + width
    where = Text(f"{num(layers)} 个完整 attention 层合计", f"{num(layers)} full-attention layers together")
    where = Text("一层", "one layer") if scope == "layer" else where
    real = Text("这正是它的做法。", " This is what the model does.") if gate == "component" else Text(
        "这是假设，模型用的是每个分量一个。", " This is hypothetical: the model has one a component.")  # fmt: skip
    sentence = Text(
        f"{name}，{where.zh}，门：{GATE_KINDS[gate].zh}。query 的矩阵从 **{num(d)}** 到 **{num(made)}**，其中 query 占 **{num(mixer.query_width)}**，"
        f"门占 **{num(width)}**。门的权重 **{num(counts[1])}** 个，占 **{num(total)}** 个的 **{percent(Fraction(counts[1], total))}**。{real.zh}",
        f"{name}, {where.en}, gates: {GATE_KINDS[gate].en}. The query matrix goes from **{num(d)}** to **{num(made)}**: **{num(mixer.query_width)}** "
        f"for the queries and **{num(width)}** for gates. The gates hold **{num(counts[1])}** of **{num(total)}** weights, "
        f"**{percent(Fraction(counts[1], total))}**.{real.en}")  # fmt: skip
    rows = [(words, f"{num(d)} → {num(w // d)}" if i < 4 else f"{num(mixer.query_width)} → {num(d)}", n)
            for i, ((words, w), n) in enumerate(zip(parts, counts, strict=True))]  # fmt: skip
    return State(
        Chart(series, height=240, narrow_height=330,
              x=Axis(unit=Text("个权重", "weights"), range=(0, layers * d * mixer.query_width * 1.25), ticks=(0,)),
              y=Axis(categories=[words for words, _ in parts]), totals=[num(n) for n in counts],
              summary=Text(f"五条横条：query 与输出最长，门 {num(counts[1])} 个权重，key 与 value 最短。" if gate == "component" else
                           f"五条横条：query 与输出最长，门只有 {num(counts[1])} 个权重。",
                           f"Five bars: query and output the longest, the gate {num(counts[1])} weights." if gate == "component"
                           else f"Five bars: query and output the longest, the gate only {num(counts[1])} weights.")),
        sentence,
        Table((Text("矩阵", "Matrix"), Text("从 → 到", "From → to"), Text("权重", "Weights")),
              [*rows, (Text("合计", "total"), "", total)], total=5),
    )  # fmt: skip
