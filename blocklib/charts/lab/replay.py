"""Training runs replayed: two arms of a comparison side by side, with the spread over their seeds."""

from __future__ import annotations

from functools import cache
from math import floor, log10
from statistics import mean

from blocklib.charts import Axis, Chart, Choice, Series, State, Steps, Table, exhibit, num
from blocklib.charts.lab.common import (
    ARM,
    NONE,
    REFERENCE,
    how_far,
    pair_labels,
    pairs,
    quoted,
    runs,
    verdict,
    waiting,
)
from blocklib.lab import report, summary
from blocklib.lab.arms import CURVE_EVERY, VERDICT_SEEDS, get
from blocklib.lab.figures import signed
from blocklib.lab.questions import QUESTIONS
from blocklib.text import Text

TENS = 10  # steps that one row of the table of gradient norms covers
Band = tuple[list[float], list[float], list[float]]
VIEWS = (
    ("curve", Text("验证曲线", "validation curve")),
    ("gradient", Text("前一百步的梯度范数", "first gradient norms")),
    ("seeds", Text("逐个种子", "seed by seed")),
)


def band(ident: str, key: str) -> Band | None:
    """(lowest, mean, highest) over the runs of an arm at every point of a curve; None where there are no runs."""
    found = summary.arm(ident).get(key)
    if not found or not found["mean"]:
        return None
    digits = 3 if key == "curve" else 2
    return tuple([round(v, digits) for v in found[side]] for side in ("low", "mean", "high"))  # type: ignore[return-value]


@cache
def reach(key: str, causal: bool = True) -> tuple[float, float]:
    """What an axis must span for all arms: bounds of the curves, or of the gradient norms on their log axis."""
    arms = [i for i in dict.fromkeys(a for _, *two in pairs() for a in two) if get(i).causal or not causal]
    found = [b for i in arms if (b := band(i, key))]
    low = min((v for b in found for v in b[0] if v > 0), default=3.3 if key == "curve" else 0.3)
    high = max((v for b in found for v in b[2]), default=20.0)
    if key == "curve":  # a run that jumps above knowing nothing is cut off there; the table has its value
        return floor(low * 5 - 0.5) / 5 if causal else -0.5, summary.load()["corpus"]["unigram_floor"] + 0.05
    return 10 ** (floor(log10(low) * 4) / 4), 10 ** ((floor(log10(high) * 4) + 1) / 4)


def drawn(ident: str, key: str, role: str, first: int, step: int) -> list[Series]:
    """An arm's mean as a line and its runs' range as thin uprights behind it; nothing where it has no runs."""
    found = band(ident, key)
    if found is None:
        return []
    top = reach(key, False)[1]
    low, middle, high = ([min(v, top) for v in side] for side in found)
    x = [first + step * k for k in range(len(middle))]
    name = get(ident).label
    made = []
    if runs(ident) > 1:
        ends = [v for a, b in zip(low, high, strict=True) for v in (a, b)]
        range_ = Text(f"{name.zh}，各种子的范围", f"{name.en}, range over seeds")
        thin = role if key == "curve" else "line-2"
        made.append(Series(range_, x=[v for v in x for _ in (0, 1)], y=ends, mark="links", role=thin))
    if key == "curve" and not averaged(ident):  # the highest run in place of a mean, and the lowest beside it
        if summary.arm(ident)["losses"]:
            lowest = Text(f"{name.zh}，最低", f"{name.en}, lowest")
            made.append(Series(lowest, x=x, y=low, mark="line", role=role, dash=False))
        middle = high
    return [*made, Series(name, x=x, y=middle, mark="line", role=role, dash=False, end=name)]


def averaged(ident: str) -> bool:
    """Whether an arm's losses have a mean: what trained and what did not have no common level."""
    return not summary.arm(ident)["lost"]


def curve(arm: str, reference: str) -> tuple[Chart, Text, Table]:
    """Validation loss along the runs."""
    floors, last = summary.load()["corpus"], CURVE_EVERY * 10
    low, roof = reach("curve", get(arm).causal and get(reference).causal)
    idle = [ident for ident in (arm, reference) if band(ident, "curve") is None]
    # What has nothing to draw is named above, and so is a curve that ends there.
    crowded = idle or not all(map(averaged, (arm, reference)))
    high = roof + (0.25 if crowded else 0.08) * (roof - low)
    series = [
        Series(word, x=[], y=[floors[key]], mark="rule", role="c0", end=word)
        for key, word in (
            ("unigram_floor", Text("只看 token 频率", "token frequencies")),
            ("bigram_floor", Text("只看前一个 token", "one token back")),
        )
    ]
    steps = (CURVE_EVERY, CURVE_EVERY)
    made = [*drawn(reference, "curve", REFERENCE, *steps), *drawn(arm, "curve", ARM, *steps)]
    series += [*made, *waiting(idle, 4, [high - (high - low) * share for share in (0.04, 0.11)])]
    ends, cells = [], []
    for ident in (arm, reference):
        found = band(ident, "curve")
        cells.append(found)
        if found is None:
            ends.append(Text(f"{quoted(ident).zh}（{how_far(ident).zh}）", f"{quoted(ident).en} ({how_far(ident).en})"))
            continue
        where = CURVE_EVERY * len(found[1])
        if not averaged(ident):
            cells[-1] = (found[0], [None] * len(found[1]), found[2])
            low_end, high_end = (f"**{side[-1]:.2f}**" for side in (found[0], found[2]))
            all_ = Text(f"介于 {low_end} 与 {high_end} 之间", f"between {low_end} and {high_end}")
            level = Text(f"都是 {low_end}", f"at {low_end} in every run") if low_end == high_end else all_
            ends.append(
                Text(
                    f"{quoted(ident).zh}在第 {num(where)} 步{level.zh}（{how_far(ident).zh}）",
                    f"{quoted(ident).en} stands {level.en} after {num(where)} steps ({how_far(ident).en})",
                )
            )
            continue
        ends.append(
            Text(
                f"{quoted(ident).zh}在第 {num(where)} 步是 **{found[1][-1]:.2f}**（{how_far(ident).zh}）",
                f"{quoted(ident).en} stands at **{found[1][-1]:.2f}** after {num(where)} steps ({how_far(ident).en})",
            )
        )
    said = Text(
        f"验证损失（取每第十一段，nat/token）：{ends[0].zh}，{ends[1].zh}。",
        f"Validation loss, every eleventh piece, in nats a token: {ends[0].en}; {ends[1].en}.",
    )
    table = [(num(step), *sides(cells, k, 3)) for k, step in enumerate(range(CURVE_EVERY, last + 1, CURVE_EVERY))]
    chart = Chart(
        series,
        height=300,
        narrow_height=300,
        x=Axis(unit=Text("步", "steps"), range=(0, last), ticks=(0, last / 2, last)),
        y=Axis(label=Text("验证损失，nat/token", "validation loss, nats/token"), range=(low, high)),
        summary=said_plain(said),
    )
    return chart, said, Table(head(Text("步", "Step"), arm, reference), table)


def gradient(arm: str, reference: str) -> tuple[Chart, Text, Table]:
    """Norm of the whole gradient in each of the first hundred steps, before it is clipped."""
    low, high = reach("gradient_norms", False)
    series = [*drawn(reference, "gradient_norms", REFERENCE, 1, 1), *drawn(arm, "gradient_norms", ARM, 1, 1)]
    series.sort(key=lambda s: s.mark != "links")  # ranges behind both lines
    idle = [ident for ident in (arm, reference) if band(ident, "gradient_norms") is None]
    lift = (high / low) ** 0.09
    series += waiting(idle, 3, [high / lift, high / lift**2])
    series.append(
        Series(
            Text("截断的界", "clipped to one"),
            x=[],
            y=[1.0],
            mark="rule",
            role="c0",
            end=Text("截断线", "clipped here"),
        )
    )
    parts, cells = [], []
    for ident in (arm, reference):
        found = band(ident, "gradient_norms")
        cells.append(None if found is None else tens(found))
        top = report.first_gradient(ident)
        parts.append(
            Text(f"{quoted(ident).zh}（{how_far(ident).zh}）", f"{quoted(ident).en} ({how_far(ident).en})")
            if top == NONE
            else Text(
                f"{quoted(ident).zh} **{top}**（{how_far(ident).zh}）",
                f"{quoted(ident).en} **{top}** ({how_far(ident).en})",
            )
        )
    said = Text(
        f"前一百步里最大的梯度范数，截断之前，对种子取平均：{parts[0].zh}，{parts[1].zh}。",
        f"Largest gradient norm of the first hundred steps, before clipping, mean over seeds: {parts[0].en}; {parts[1].en}.",
    )
    table = [(f"{k * TENS + 1}–{(k + 1) * TENS}", *sides(cells, k, 2)) for k in range(TENS)]
    chart = Chart(
        series,
        height=300,
        narrow_height=300,
        x=Axis(unit=Text("步", "steps"), range=(0, 100), ticks=(1, 50, 100)),
        y=Axis(label=Text("梯度范数", "gradient norm"), log=True, range=(low, high)),
        summary=said_plain(said),
    )
    return chart, said, Table(head(Text("步", "Steps"), arm, reference), table)


def tens(found: Band) -> Band:
    """Lowest, mean and highest over every ten steps."""
    low, middle, high = found
    cut = range(0, len(middle), TENS)
    return (
        [min(low[i : i + TENS]) for i in cut],
        [round(mean(middle[i : i + TENS]), 2) for i in cut],
        [max(high[i : i + TENS]) for i in cut],
    )


def seeds(arm: str, reference: str) -> tuple[Chart, Text, Table]:
    """Final losses, the two runs of a seed joined."""
    found = {ident: masked(ident) for ident in (reference, arm)}
    both = [s for s in map(str, VERDICT_SEEDS) if s in found[arm] and s in found[reference]]
    series = []
    if both:
        ends = [found[ident][s] for s in both for ident in (reference, arm)]
        joined = Text("同一个种子", "the same seed")
        series.append(Series(joined, x=[0, 1] * len(both), y=ends, mark="links", role="line-2"))
    for k, (ident, role) in enumerate(((reference, REFERENCE), (arm, ARM))):
        values = list(found[ident].values())
        if values:
            notes = [Text(f"种子 {s}：{v:.3f}", f"seed {s}: {v:.3f}") for s, v in found[ident].items()]
            series.append(
                Series(get(ident).label, x=[k] * len(values), y=values, mark="points", role=role, notes=notes)
            )
    values = [v for losses in found.values() for v in losses.values()] or [3.3, 3.4]
    room = max(max(values) - min(values), 0.02)
    low, high = min(values) - 0.1 * room, max(values) + 0.3 * room
    for k, (ident, role) in enumerate(((reference, REFERENCE), (arm, ARM))):
        name, far = get(ident).label, report.progress(ident) if not found[ident] else None
        height, x, place = high - (high - low) * (0.04 + 0.07 * k), (-0.45, 1.45)[k], ("right", "left")[k]
        series.append(Series(name, x=[x], y=[height], mark="label", role=role, labels=[far or name], place=place))
    means = []
    for ident in (arm, reference):
        whole = report.loss(ident)  # no mean of a part, and none where runs were lost
        value = f" **{whole}**" if whole != NONE else ""
        means.append(
            Text(
                f"{quoted(ident).zh}{value}（{how_far(ident).zh}）", f"{quoted(ident).en}{value} ({how_far(ident).en})"
            )
        )
    said = Text(
        f"最终损失的平均，整个留出文本，nat/token：{means[0].zh}，{means[1].zh}。",
        f"Mean final loss on the whole held-out text, nats a token: {means[0].en}; {means[1].en}.",
    )
    rows = []
    for seed in map(str, VERDICT_SEEDS):
        a, b = found[arm].get(seed), found[reference].get(seed)
        gap = NONE if a is None or b is None else signed(a - b, 3)
        rows.append((seed, *(NONE if v is None else f"{v:.3f}" for v in (a, b)), gap))
    chart = Chart(
        series,
        height=300,
        narrow_height=300,
        x=Axis(categories=[Text("参照", "reference"), Text("实验臂", "arm")], range=(-0.5, 1.5)),
        y=Axis(label=Text("最终损失，nat/token", "final loss, nats/token"), range=(low, high)),
        summary=said_plain(said),
    )
    names = (Text("种子", "Seed"), get(arm).label, get(reference).label, report.GAP)
    return chart, said, Table(names, rows)


def speeds(arm: str, reference: str) -> Text:
    """Tokens per second of both arms in training, the base at one; nothing before the quiet pass."""
    here, there = (report.tokens_per_second(ident) for ident in (arm, reference))
    if here is None:
        return Text("", "")
    return Text(
        f"训练时每秒 token 数，以基准为一：{quoted(arm).zh} {here}，{quoted(reference).zh} {there}。",
        f" Tokens a second in training, the base at one: {quoted(arm).en} {here}, {quoted(reference).en} {there}.",
    )


def masked(ident: str) -> dict[str, float]:
    """Causal losses of the runs that trained, by seed."""
    row = summary.arm(ident)
    return row.get("masked", row["losses"])


def sides(found: list[Band | None], k: int, digits: int) -> list[str]:
    """Mean and range of both arms at a point, a dash where a run ended earlier or there is none."""
    cells = []
    for each in found:
        if each is None or k >= len(each[1]):
            cells += [NONE, NONE]
        else:
            low, middle, high = (NONE if side[k] is None else f"{side[k]:.{digits}f}" for side in each)
            cells += [middle, f"{low}–{high}"]
    return cells


def head(first: Text, arm: str, reference: str) -> list[Text]:
    """The table's head: each arm and its range."""
    names = [get(ident).label for ident in (arm, reference)]
    return [first] + [t for n in names for t in (n, Text(f"{n.zh}，范围", f"{n.en}, range"))]


def said_plain(text: Text) -> Text:
    """A sentence without its bold marks, for the picture's description."""
    return Text(*(words.replace("**", "") for words in text))


@exhibit(
    "lab-replay", number=38, title=Text("把一次对照重放一遍", "A comparison, replayed"),
    controls=(
        Steps("pair", Text("实验臂", "Arm"), values=tuple(range(len(pairs()))), labels=pair_labels(), default=0),
        Choice("view", Text("看", "Show"), options=VIEWS, default="curve"),
    ),
)  # fmt: skip
def lab_replay(pair: int, view: str) -> State:
    """Curves, first gradient norms or final losses of an arm and its reference, and the lab's verdict."""
    question, arm, reference = pairs()[pair]
    chart, said, table = {"curve": curve, "gradient": gradient, "seeds": seeds}[view](arm, reference)
    asked, row = QUESTIONS[question].label, verdict(question, arm, reference)
    unmasked = any(not get(ident).causal for ident in (arm, reference)) and view == "curve"
    note = Text("曲线是不加 mask 时测的。", " Its curve is taken without the mask.") if unmasked else Text("", "")
    pace = speeds(arm, reference)
    sentence = Text(
        f"{asked.zh}？{said.zh}{note.zh}{pace.zh}判定：{row['zh']}".replace("？？", "？"),
        f"{asked.en} {said.en}{note.en}{pace.en} Verdict: {row['en']}",
    )
    return State(chart, sentence, table)
