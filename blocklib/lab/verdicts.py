"""The verdict on every comparison, in both languages; no page words one itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from blocklib.lab.arms import get
from blocklib.lab.questions import QUESTIONS, Outcome, outcome
from blocklib.lab.statistics import MARGIN, Comparison, compare, holm
from blocklib.text import Text


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
    """All verdicts of a question, in its order; Holm's correction runs over those that could be tested."""
    pairs = [(outcome(a, loss_key(a)), outcome(b, loss_key(b))) for a, b in QUESTIONS[question].pairs]
    tested = [i for i, (a, b) in enumerate(pairs) if a.comparable and b.comparable]
    raw = [compare(*([out.losses[seed] for seed in sorted(out.losses)] for out in pairs[i])) for i in tested]
    judged = dict(zip(tested, holm(raw), strict=True))
    verdicts = []
    for i, (a, b) in enumerate(pairs):
        if i in judged:
            verdicts.append(Verdict(a, b, judged[i].verdict, judged[i]))
        else:
            verdicts.append(Verdict(a, b, "lost" if a.complete and b.complete else "unfinished"))
    return tuple(verdicts)


def digits(comparison: Comparison) -> int:
    """Decimals worth printing: the first digit of the interval's half width, at least two and at most four."""
    half = comparison.floor
    places = 2
    while places < 4 and half < 0.5 * 10 ** (1 - places):
        places += 1
    return places


def _sentence(verdict: Verdict) -> Text:
    first, second, found = verdict.first.arm.label, verdict.second.arm.label, verdict.comparison
    if verdict.kind == "unfinished":
        return Text(f"{first.zh}：还没跑完。", f"{first.en}: still running.")
    if verdict.kind == "lost":
        which = verdict.first if verdict.first.lost else verdict.second
        total = which.lost + len(which.losses)
        return Text(
            f"{which.arm.label.zh}：{total} 个种子里有 {which.lost} 个没有训起来，不求平均，也不作比较。",
            f"{which.arm.label.en}: {which.lost} of {total} seeds did not train; nothing is averaged or compared.",
        )
    assert found is not None
    places = digits(found)
    low, high = (f"{bound:+.{places}f}".replace("-", "−") for bound in (found.low, found.high))
    mean = f"{abs(found.mean):.{places}f}"
    if verdict.kind == "differs":
        more = found.mean > 0
        return Text(
            f"{first.zh}比{second.zh}{'高' if more else '低'} {mean} nat（95% 区间 {low} 到 {high}）。",
            f"{first.en} is {mean} nats {'above' if more else 'below'} {second.en} (95 % interval {low} to {high}).",
        )
    if verdict.kind == "same":
        return Text(
            f"{first.zh}与{second.zh}在 ±{MARGIN} nat 以内相同（95% 区间 {low} 到 {high}）。",
            f"{first.en} and {second.en} are the same within ±{MARGIN} nats (95 % interval {low} to {high}).",
        )
    return Text(
        f"{first.zh}与{second.zh}之间没有显出差别（95% 区间 {low} 到 {high}）。",
        f"no difference shown between {first.en} and {second.en} (95 % interval {low} to {high}).",
    )
