"""The exhibit of BatchNorm on a generated token: what is left of one token in a batch, and when it is alone."""

from __future__ import annotations

from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num
from blocklib.charts.primer.growth import VECTOR
from blocklib.charts.primer.vectors import DRAWS, components, listed, two
from blocklib.text import Text

BATCHES = (1, 2, 4, 8, 32, 128)
POPULATION = 1024  # tokens behind the stored statistics
BATCH, STORED = Text("这一批", "this batch"), Text("训练时存下的", "stored in training")
STATISTICS = (("batch", BATCH), ("stored", STORED))


@cache
def neighbours(draw: int) -> tuple[tuple[float, ...], ...]:
    """Tokens that may share a batch with ours, each component normal with mean 3 and deviation 4, as our token's are."""
    import torch

    g = torch.Generator().manual_seed(draw)
    return tuple(map(tuple, (3 + 4 * torch.randn(POPULATION, len(VECTOR), dtype=torch.float64, generator=g)).tolist()))


@cache
def normalised(batch: int, draw: int, stored: bool) -> tuple[float, ...]:
    """What BatchNorm makes of our token: in training mode among ``batch − 1`` neighbours, or in evaluation mode with
    the statistics of the whole population. Gain one, bias zero."""
    import torch

    from blocklib.nn.norm import BatchNorm

    rows = torch.tensor([VECTOR, *neighbours(draw)], dtype=torch.float64)
    norm = BatchNorm(len(VECTOR), momentum=1.0).double()
    with torch.no_grad():
        if stored:
            norm(torch.tensor(neighbours(0), dtype=torch.float64)[:, None])  # its averages are now the population's
            return tuple(norm.eval()(rows[:batch, None])[0, 0].tolist())
        return tuple(norm(rows[:batch, None])[0, 0].tolist())


@exhibit(
    "batchnorm-one-token", number=30, title=Text("只剩一个 token 时，BatchNorm 留下什么？",
                                                 "What does BatchNorm leave of a single token?"),
    controls=(
        Range("batch", Text("批里的 token", "Tokens in the batch"), values=BATCHES, default=4),
        Choice("draw", Text("邻居", "Neighbours"), options=DRAWS, default=0),
        Choice("statistics", Text("统计量", "Statistics"), options=STATISTICS, default="batch"),
    ),
)  # fmt: skip
def batchnorm_one_token(batch: int, draw: int, statistics: str) -> State:
    """One token's components before and after BatchNorm, among neighbours that change and grow fewer."""
    stored = statistics == "stored"
    out = normalised(batch, draw, stored)
    reach = max(abs(v) for b in BATCHES for d, _ in DRAWS for s in (True, False) for v in normalised(b, d, s))
    width = len(VECTOR)
    alone = batch == 1
    given, made = f"**{listed(VECTOR)}**", f"**{listed(out)}**"
    who = dict(DRAWS)[draw]
    if stored:
        sentence = Text(
            f"用训练时存下的统计量：输入 {given} 变成 {made}；批里有 **{num(batch)}** 个 token 还是一个，邻居是谁，都不影响。",
            f"With the statistics stored in training {given} becomes {made}, whoever the neighbours are and whether "
            f"the batch holds **{num(batch)}** or one.",
        )
    elif alone:
        sentence = Text(
            f"批里只有它自己（**{num(batch)}** 个 token），统计量取自这一批：输入 {given} 变成八个 **{num(out[0])}**，它带来的一切都没了。",
            f"Alone in its batch (**{num(batch)}** token), with that batch's statistics, {given} becomes **{num(out[0])}** in all "
            "eight components: nothing of it is left.",
        )
    else:
        sentence = Text(
            f"批里有 **{num(batch)}** 个 token（它和{who.zh}组邻居），统计量取自这一批：输入 {given} 变成 {made}。",
            f"One of **{num(batch)}** tokens ({who.en} set of neighbours), with that batch's statistics, {given} becomes {made}.",
        )
    places = list(range(width))
    series = [
        Series(Text("输出", "output"), x=places, y=out, mark="bar", role="c2" if stored else "c1", thickness=0.5,
               labels=[two(v) for v in out]),
    ]  # fmt: skip
    if not stored:
        series.append(
            Series(Text("改用存下的统计量", "with stored statistics"), x=[place + 0.37 for place in places],
                   y=normalised(batch, draw, True), mark="points",
                   role="ink"))  # fmt: skip
    rows = [(name, num(v), two(o), two(s)) for name, v, o, s in zip(
        components(width), VECTOR, out, normalised(batch, draw, True), strict=True)]  # fmt: skip
    return State(
        Chart(
            series, height=260, narrow_height=250,
            x=Axis(categories=[str(i) for i in range(1, width + 1)], label=Text("分量", "component"),
                   range=(-0.5, width - 0.4)),
            y=Axis(label=Text("输出；圆点：改用存下的统计量", "output; dots: with stored statistics") if not stored
                   else Text("输出", "output"), range=(-reach * 1.2, reach * 1.2), ticks=(-2, 0, 2)),
            summary=Text(f"八根柱子，依次为 {'、'.join(two(v) for v in out)}。", f"Eight bars: {', '.join(two(v) for v in out)}."),
        ),
        sentence,
        Table((Text("分量", "Component"), Text("输入", "Input"), Text("输出", "Output") if stored or alone
               else Text(f"输出（{num(batch)} 个，{who.zh}组）", f"Output ({num(batch)}, {who.en} set)"), Text("用存下的统计量", "With stored statistics")), rows),
    )  # fmt: skip
