"""The verdict on every comparison, in both languages; no page words one itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt

from blocklib.lab.arms import BASE, VERDICT_SEEDS, Arm, get
from blocklib.lab.figures import decimals, interval
from blocklib.lab.power import t_quantile
from blocklib.lab.questions import QUESTIONS, Outcome, outcome
from blocklib.lab.statistics import LEVEL, MARGIN, Comparison, compare, holm
from blocklib.text import Text

REFERENCE = Text("基准", "the base")


@dataclass(frozen=True)
class Verdict:
    """One comparison judged. ``kind``: ``differs``, ``same``, ``open``, ``lost`` (runs were lost, so nothing is
    averaged) or ``unfinished`` (runs are missing). ``comparison`` is there for the first three."""

    first: Outcome
    second: Outcome
    kind: str
    comparison: Comparison | None = None

    @property
    def sentence(self) -> Text:
        """The verdict in words; numbers carry the digits that the interval supports."""
        return _sentence(self)


def loss_key(ident: str) -> str:
    """Which loss of an arm enters a comparison: the causal one, also for the arm trained without a mask."""
    return "validation" if get(ident).causal else "validation_masked"


@cache
def judge(question: str) -> tuple[Verdict, ...]:
    """All verdicts of a question, in its order; Holm's correction counts those that could not be tested too."""
    pairs = [(outcome(a, loss_key(a)), outcome(b, loss_key(b))) for a, b in QUESTIONS[question].pairs]
    tested = [i for i, (a, b) in enumerate(pairs) if a.comparable and b.comparable]
    raw = [compare(*([out.losses[seed] for seed in sorted(out.losses)] for out in pairs[i])) for i in tested]
    judged = dict(zip(tested, holm(raw, len(pairs)), strict=True))
    verdicts = []
    for i, (a, b) in enumerate(pairs):
        if i in judged:
            verdicts.append(Verdict(a, b, judged[i].verdict, judged[i]))
        else:
            verdicts.append(Verdict(a, b, "lost" if a.complete and b.complete else "unfinished"))
    return tuple(verdicts)


def digits(comparison: Comparison) -> int:
    """Decimals of the mean, see :func:`~blocklib.lab.figures.decimals`."""
    return decimals(comparison.sd / sqrt(comparison.pairs))


def within(comparison: Comparison) -> tuple[float, float]:
    """The interval that lies inside the margin exactly where both one-sided tests say so: 90 %, narrower than the other."""
    df = comparison.pairs - 1
    half = comparison.floor * t_quantile(1 - LEVEL, df) / t_quantile(1 - LEVEL / 2, df)
    return comparison.mean - half, comparison.mean + half


def named(arm: Arm) -> Text:
    """The arm as it stands inside a sentence: the base by its name, any other in quotation marks."""
    return REFERENCE if arm.id == BASE.id else Text(f"「{arm.label.zh}」", f'"{arm.label.en}"')


def _sentence(verdict: Verdict) -> Text:
    first, found = verdict.first.arm.label, verdict.comparison
    if verdict.kind == "unfinished":
        return _running(verdict)
    if verdict.kind == "lost":
        return _lost(verdict.first if verdict.first.lost else verdict.second)
    assert found is not None
    places, other = digits(found), named(verdict.second.arm)
    ends = within(found) if verdict.kind == "same" else (found.low, found.high)
    low, high = interval(*ends, places)
    said_interval = (
        Text(
            f"（两个单侧检验的 90% 区间：{low} 到 {high}）",
            f" (90% interval of the two one-sided tests: {low} to {high})",
        )
        if verdict.kind == "same"
        else Text(f"（校正前的 95% 区间：{low} 到 {high}）", f" (95% interval before correction: {low} to {high})")
    )
    if verdict.kind == "differs":
        more, mean = found.mean > 0, f"{abs(found.mean):.{places}f}"
        said = Text(
            f"损失比{other.zh}{'高' if more else '低'} {mean} nat",
            f"loss {mean} nats {'above' if more else 'below'} {other.en}",
        )
    elif verdict.kind == "same":
        said = Text(f"与{other.zh}相同，误差不出 ±{MARGIN} nat", f"the same as {other.en} within ±{MARGIN} nats")
    else:
        said = Text(f"与{other.zh}相比，没有显出差别", f"no difference shown against {other.en}")
    return Text(f"{first.zh}：{said.zh}{said_interval.zh}。", f"{first.en}: {said.en}{said_interval.en}.")


def _running(verdict: Verdict) -> Text:
    out = verdict.first if not verdict.first.complete else verdict.second
    done, all_, other = len(out.losses) + out.lost, len(VERDICT_SEEDS), verdict.second.arm
    label, twin = out.arm.label, named(other)
    more = out is verdict.first and other.id != BASE.id  # the same arm may stand in two comparisons
    against = Text(f"（对照{twin.zh}）", f" against {twin.en}") if more else Text("", "")
    return Text(
        f"{label.zh}{against.zh}：还没有跑完，{all_} 个种子里完成了 {done} 个，不下结论。",
        f"{label.en}{against.en}: still running, {done} of {all_} seeds done; no verdict yet.",
    )


def _lost(out: Outcome) -> Text:
    name, all_ = out.arm.label, out.lost + len(out.losses)
    if not out.losses:
        swept = out.trains
        return Text(
            f"{name.zh}：{all_} 个种子无一训起来{'' if swept else '，扫过的学习率也没有一档行得通'}，无从比较。",
            f"{name.en}: none of {all_} seeds trained{'' if swept else ', nor did any rate of the sweep'}; "
            "there is nothing to compare.",
        )
    return Text(
        f"{name.zh}：{all_} 个种子里有 {out.lost} 个没有训起来，所以不求平均，也不作比较。",
        f"{name.en}: {out.lost} of {all_} seeds did not train, so nothing is averaged or compared.",
    )
