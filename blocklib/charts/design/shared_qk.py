"""Exhibits of the chapter on one matrix for queries and keys."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import prod

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, short
from blocklib.charts.design.position_schemes import SCHEMES, scheme_scores
from blocklib.charts.primer.vectors import two
from blocklib.text import Text
from blocklib.theory.freedoms import (
    antisymmetric_freedoms,
    score_entries,
    score_freedoms,
    tied_score_freedoms,
    untying_freedoms,
)

WORDS = (Text("狗", "dog"), Text("咬", "bites"), Text("人", "man"))
PAIRS = tuple(combinations(range(3), 2))
MIXES = tuple(Fraction(i, 4) for i in range(5))
SEED = 12  # the same words and matrices as in the chapter's first block


@cache
def dog_bites_man(mix: Fraction) -> tuple[list[list[float]], list[list[float]]]:
    """Scores and weights of three words whose key matrix lies ``mix`` of the way from the query's to one of its own."""
    import torch

    from blocklib.nn.attention import attention_weights

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        x = torch.randn(3, 6, dtype=torch.float64)
        w_q, w_k = torch.randn(2, 6, 4, dtype=torch.float64) / 2
    q, k = x @ w_q, x @ (w_q + float(mix) * (w_k - w_q))
    return (q @ k.T / 2).tolist(), attention_weights(q, k).tolist()


def trip(weights: list[list[float]], *stops: int) -> float:
    """Product of the weights met on a round trip through the words."""
    return prod(weights[here][there] for here, there in pairwise(stops))


@exhibit(
    "score-symmetry", number=43, title=Text("一个矩阵还是两个：来回的得分相等吗？", "One matrix or two: do scores agree both ways?"),
    controls=(
        Range("mix", Text("K 离 Q 多远", "How far K is from Q"), values=MIXES, default=Fraction(0),
              labels=(Text("同一个矩阵", "one matrix"), *(Text.same(num(m)) for m in MIXES[1:-1]), Text("两个矩阵", "two matrices"))),
        Choice("what", Text("看", "Show"), default="scores",
               options=(("scores", Text("得分", "scores")), ("weights", Text("权重", "weights")), ("trips", Text("绕圈", "round trips")))),
    ),
)  # fmt: skip
def score_symmetry(mix: Fraction, what: str) -> State:
    """Three pairs of words, each read both ways: scores, weights, or the two round trips through all three."""
    scores, weights = dog_bites_man(mix)
    ways = trip(weights, 0, 1, 2, 0), trip(weights, 0, 2, 1, 0)
    if what == "trips":
        tripped = [
            w for m in MIXES for w in (trip(dog_bites_man(m)[1], 0, 1, 2, 0), trip(dog_bites_man(m)[1], 0, 2, 1, 0))
        ]
        groups = [(Text("绕一圈", "round trip"), *ways)]
        reach = (-0.25 * max(tripped), 1.35 * max(tripped))
    else:
        matrix = scores if what == "scores" else weights
        groups = [(Text(f"{WORDS[i].zh}、{WORDS[j].zh}", f"{WORDS[i].en}, {WORDS[j].en}"), matrix[i][j], matrix[j][i])
                  for i, j in PAIRS]  # fmt: skip
        all_states = [dog_bites_man(m)[what != "scores"] for m in MIXES]
        every = [0.0, *(m[i][j] for m in all_states for i in range(3) for j in range(3) if i != j)]
        span = max(every) - min(every)
        reach = (min(every) - 0.3 * span, max(every) + 0.25 * span)
    shown = (lambda v: num(v, 3)) if what == "trips" else two
    place = [3 * i for i in range(len(groups))]
    series = [
        Series(name, x=[p + shift for p in place], y=[g[1 + k] for g in groups], mark="bar", role=role, thickness=0.8,
               labels=[shown(g[1 + k]) for g in groups], place="end")
        for k, (name, role, shift) in enumerate(((Text("前读后", "first reads second"), "c1", 0.0),
                                                 (Text("后读前", "second reads first"), "c2", 0.9)))
    ]  # fmt: skip
    series.append(Series(Text("哪一对", "pair"), x=[p + 0.45 for p in place], y=[reach[0]] * len(place), mark="label",
                         role="ink-2", place="above", labels=[g[0] for g in groups]))  # fmt: skip
    series.append(Series(Text("怎么看", "key"), x=[-0.8], y=[reach[1]], mark="label", role="ink-2", place="right",
                         labels=[Text("左柱前读后，右柱后读前", "left bar forwards, right bar back")]))  # fmt: skip
    largest = max(abs(scores[i][j] - scores[j][i]) for i, j in PAIRS)
    name = {
        "scores": Text("得分", "Scores"),
        "weights": Text("权重", "Weights"),
        "trips": Text("绕圈的乘积", "Round trips"),
    }[what]
    listed = Text("；".join(f"{g[0].zh} {shown(g[1])} 与 {shown(g[2])}" for g in groups),
                  "; ".join(f"{g[0].en} {shown(g[1])} and {shown(g[2])}" for g in groups))  # fmt: skip
    equal = largest < 1e-9
    lead = Text("Q 与 K 共用一个矩阵" if equal else "两个矩阵" if mix == 1 else f"K 从 Q 走出了 {num(mix)}",
                "One matrix for both" if equal else "Two matrices" if mix == 1 else f"K is {num(mix)} of the way from Q to a matrix of its own")  # fmt: skip
    verdict = Text(
        "得分来回相等，绕圈的乘积也相等，权重却不等。" if equal else f"得分来回最多差 **{two(largest)}**，绕圈的两个方向也不再相等。",
        "Scores agree both ways and so do the round trips; weights do not." if equal
        else f"Scores differ by up to **{two(largest)}** between the two ways, and the round trips differ too.")  # fmt: skip
    sentence = Text(f"{lead.zh}。{name.zh}，前读后与后读前：**{listed.zh}**。{verdict.zh}",
                    f"{lead.en}. {name.en}, forwards and back: **{listed.en}**. {verdict.en}")  # fmt: skip
    mark = {"scores": 0, "weights": 1, "trips": 2}[what]
    table = [(Text(f"{'▸ ' * (mark == k)}{kind.zh}：{WORDS[i].zh}、{WORDS[j].zh}",
                   f"{'▸ ' * (mark == k)}{kind.en}: {WORDS[i].en}, {WORDS[j].en}"), two(m[i][j]), two(m[j][i]))
             for k, (kind, m) in enumerate(((Text("得分", "score"), scores), (Text("权重", "weight"), weights)))
             for i, j in PAIRS]  # fmt: skip
    table.append((Text(f"{'▸ ' * (mark == 2)}绕一圈", f"{'▸ ' * (mark == 2)}round trip"), *(num(w, 3) for w in ways)))
    return State(
        Chart(series, height=250, narrow_height=240,
              x=Axis(range=(-1, place[-1] + 1.9), hidden=True), y=Axis(range=(reach[0], reach[1] + 0.06 * (reach[1] - reach[0])), hidden=True),
              summary=Text(f"{len(groups)} 对柱子，前读后与后读前；得分来回最多差 {two(largest)}。",
                           f"{len(groups)} pairs of bars, forwards and back; scores differ by {two(largest)} at most.")),
        sentence,
        Table((Text("量", "Quantity"), Text("前读后", "Forwards"), Text("后读前", "Back")), table),
    )  # fmt: skip


PLACES = 5


@cache
def asymmetry(scheme: str, tied: bool) -> tuple[tuple[float, ...], ...]:
    """Score of the row reading the column, minus the score the other way round, for five random tokens."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        x = torch.randn(PLACES, 8, dtype=torch.float64)
    s = scheme_scores(scheme, x, tied, seed=3)
    return tuple(tuple(row) for row in (s - s.T).tolist())


def kind_of(scheme: str, tied: bool) -> Text:
    """What the differences depend on, read off the numbers."""
    d = asymmetry(scheme, tied)
    if all(abs(v) < 1e-9 for row in d for v in row):
        return Text("来回处处相等", "both ways agree everywhere")
    by_offset = all(
        abs(d[i][i + k] - d[i + 1][i + 1 + k]) < 1e-9 for k in range(1, PLACES) for i in range(PLACES - k - 1)
    )
    if by_offset:
        return Text(
            "差额只看隔几位，与是哪两个词无关", "the difference depends on the offset alone, whatever the two words are"
        )
    return Text("差额随词而变", "the difference changes with the words")


@exhibit(
    "position-symmetry", number=44, title=Text("加上位置，来回的得分还相等吗？", "With positions, do scores still agree both ways?"),
    controls=(
        Range("scheme", Text("位置编码", "Positions"), values=tuple(SCHEMES), labels=tuple(SCHEMES.values()), default="t5"),
        Choice("tied", Text("投影", "Projections"), default=True,
               options=((True, Text("共用一个", "one matrix")), (False, Text("各有一个", "two matrices")))),
    ),
)  # fmt: skip
def position_symmetry(scheme: str, tied: bool) -> State:
    """The grid of score minus reversed score for five tokens under a scheme of positions."""
    d = asymmetry(scheme, tied)
    top = max(abs(v) for t in (True, False) for s in SCHEMES for row in asymmetry(s, t) for v in row)
    cells = [(j, i, d[i][j]) for i in range(PLACES) for j in range(PLACES)]
    kinds = (
        ("c1", Text("前者更高", "higher"), [c for c in cells if c[2] > 1e-9]),
        ("c2", Text("前者更低", "lower"), [c for c in cells if c[2] < -1e-9]),
        ("ghost", Text("相等", "equal"), [c for c in cells if abs(c[2]) <= 1e-9]),
    )
    series = [
        Series(name, x=[c[0] for c in part], y=[c[1] for c in part], mark="cells", role=role, thickness=0.94,
               alpha=[1.0 if role == "ghost" else round(0.12 + 0.5 * (abs(c[2]) / top) ** 0.6, 3) for c in part])
        for role, name, part in kinds if part
    ]  # fmt: skip
    series.append(Series(Text("差额", "difference"), x=[c[0] for c in cells], y=[c[1] for c in cells], mark="label", role="ink",
                         labels=["0" if abs(c[2]) <= 1e-9 else two(c[2]) for c in cells]))  # fmt: skip
    largest, kind, name = max(abs(c[2]) for c in cells), kind_of(scheme, tied), SCHEMES[scheme]
    said = "0" if largest < 1e-9 else two(largest)
    sentence = Text(
        f"位置编码：**{name.zh}**，投影{'共用一个' if tied else '各有一个'}矩阵。i 读 j 与 j 读 i 的得分最多差 **{said}**：{kind.zh}。",
        f"Positions: **{name.en}**, with {'one matrix' if tied else 'two matrices'}. The score of i reading j and that of j "
        f"reading i differ by **{said}** at most: {kind.en}.")  # fmt: skip
    rows = []
    for key, words in SCHEMES.items():
        here = "▸ " * (key == scheme)
        found = [max(abs(v) for row in asymmetry(key, t) for v in row) for t in (True, False)]
        cells_of = ["0" if v < 1e-9 else two(v) for v in found]
        if key == scheme:
            cells_of[not tied] += " ◂"
        rows.append((Text(here + words.zh, here + words.en), *cells_of, kind_of(key, True)))
    axis = [str(i) for i in range(PLACES)]
    return State(
        Chart(series, height=300, narrow_height=300, square=True,
              x=Axis(categories=axis, unit=Text("被读的位置 j", "position read, j")),
              y=Axis(categories=axis, label=Text("正在读的位置 i", "position reading, i")),
              summary=Text(f"五乘五的网格，格子里是来回得分之差；{kind.zh}，最大 {said}。",
                           f"A five by five grid of differences between the two ways: {kind.en}, {said} at most.")),
        sentence,
        Table((Text("位置编码", "Positions"), Text("共用：最大差", "One matrix: largest"), Text("各有：最大差", "Two: largest"),
               Text("共用时", "With one matrix")), rows),
    )  # fmt: skip


RANKS = {512: (8, 16, 32, 64, 128, 256, 512), 4096: (64, 128, 256, 512, 1024, 2048, 4096)}


@exhibit(
    "score-freedoms", number=45, title=Text("一个头的打分规则，有多少自由度？", "How many degrees of freedom has one head's scoring rule?"),
    controls=(
        Range("step", Text("头宽 r", "Head width r"), values=tuple(range(7)), default=1,
              labels=tuple(Text.same(f"d/{2 ** (6 - i)}" if i < 6 else "d") for i in range(7))),
        Choice("d_model", Text("宽度 d", "Width d"), options=tuple((d, num(d)) for d in RANKS), default=4096),
    ),
)  # fmt: skip
def score_freedoms_exhibit(step: int, d_model: int) -> State:
    """Entries of the two matrices, freedoms of the form they make, and freedoms with one matrix, for a head width."""
    r = RANKS[d_model][step]
    bars = (
        (Text("两个矩阵的元素", "entries of two matrices"), score_entries(d_model, r), "ghost"),
        (Text("各用各的", "two matrices"), score_freedoms(d_model, r), "c1"),
        (Text("共用一个", "one matrix"), tied_score_freedoms(d_model, r), "c2"),
    )
    gain, folk = untying_freedoms(d_model, r), antisymmetric_freedoms(d_model)
    entries, separate, tied = (num(v) for _, v, _ in bars)
    ratio = Fraction(folk, gain)
    note = (
        Text("，正是满秩时的 d(d−1)/2。", ", which is the d(d−1)/2 of full rank.")
        if gain == folk
        else Text(
            f"；按满秩的 d(d−1)/2 来数是 {num(folk)}，达到 **{num(ratio, 3)}** 倍。",
            f"; counted at full rank, d(d−1)/2, it would be {num(folk)}, **{num(ratio, 3)}** times as many.",
        )
    )
    sentence = Text(
        f"宽度 {num(d_model)}，头宽 **{num(r)}**：两个矩阵有 **{entries}** 个元素，打分规则有 **{separate}** 个自由度；"
        f"共用一个矩阵时 **{tied}** 个。拆开多出 **{num(gain)}** 个{note.zh}",
        f"At width {num(d_model)} and head width **{num(r)}**, two matrices have **{entries}** entries and the scoring rule "
        f"**{separate}** degrees of freedom; with one matrix **{tied}**. Untying gains **{num(gain)}**{note.en}")  # fmt: skip
    rows = [(Text.same(f"{'▸ ' * (v == r)}r = {num(v)}"), num(score_entries(d_model, v)), num(score_freedoms(d_model, v)),
             num(tied_score_freedoms(d_model, v)), num(untying_freedoms(d_model, v))) for v in RANKS[d_model]]  # fmt: skip
    return State(
        Chart([Series(name, x=[value], y=[i], mark="hbar", role=role, thickness=0.6) for i, (name, value, role) in enumerate(bars)],
              height=190, narrow_height=230,
              x=Axis(unit=Text("个", "numbers"), range=(0, bars[0][1] * 1.02)), y=Axis(categories=[b[0] for b in bars]),
              totals=[Text(short(v, "zh"), short(v, "en")) for _, v, _ in bars],
              summary=Text(f"三根横条：元素 {entries}，各用各的 {separate}，共用一个 {tied}。",
                           f"Three bars: entries {entries}, two matrices {separate}, one matrix {tied}.")),
        sentence,
        Table((Text("头宽", "Head width"), Text("元素", "Entries"), Text("各用各的", "Two matrices"), Text("共用一个", "One matrix"),
               Text("拆开多出", "Gained")), rows),
    )  # fmt: skip
