"""Exhibits of the essay's closing: what each chapter rests on, and what has moved since 2017.

Both are read from what the pages are checked against: the entries of the claims and the years of the sources.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num
from blocklib.claims import registry, sources
from blocklib.facts.fingerprint import ROOT
from blocklib.text import LANGS, Text

READS = ("docs/design/*.claims.toml", "docs/sources.bib")  # part of the exhibits' fingerprint

CHAPTERS = {
    "index": Text("开篇", "opening"),
    "qkv": Text("投影与头", "projections"), "shared-qk": Text.same("Q = K"), "one-token": Text("一个 token", "one token"),
    "normalization": Text("归一化", "norms"), "why-ffn": Text("为何 FFN", "why an FFN"),
    "ffn-geometry": Text("FFN 几何", "FFN inside"), "swiglu": Text.same("SwiGLU"),
    "one-to-one": Text("一比一", "one to one"), "depth": Text("深度", "depth"), "closing": Text("结语", "closing"),
}  # fmt: skip
# How each grade and each ledger is drawn and spoken of.
KINDS = {
    "grade": {name: (grade.label, role) for (name, grade), role in
              zip(registry.GRADES.items(), ("c1", "c2", "ink-2", "c3", "ghost"), strict=True)},
    "ledger": {"training": (Text("训练账", "training"), "train"), "runtime": (Text("运行账", "run time"), "run"),
               "both": (Text("两本都记", "both"), "ghost")},
}  # fmt: skip


@cache
def tally(by: str) -> dict[str, Counter[str]]:
    """Chapter → how many of its claims have each grade, or stand in each ledger."""
    found = {slug: Counter() for slug in CHAPTERS}
    for claim in registry.load(ROOT).claims.values():
        room, _, slug = claim.page.rpartition("/")
        if room == "design" and slug in found:
            found[slug][getattr(claim, by)] += 1
    return found


@exhibit(
    "evidence-by-chapter", number=76, title=Text("每一章凭什么？", "What does each chapter rest on?"),
    controls=(
        Range("chapter", Text("章", "Chapter"), values=tuple(CHAPTERS), labels=tuple(CHAPTERS.values()), default="qkv"),
        Choice("by", Text("分法", "Split"), options=(("grade", Text("证据等级", "grade")), ("ledger", Text("账本", "ledger"))),
               default="grade"),
    ),
)  # fmt: skip
def evidence_by_chapter(chapter: str, by: str) -> State:
    """Claims of every chapter, split by grade or by ledger; one chapter in words."""
    counts, slugs = tally(by), tuple(CHAPTERS)
    kinds = {kind: shown for kind, shown in KINDS[by].items() if any(counts[slug][kind] for slug in slugs)}
    totals = {slug: counts[slug].total() for slug in slugs}
    series = [
        Series(label, x=[counts[slug][kind] for slug in slugs], y=list(range(len(slugs))), mark="hbar", role=role,
               stack="all", labels=[num(n) if (n := counts[slug][kind]) else None for slug in slugs])
        for kind, (label, role) in kinds.items()
    ]  # fmt: skip
    own = counts[chapter]
    parts = [(label, own[kind]) for kind, (label, _) in kinds.items()]
    zh = "，".join(f"{label.zh} **{n}** 条" for label, n in parts)
    en = ", ".join(f"**{n}** {label.en}" for label, n in parts)
    of_all = {kind: sum(counts[slug][kind] for slug in slugs) for kind in kinds}
    all_zh = "，".join(f"{label.zh} **{of_all[kind]}** 条" for kind, (label, _) in kinds.items())
    all_en = ", ".join(f"**{of_all[kind]}** {label.en}" for kind, (label, _) in kinds.items())
    name = CHAPTERS[chapter]
    sentence = Text(
        f"「{name.zh}」一章有 **{totals[chapter]}** 条断言：{zh}。全篇 **{sum(totals.values())}** 条：{all_zh}。",
        f"{name.en[0].upper()}{name.en[1:]}: **{totals[chapter]}** claims, of them {en}. The whole essay: "
        f"**{sum(totals.values())}**, of them {all_en}.",
    )
    mark = {slug: "▸ " if slug == chapter else "" for slug in slugs}
    rows = [
        (Text(f"{mark[slug]}{CHAPTERS[slug].zh}", f"{mark[slug]}{CHAPTERS[slug].en}"),
         *(counts[slug][kind] for kind in kinds), totals[slug])
        for slug in slugs
    ]  # fmt: skip
    rows.append((Text("合计", "total"), *of_all.values(), sum(totals.values())))
    return State(
        Chart(series, height=330, narrow_height=440,
              x=Axis(unit=Text("条断言", "claims"), range=(0, max(totals.values()) + 3)),
              y=Axis(categories=[Text(f"{mark[slug]}{CHAPTERS[slug].zh}", f"{mark[slug]}{CHAPTERS[slug].en}") for slug in slugs]),
              totals=[num(totals[slug]) for slug in slugs],
              summary=Text(f"每章一条，按{'证据等级' if by == 'grade' else '账本'}分段；「{name.zh}」一章共 {totals[chapter]} 条断言。",
                           f"One bar a chapter, split by {by}; {totals[chapter]} claims in the chosen one, {name.en}.")),
        sentence,
        Table((Text("章", "Chapter"), *(label for label, _ in kinds.values()), Text("断言", "Claims")), rows, total=len(slugs)),
    )  # fmt: skip


# What has been tried in each part's place since the first paper, by the key of the source that tells of it.
MOVES = {
    "norm": (Text("归一化", "norm"), {
        "vaswani2017": Text("放在求和之后", "after the sum"),
        "radford2019": Text("移到子层入口，末尾补一个（GPT-2）", "at the sublayer's input, and one at the end (GPT-2)"),
        "zhang2019": Text("不减均值（RMSNorm）", "no centring (RMSNorm)"),
        "henry2020": Text("用到 query 与 key 上", "on queries and keys"),
        "gemma2": Text("入口出口各一个（Gemma 2）", "at both ends of the branch (Gemma 2)"),
        "olmo2": Text("只在支路出口（OLMo 2）", "at the branch's output only (OLMo 2)"),
        "zhu2025": Text("换成有界函数（DyT）", "a bounded function instead (DyT)"),
    }),
    "kv": (Text("K 与 V", "K and V"), {
        "vaswani2017": Text("每个头一组", "a pair for every head"),
        "shazeer2019": Text("所有头一组（MQA）", "one pair for all (MQA)"),
        "ainslie2023": Text("几个头一组（GQA）", "a pair for a few (GQA)"),
        "deepseekv2": Text("存一个潜向量（MLA）", "one stored latent (MLA)"),
    }),
    "position": (Text("位置", "position"), {
        "vaswani2017": Text("正弦，加在输入上", "sinusoids added to the input"),
        "shaw2018": Text("相对位置加在 key 上", "offsets on the keys"),
        "raffel2020": Text("得分加偏置（T5）", "a bias on the scores (T5)"),
        "su2021": Text("旋转（RoPE）", "rotation (RoPE)"),
        "press2021": Text("按距离减分（ALiBi）", "a penalty by distance (ALiBi)"),
    }),
    "activation": (Text("FFN 里", "in the FFN"), {
        "vaswani2017": Text("ReLU，宽四倍", "ReLU, four times as wide"),
        "radford2019": Text.same("GELU (GPT-2)"),
        "shazeer2020": Text("加一道门（SwiGLU 等）", "a gate (SwiGLU and kin)"),
        "so2021": Text("ReLU 的平方", "the square of ReLU"),
        "lepikhin2020": Text("换成专家（GShard）", "experts instead (GShard)"),
        "openai2025gptoss": Text("门与内容封顶（gpt-oss）", "gate and value clamped (gpt-oss)"),
    }),
    "order": (Text("子层次序", "order"), {
        "vaswani2017": Text("attention 一个，FFN 一个", "one attention, one FFN"),
        "lu2019": Text("前后各半个 FFN（Macaron）", "half an FFN on either side (Macaron)"),
        "press2020": Text("打乱重排（三明治）", "reordered (sandwich)"),
        "chowdhery2022": Text("并排（PaLM）", "side by side (PaLM)"),
        "acun2025": Text("搜出来的次序（Composer）", "a searched order (Composer)"),
        "qwen38": Text("多数层换成循环状态（Qwen3.8）", "a recurrent state in most layers (Qwen3.8)"),
    }),
    "residual": (Text("残差", "residual"), {
        "vaswani2017": Text.same("x + f(x)"),
        "bachlechner2020": Text("支路乘一个学到的系数（ReZero）", "a learned factor on the branch (ReZero)"),
        "xie2025mhc": Text("多条流（mHC）", "several streams (mHC)"),
        "attnres2026": Text("回看更早的层（AttnRes）", "a look back at earlier layers (AttnRes)"),
    }),
    "sharing": (Text("层间", "across layers"), {
        "vaswani2017": Text("各层各的权重", "weights of its own for each layer"),
        "lan2019": Text("所有层一份（ALBERT）", "one set for all (ALBERT)"),
    }),
    "projections": (Text("三个投影", "Q, K, V"), {
        "vaswani2017": Text("一个角色一个", "one for each role"),
        "kitaev2020": Text("query 与 key 共用（Reformer）", "one for queries and keys (Reformer)"),
        "qiu2025": Text("再加一道输出门", "a gate on the output besides"),
    }),
}  # fmt: skip
FIRST, LAST = 2017, 2026
_EPRINT = re.compile(r"(\d\d)\d\d\.\d{4,5}")


@cache
def year(key: str) -> int:
    """Year in which a source first appeared: on arXiv where it stands there, else as published.

    Raises:
        KeyError: there is no such source.
    """
    entry = sources.load(ROOT).entries[key]
    posted = _EPRINT.match(entry.raw.get("eprint", ""))
    return 2000 + int(posted[1]) if posted else int(entry.year)


@cache
def moves(part: str) -> list[tuple[int, Text, str]]:
    """(year, what was done, source) of a part, oldest first."""
    return sorted(((year(key), words, key) for key, words in MOVES[part][1].items()), key=lambda move: move[0])


def spread(found: list[tuple[int, Text, str]], row: int) -> list[tuple[int, float, Text]]:
    """(year, height, what was done): moves of one year stand above one another in their row."""
    years = [when for when, _, _ in found]
    return [
        (when, row + 0.24 * (years[:i].count(when) - (years.count(when) - 1) / 2), words)
        for i, (when, words, _) in enumerate(found)
    ]


@exhibit(
    "moved-since-2017", number=77, title=Text("从 2017 年起，动了什么？", "What has moved since 2017?"),
    controls=(
        Steps("part", Text("部件", "Part"), values=tuple(MOVES), labels=tuple(name for name, _ in MOVES.values()), default="norm"),
        Range("until", Text("到哪一年", "Up to"), values=tuple(range(FIRST, LAST + 1)),
              labels=tuple(str(y) for y in range(FIRST, LAST + 1)), default=LAST),
    ),
)  # fmt: skip
def moved_since_2017(part: str, until: int) -> State:
    """One point for each way that a source has tried, by year and part; one part in words, up to a year."""
    parts, name = tuple(MOVES), MOVES[part][0]
    seen = {p: [move for move in moves(p) if move[0] <= until] for p in parts}
    others = [point for p in parts if p != part for point in spread(seen[p], parts.index(p))]
    own = spread(seen[part], parts.index(part))
    series = [
        Series(label, x=[x for x, _, _ in at], y=[y for _, y, _ in at], mark="points", role=role, notes=[w for _, _, w in at])
        for label, at, role in ((Text("其他部件", "other parts"), others, "ghost"), (name, own, "c1"))
    ]  # fmt: skip
    series.append(Series(Text("到这一年", "up to here"), x=[until], y=[], mark="rule", role="ink-2"))
    count = {p: len(seen[p]) - 1 for p in parts}  # the first entry is where the part began
    zh = "；".join(f"**{when}** 年，{words.zh}" for when, words, _ in seen[part])
    en = "; ".join(f"**{when}**, {words.en}" for when, words, _ in seen[part])
    rest_zh = "，".join(f"{MOVES[p][0].zh} **{count[p]}**" for p in parts if p != part)
    rest_en = ", ".join(f"{MOVES[p][0].en} **{count[p]}**" for p in parts if p != part)
    sentence = Text(
        f"{name.zh}，到 **{until}** 年为止：{zh}。其他部件到这时试过的别的做法：{rest_zh}。",
        f"{name.en[0].upper()}{name.en[1:]}, up to **{until}**: {en}. Other ways tried by then in the other parts: {rest_en}.",
    )
    library = sources.load(ROOT).entries
    rows = [
        (Text(f"{'▸ ' if p == part else ''}{MOVES[p][0].zh}", f"{'▸ ' if p == part else ''}{MOVES[p][0].en}"), str(when), words,
         Text(*(library[key].label(lang).removesuffix(library[key].year).strip() for lang in LANGS)))
        for p in (part, *(q for q in parts if q != part))
        for when, words, key in seen[p]
    ]  # fmt: skip
    return State(
        Chart(series, height=300, narrow_height=290,
              x=Axis(range=(FIRST - 0.5, LAST + 0.5), ticks=tuple((y, str(y)) for y in (2017, 2020, 2023, 2026))),
              y=Axis(categories=[MOVES[p][0] for p in parts]),
              summary=Text(f"横轴是年份，每行一个部件，一个点是一种做法；{name.zh}一行加重，到 {until} 年有 {len(own)} 个点。",
                           f"Years across, a row for each part, a point for each way of doing it; the row of {name.en} stands "
                           f"out, with {len(own)} up to {until}.")),
        sentence,
        Table((Text("部件", "Part"), Text("年份", "Year"), Text("做法", "What was done"), Text("出处", "Source")), rows),
    )  # fmt: skip
