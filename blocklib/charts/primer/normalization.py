"""Exhibits of the page on normalisation."""

from __future__ import annotations

from functools import cache

from blocklib.atlas.models import PRIMER_IDS, load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.text import Text
from blocklib.theory.norm_ops import norm_core_ops, norm_ops, norm_steps

# Six real widths, GPT-2 small to GPT-3; a slider over them meets real models at every stop.
WIDTH_MODELS = ("gpt2-small", "gpt2-medium", "gpt2-xl", "llama-3-8b", "llama-3-70b", "gpt3-175b")
KINDS = ("layernorm", "rmsnorm")
NAMES = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
COUNTS = {"all": norm_ops, "core": norm_core_ops}
# Words that fit into a bar, by the step's place in LayerNorm's ledger.
SHORT = (Text("均值", "mean"), Text("减均值", "centre"), Text("平方", "square"), Text("求和", "sum"),
         Text("缩放", "scale"), Text("增益", "gain"), Text("偏置", "bias"))  # fmt: skip


@cache
def widths() -> tuple[int, ...]:
    """The slider's stops: the widths of six real models, ascending."""
    return tuple(load(model).config.d_model for model in WIDTH_MODELS)


def models_with(norm: str, width: int | None = None) -> list[tuple[str, int]]:
    """(name, width) of the atlas' models with this norm, by width; ``width`` keeps those of one width."""
    found = ((load(m).name, load(m).config) for m in PRIMER_IDS)
    return sorted(
        ((name, c.d_model) for name, c in found if c.norm == norm and width in (None, c.d_model)),
        key=lambda pair: pair[1],
    )


def steps(width: int, core: bool) -> list[tuple[Text, Text, int, int]]:
    """(full name, short name, operations of LayerNorm, of RMSNorm) per step, the shared steps first."""
    full, lean = ([s for s in norm_steps(kind, width) if s.core or not core] for kind in KINDS)
    shared = {s.name for s in lean}
    short = dict(zip((s.name for s in norm_steps("layernorm", width)), SHORT, strict=True))
    rows = [(s.name, short[s.name], s.operations, s.operations if s.name in shared else 0) for s in full]
    return sorted(rows, key=lambda row: row[3] == 0)


@exhibit(
    "norm-ops", number=7, title=Text("少做的几步，值多少次运算？", "What are the missing steps worth?"),
    controls=(
        Range("d_model", Text("宽度 d", "Width d"), values=widths(), default=4096),
        Choice("count", Text("计入", "Count"), options=(
            ("all", Text("含增益与偏置", "with gain and bias")),
            ("core", Text("只算核心", "core only")))),
    ),
)  # fmt: skip
def norm_ops_exhibit(d_model: int, count: str) -> State:
    """Operations of one norm of one vector, split in steps; real models mark what their own norm takes."""
    ops = COUNTS[count]
    total = {kind: ops(kind, d_model) for kind in KINDS}
    rows = steps(d_model, core=count == "core")
    series = [
        Series(
            full,
            x=(ln, rms) if rms else (ln,),
            y=(0, 1) if rms else (0,),
            mark="hbar",
            stack="norm",
            role="ghost" if rms else "run",
            labels=(short, short) if rms else (short,),
        )
        for full, short, ln, rms in rows
    ]
    here = {kind: models_with(kind, d_model) for kind in KINDS}
    reach = ops("layernorm", d_model)
    for row, kind in enumerate(KINDS):
        points = [(name, ops(kind, width), width) for name, width in models_with(kind) if ops(kind, width) <= reach]
        others = [p for p in points if p[2] != d_model]
        if others:
            series.append(
                Series(
                    Text(f"其他模型的 {NAMES[kind]}", f"{NAMES[kind]} of other models"),
                    mark="points",
                    x=[p[1] for p in others],
                    y=[row + 0.48] * len(others),
                    role="ghost",
                    notes=[
                        Text(f"{n}，宽 {num(w)}：{num(v)} 次", f"{n}, width {num(w)}: {num(v)}") for n, v, w in others
                    ],
                )
            )
        if here[kind]:
            names = [name for name, _ in here[kind]]
            more = len(names) - 1
            label = Text(
                names[0] + (f" 等 {more + 1} 个模型" if more else ""), names[0] + (f" and {more} more" if more else "")
            )
            series.append(
                Series(
                    Text("这一宽度的模型", "models of this width"),
                    mark="points",
                    role="ink",
                    x=[total[kind]],
                    y=[row + 0.48],
                    labels=[label],
                    place="left" if row == 0 else "below",
                )
            )
    saved = total["layernorm"] - total["rmsnorm"]
    share = percent(saved / total["layernorm"])
    ln, rms, gap, d = (f"**{num(v)}**" for v in (total["layernorm"], total["rmsnorm"], saved, d_model))
    users = [name for kind in KINDS for name, _ in here[kind]]
    both = {"all": Text("含增益与偏置", "gain and bias included"), "core": Text("只算核心", "core only")}[count]
    sentence = Text(
        f"宽度 {d}（{both.zh}）：LayerNorm 每个向量做 {ln} 次运算，RMSNorm 做 {rms} 次，少 {gap} 次，即 **{share}**。"
        f"这一宽度的真实模型：{'、'.join(users)}。",
        f"At width {d}, {both.en}, LayerNorm takes {ln} operations a vector and RMSNorm {rms}: {gap} fewer, "
        f"or **{share}**. Real models of this width: {', '.join(users)}.",
    )
    table = [(full, ln_ops, rms_ops or "—") for full, _, ln_ops, rms_ops in rows]
    table.append((Text("合计", "total"), total["layernorm"], total["rmsnorm"]))
    for kind in KINDS:
        for name, width in models_with(kind):
            value = ops(kind, width)
            label = Text(f"{name}（宽 {num(width)}）", f"{name} (width {num(width)})")
            table.append((label, value, "—") if kind == "layernorm" else (label, "—", value))
    return State(
        Chart(
            series,
            height=244,
            narrow_height=262,
            x=Axis(unit=Text("次运算 / 向量", "operations per vector"), range=(0, reach)),
            y=Axis(categories=tuple(NAMES[k] for k in KINDS), range=(-0.5, 1.9)),
            totals=[num(total[k]) for k in KINDS],
            summary=Text(
                f"两根横条，各按步骤分段：LayerNorm {num(total['layernorm'])} 次，"
                f"RMSNorm {num(total['rmsnorm'])} 次；条下的圆点是真实模型。",
                f"Two bars split into steps: LayerNorm {num(total['layernorm'])} operations, RMSNorm "
                f"{num(total['rmsnorm'])}; dots under the bars are real models.",
            ),
        ),
        sentence,
        Table((Text("步骤或模型", "Step or model"), "LayerNorm", "RMSNorm"), table, total=len(rows)),
    )
