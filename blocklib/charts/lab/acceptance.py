"""The acceptance table: each arm of a question by loss, first gradients, parameters, lost runs and, once measured, speed."""

from __future__ import annotations

from statistics import mean

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit
from blocklib.charts.lab.common import ARM, NONE, REFERENCE, quoted, runs
from blocklib.lab import report, speed, summary
from blocklib.lab.arms import BASE, VERDICT_SEEDS, get
from blocklib.lab.figures import signed
from blocklib.lab.questions import QUESTIONS
from blocklib.text import Text

LOSS, GRADIENT, MATCH = "loss", "gradient", "match"
SPEED = "speed"
METRICS = {
    LOSS: Text("验证损失", "Validation loss"),
    GRADIENT: Text("最大梯度范数", "Largest gradient norm"),
    MATCH: Text("参数之差", "Parameters"),
    SPEED: Text("速度", "Speed"),
}
# What the bars measure, and from where.
AXES = {
    LOSS: Text("验证损失减去基准的，nat/token", "validation loss minus the base's, nats/token"),
    GRADIENT: Text("前一百步里最大的梯度范数", "largest gradient norm of the first hundred steps"),
    MATCH: Text("参数比基准多出的百分数", "parameters over the base's, per cent"),
    SPEED: Text("每秒 token 数，以基准为一", "tokens per second, the base at one"),
}


def metrics() -> tuple[tuple[str, Text], ...]:
    """The columns that can be looked at: speed only after a quiet pass."""
    return tuple((key, METRICS[key]) for key in (LOSS, GRADIENT, MATCH, SPEED) if key != SPEED or speed.load())


def amount(ident: str, metric: str) -> float | None:
    """The bar of an arm; None where there is nothing to show yet."""
    row, base = summary.arm(ident), report.losses(BASE.id)
    if metric == MATCH:
        return 100 * report.mismatch(ident)
    if metric == SPEED:
        measured = speed.load()
        return measured["arms"][ident]["median"] if measured and ident in measured["arms"] else None
    if not row["complete"]:
        return None
    if metric == GRADIENT:
        found = row.get("first_gradients")
        return mean(found.values()) if found else None
    own = report.losses(ident)
    return mean(own.values()) - mean(base.values()) if own and base else None


def words(ident: str, metric: str) -> Text:
    """The value at the end of an arm's bar, or why there is none; short, as a phone has to hold it."""
    row, all_ = summary.arm(ident), len(VERDICT_SEEDS)
    if metric == MATCH:
        return Text.same(f"{signed(100 * report.mismatch(ident), 2)}%")
    if metric == SPEED:
        return Text.same(report.tokens_per_second(ident) or NONE)
    if not row["complete"]:
        done = runs(ident)
        return Text(f"还在跑，{done}/{all_}", f"running, {done}/{all_}")
    if metric == GRADIENT:
        return Text.same(report.first_gradient(ident))
    if row["lost"]:
        return Text(f"{row['lost']}/{all_} 没训起来", f"{row['lost']}/{all_} lost")
    gap = amount(ident, LOSS)
    if gap is None or ident == BASE.id:
        return Text.same(report.loss(ident))
    places = len(report.loss(ident).partition(".")[2])
    return Text.same(f"{report.loss(ident)} ({signed(gap, places)})")


def cells(ident: str) -> dict[str, Text | str]:
    """One row of the table, by column."""
    row = summary.arm(ident)
    return {
        LOSS: report.loss(ident),
        GRADIENT: report.first_gradient(ident),
        MATCH: f"{row['parameters']:,} ({signed(100 * report.mismatch(ident), 2)}%)",
        SPEED: report.tokens_per_second(ident) or NONE,
        "seeds": report.seeds(ident),
        "lost": f"{row['lost']}" if row["complete"] else NONE,
        "spread": report.spread(ident),
    }


HEADS = {
    **METRICS,
    MATCH: Text("参数", "Parameters"),
    SPEED: Text("速度（基准为一）", "Speed, base at one"),
    "seeds": report.TRAINED,
    "lost": Text("没训起来", "Lost runs"),
    "spread": Text("种子间标准差", "SD over seeds"),
}


@exhibit(
    "lab-acceptance", number=39, title=Text("验收表", "The acceptance table"),
    controls=(
        Range("question", Text("问题", "Question"), values=tuple(QUESTIONS), labels=tuple(q.name for q in QUESTIONS.values()),
              default="parts"),
        Choice("metric", Text("横条", "Bars"), options=metrics(), default=LOSS),
    ),
)  # fmt: skip
def lab_acceptance(question: str, metric: str) -> State:
    """The arms of a question side by side by one measure, and by all of them in the table."""
    arms = report.arms_of(question)
    values = [amount(ident, metric) for ident in arms]
    references = {reference for _, reference in QUESTIONS[question].pairs}
    series = []
    for role, chosen in ((REFERENCE, True), (ARM, False)):
        at = [k for k, ident in enumerate(arms) if (ident in references) == chosen]
        if at:
            name = Text("参照", "reference") if chosen else Text("实验臂", "arm")
            series.append(Series(name, x=[values[k] or 0 for k in at], y=at, mark="hbar", role=role, thickness=0.5))
    known = [v for v in values if v is not None] or [0.0]
    top = max(max(known), 0.05 if metric == LOSS else 1.0)
    low = min(min(known), 0.0)
    asked = QUESTIONS[question].label
    listed = [(quoted(ident), words(ident, metric)) for ident in arms]
    done = sum(summary.arm(ident)["complete"] for ident in arms)
    sentence = Text(
        f"{asked.zh}？{AXES[metric].zh}：".replace("？？", "？")
        + "；".join(f"{name.zh} **{said.zh}**" for name, said in listed)
        + f"。{len(arms)} 个实验臂里跑完了 **{done}** 个。",
        f"{asked.en} By {AXES[metric].en}: "
        + "; ".join(f"{name.en} **{said.en}**" for name, said in listed)
        + f". Of {len(arms)} arms, **{done}** have finished.",
    )
    columns = [metric, *(key for key, _ in metrics() if key != metric), "spread", "seeds", "lost"]
    rows = [(get(ident).label, *(cells(ident)[column] for column in columns)) for ident in arms]
    chart = Chart(
        series,
        height=70 + 34 * len(arms),
        narrow_height=70 + 52 * len(arms),
        x=Axis(unit=AXES[metric], range=(low * 1.05, top * 1.05 if top > 0 else 1.0)),
        y=Axis(categories=[get(ident).label for ident in arms]),
        totals=[words(ident, metric) for ident in arms],
        summary=Text(
            "横条：" + "；".join(f"{get(i).label.zh} {words(i, metric).zh}" for i in arms) + "。",
            "Bars: " + "; ".join(f"{get(i).label.en} {words(i, metric).en}" for i in arms) + ".",
        ),
    )
    return State(chart, sentence, Table([report.ARM, *(HEADS[column] for column in columns)], rows))
