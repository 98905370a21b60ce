"""Exhibits of the chapter on normalisation: what each norm ignores, where it stands, what it does to scores."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.charts.primer.growth import VECTOR, normed
from blocklib.charts.primer.vectors import components, listed, mean, small_ffn, two, variance
from blocklib.text import Text
from blocklib.theory.qk_norm import qk_logit_bound

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


PLACES = (("post", Text("求和之后", "after the sum")), ("pre", Text("支路入口", "branch input")),
          ("output", Text("支路出口", "branch output")), ("sandwich", Text("入口与出口", "both ends")))  # fmt: skip
# The stations of one sublayer in the order a token meets them: the stream, the branch, the norms, the sum.
STATIONS = {"post": "xf+N", "pre": "xNf+", "output": "xfN+", "sandwich": "xNfN+"}
FORMULAS = {"post": "N(x + f(x))", "pre": "x + f(N(x))", "output": "x + N(f(x))", "sandwich": "x + N(f(N(x)))"}
CALLED = {"post": Text("post-norm", "Post-norm"), "pre": Text("pre-norm", "Pre-norm"),
          "output": Text("出口归一化", "Output norm"), "sandwich": Text("两端归一化", "Sandwich norm")}  # fmt: skip
VERDICTS = {
    "post": Text("流本身每次都被重新校准", "the stream itself is reset each time"),
    "pre": Text("读进来的大小固定，写多少、流多大都没有人管",
                "what is read has a fixed size; neither the write nor the stream has one"),
    "output": Text("写入的大小固定，读进来的没有", "the write has a fixed size; what is read has none"),
    "sandwich": Text("读和写的大小都固定，流照样只加不减", "read and write have fixed sizes; the stream still only adds"),
}  # fmt: skip
SIZES = tuple(Fraction(s) for s in ("0.5", "1", "2", "4", "8"))
WEIGHTS = (Fraction(1), Fraction(3), Fraction(9))
FLOW_WIDTH = 64


@cache
def flow(place: str, size: Fraction, weight: Fraction) -> tuple[float, ...]:
    """Root mean square at each station of one sublayer, for an input of this RMS and output weights this much larger.

    The branch is an FFN with random weights, the norm an RMSNorm of gain one, averaged over 32 tokens.
    """
    import torch

    from blocklib.nn.norm import RMSNorm

    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        f, norm = small_ffn(FLOW_WIDTH, float(weight)), RMSNorm(FLOW_WIDTH, eps=0.0, affine=False)
        x = norm(torch.randn(32, FLOW_WIDTH, dtype=torch.float64)) * float(size)
        now, sizes = x, []
        for station in STATIONS[place]:
            now = {"x": lambda v: v, "f": f, "N": norm, "+": lambda v: x + v}[station](now)
            sizes.append(now.square().mean(-1).sqrt().mean().item())
    return tuple(sizes)


@exhibit(
    "block-flow", number=32, title=Text("归一化放在哪里，什么的大小就固定", "Where the norm stands decides whose size is fixed"),
    controls=(
        Choice("place", Text("归一化的位置", "Place of the norm"), options=PLACES, default="pre"),
        Range("size", Text("输入的均方根", "RMS of the input"), values=SIZES, default=Fraction(2)),
        Range("weight", Text("支路输出权重，倍", "Branch's output weights, ×"), values=WEIGHTS, default=Fraction(1)),
    ),
)  # fmt: skip
def block_flow(place: str, size: Fraction, weight: Fraction) -> State:
    """The size of a token's vector at every station of one sublayer, the norm in one of four places."""
    sizes, stations = flow(place, size, weight), STATIONS[place]
    words = [num(v, 3) for v in sizes]
    roles = {"x": "ink", "+": "ink", "N": "c1", "f": "c2"}
    names = {
        "x": Text("流 x", "stream x"),
        "+": Text("求和", "sum"),
        "N": Text("归一化", "norm"),
        "f": Text("支路 f", "branch f"),
    }
    largest = max(max(flow(p, s, w)) for p, _ in PLACES for s in SIZES for w in WEIGHTS)
    walk = [(f"{names[s].zh} **{w}**", f"{names[s].en} **{w}**") for s, w in zip(stations, words, strict=True)]
    sentence = Text(
        f"{CALLED[place].zh}，{FORMULAS[place]}；输入的均方根 **{num(size)}**，支路输出权重 **{num(weight)}** 倍。一路上的均方根依次是："
        f"{'，'.join(zh for zh, _ in walk)}。{VERDICTS[place].zh}。",
        f"{CALLED[place].en}, {FORMULAS[place]}, with an input of RMS **{num(size)}** and output weights "
        f"**{num(weight)}** times as large. RMS along the way: {', '.join(en for _, en in walk)}. "
        f"Here {VERDICTS[place].en}.",
    )
    return State(
        Chart(
            [Series(Text("单位大小", "unit size"), x=(), y=[1], mark="rule", role="line-2"),
             Series(Text("一路", "the way"), x=list(range(len(sizes))), y=sizes, mark="line", role="ghost")]
            + [Series(names[kind], x=[i for i, s in enumerate(stations) if s == kind],
                      y=[v for s, v in zip(stations, sizes, strict=True) if s == kind], mark="points", role=roles[kind],
                      labels=[w for s, w in zip(stations, words, strict=True) if s == kind], place="above", bold=kind == "N")
               for kind in dict.fromkeys(stations)],
            height=250, narrow_height=240,
            x=Axis(categories=[names[s] for s in stations]),
            y=Axis(label=Text("均方根", "RMS"), log=True, range=(0.3, largest * 2.5)),
            summary=Text(f"{CALLED[place].zh}一个子层各站的均方根：{'、'.join(words)}。",
                         f"RMS at the stations of one {CALLED[place].en.lower()} sublayer: {', '.join(words)}."),
        ),
        sentence,
        Table((Text("站", "Station"), Text("均方根", "RMS")),
              [(Text(f"{i + 1} {names[s].zh}", f"{i + 1} {names[s].en}"), w)
               for i, (s, w) in enumerate(zip(stations, words, strict=True))]),
    )  # fmt: skip


GROWTHS = (1, 2, 4, 8)
HEAD_DIMS = (16, 64, 128)
GAINS = (Fraction(1), Fraction("1.2"), Fraction(2))
KEYS = 6


@cache
def scores(growth: int, head_dim: int, gain: Fraction) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Logits of one query over six keys, without and with QK-norm, both weight matrices ``growth`` times as large."""
    import torch

    from blocklib.nn.norm import PerHeadQKNorm, RMSNorm

    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(4)
        d = 2 * head_dim
        x = torch.randn(KEYS, d, dtype=torch.float64)
        wq, wk = (growth * torch.randn(head_dim, d, dtype=torch.float64) / d**0.5 for _ in range(2))
        q, k = x[-1:] @ wq.T, x @ wk.T
        norm = PerHeadQKNorm(head_dim, norm=lambda width: RMSNorm(width, eps=0.0)).double()
        norm.q.gain.fill_(float(gain))
        norm.k.gain.fill_(float(gain))
        bare, normed = (a @ b.T / head_dim**0.5 for a, b in ((q, k), norm(q, k)))
    return tuple(bare[0].tolist()), tuple(normed[0].tolist())


def top_weight(weights: tuple[float, ...]) -> Text:
    """The largest weight in words; one that rounds to all of it is not called all of it."""
    share = percent(max(weights))
    return Text("**99.9%** 以上", "over **99.9%**") if share == "100%" else Text.same(f"**{share}**")


def softmax(logits: tuple[float, ...]) -> tuple[float, ...]:
    """Weights of these logits, by torch."""
    import torch

    return tuple(torch.tensor(logits, dtype=torch.float64).softmax(0).tolist())


@exhibit(
    "qk-norm", number=53, title=Text("权重越来越大，attention 会不会饱和？", "As weights grow, does attention saturate?"),
    controls=(
        Range("growth", Text("W_Q 与 W_K 的倍数", "Size of W_Q and W_K, ×"), values=GROWTHS, default=4),
        Range("head_dim", Text("头宽", "Head width"), values=HEAD_DIMS, default=64),
        Range("gain", Text("QK-norm 的增益", "Gain of QK-norm"), values=GAINS, default=Fraction(1)),
    ),
)  # fmt: skip
def qk_norm_exhibit(growth: int, head_dim: int, gain: Fraction) -> State:
    """One query's attention over six keys without and with QK-norm, as both weight matrices grow."""
    pair = scores(growth, head_dim, gain)
    weights = [softmax(logits) for logits in pair]
    tops = [top_weight(w) for w in weights]
    bare = [Text(t.zh.replace("**", ""), t.en.replace("**", "")) for t in tops]
    peaks = [num(max(abs(v) for v in logits), 3) for logits in pair]
    bound = num(qk_logit_bound(head_dim, gain))
    names = (Text("没有 QK-norm", "no QK-norm"), Text("有 QK-norm", "with QK-norm"))
    gap = KEYS + 1.2
    series = []
    for i, (name, role) in enumerate(zip(names, ("c2", "c1"), strict=True)):
        place = [i * gap + j for j in range(KEYS)]
        edge = [place[0] - 0.4]
        series += [
            Series(name, x=place, y=weights[i], mark="bar", role=role, thickness=0.62),
            Series(Text("名字", "name"), x=edge, y=[1.38], mark="label", role="ink", place="right", bold=True, labels=[name]),
            Series(Text("读数", "reading"), x=edge, y=[1.17], mark="label", role="ink", place="right",
                   labels=[Text(f"最大 |logit| {peaks[i]}", f"max |logit| {peaks[i]}")]),
        ]  # fmt: skip
    series.append(Series(Text("上界", "bound"), x=[gap - 0.4], y=[0.97], mark="label", role="ink-2", place="right",
                         labels=[Text(f"上界 {bound}", f"bound {bound}")]))  # fmt: skip
    sentence = Text(
        f"W_Q 与 W_K 各为 **{growth}** 倍、头宽 **{head_dim}**、增益 **{num(gain)}**。没有 QK-norm，最大的 |logit| 是 **{peaks[0]}**，"
        f"最大的权重 {tops[0].zh}；有 QK-norm，分别是 **{peaks[1]}** 与 {tops[1].zh}，logit 不会超过 **{bound}**。",
        f"With W_Q and W_K **{growth}** times as large, head width **{head_dim}** and gain **{num(gain)}**: without "
        f"QK-norm the largest |logit| is **{peaks[0]}** and the largest weight {tops[0].en}; with it they are "
        f"**{peaks[1]}** and {tops[1].en}, and no logit can pass **{bound}**.",
    )
    rows = [(Text(f"key {j + 1}", f"key {j + 1}"), *(cell for i in range(2) for cell in (num(pair[i][j], 3), percent(weights[i][j]))))
            for j in range(KEYS)]  # fmt: skip
    head = (Text("位置", "Position"), *(Text(f"{n.zh}：{t.zh}", f"{n.en}: {t.en}") for n in names
                                      for t in (Text("logit", "logit"), Text("权重", "weight"))))  # fmt: skip
    return State(
        Chart(
            series, height=260, narrow_height=250,
            x=Axis(range=(-0.7, gap + KEYS - 0.3), hidden=True),
            y=Axis(label=Text("权重", "weight"), range=(0, 1.5), ticks=(0, 0.5, 1)),
            summary=Text(f"左边六根柱子没有 QK-norm，最高 {bare[0].zh}；右边六根有，最高 {bare[1].zh}。",
                         f"Six bars at the left without QK-norm, the highest {bare[0].en}; six at the right with it, the "
                         f"highest {bare[1].en}."),
        ),
        sentence,
        Table(head, rows),
    )  # fmt: skip
