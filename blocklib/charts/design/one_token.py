"""Exhibits of the chapter on one token: what a head reads lies among the values, and how fast tokens grow alike."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num
from blocklib.charts.primer.vectors import two
from blocklib.text import Text

if TYPE_CHECKING:
    from torch import Tensor

Point = tuple[float, float]
PLACES = 5
SHARPNESS = ((0.0, Text("零", "zero")), (1.0, Text("原样", "as drawn")), (6.0, Text("六倍", "sixfold")))


@cache
def reading(sharpness: float) -> tuple[list[Point], list[list[float]], list[Point]]:
    """Values of five tokens in a head of width two, the causal weights, and what each token reads.

    ``sharpness`` multiplies the queries.
    """
    import torch

    from blocklib.nn.attention import attention_weights, causal_mask

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(114)
        q, k, v = torch.randn(3, PLACES, 2, dtype=torch.float64)
    weights = attention_weights(sharpness * q, k, causal_mask(PLACES, PLACES))
    return [tuple(p) for p in v.tolist()], weights.tolist(), [tuple(p) for p in (weights @ v).tolist()]


def hull(points: list[Point]) -> list[Point]:
    """Corners of the convex hull, once round (Andrew's monotone chain)."""
    ordered = sorted(points)
    if len(ordered) < 3:
        return ordered

    def half(these: list[Point]) -> list[Point]:
        kept: list[Point] = []
        for x, y in these:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return half(ordered) + half(ordered[::-1])


@exhibit(
    "value-hull", number=46, title=Text("一个头读到的，落在哪里？", "Where does what a head reads lie?"),
    controls=(
        Steps("place", Text("位置", "Position"), values=tuple(range(PLACES)), default=3),
        Choice("sharpness", Text("query 的大小", "Size of the query"), options=SHARPNESS, default=1.0),
    ),
)  # fmt: skip
def value_hull(place: int, sharpness: float) -> State:
    """The values a position can see, their hull, and the point it reads: the average under its weights."""
    values, weights, read = reading(sharpness)
    seen, row, out = values[: place + 1], weights[place][: place + 1], read[place]
    corners = hull(seen)
    edges = [p for a, b in zip(corners, corners[1:] + corners[:1], strict=True) for p in (a, b)] if place else []
    series = []
    if edges:
        series.append(
            Series(Text("凸包", "hull"), x=[p[0] for p in edges], y=[p[1] for p in edges], mark="links", role="ghost")
        )
    hidden = values[place + 1 :]
    if hidden:
        series.append(Series(Text("看不见的 value", "values out of sight"), x=[p[0] for p in hidden], y=[p[1] for p in hidden],
                             mark="points", role="line-2",
                             labels=[Text(f"v{i}，看不见", f"v{i}, unseen") for i in range(place + 1, PLACES)]))  # fmt: skip
    middle = sum(p[0] for p in values) / PLACES
    for side in ("left", "right"):  # words on the outer side of a point, where no edge runs
        here = [i for i, p in enumerate(seen) if (p[0] < middle) == (side == "left")]
        if here:
            series.append(Series(Text("看得见的 value", "values in sight"), x=[seen[i][0] for i in here], y=[seen[i][1] for i in here],
                                 mark="points", role="c1", labels=[f"v{i}: {two(row[i])}" for i in here], place=side))  # fmt: skip
    if place:
        series.append(Series(Text("读到的", "what it reads"), x=[out[0]], y=[out[1]], mark="points", role="ink",
                             labels=[Text("读到的", "it reads")], bold=True, place="below"))  # fmt: skip
    point = f"({two(out[0])}, {two(out[1])})"
    list_of = ", ".join(f"v{i} {two(w)}" for i, w in enumerate(row))
    size = dict(SHARPNESS)[sharpness]
    if place:
        where = Text("在看得见的那些 value 围成的范围里", "inside what the visible values enclose")
    else:
        where = Text("正是它自己的 value", "its own value")
    sentence = Text(
        f"位置 **{place}**，query {size.zh}：看得见 **{place + 1}** 个 value，权重 **{list_of}**，读到 **{point}**，{where.zh}。",
        f"Position **{place}**, query {size.en}: **{place + 1}** {'value is' if not place else 'values are'} in sight, with "
        f"weights **{list_of}**; it reads **{point}**, {where.en}.",
    )
    rows = [(f"v{i}", two(values[i][0]), two(values[i][1]), two(row[i]) if i <= place else Text("看不见", "unseen"))
            for i in range(PLACES)]  # fmt: skip
    rows.append((Text("读到的", "what it reads"), two(out[0]), two(out[1]), two(sum(row))))
    xs, ys = zip(*values, strict=True)
    pad = 0.25 * (max(xs) - min(xs))
    return State(
        Chart(series, height=300, narrow_height=290,
              x=Axis(range=(min(xs) - 1.2 * pad, max(xs) + 1.3 * pad), hidden=True),
              y=Axis(range=(min(ys) - 0.35, max(ys) + 0.35), hidden=True),
              summary=Text(f"平面上 {PLACES} 个 value，其中 {place + 1} 个看得见；读到的点 {point}，{where.zh}。",
                           f"{PLACES} values in a plane, {place + 1} of them in sight; the point that is read, {point}, is {where.en}.")),
        sentence,
        Table((Text("向量", "Vector"), Text("第一维", "First entry"), Text("第二维", "Second entry"), Text("权重", "Weight")), rows,
              total=PLACES),
    )  # fmt: skip


LAYERS = 5
TOKENS, WIDTH = 8, 16
FLOOR = 1e-70  # the picture's lower edge
TINY = 1e-300  # below it double precision has no digits left
STARTS = (0.05, 0.1, 0.2, 0.4)
KINDS = {
    "bare": Text("没有掩码，没有残差", "no mask, no skip"),
    "causal": Text("因果掩码，没有残差", "causal mask, no skip"),
    "skip": Text("没有掩码，有残差", "no mask, with the skip"),
}


def size(x: Tensor) -> float:
    """Length of all entries of ``(T, d)`` together, without squaring what is too small to be squared."""
    largest = float(x.abs().max())
    return largest * float((x / largest).norm()) if largest else 0.0


def left(value: float) -> str:
    """A spread for the reader; what is too small for double precision says so."""
    return num(value, 2) if value > TINY else "< 10⁻³⁰⁰"


def step(shared: Tensor, apart: Tensor, matrices: tuple[Tensor, ...], kind: str) -> tuple[Tensor, Tensor]:
    """One attention layer on rows ``shared (d) + apart (T, d)``, the rows of ``apart`` summing to zero.

    What all rows share and what sets them apart are carried separately, so that a difference far below the rounding
    of a row is still exact to sixteen digits: the weights' deviation from their common part comes from ``expm1``.
    """
    import torch

    w_q, w_k, w_v = matrices
    scale = 1 / sqrt(w_q.shape[1])
    common = ((shared @ w_q) @ (apart @ w_k).T * scale).softmax(-1)  # weights if all queries were the shared one
    mutual = (apart @ w_q) @ (apart @ w_k).T * scale  # the part of a score that depends on both tokens
    if kind == "causal":
        logits = ((shared + apart) @ w_q) @ (apart @ w_k).T * scale
        seen = torch.ones(len(apart), len(apart), dtype=torch.bool).tril()
        mixed = logits.masked_fill(~seen, float("-inf")).softmax(-1) @ apart
    else:
        grown = torch.expm1(mutual)
        total = (common * grown).sum(-1, keepdim=True)
        mixed = (common * (grown - total) / (1 + total)) @ apart  # without the part that all rows receive alike
        shared = shared + common @ apart
    moved = mixed @ w_v
    new_shared, new_apart = shared @ w_v + moved.mean(0), moved - moved.mean(0)
    return new_shared, new_apart


@cache
def spreads(kind: str, start: float) -> tuple[float, ...]:
    """How unlike the rows are, as a share of their size, at the input and after each layer of a random stack."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        shared, apart = torch.randn(WIDTH, dtype=torch.float64), torch.randn(TOKENS, WIDTH, dtype=torch.float64)
        apart = apart - apart.mean(0)
        ratio = start / sqrt(1 - start**2)  # so that the share of the whole is ``start``
        apart = apart * (ratio * sqrt(TOKENS) * shared.norm() / apart.norm())
        found = []
        for _ in range(LAYERS + 1):
            difference = size(apart)
            found.append(difference / sqrt(TOKENS * size(shared) ** 2 + difference**2))
            matrices = [torch.linalg.qr(torch.randn(WIDTH, WIDTH, dtype=torch.float64))[0] for _ in range(3)]
            there, far = step(shared, apart, matrices, kind)
            shared, apart = (shared + there, apart + far) if kind == "skip" else (there, far)
    return tuple(found)


@exhibit(
    "collapse-speed", number=47, title=Text("只叠 attention，token 之间的差别还剩多少？", "Attention alone, stacked: how unlike do tokens stay?"),
    controls=(
        Choice("kind", Text("排法", "Arrangement"), options=tuple(KINDS.items()), default="bare"),
        Range("start", Text("起初的差别", "Unlike at first"), values=STARTS, default=0.2),
    ),
)  # fmt: skip
def collapse_speed(kind: str, start: float) -> State:
    """How unlike the rows still are after each layer, on a log axis; the other arrangements stand behind."""
    depth = list(range(LAYERS + 1))
    series = []
    for other in (*(k for k in KINDS if k != kind), kind):
        values = [v if v > FLOOR else None for v in spreads(other, start)]
        series.append(Series(KINDS[other], x=depth, y=values, mark="line", role="c1" if other == kind else "ghost",
                             dash=False, end=KINDS[other] if other == kind else None))  # fmt: skip
    found = spreads(kind, start)
    points = [(i, v) for i, v in enumerate(found) if v > FLOOR]
    series.append(
        Series(Text("逐层", "by layer"), x=[p[0] for p in points], y=[p[1] for p in points], mark="points", role="c1")
    )
    said = [left(v) for v in found]
    shown = Text("、".join(said[1:5]), ", ".join(said[1:5]))
    verdict = {
        "bare": Text(
            "每层大致把上一层剩下的取三次方。", "Each layer takes roughly the cube of what the last one left."
        ),
        "causal": Text(
            "每层剩下的与上一层大致成比例。", "What each layer leaves is roughly in proportion to what it found."
        ),
        "skip": Text(
            "差别没有被抹掉，只是共有的部分一层层变大。", "The difference stays; what all tokens share grows."
        ),
    }[kind]
    sentence = Text(
        f"{KINDS[kind].zh}，起初的差别占 **{num(start)}**：一到四层之后依次剩 **{shown.zh}**。{verdict.zh}",
        f"{KINDS[kind].en[0].upper()}{KINDS[kind].en[1:]}, with **{num(start)}** unlike at first: after one to four layers "
        f"**{shown.en}** is left. {verdict.en}",
    )
    rows = [
        (Text(f"{i} 层", f"{i} layers" if i != 1 else "1 layer"), *(left(spreads(k, start)[i]) for k in KINDS))
        for i in depth
    ]
    head = [Text(("▸ " if k == kind else "") + v.zh, ("▸ " if k == kind else "") + v.en) for k, v in KINDS.items()]
    return State(
        Chart(series, height=290, narrow_height=280,
              x=Axis(unit=Text("层", "layers"), range=(0, LAYERS), ticks=(0, 1, 3, LAYERS)),
              y=Axis(label=Text("token 之间的差别，占自身大小", "how unlike tokens are, of their size"), log=True,
                     range=(FLOOR, 4), ticks=((1e-60, "10⁻⁶⁰"), (1e-30, "10⁻³⁰"), (1.0, "1"))),
              summary=Text(f"对数纵轴上的三条线，突出的是「{KINDS[kind].zh}」：{shown.zh}。",
                           f"Three lines on a log axis; in front, {KINDS[kind].en}: {shown.en}.")),
        sentence,
        Table((Text("深度", "Depth"), *head), rows),
    )  # fmt: skip
