"""Exhibits of the chapter on normalisation: what each norm ignores, where it stands, what it does to scores."""

from __future__ import annotations

from fractions import Fraction

from blocklib.charts import Axis, Chart, Range, Series, State, Table, exhibit, num
from blocklib.charts.primer.growth import VECTOR, normed
from blocklib.charts.primer.vectors import components, listed, mean, two, variance
from blocklib.text import Text

SCALES = tuple(Fraction(a) for a in ("-2", "-1", "0.5", "1", "2", "4"))
SHIFTS = (-6, -3, 0, 3, 6)
KINDS = (("layernorm", "LayerNorm"), ("rmsnorm", "RMSNorm"))


def outputs(scale: Fraction, shift: int) -> dict[str, tuple[float, ...]]:
    """What either norm makes of ``scale · x + shift``; gain one, bias zero, epsilon zero."""
    moved = tuple(float(scale * v + shift) for v in VECTOR)
    return {kind: normed(kind, moved, 0.0) for kind, _ in KINDS}


def against(out: tuple[float, ...], base: tuple[float, ...]) -> tuple[Text, Text]:
    """How an output relates to that for x itself: in a few words, and as the end of a sentence."""
    gap = max(abs(a - b) for a, b in zip(out, base, strict=True))
    turned = max(abs(a + b) for a, b in zip(out, base, strict=True))
    if gap < 1e-9:
        return Text("不变", "unchanged"), Text("和对 x 的结果完全一样", "exactly what it gives for x")
    if turned < 1e-9:
        return Text("全部反号", "every sign flipped"), Text(
            "是对 x 的结果全部反号", "what it gives for x with every sign flipped"
        )
    far = two(gap)
    return (
        Text(f"最多差 {far}", f"off by up to {far}"),
        Text(f"与对 x 的结果最多差 **{far}**", f"up to **{far}** away from what it gives for x"),
    )


def expression(scale: Fraction, shift: int) -> str:
    """``2 · x − 3``, its numbers in bold."""
    return f"**{num(scale)}** · x" + (f" {'+' if shift > 0 else '−'} **{num(abs(shift))}**" if shift else "")


@exhibit(
    "norm-invariances", number=31, title=Text("输入平移、缩放，哪一种归一化看得出来？",
                                              "Shift or scale the input: which norm notices?"),
    controls=(
        Range("scale", Text("缩放 a", "Scale a"), values=SCALES, default=Fraction(2)),
        Range("shift", Text("平移 b", "Shift b"), values=SHIFTS, default=3),
    ),
)  # fmt: skip
def norm_invariances(scale: Fraction, shift: int) -> State:
    """Both norms of ``a·x + b`` as bars, with what they give for x itself as dots."""
    given = [scale * v + shift for v in VECTOR]
    middle, spread = mean(given), abs(scale) * Fraction(variance(VECTOR) ** 0.5)
    out, base = outputs(scale, shift), outputs(Fraction(1), 0)
    width = len(VECTOR)
    starts = {kind: i * (width + 1.4) for i, (kind, _) in enumerate(KINDS)}
    verdicts = {kind: against(out[kind], base[kind]) for kind, _ in KINDS}
    reach = max(abs(v) for s in SCALES for b in SHIFTS for o in outputs(s, b).values() for v in o)
    series = []
    for (kind, name), role in zip(KINDS, ("c1", "c2"), strict=True):
        place = [starts[kind] + i for i in range(width)]
        series += [
            Series(name, x=place, y=out[kind], mark="bar", role=role, thickness=0.62),
            Series(Text(f"{name}，输入 x", f"{name} of x"), x=place, y=base[kind], mark="points", role="ink"),
            Series(Text("名字", "name"), x=[place[0] - 0.4], y=[reach * 1.62], mark="label", role="ink", place="right",
                   bold=True, labels=[name]),
            Series(Text("结论", "verdict"), x=[place[0] - 0.4], y=[reach * 1.3], mark="label", role="ink", place="right",
                   labels=[verdicts[kind][0]]),
        ]  # fmt: skip
    said = f"mean {num(middle)}, deviation {num(spread)}"
    series.append(
        Series(Text("输入", "input"), x=[-0.4], y=[-reach * 1.25], mark="label", role="ink-2", place="right",
               labels=[Text(f"输入：均值 {num(middle)}，标准差 {num(spread)}；圆点：输入就是 x",
                            f"input: {said}; dots: input x itself")]))  # fmt: skip
    sentence = Text(
        f"输入 {expression(scale, shift)} 的均值是 **{num(middle)}**，标准差是 **{num(spread)}**。"
        f"LayerNorm 输出 **{listed(out['layernorm'])}**，{verdicts['layernorm'][1].zh}；"
        f"RMSNorm 输出 **{listed(out['rmsnorm'])}**，{verdicts['rmsnorm'][1].zh}。",
        f"The input {expression(scale, shift)} has mean **{num(middle)}** and standard deviation "
        f"**{num(spread)}**. LayerNorm gives **{listed(out['layernorm'])}**, {verdicts['layernorm'][1].en}. "
        f"RMSNorm gives **{listed(out['rmsnorm'])}**, {verdicts['rmsnorm'][1].en}.",
    )
    rows = [
        (head, num(VECTOR[i]), two(float(given[i])), *(two(v[kind][i]) for kind, _ in KINDS for v in (base, out)))
        for i, head in enumerate(components(width))
    ]
    head = (Text("维", "Component"), "x", "a·x + b",
            *(Text(f"{name}：{of}", f"{name} of {of}") for _, name in KINDS for of in ("x", "a·x + b")))  # fmt: skip
    return State(
        Chart(
            series, height=280, narrow_height=270,
            x=Axis(range=(-0.7, starts["rmsnorm"] + width - 0.3), hidden=True),
            y=Axis(range=(-reach * 1.45, reach * 1.75), hidden=True),
            summary=Text(
                f"左边八根柱子是 LayerNorm 的输出（{verdicts['layernorm'][0].zh}），"
                f"右边八根是 RMSNorm 的（{verdicts['rmsnorm'][0].zh}）。",
                f"Eight bars at the left for LayerNorm ({verdicts['layernorm'][0].en}), eight at the right for RMSNorm "
                f"({verdicts['rmsnorm'][0].en})."),
        ),
        sentence,
        Table(head, rows),
    )  # fmt: skip
