"""The sweep that gives every arm its own learning rate: loss of one seed over the rates that were tried."""

from __future__ import annotations

from blocklib.charts import Axis, Chart, Series, State, Steps, Table, exhibit
from blocklib.charts.lab.common import ARM, NONE, REFERENCE, quoted
from blocklib.lab import report, summary
from blocklib.lab.arms import ARMS, BASE, get, rate
from blocklib.lab.figures import signed
from blocklib.text import Text

OTHERS = tuple(ident for ident in ARMS if ident != BASE.id)
LOST = Text("没训起来", "did not train")


def tried(ident: str) -> dict[int, float | None]:
    """Loss at each rung that the arm's sweep has tried; None where the run did not train."""
    return {int(rung): loss for rung, loss in sorted(summary.arm(ident)["sweep"].items(), key=lambda kv: int(kv[0]))}


def best(ident: str) -> tuple[int, float] | None:
    """The rung with the lowest loss so far, and that loss."""
    trained = {rung: loss for rung, loss in tried(ident).items() if loss is not None}
    return min(trained.items(), key=lambda pair: pair[1]) if trained else None


def said_of(ident: str) -> Text:
    """What an arm's sweep has found."""
    name, found = quoted(ident), best(ident)
    if found is None:
        state = LOST if tried(ident) else Text("还没有运行", "no run yet")
        count = len(tried(ident))
        return Text(
            f"{name.zh}试了 **{count}** 档学习率，{state.zh if count else '还没有运行'}",
            f"{name.en} has tried **{count}** rates, {'none of which trained' if count else 'no run yet'}",
        )
    rung, loss = found
    final = report.swept(ident)
    return Text(
        f"{name.zh}{'最好' if final else '目前最好'}的学习率是 **{rate(rung):.3g}**，损失 **{loss:.3f}**",
        f"{name.en} does best at **{rate(rung):.3g}**{'' if final else ' so far'}, with loss **{loss:.3f}**",
    )


def drawn(ident: str, role: str, roof: float) -> list[Series]:
    """The runs of a sweep: those that trained as a line with points, the others on the roof."""
    found = tried(ident)
    trained = {rung: loss for rung, loss in found.items() if loss is not None}
    name, made = get(ident).label, []
    if trained:
        x, y = [rate(rung) for rung in trained], list(trained.values())
        if len(x) > 1:
            made.append(Series(name, x=x, y=y, mark="line", role=role, dash=False))
        made.append(
            Series(name, x=x, y=y, mark="points", role=role,
                   notes=[Text(f"{name.zh}，{r:.3g}：{v:.3f}", f"{name.en}, {r:.3g}: {v:.3f}") for r, v in zip(x, y, strict=True)])
        )  # fmt: skip
    if lost := [rate(rung) for rung in found if rung not in trained]:
        note = Text(f"{name.zh}：{LOST.zh}", f"{name.en}: {LOST.en}")
        made.append(Series(note, x=lost, y=[roof] * len(lost), mark="points", role=role, notes=[note] * len(lost)))
    return made


@exhibit(
    "rate-sweep", number=71, title=Text("每个实验臂自己的学习率", "Every arm at its own rate"),
    controls=(
        Steps("arm", Text("实验臂", "Arm"), values=OTHERS, labels=tuple(get(ident).label for ident in OTHERS), default="gelu"),
    ),
)  # fmt: skip
def rate_sweep(arm: str) -> State:
    """Loss over learning rate for an arm and the base: one seed, which takes part in no verdict."""
    rungs = sorted({*tried(arm), *tried(BASE.id)}) or [get(arm).first_rung - 1, get(arm).first_rung + 1]
    values = [loss for ident in (arm, BASE.id) for loss in tried(ident).values() if loss is not None] or [3.3, 3.5]
    room = max(max(values) - min(values), 0.05)
    low, roof = min(values) - 0.2 * room, max(values) + 0.3 * room
    high = roof + 0.55 * room
    lift = (high - low) / 14
    series = [*drawn(BASE.id, REFERENCE, roof), *drawn(arm, ARM, roof)]
    left = rate(rungs[0]) / 1.25
    for k, (ident, role) in enumerate(((arm, ARM), (BASE.id, REFERENCE))):
        far = Text("", "") if tried(ident) else Text("：还没有运行", ": no run yet")
        label = Text(get(ident).label.zh + far.zh, get(ident).label.en + far.en)
        series.append(
            Series(label, x=[left * 1.03], y=[high - lift * (0.6 + 1.2 * k)], mark="label", role=role, labels=[label], place="right")
        )  # fmt: skip
    if any(loss is None for ident in (arm, BASE.id) for loss in tried(ident).values()):
        series.append(
            Series(LOST, x=[left * 1.03], y=[roof + 0.9 * lift], mark="label", role="ink-2", labels=[LOST], place="right")
        )  # fmt: skip
    parts = [said_of(ident) for ident in (arm, BASE.id)]
    sentence = Text(
        f"{parts[0].zh}；{parts[1].zh}。每个点只有一个种子，据此不下结论。",
        f"{parts[0].en}; {parts[1].en}. One seed a point: no verdict rests on it.",
    )
    rows = []
    for rung in rungs:
        pair = [tried(ident).get(rung, NONE) for ident in (arm, BASE.id)]
        cells = [LOST if v is None else v if v == NONE else f"{v:.3f}" for v in pair]
        both = all(isinstance(v, float) for v in pair)
        rows.append((f"{rate(rung):.3g}", *cells, signed(pair[0] - pair[1], 3) if both else NONE))
    return State(
        Chart(
            series,
            height=280,
            narrow_height=280,
            x=Axis(unit=Text("峰值学习率", "peak learning rate"), log=True, range=(left, rate(rungs[-1]) * 1.25),
                   ticks=[(rate(r), f"{rate(r):.2g}") for r in spaced(rungs)]),
            y=Axis(label=Text("验证损失，nat/token", "validation loss, nats/token"), range=(low, high)),
            summary=Text(*(words.replace("**", "") for words in sentence)),
        ),
        sentence,
        Table((report.RATE, get(arm).label, get(BASE.id).label, report.GAP), rows),
    )  # fmt: skip


def spaced(rungs: list[int]) -> list[int]:
    """Up to four of the rungs for the axis, ends included."""
    if len(rungs) <= 3:
        return rungs
    return [rungs[0], rungs[len(rungs) // 2], rungs[-1]]
