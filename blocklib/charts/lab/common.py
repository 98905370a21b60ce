"""What the lab's exhibits share: comparisons as a walk, arms in words, and a place for what is still running."""

from __future__ import annotations

from functools import cache
from typing import Any

from blocklib.charts import Series
from blocklib.lab import report, summary
from blocklib.lab.arms import BASE, VERDICT_SEEDS, get
from blocklib.lab.questions import QUESTIONS
from blocklib.text import Text

ARM, REFERENCE = "c1", "c0"  # roles
NONE = report.NONE


@cache
def pairs() -> tuple[tuple[str, str, str], ...]:
    """Every comparison of the lab as (question, arm, reference), in the order of the questions."""
    return tuple((ident, *pair) for ident, question in QUESTIONS.items() for pair in question.pairs)


@cache
def pair_labels() -> tuple[Text, ...]:
    """What the walk shows at each comparison: the arm, and that it comes again where it stands in two."""
    arms, seen, out = [arm for _, arm, _ in pairs()], set(), []
    for _, arm, _ in pairs():
        label = get(arm).label
        again = arms.count(arm) > 1 and arm in seen
        out.append(Text(f"{label.zh}（再比）", f"{label.en} (again)") if again else label)
        seen.add(arm)
    return tuple(out)


def quoted(ident: str) -> Text:
    """An arm inside a sentence: the base by its name, any other in quotation marks."""
    label = get(ident).label
    return Text("基准", "the base") if ident == BASE.id else Text(f"「{label.zh}」", f'"{label.en}"')


def verdict(question: str, arm: str, reference: str) -> dict[str, Any]:
    """The row of the summary on this comparison."""
    rows = summary.load()["questions"][question]
    return next(row for row in rows if (row["first"], row["second"]) == (arm, reference))


def runs(ident: str) -> int:
    """How many of the verdict's runs an arm has."""
    row = summary.arm(ident)
    return len(row["losses"]) + row["lost"]


def how_far(ident: str) -> Text:
    """How many seeds what is shown of an arm rests on: in brackets, bold where they are not all."""
    done, all_ = runs(ident), len(VERDICT_SEEDS)
    lost = summary.arm(ident)["lost"]
    if not summary.arm(ident)["complete"]:
        return Text(f"**还在跑，{done}/{all_} 个种子**", f"**still running, {done} of {all_} seeds**")
    if lost:
        return Text(f"**{all_} 个种子，{lost} 个没有训起来**", f"**{all_} seeds, {lost} of which did not train**")
    return Text(f"{all_} 个种子", f"{all_} seeds")


def waiting(idents: list[str], x: float, y: list[float]) -> list[Series]:
    """Words in the picture for arms that have nothing to draw, one line each at ``x`` and the heights ``y``."""
    made = []
    for ident, height in zip(idents, y, strict=False):
        label = get(ident).label
        far = Text("还在跑", "running") if report.progress(ident) else Text("没有可画的运行", "no run to draw")
        text = Text(f"{label.zh}：{far.zh}", f"{label.en}: {far.en}")
        made.append(Series(label, x=[x], y=[height], mark="label", role="ink-2", labels=[text], place="right"))
    return made
