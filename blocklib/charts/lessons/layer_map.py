"""Two maps of a real model: the way from ids to the next token, and the walk through one of its layers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Series, State, Steps, Table, exhibit, num, short
from blocklib.ledger import params
from blocklib.ledger.matrices import mixer_rows
from blocklib.text import Text
from blocklib.theory.stream import residual_writes, stream_rms

COURSE = "qwen3.8-27b"
LESSONS = (Text("四个短语", "Four phrases"), Text("叠深之后", "Stacked deep"),
           Text("只有一个 token 的归一化", "Normalising a single token"), Text("门", "Gates"), Text("花在哪里", "Where it goes"))  # fmt: skip
BEFORE = -1  # known before these lessons
KNOWN, NEW, LATER = Text("已经学过", "known by then"), Text("是这一课新学的", "new"), Text("还没学", "still to come")
BOX = 0.72  # side of a box, in units of the picture


class Stage(NamedTuple):
    """One stage on the way: its name, what it takes and gives, its parameters, what it is for, the lesson it is in."""

    name: Text
    shape: str
    count: int
    purpose: Text
    lesson: int


@cache
def stages() -> tuple[Stage, ...]:
    """The way through the course's model, blocks taken together."""
    config = load(COURSE).config
    d, vocab, n = f"T × {num(config.d_model)}", f"T × {num(config.vocab_size)}", config.n_layers
    outside, whole, norms = params.outside_blocks(config), params.count(config), n * params.norm(config)
    gates = sum(k * mixer_rows(layer.mixer, config.d_model)["output_gate"] for layer, k in config.groups.items())
    mixers = (
        sum(k * params.mixer_params(layer.mixer, config.d_model).total for layer, k in config.groups.items()) - gates
    )

    def stage(
        zh: str, en: str, into: str, out: str, count: int, use: str, purpose: str, lesson: int, inside: bool = True
    ) -> Stage:
        zh_use, en_use = (
            (f"{use}（{n} 个块合计）", f"{purpose} ({n} blocks together)") if inside and count else (use, purpose)
        )
        return Stage(Text(zh, en), f"{into} → {out}", count, Text(zh_use, en_use), lesson)

    return (
        stage("embedding", "embedding", "T", d, outside.embedding, "把编号换成向量", "turns ids into vectors", 4, False),
        stage("归一化", "norm", d, d, norms, "让子层读到大小稳定的输入", "gives the sublayer an input of steady size", 2),
        stage("attention", "attention", d, d, mixers, "让一个位置取用别处的内容", "lets a position use what stands elsewhere", BEFORE),
        stage("输出门", "output gate", d, d, gates, "让读来的东西可以少放、不放", "can hold back what was read", 3),
        stage("相加", "add", d, d, 0, "写回残差流，原来的还在", "writes to the stream and keeps what was there", 1),
        stage("归一化", "norm", d, d, norms, "给 FFN 的输入定大小", "gives the FFN an input of steady size", 2),
        stage("FFN", "FFN", d, d, whole.ffn, "在一个位置之内做非线性的组合", "combines within one position, not linearly", 0),
        stage("相加", "add", d, d, 0, "第二次写回", "writes a second time", 1),
        stage("末尾归一化", "final norm", d, d, outside.norm, "把长大的流校准一次", "resets the stream once it has grown", 2, False),
        stage("输出头", "head", d, vocab, outside.head, "给词表里的每一项打分", "scores every entry of the vocabulary", 4, False),
        stage("softmax", "softmax", vocab, vocab, 0, "把得分变成概率", "turns scores into probabilities", BEFORE, False),
    )  # fmt: skip


def links(name: Text, pairs: Iterable[tuple[tuple[float, float], tuple[float, float]]], role: str) -> Series:
    """Lines from the lower edge of one box to the upper edge of another, boxes given by their centres."""
    ends = [(x, y - side * BOX / 2) for above, below in pairs for (x, y), side in ((above, 1), (below, -1))]
    return Series(name, x=[x for x, _ in ends], y=[y for _, y in ends], mark="links", role=role)


def counted(count: int) -> Text:
    """A count of parameters in words, bold; none is said as none."""
    return (
        Text(f"**{num(count)}** 个参数", f"**{num(count)}** parameters") if count else Text("没有参数", "no parameters")
    )


def numbered(i: int, name: Text, chosen: int = -1) -> Text:
    """A layer's name with its number; the chosen one is marked."""
    mark = "▸ " * (i == chosen)
    return Text(f"{mark}{i} {name.zh}", f"{mark}{i} {name.en}")


@exhibit(
    "data-flow-map", number=24, title=Text("从编号到下一个 token，路上有哪几站？", "From ids to the next token: what lies on the way?"),
    controls=(
        Steps("stage", Text("站", "Stage"), values=tuple(range(11)), default=6,
              labels=tuple(numbered(i, s.name) for i, s in enumerate(stages()))),
        Steps("lesson", Text("学到", "In lesson"), values=tuple(range(len(LESSONS))), default=4, labels=LESSONS),
    ),
)  # fmt: skip
def data_flow_map(stage: int, lesson: int) -> State:
    """The stages from top to bottom, shaded by what the lessons so far have taken up; the chosen one in words."""
    way, model = stages(), load(COURSE).name
    here, top = way[stage], len(way) - 1
    states = {i: KNOWN if s.lesson < lesson else NEW if s.lesson == lesson else LATER for i, s in enumerate(way)}
    fresh = [s.name for i, s in enumerate(way) if states[i] is NEW]
    new = Text("、".join(dict.fromkeys(t.zh for t in fresh)), ", ".join(dict.fromkeys(t.en for t in fresh)))
    series = [links(Text("路", "the way"), (((0, top - i), (0, top - i - 1)) for i in range(top)), "line-2")]
    for state, role, alpha in ((KNOWN, "c1", 0.25), (NEW, "c1", 1.0), (LATER, "ghost", 0.4)):
        if at := [i for i in states if states[i] is state]:
            series.append(Series(state, x=[0] * len(at), y=[top - i for i in at], mark="cells", role=role, thickness=BOX,
                                 alpha=[alpha] * len(at), labels=[way[i].name for i in at], bold=state is NEW))  # fmt: skip
    note = Text(*(f"{here.shape}" + (f"，{short(here.count, 'zh')}" if lang == "zh" else f", {short(here.count, 'en')}") * bool(here.count)
                  for lang in ("zh", "en")))  # fmt: skip
    series.append(Series(Text("所选", "chosen"), x=[0.46], y=[top - stage], mark="label", role="ink", place="right", bold=True,
                         labels=[note]))  # fmt: skip
    sentence = Text(
        f"{model} 的第 **{stage}** 站，{here.name.zh}：**{here.shape}**，{counted(here.count).zh}；{here.purpose.zh}。学到「{LESSONS[lesson].zh}」一课，"
        f"这一站{states[stage].zh}；这一课新学的是{new.zh}。",
        f"Stage **{stage}** of {model}, {here.name.en}: **{here.shape}**, {counted(here.count).en}; it {here.purpose.en}. In the lesson "
        f"\"{LESSONS[lesson].en}\" this stage is {states[stage].en}; what is new there: {new.en}.")  # fmt: skip
    rows = [(numbered(i, s.name, stage), s.shape, num(s.count), states[i]) for i, s in enumerate(way)]
    return State(
        Chart(series, height=420, narrow_height=420,
              x=Axis(range=(-0.42, 1.9), hidden=True), y=Axis(range=(-0.6, top + 0.6), hidden=True),
              summary=Text(f"自上而下 {len(way)} 站，深色的是这一课新学的：{new.zh}；标出的是{here.name.zh}，{note.zh}。",
                           f"{len(way)} stages from top to bottom, dark those new in the lesson: {new.en}; marked: {here.name.en}, {note.en}.")),
        sentence,
        Table((Text("站", "Stage"), Text("形状", "Shape"), Text("参数", "Parameters"), Text("进度", "State")), rows),
    )  # fmt: skip


KINDS = (("full", Text("完整 attention", "full attention")), ("gated_delta", Text("Gated DeltaNet", "Gated DeltaNet")))


class Step(NamedTuple):
    """One step of the walk: name, whether it is on the main line, its parameters, writes done by then, what happens."""

    name: Text
    main: bool
    count: int
    writes: int
    what: Text


@cache
def steps(kind: str) -> tuple[Step, ...]:
    """Seven steps through one layer of the course's model, and the whole stack as the last."""
    config, here = load(COURSE).config, dict(KINDS)[kind]
    layer = next(layer for layer in config.groups if layer.mixer.kind == kind)
    norm, mixer = params.norm(config), params.mixer_params(layer.mixer, config.d_model).total
    ffn, n = params.ffn_params_of(layer.ffn, config.d_model).total, config.n_layers
    stack, size = params.count(config).total - params.outside_blocks(config).total, num(stream_rms(n), 5)
    reads = (
        Text("一个大小固定的状态", "a state of fixed size")
        if kind == "gated_delta"
        else Text("前面所有位置", "every earlier position")
    )
    rows = (
        ("输入", "input", True, 0, 0, "流原样进来。", "The stream comes in as it is."),
        ("归一化", "norm", False, norm, 0, "读走一份拷贝，流本身不动。", "A copy is taken; the stream stays as it is."),
        (here.zh, here.en, False, mixer, 0, f"在拷贝上读{reads.zh}，乘上输出门，再投影回来。",
         f"On the copy it reads {reads.en}, multiplies by its output gate and projects back."),
        ("相加", "add", True, 0, 1, "第一次写回；主路上只有加法。", "The first write; on the main line there is nothing but addition."),
        ("归一化", "norm", False, norm, 1, "再读走一份拷贝。", "Another copy is taken."),
        ("FFN", "FFN", False, ffn, 1, "每个 token 各算各的，彼此不交换。", "It works on each token by itself; nothing is exchanged."),
        ("相加", "add", True, 0, 2, "第二次写回，这一层走完。", "The second write, and the layer is done."),
        (f"全部 {n} 层", f"all {n} layers", True, stack, residual_writes(n),
         f"若每次写入都是单位大小、互不相关，流的标准差是 **{size}**。",
         f"Were every write of unit size and uncorrelated with the rest, the stream's deviation would be **{size}**."),
    )  # fmt: skip
    return tuple(
        Step(Text(zh, en), main, n_params, writes, Text(say, tell))
        for zh, en, main, n_params, writes, say, tell in rows
    )


@exhibit(
    "layer-walk", number=25, title=Text("走过一层，流被写了几次？", "Through one layer: how often is the stream written to?"),
    controls=(
        Steps("step", Text("步骤", "Step"), values=tuple(range(8)), default=3,
              labels=tuple(numbered(i, s.name) for i, s in enumerate(steps("full")))),
        Choice("kind", Text("这一层", "This layer"), options=KINDS, default="full"),
    ),
)  # fmt: skip
def layer_walk(step: int, kind: str) -> State:
    """Main line at the left, branches at the right, one step set off; parameters and writes so far in words."""
    walk, config, model, this = steps(kind), load(COURSE).config, load(COURSE).name, dict(KINDS)[kind]
    here, top, shape = walk[step], len(walk) - 1, f"T × {num(config.d_model)}"
    place = [(0 if s.main else 1, top - i) for i, s in enumerate(walk)]
    rest = [i for i in range(len(walk)) if i != step]
    boxes = (
        (Text("主路上的步骤", "steps on the main line"), [i for i in rest if walk[i].main], "ghost", 1.0),
        (Text("支路上的步骤", "steps of a branch"), [i for i in rest if not walk[i].main], "ghost", 0.4),
        (Text("此刻", "here"), [step], "c1", 1.0),
    )
    series = [
        links(Text("主路", "main line"), ((place[a], place[b]) for a, b in ((0, 3), (3, 6), (6, 7))), "ink"),
        links(Text("支路", "branch"), ((place[i], place[i + 1]) for i in range(6)), "line-2"),
        *(Series(name, x=[place[i][0] for i in at], y=[place[i][1] for i in at], mark="cells", role=role, thickness=BOX,
                 alpha=[alpha] * len(at), labels=[walk[i].name for i in at], bold=role == "c1")
          for name, at, role, alpha in boxes if at),
    ]  # fmt: skip
    written = {0: Text("流还没被写过。", "The stream has not been written to yet."),
               1: Text("到此，流被写过 **1** 次。", "The stream has been written to **1** time.")}.get(
        here.writes, Text(f"到此，流被写过 **{here.writes}** 次。", f"The stream has been written to **{here.writes}** times."))  # fmt: skip
    sentence = Text(
        f"{model} 的一层（{this.zh}），第 **{step}** 步，{here.name.zh}：出来的仍是 **{shape}**，{counted(here.count).zh}。{here.what.zh}{written.zh}",
        f"A layer of {model} with {this.en}, step **{step}**, {here.name.en}: what comes out is still **{shape}**; {counted(here.count).en}. "
        f"{here.what.en} {written.en}")  # fmt: skip
    rows = [(numbered(i, s.name, step), shape, num(s.count), s.writes) for i, s in enumerate(walk)]
    return State(
        Chart(series, height=360, narrow_height=360,
              x=Axis(range=(-0.5, 1.5), hidden=True), y=Axis(range=(-0.6, top + 0.6), hidden=True),
              summary=Text(f"左边一列是主路，右边一列是支路，此刻在{here.name.zh}；流被写过 {here.writes} 次。",
                           f"The main line at the left, branches at the right; the walk is at {here.name.en}, with {here.writes} writes done.")),
        sentence,
        Table((Text("步骤", "Step"), Text("形状", "Shape"), Text("参数", "Parameters"), Text("写入次数", "Writes so far")), rows),
    )  # fmt: skip
