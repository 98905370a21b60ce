"""The exhibit of the essay's opening: what each of its six doubts would save in one block of a real model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, percent
from blocklib.ledger.config import Config
from blocklib.ledger.matrices import block_rows, mixer_rows
from blocklib.text import Text

MODELS = ("gpt2-small", "llama-7b", "llama-3-8b", "qwen2.5-7b")
DOUBTS = {
    "projections": Text("三个投影", "three projections"),
    "heads": Text("许多个头", "many heads"),
    "norms": Text("归一化", "norms"),
    "ffn": Text("FFN", "the FFN"),
    "gate": Text("门", "gate"),
    "ratio": Text("只有一个 FFN", "only one FFN"),
}
# The bars, and which matrices of the ledger each of them holds.
ROWS = {
    "Q": ("query",), "K": ("key",), "V": ("value",), "O": ("output",), "gate": ("gate",), "up": ("up",),
    "down": ("down",), "norms": ("norms",), "biases": ("mixer_biases", "ffn_biases"),
}  # fmt: skip
NAMES = {
    "Q": Text.same("Q"), "K": Text.same("K"), "V": Text.same("V"), "O": Text("输出", "output"),
    "gate": Text("FFN 门", "FFN gate"), "up": Text("FFN 升维", "FFN up"), "down": Text("FFN 降维", "FFN down"),
    "norms": Text("归一化", "norms"), "biases": Text("偏置", "biases"),
}  # fmt: skip
FFN = ("gate", "up", "down")
TAKEN = {"projections": ("Q", "K", "V"), "norms": ("norms",), "ffn": FFN, "gate": ("gate",)}


def bars(config: Config) -> dict[str, int]:
    """Parameters of a model's first block by bar; bars without any are left in, so that models share their rows.

    Raises:
        KeyError: the block has parameters that no bar holds.
    """
    found = block_rows(config, config.layers[0])
    for name in found:
        if not any(name in held for held in ROWS.values()):
            raise KeyError(name)
    return {bar: sum(found.get(name, 0) for name in held) for bar, held in ROWS.items()}


@cache
def weights(model: str) -> dict[str, int]:
    """Parameters of one block of ``model`` by bar."""
    return bars(load(model).config)


@cache
def added(doubt: str, model: str) -> dict[str, int]:
    """What following the doubt would add to each bar: a second FFN, or keys and values as wide as one merged head asks."""
    own, more = weights(model), {}
    if doubt == "ratio":
        more = {bar: own[bar] for bar in FFN}
    elif doubt == "heads":
        config = load(model).config
        mixer = config.layers[0].mixer
        one = replace(mixer, n_heads=1, n_kv_heads=1, head_dim=mixer.query_width)
        wide = mixer_rows(one, config.d_model)
        more = {bar: sum(wide.get(name, 0) for name in held) - own[bar] for bar, held in ROWS.items() if bar in "KV"}
        more["biases"] = wide["mixer_biases"] - mixer_rows(mixer, config.d_model)["mixer_biases"]
    return {bar: more.get(bar, 0) for bar in own}


def verdict(doubt: str, model: str) -> Text:
    """What the doubt would save, or cost, in words; true without the picture."""
    rows, name = weights(model), load(model).name
    total = sum(rows.values())
    taken, more = sum(rows[bar] for bar in TAKEN.get(doubt, ())), sum(added(doubt, model).values())
    block = Text(
        f"{name} 的一个块有 **{num(total)}** 个参数。", f"One block of {name} has **{num(total)}** parameters. "
    )
    if doubt == "heads" and more:
        said = Text(
            f"它的几个头共用一组 key 和 value；换成单独一个同样宽、不再共用的头，不会省，要多 **{num(more)}** 个。",
            f"Its heads share keys and values among them; a single head as wide, which has none to share with, would not "
            f"save anything but add **{num(more)}**.",
        )
    elif doubt == "heads":
        said = Text(
            "换成单独一个同样宽的头，参数一样多：省下 **0** 个。",
            "A single head as wide has just as many: **0** would go.",
        )
    elif doubt == "ratio":
        said = Text(
            f"再添一个同样的 FFN，要多 **{num(more)}** 个，是原来的 **{percent(more / total)}**；这一条怀疑的是太少，不是太多。",
            f"A second FFN like the first adds **{num(more)}**, **{percent(more / total)}** of what there is; this doubt is "
            "that there is too little, not too much.",
        )
    elif not taken:
        said = Text("它没有门，少 **0** 个。", "It has no gate: **0** would go.")
    else:
        aside = rows["biases"] and doubt in ("projections", "ffn")
        what = DOUBTS[doubt]
        said = Text(
            f"去掉{' FFN' if doubt == 'ffn' else what.zh}，少 **{num(taken)}** 个{'（偏置不计）' if aside else ''}，占 "
            f"**{percent(taken / total)}**。",
            f"Without {'' if doubt == 'ffn' else 'its '}{what.en} it has **{num(taken)}** fewer{', biases aside,' if aside else ','} "
            f"which is **{percent(taken / total)}**.",
        )
    return Text(block.zh + said.zh, block.en + said.en)


@exhibit(
    "doubts-at-stake", number=75, title=Text("要是真的多余，能省下多少？", "If it were superfluous, how much would go?"),
    controls=(
        Range("doubt", Text("怀疑", "Doubt"), values=tuple(DOUBTS), labels=tuple(DOUBTS.values()), default="projections"),
        Choice("model", Text("模型", "Model"), options=tuple((m, load(m).name) for m in MODELS), default="llama-3-8b"),
    ),
)  # fmt: skip
def doubts_at_stake(doubt: str, model: str) -> State:
    """Parameters of one block by matrix; what the doubt would take away, or add, stands out."""
    rows, more, taken = weights(model), added(doubt, model), TAKEN.get(doubt, ())
    names, million = tuple(rows), 1_000_000
    parts = (
        (Text("留下", "kept"), "ghost", {bar: 0 if bar in taken else rows[bar] for bar in names}),
        (Text("省下", "gone"), "c1", {bar: rows[bar] if bar in taken else 0 for bar in names}),
        (Text("添上", "added"), "c2", more),
    )
    series = [
        Series(name, x=[sizes[bar] / million for bar in names], y=list(range(len(names))), mark="hbar", role=role,
               stack="all")
        for name, role, sizes in parts
        if name.en == "kept" or any(sizes.values())
    ]  # fmt: skip
    widest = max(rows[bar] + more[bar] for bar in names) / million
    table = [(NAMES[bar], rows[bar], rows[bar] if bar in taken else 0, more[bar]) for bar in names]
    table.append((Text("合计", "total"), sum(rows.values()), sum(rows[bar] for bar in taken), sum(more.values())))
    what = DOUBTS[doubt]
    return State(
        Chart(series, height=290, narrow_height=370,
              x=Axis(unit=Text("百万个参数", "million parameters"), range=(0, widest * 1.25)),
              y=Axis(categories=[NAMES[bar] for bar in names]),
              totals=[num(rows[bar] + more[bar]) if rows[bar] else None for bar in names],
              summary=Text(f"{load(model).name} 一个块的参数按矩阵分条，与「{what.zh}」有关的加重。",
                           f"Parameters of one block of {load(model).name} by matrix; what the doubt about {what.en} "
                           "concerns stands out.")),
        verdict(doubt, model),
        Table((Text("矩阵", "Matrix"), Text("参数", "Parameters"), Text("省下", "Gone"), Text("添上", "Added")), table,
              total=len(names)),
    )  # fmt: skip
