"""Exhibits of the chapter on three projections and many heads."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import sqrt

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, short
from blocklib.charts.primer.vectors import two
from blocklib.facts.registry import evaluate
from blocklib.text import Text
from blocklib.theory.heads import head_rank, score_count, split_attention_params

WORDS = (Text("猫", "cat"), Text("追", "hunts"), Text("鼠", "mouse"))
ENTRIES = (Text("名词", "noun"), Text("动词", "verb"), Text("大", "big"), Text("小", "small"))
TOKENS = ((1.0, 0.0, 1.0, 0.0), (0.0, sqrt(2), 0.0, 0.0), (1.0, 0.0, 0.0, 1.0))  # as in the chapter's blocks


@cache
def reading(projected: bool) -> tuple[tuple[list[float], list[float]], ...]:
    """Per word of "cat hunts mouse": its weights over the three, and the four entries it receives."""
    import torch

    from blocklib.nn.attention import attention_weights

    x = torch.tensor(TOKENS, dtype=torch.float64)
    q = k = v = x
    if projected:
        zero = torch.zeros(4, 2, dtype=torch.float64)
        w_q, w_k, w_v = zero.clone(), zero.clone(), torch.zeros(4, 4, dtype=torch.float64)
        w_q[1] = torch.tensor([4.0, 2.0])  # a verb asks for a noun, a big one
        w_k[0, 0] = w_k[2, 1] = 1  # a word is found by being a noun, by being big
        w_v[2, 2], w_v[3, 3] = 3, -3  # what is passed on is its size, with a sign
        q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = attention_weights(q, k)
    return tuple((w.tolist(), r.tolist()) for w, r in zip(weights, weights @ v, strict=True))


def each(names: tuple[Text, ...], values: list[float]) -> Text:
    """``cat 0.51, hunts 0.19, mouse 0.31``."""
    pairs = list(zip(names, values, strict=True))
    return Text("、".join(f"{n.zh} {two(v)}" for n, v in pairs), ", ".join(f"{n.en} {two(v)}" for n, v in pairs))


@exhibit(
    "three-roles", number=40, title=Text("不投影与各有投影：谁读谁，收到什么？", "Bare or projected: who reads whom, and receives what?"),
    controls=(
        Choice("projected", Text("投影", "Projections"), default=False,
               options=((False, Text("没有", "none")), (True, Text("Q、K、V 各一个", "one each for Q, K, V")))),
        Range("reader", Text("谁在读", "Reader"), values=(0, 1, 2), labels=WORDS, default=1),
    ),
)  # fmt: skip
def three_roles(projected: bool, reader: int) -> State:
    """The weights of one word over the sentence beside the four entries that it receives."""
    weights, received = reading(projected)[reader]
    name, start = WORDS[reader], len(WORDS) + 1
    places = [*range(len(WORDS)), *range(start, start + len(ENTRIES))]
    reach, floor = 3.2, -1.9
    most = max(range(3), key=lambda j: weights[j])
    even = max(weights) - min(weights) < 1e-9
    note = {
        (False, False): Text("读得最多的是它自己。", " It reads itself most."),
        (True, False): Text(f"读得最多的是「{WORDS[most].zh}」。", f" It reads “{WORDS[most].en}” most."),
        (True, True): Text("它的 query 是零，所以平均地读。", " Its query is zero, so it reads all alike."),
    }[projected, even]
    lead = Text(
        "三个投影各司其职" if projected else "没有投影",
        "With three projections" if projected else "Without projections",
    )
    w, r = each(WORDS, weights), each(ENTRIES, received)
    sentence = Text(
        f"{lead.zh}，「{name.zh}」在读。权重：**{w.zh}**；收到的四个分量：**{r.zh}**。{note.zh}",
        f"{lead.en}, “{name.en}” reads. Weights: **{w.en}**; the four entries it receives: **{r.en}**.{note.en}",
    )
    rows = [(Text(f"对「{n.zh}」的权重", f"weight on “{n.en}”"), two(v)) for n, v in zip(WORDS, weights, strict=True)]
    rows += [(Text(f"收到的「{n.zh}」", f"“{n.en}” received"), two(v)) for n, v in zip(ENTRIES, received, strict=True)]
    return State(
        Chart(
            [
                Series(Text("权重", "weights"), x=places[:3], y=weights, mark="bar", role="c1", thickness=0.6,
                       labels=[two(v) for v in weights], place="end"),
                Series(Text("收到的", "received"), x=places[3:], y=received, mark="bar", role="c2", thickness=0.6,
                       labels=[two(v) for v in received], place="end"),
                Series(Text("名称", "names"), x=places, y=[floor] * len(places), mark="label", role="ink-2",
                       place="above", labels=[*WORDS, *ENTRIES]),
                Series(Text("两组", "groups"), x=(-0.4, start - 0.4), y=(reach, reach), mark="label", role="ink",
                       place="right", bold=True,
                       labels=(Text("读谁：权重", "reads: weights"), Text("收到：分量", "receives: entries"))),
            ],
            height=250, narrow_height=240,
            x=Axis(range=(-0.6, places[-1] + 0.6), hidden=True), y=Axis(range=(floor, reach + 0.3), hidden=True),
            summary=Text(f"左边三根柱子是「{name.zh}」读三个词的权重，右边四根是它收到的分量。",
                         f"Three bars at the left for the weights of “{name.en}” over the words, four at the right for the "
                         "entries it receives."),
        ),
        sentence,
        Table((Text("量", "Quantity"), Text("值", "Value")), rows),
    )  # fmt: skip


HEADS = (1, 2, 4, 8, 16, 32, 64)
LENGTH = 1024
NUMBER = {1: "one", 4: "four", 8: "eight", 16: "sixteen", 32: "thirty-two"}
PAPER_WIDTH = 512


def bleu(n_heads: int) -> str:
    """Development BLEU that the original paper reports for this many heads at its width; a dash where it has none."""
    return num(evaluate(f"vaswani_heads_bleu?heads={NUMBER[n_heads]}").value) if n_heads in NUMBER else "—"


@exhibit(
    "heads-split", number=41, title=Text("同一份权重切成几个头，什么变了？", "The same weights in more heads: what changes?"),
    controls=(
        Range("n_heads", Text("头数 H", "Heads H"), values=HEADS, default=8),
        Choice("d_model", Text("宽度 d", "Width d"), options=((PAPER_WIDTH, num(PAPER_WIDTH)), (4096, num(4096))),
               default=PAPER_WIDTH),
    ),
)  # fmt: skip
def heads_split(n_heads: int, d_model: int) -> State:
    """Weights, scores and rank of a head against the number of heads, as multiples of one head's."""
    lines = (
        (Text("得分个数", "scores"), "c1", [score_count(h, LENGTH) for h in HEADS]),
        (Text("权重", "weights"), "c2", [split_attention_params(d_model, h) for h in HEADS]),
        (Text("一个头的秩", "rank of a head"), "c3", [head_rank(d_model, h) for h in HEADS]),
    )
    at = HEADS.index(n_heads)
    series = []
    for name, role, values in lines:
        ratios = [float(Fraction(v, values[0])) for v in values]
        here = Text(short(values[at], "zh"), short(values[at], "en"))
        last = n_heads == HEADS[-1]  # there the line's own label takes the value in
        end = Text(f"{name.zh} {here.zh}", f"{name.en} {here.en}") if last else name
        series += [
            Series(name, x=HEADS, y=ratios, mark="line", role=role, dash=False, end=end),
            Series(Text(f"{name.zh}，此处", f"{name.en}, here"), x=[n_heads], y=[ratios[at]], mark="points", role=role,
                   labels=None if last else [here], place="above", bold=True),
        ]  # fmt: skip
    scores, weights, rank = (num(values[at]) for _, _, values in lines)
    known = d_model == PAPER_WIDTH and n_heads in NUMBER
    sentence = Text(
        f"宽度 **{num(d_model)}**，**{n_heads}** 个头：权重仍是 **{weights}** 个；一个头的得分矩阵秩至多 **{rank}**；"
        f"{num(LENGTH)} 个 token 要算 **{scores}** 个得分。"
        + (f"原论文在这个宽度与头数下的 BLEU 是 **{bleu(n_heads)}**。" if known else ""),
        f"At width **{num(d_model)}** with **{n_heads}** {'head' if n_heads == 1 else 'heads'} there are still **{weights}** "
        f"weights; the scores of a head have rank **{rank}** at most; {num(LENGTH)} tokens take **{scores}** scores."
        + (f" The original paper reports **{bleu(n_heads)}** BLEU at this width and number of heads." if known else ""))  # fmt: skip
    rows = [(f"{'▸ ' * (h == n_heads)}{h}", *(num(values[i]) for _, _, values in lines),
             bleu(h) if d_model == PAPER_WIDTH else "—") for i, h in enumerate(HEADS)]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=300,
              x=Axis(unit=Text("头", "heads"), log=True, range=(0.85, 75), ticks=((1, "1"), (4, "4"), (16, "16"), (64, "64"))),
              y=Axis(label=Text("单头时的几倍", "times a single head's"), log=True, range=(1 / 110, 160),
                     ticks=((1 / 64, "1/64"), (1, "1"), (64, "64"))),
              summary=Text(f"三条线：得分个数随头数成比例上升，权重水平，一个头的秩成比例下降；标出 {n_heads} 个头处的三个值。",
                           "Three lines over the number of heads: scores rise in proportion, weights stay level, the rank of a head "
                           f"falls in proportion; the values at {n_heads} are marked.")),
        sentence,
        Table((Text("头数", "Heads"), Text("得分个数", "Scores"), Text("权重", "Weights"), Text("一个头的秩", "Rank of a head"),
               Text("BLEU（原论文）", "BLEU (original paper)")), rows),
    )  # fmt: skip


def cited(expr: str) -> Fraction | int:
    """A figure of the literature, by its fact."""
    return evaluate(expr).value


def share(value: Fraction) -> str:
    """A share in per cent, with the digits that its source prints."""
    return f"{num(value * 100, 3)}%"


def change(value: Fraction) -> str:
    """A change in BLEU, signed, with the two decimals of its source."""
    return f"{float(value):+.2f}".replace("-", "−")


def removal_bars(study: str) -> tuple[list[tuple[Text, Fraction, str]], Text, tuple[float, float]]:
    """Rows (name, value, printed), the axis' unit and its range for one of the three kinds of removal."""
    if study == "single":
        ranks = [f"worst-{i}" for i in range(1, 5)] + [f"best-{i}" for i in range(4, 0, -1)]
        values = [cited(f"michel_removal?rank={r}") for r in ranks]
        rows = [(Text(f"第 {i} 个", f"head {i}"), v, change(v)) for i, v in enumerate(sorted(values), 1)]
        return rows, Text("BLEU 的变化", "change in BLEU"), (-0.68, 0.42)
    if study == "joint":
        shares = (
            (Text("英法翻译，全部头", "English–French, all heads"), cited("michel_joint_pruning?model=wmt")),
            (Text("BERT，MNLI", "BERT, MNLI"), cited("michel_joint_pruning?model=bert-mnli")),
            (
                Text("英俄翻译，编码器，微调", "English–Russian, encoder, fine-tuned"),
                Fraction(
                    cited("voita_encoder_heads?which=pruned") * 100,
                    cited("voita_encoder_heads?which=all"),
                )
                / 100,
            ),
        )
        return [(n, v, share(v)) for n, v in shares], Text("可去掉的比例", "share that can go"), (0.0, 1.0)
    batches = (("one", 1), ("four", 4), ("sixteen", 16), ("sixty-four", 64))
    rows = [(Text(f"批大小 {b}", f"batch {b}"), cited(f"michel_speedup?batch={w}"), "") for w, b in batches]
    return [(n, v, share(v)) for n, v, _ in rows], Text("推理提速", "faster inference"), (0.0, 0.25)


STUDIES = (("single", Text("一次去一个头", "one head at a time")), ("joint", Text("一起去掉许多", "many at once")),
           ("speed", Text("去掉一半之后的速度", "speed with half gone")))  # fmt: skip


@exhibit(
    "head-removal", number=42, title=Text("去掉 attention 头，差多少？", "Take heads away: what is lost?"),
    controls=(Choice("study", Text("怎么去", "How"), options=STUDIES, default="single"),),
)  # fmt: skip
def head_removal(study: str) -> State:
    """What two papers measured when heads were removed: one at a time, many at once, and for speed."""
    bars, unit, reach = removal_bars(study)
    every = cited("michel_encoder_heads?which=all")
    low, high = bars[0][2], bars[-1][2]
    limit = share(cited("michel_cross_attention_limit"))
    zh = "；".join(f"{n.zh} **{text}**" for n, _, text in bars)
    en = "; ".join(f"{n.en} **{text}**" for n, _, text in bars)
    sentence = {
        "single": Text(
            f"英法翻译模型的编码器有 **{every}** 个头，单独去掉后 BLEU 变化显著的有 **{len(bars)}** 个，依次是 "
            f"**{'、'.join(text for _, _, text in bars)}**：一半变差，一半变好。其余 **{every - len(bars)}** 个没有显著变化。",
            f"Of **{every}** encoder heads in an English–French model, removing one changes BLEU significantly for "
            f"**{len(bars)}**: **{', '.join(text for _, _, text in bars)}**. Half get worse and half get better; the other "
            f"**{every - len(bars)}** show no significant change.",
        ),
        "joint": Text(
            f"没有明显变差时能一起去掉的比例：{zh}（最后一项一边微调一边剪，BLEU 变化 "
            f"**{change(cited('voita_bleu_change'))}**）。交叉注意力的头剪到超过 **{limit}** 就崩溃。",
            f"Share that can go together without much harm: {en} (the last while fine-tuning, at a change of "
            f"**{change(cited('voita_bleu_change'))}** BLEU). Of cross-attention heads, pruning more than **{limit}** "
            "ruins the output.",
        ),
        "speed": Text(
            f"从 BERT 里真正移除 **{share(cited('michel_pruned_for_speed'))}** 的头，推理快多少要看批大小：{zh}。",
            f"With **{share(cited('michel_pruned_for_speed'))}** of BERT's heads actually removed, how much faster inference "
            f"is depends on the batch: {en}.",
        ),
    }[study]  # fmt: skip
    y = list(range(len(bars)))
    parts = [([i for i in y if bars[i][1] >= 0], "c2"), ([i for i in y if bars[i][1] < 0], "c1")]
    series = [
        Series(Text("变差", "worse") if role == "c1" else Text("数值", "value"), x=[float(bars[i][1]) for i in rows], y=rows,
               mark="hbar", role=role, thickness=0.6, labels=[bars[i][2] for i in rows], place="end")
        for rows, role in parts if rows
    ]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=430,
              x=Axis(unit=unit, range=reach), y=Axis(categories=[n for n, _, _ in bars]),
              summary=Text(f"{len(bars)} 根横条，从 {low} 到 {high}。", f"{len(bars)} bars, from {low} to {high}.")),
        sentence,
        Table((Text("哪一项", "Which"), unit), [(n, text) for n, _, text in bars]),
    )  # fmt: skip
