"""Exhibits on the family of gated units: what each gate does to a value, and what an FFN keeps for the backward pass."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num
from blocklib.ledger.activation_facts import ffn_saved_widths
from blocklib.text import Text
from blocklib.theory.gates import gate_floor, gate_value

# Gates by their name in the family: (the function that opens them, its formula).
FAMILY = {
    "glu": (Text.same("GLU"), Text.same("σ(x)")),
    "reglu": (Text.same("ReGLU"), Text.same("max(x, 0)")),
    "geglu": (Text.same("GEGLU"), Text.same("x·Φ(x)")),
    "swiglu": (Text.same("SwiGLU"), Text.same("x·σ(x)")),
}
LOW, HIGH = -5, 3
INPUTS = ("-5", "-4", "-3", "-2", "-1.5", "-1", "-0.5", "0", "0.5", "1", "1.5", "2", "3")


@cache
def curve(kind: str) -> tuple[list[float], list[float]]:
    """Gain of a gate over the picture's inputs."""
    xs = [Fraction(i, 10) for i in range(LOW * 10, HIGH * 10 + 1)]
    return [float(x) for x in xs], [float(gate_value(kind, x)) for x in xs]


def effect(gain: float) -> Text:
    """What a gain of this size does to the value it multiplies."""
    if gain == 0:
        return Text("内容被完全挡住", "nothing of the value passes")
    if gain == 1:
        return Text("内容原样通过", "the value passes as it is")
    size = abs(gain)
    sign = Text("符号翻转", "its sign turns") if gain < 0 else Text("符号不变", "its sign stays")
    change = Text("缩小", "shrinks") if size < 1 else Text("放大", "grows")
    return Text(f"内容{change.zh}，{sign.zh}", f"the value {change.en} and {sign.en}")


@exhibit(
    "gate-family", number=60, title=Text("阀门，还是增益？", "A valve, or a gain?"),
    controls=(
        Range("input", Text("门的输入 x", "Gate input x"), values=INPUTS, default="-1",
              labels=tuple(num(Fraction(v)) for v in INPUTS)),
        Choice("gate", Text("门", "Gate"), options=tuple((k, name) for k, (name, _) in FAMILY.items()), default="swiglu"),
    ),
)  # fmt: skip
def gate_family(input: str, gate: str) -> State:
    """Gains of four gates over their input; one is chosen, and one input."""
    x, (name, formula) = Fraction(input), FAMILY[gate]
    gain = gate_value(gate, x)
    series = [Series(FAMILY[k][0], *curve(k), mark="line", role="ghost", dash=False) for k in FAMILY if k != gate]
    xs, ys = curve(gate)
    series += [
        Series(Text("原样通过", "unchanged"), x=[], y=[1], mark="rule", role="ink-2", end=Text("原样", "unchanged")),
        Series(Text("不放行", "shut"), x=[], y=[0], mark="rule", role="ink-2", end=Text("不放行", "shut")),
        Series(name, x=xs, y=ys, mark="line", role="c1"),
        Series(Text("此处", "here"), x=[x], y=[float(gain)], mark="points", role="ink", labels=[num(gain)], bold=True,
               place="below" if gain < 0 else "above"),
    ]  # fmt: skip
    floor = gate_floor(gate)
    bounds = Text(
        f"增益最低 **{num(floor)}**，向上没有限度",
        f"Its gain never falls below **{num(floor)}** and has no upper limit",
    )
    if gate == "glu":
        bounds = Text("增益始终在 **0** 与 **1** 之间", "Its gain always lies between **0** and **1**")
    what = effect(float(gain))
    sentence = Text(
        f"{name.zh} 的门是 {formula.zh}。输入 **{num(x)}** 时增益是 **{num(gain)}**：{what.zh}。{bounds.zh}。",
        f"The gate of {name.en} is {formula.en}. At input **{num(x)}** the gain is **{num(gain)}**: {what.en}. "
        f"{bounds.en}.")  # fmt: skip
    rows = []
    for k, (words, how) in FAMILY.items():
        mark = "▸ " if k == gate else ""
        rows.append((Text(f"{mark}{words.zh}，{how.zh}", f"{mark}{words.en}, {how.en}"), num(x), num(gate_value(k, x)),
                     num(gate_floor(k)), "1" if k == "glu" else Text("无", "none")))  # fmt: skip
    return State(
        Chart(series, height=280, narrow_height=270,
              x=Axis(unit=Text("门的输入 x", "gate input x"), range=(LOW, HIGH), ticks=(-4, -2, 0, 2)),
              y=Axis(label=Text("增益", "gain"), range=(-0.6, 3.1), ticks=(0, 1, 2, 3)),
              summary=Text(f"四条增益曲线，所选的是 {name.zh}；在 x = {num(x)} 处取 {num(gain)}。",
                           f"Four curves of gain, {name.en} the chosen one; at x = {num(x)} it is {num(gain)}.")),
        sentence,
        Table((Text("门", "Gate"), Text("输入 x", "Input x"), Text("增益", "Gain"), Text("下界", "Lower bound"),
               Text("上界", "Upper bound")), rows),
    )  # fmt: skip


# Inner vectors that eager autograd keeps, in the order they arise, and whether the first matrices made them.
KEPT = {
    "relu": (("ReLU", True),),
    "relu2": (("ReLU", True), (Text("平方", "square"), False)),
    "gelu": ((Text("激活前", "before"), True), (Text("激活后", "after"), False)),
    "reglu": ((Text("门", "gate"), True), (Text("内容", "value"), True), (Text("积", "product"), False)),
    "geglu": ((Text("门", "gate"), True), (Text("内容", "value"), True), (Text("增益", "gain"), False), (Text("积", "product"), False)),
    "swiglu": ((Text("门", "gate"), True), (Text("内容", "value"), True), (Text("增益", "gain"), False), (Text("积", "product"), False)),
}  # fmt: skip
KIND_NAMES = {"relu": "ReLU", "relu2": "ReLU²", "gelu": "GELU", "reglu": "ReGLU", "geglu": "GEGLU", "swiglu": "SwiGLU"}


@exhibit(
    "saved-activations", number=61, title=Text("反向传播之前，要留下多少？", "How much must be kept for the backward pass?"),
    controls=(
        Range("kind", "FFN", values=tuple(KIND_NAMES), labels=tuple(KIND_NAMES.values()), default="swiglu"),
        Choice("width", Text("内部宽度", "Inner width"), options=(
            ("matched", Text("参数对齐", "equal parameters")), ("same", Text("都取 4d", "4d for all"))), default="matched"),
        Choice("keep", Text("留下", "Keep"), options=(
            ("all", Text("逐操作，全部", "all, operation by operation")),
            ("recompute", Text("只留前几个矩阵的输出", "outputs of the first matrices"))), default="all"),
    ),
)  # fmt: skip
def saved_activations(kind: str, width: str, keep: str) -> State:
    """Inner elements that each FFN keeps per token, in multiples of the width, split by the vector they belong to."""
    kinds = tuple(KIND_NAMES)
    totals = {k: ffn_saved_widths(k, width, keep) for k in kinds}
    row, kept = kinds.index(kind), [v for v in KEPT[kind] if keep == "all" or v[1]]
    others = [i for i in range(len(kinds)) if i != row]
    series = [
        Series(Text("其他 FFN", "other FFNs"), x=[totals[kinds[i]] for i in others], y=others, mark="hbar", role="ghost",
               stack="kept", thickness=0.56)
    ]  # fmt: skip
    each = Fraction(totals[kind]) / len(kept)
    series += [
        Series(name, x=[each], y=[row], mark="hbar", role="c1", stack="kept", labels=[name], thickness=0.56)
        for name, _ in kept
    ]
    times = {k: num(Fraction(totals[kind]) / Fraction(totals[k])) for k in ("relu", "gelu") if k != kind}
    against = Text("、".join(f"{KIND_NAMES[k]} 的 **{t}** 倍" for k, t in times.items()),
                   ", ".join(f"**{t}** times {KIND_NAMES[k]}'s" for k, t in times.items()))  # fmt: skip
    names = [name if isinstance(name, Text) else Text.same(name) for name, _ in kept]
    how = (
        Text("参数对齐", "At equal parameters")
        if width == "matched"
        else Text("内部宽度都取 4d", "With an inner width of 4d for all")
    )
    what = Text("逐个操作地留", "keeping what each operation needs") if keep == "all" else Text(
        "只留前几个矩阵的输出、其余重算", "keeping only what the first matrices made and computing the rest again")  # fmt: skip
    sentence = Text(
        f"{how.zh}，{what.zh}：{KIND_NAMES[kind]} 每个 token 留下 **{num(totals[kind])}d** 个元素，共 **{len(kept)}** 个向量"
        f"（{'、'.join(n.zh for n in names)}），是 {against.zh}。",
        f"{how.en}, {what.en}, {KIND_NAMES[kind]} leaves **{num(totals[kind])}d** elements per token in **{len(kept)}** "
        f"{'vector' if len(kept) == 1 else 'vectors'} ({', '.join(n.en for n in names)}), {against.en}.")  # fmt: skip
    rows = [(Text.same(("▸ " if k == kind else "") + KIND_NAMES[k]), sum(1 for v in KEPT[k] if keep == "all" or v[1]),
             Text.same(f"{num(totals[k])}d")) for k in kinds]  # fmt: skip
    return State(
        Chart(series, height=250, narrow_height=330,
              x=Axis(unit=Text("个元素 / token，以 d 计", "elements per token, in d"), range=(0, 16), ticks=(0, 4, 8, 12)),
              y=Axis(categories=[Text.same(KIND_NAMES[k]) for k in kinds]), totals=[Text.same(f"{num(totals[k])}d") for k in kinds],
              summary=Text(f"六条横条，每种 FFN 一条；{KIND_NAMES[kind]} 分成 {len(kept)} 段，合计 {num(totals[kind])}d。",
                           f"Six bars, one an FFN; that of {KIND_NAMES[kind]} has {len(kept)} parts, {num(totals[kind])}d in all.")),
        sentence,
        Table(("FFN", Text("留下的向量", "Vectors kept"), Text("元素 / token", "Elements per token")), rows),
    )  # fmt: skip
