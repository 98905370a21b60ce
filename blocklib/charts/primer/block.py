"""Exhibits of the page on the whole block: six stages, what each sublayer costs, the embedding against the blocks."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Steps, Table, exhibit, num, percent
from blocklib.charts.primer.vectors import components, listed, two
from blocklib.ledger import params
from blocklib.text import Text

STAGES = (
    ("norm_attention", Text("归一化", "norm")),
    ("attention", Text("attention", "attention")),
    ("add_attention", Text("相加", "add")),
    ("norm_ffn", Text("归一化", "norm")),
    ("ffn", Text("FFN", "FFN")),
    ("add_ffn", Text("相加", "add")),
)
WIDTH = 6


@cache
def walk(seed: int) -> dict[str, list[float]]:
    """One token's vector at the input and after each stage of a small pre-norm block with random weights."""
    import torch

    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.block import PreNormBlock
    from blocklib.nn.ffn import FeedForward

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        block = PreNormBlock(WIDTH, MultiHeadAttention(WIDTH, n_heads=2), FeedForward(WIDTH)).double()
        x = torch.randn(1, 4, WIDTH, dtype=torch.float64)
    with torch.no_grad():
        found = {name: value[0, -1].tolist() for name, value in block.stages(x).items()}
    return {"input": x[0, -1].tolist(), **found}


@exhibit(
    "six-stages", number=15, title=Text("六步里，主路在哪一步变？", "Six steps: at which of them does the main line move?"),
    controls=(
        Steps("stage", Text("步骤", "Step"), values=tuple(range(7)), default=2,
              labels=(Text("0 输入", "0 input"), *(Text(f"{i} {t.zh}", f"{i} {t.en}") for i, (_, t) in enumerate(STAGES, 1)))),
        Choice("seed", Text("权重", "Weights"), options=((0, Text("甲", "first")), (1, Text("乙", "second"))), default=0),
    ),
)  # fmt: skip
def six_stages(stage: int, seed: int) -> State:
    """The main line and the copy in a sublayer's hands, one bar a dimension, at one of the stages."""
    values = walk(seed)
    main = values["add_ffn"] if stage == 6 else values["add_attention"] if stage >= 3 else values["input"]
    hand = values[STAGES[stage - 1][0]] if stage in (1, 2, 4, 5) else None
    place = list(range(WIDTH))
    series = [Series(Text("主路", "main line"), x=place, y=main, mark="bar", role="ink", thickness=0.34)]
    if hand:
        series = [
            Series(
                Text("主路", "main line"), x=[i - 0.2 for i in place], y=main, mark="bar", role="ink", thickness=0.34
            ),
            Series(Text("拷贝", "copy"), x=[i + 0.2 for i in place], y=hand, mark="bar", role="c1", thickness=0.34),
        ]
    reach = max(abs(v) for s in range(2) for row in walk(s).values() for v in row) * 1.1
    writes = sum(stage >= s for s in (3, 6))
    what = {0: Text("块刚收到输入", "the block has just received its input"),
            1: Text("归一化读走一份拷贝", "a norm has taken a copy"), 2: Text("attention 在拷贝上算出修正 a", "attention has turned the copy into a correction a"),
            3: Text("修正 a 加回主路", "a has been added to the main line"), 4: Text("第二次归一化又读走一份拷贝", "the second norm has taken another copy"),
            5: Text("FFN 算出修正 b", "the FFN has turned it into a correction b"), 6: Text("修正 b 加回主路", "b has been added to the main line")}[stage]  # fmt: skip
    size = sum(v * v for v in main) ** 0.5
    held = sum(v * v for v in hand) ** 0.5 if hand else None
    times = {0: "has not been written to", 1: "has been written to once", 2: "has been written to twice"}[writes]
    sentence = Text(
        f"第 **{stage}** 步：{what.zh}。主路写过 **{writes}** 次，是 **{listed(main)}**，长度 **{num(size, 3)}**"
        + (f"；子层手里的是 **{listed(hand)}**，长度 **{num(held, 3)}**。" if hand else "；此刻没有拷贝。"),
        f"Step **{stage}**: {what.en}. The main line {times} and is **{listed(main)}**, of length **{num(size, 3)}**"
        + (f"; the sublayer's copy is **{listed(hand)}**, of length **{num(held, 3)}**." if hand else "; no copy is out."))  # fmt: skip
    rows = [(head, two(main[i]), two(hand[i]) if hand else "—") for i, head in enumerate(components(WIDTH))]
    return State(
        Chart(series, height=230, narrow_height=220,
              x=Axis(categories=[str(i + 1) for i in place], unit=Text("第几维", "component")),
              y=Axis(range=(-reach, reach), label=Text("数值", "value")),
              summary=Text(f"六根柱子是主路上的向量，{'旁边六根是拷贝' if hand else '没有拷贝'}。",
                           f"Six bars for the vector on the main line, {'six beside them for the copy' if hand else 'no copy'}.")),
        sentence,
        Table((Text("维", "Component"), Text("主路", "Main line"), Text("拷贝", "Copy")), rows),
    )  # fmt: skip


COST_MODELS = ("gpt2-small", "gpt2-medium", "gpt2-xl", "llama-3-8b", "llama-2-70b", "gpt3-175b")


@exhibit(
    "attention-ffn-cost", number=16, title=Text("一个块里，两笔参数各有多大？", "Two entries of one block: how large is each?"),
    controls=(
        Range("model", Text("宽度", "Width"), values=COST_MODELS, default="llama-3-8b",
              labels=tuple(num(load(m).config.d_model) for m in COST_MODELS)),
        Choice("rule", Text("按", "By"), options=(("textbook", Text("教科书公式", "the textbook")),
               ("real", Text("真实模型", "the real model"))), default="textbook"),
    ),
)  # fmt: skip
def attention_ffn_cost(model: str, rule: str) -> State:
    """Weights of attention and of the FFN in one block, by 4d² and 8d² or by a real model's configuration."""
    found = load(model)
    config = params.textbook(found.config.d_model) if rule == "textbook" else found.config
    attention, ffn = params.attention_weights(config), params.ffn_weights(config)
    ratio = Fraction(ffn, attention)
    if rule == "textbook":
        whose = Text("教科书公式", "the textbook formula")
    else:
        whose = Text(f" {found.name} 的配置", f"the configuration of {found.name}")
    shape = Text(f"{config.n_heads} 个 query 头，{config.n_kv_heads} 个 KV 头，FFN {'三' if config.ffn == 'swiglu' else '两'}个矩阵",
                 f"{config.n_heads} query heads, {config.n_kv_heads} KV heads, {'three' if config.ffn == 'swiglu' else 'two'} FFN matrices")  # fmt: skip
    sentence = Text(
        f"宽度 **{num(config.d_model)}**，按{whose.zh}：attention **{num(attention)}** 个权重，FFN **{num(ffn)}** 个，"
        f"是前者的 **{num(ratio)}** 倍。",
        f"At width **{num(config.d_model)}**, by {whose.en}: attention has **{num(attention)}** weights, the FFN **{num(ffn)}**, "
        f"**{num(ratio)}** times as many.")  # fmt: skip
    rows = [("attention", num(attention), "1"), ("FFN", num(ffn), num(ratio))]
    for name in COST_MODELS:
        c = params.textbook(load(name).config.d_model) if rule == "textbook" else load(name).config
        a, f = params.attention_weights(c), params.ffn_weights(c)
        label = (
            Text(f"宽 {num(c.d_model)}", f"width {num(c.d_model)}")
            if rule == "textbook"
            else Text.same(load(name).name)
        )
        rows.append((label, f"{num(a)} / {num(f)}", num(Fraction(f, a))))
    return State(
        Chart([Series(Text("权重", "weights"), x=(attention, ffn), y=(0, 1), mark="hbar", role="c1", thickness=0.62)],
              height=190, narrow_height=180,
              x=Axis(unit=Text("一个块里的权重", "weights in one block"), range=(0, ffn)),
              y=Axis(categories=("attention", "FFN")), totals=(num(attention), num(ffn)),
              summary=Text(f"两根横条（{shape.zh}）：attention {num(attention)}，FFN {num(ffn)}。",
                           f"Two bars ({shape.en}): attention {num(attention)}, FFN {num(ffn)}.")),
        sentence,
        Table((Text("子层或宽度", "Sublayer or width"), Text("权重（attention / FFN）", "Weights (attention / FFN)"),
               Text("倍数", "Ratio")), rows),
    )  # fmt: skip


SHARE_MODELS = ("gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b")
PARTS = (
    ("embedding", "c1", Text("embedding", "embedding")),
    ("position", "c3", Text("位置表", "positions")),
    ("blocks", "ghost", Text("所有块", "all blocks")),
)


@exhibit(
    "embedding-share", number=17, title=Text("embedding 占多大一份？", "How large a share is the embedding?"),
    controls=(
        Range("model", Text("模型", "Model"), values=SHARE_MODELS, default="gpt2-small",
              labels=tuple(load(m).name for m in SHARE_MODELS)),
        Choice("of", Text("显示", "Show"), options=(("share", Text("份额", "share")), ("count", Text("个数", "count"))),
               default="share"),
    ),
)  # fmt: skip
def embedding_share(model: str, of: str) -> State:
    """Embedding, learned positions and blocks (with the final norm) of one model of the GPT-2 line, tied head once."""
    rows = []
    for name in SHARE_MODELS:
        count = params.count(load(name).config)
        parts = {"embedding": count.embedding, "position": count.position}
        rows.append((name, parts | {"blocks": count.total - sum(parts.values())}, count.total))
    chosen = next(row for row in rows if row[0] == model)
    _, parts, total = chosen
    scale = (lambda v, t: v / t * 100) if of == "share" else (lambda v, t: v)
    say = (lambda v, t: percent(v / t)) if of == "share" else (lambda v, t: num(v))
    series = [Series(label, x=[scale(parts[key], total)], y=[row], mark="hbar", role=role, thickness=0.56)
              for row, (key, role, label) in enumerate(PARTS)]  # fmt: skip
    sentence = Text(
        f"**{load(model).name}** 一共 **{num(total)}** 个参数：embedding **{say(parts['embedding'], total)}**，"
        f"位置表 **{say(parts['position'], total)}**，所有块与最后的归一化 **{say(parts['blocks'], total)}**。",
        f"**{load(model).name}** has **{num(total)}** parameters: embedding **{say(parts['embedding'], total)}**, "
        f"positions **{say(parts['position'], total)}**, all blocks and the final norm **{say(parts['blocks'], total)}**.")  # fmt: skip
    table = [(Text("此处", "here"), *(say(parts[k], total) for k, _, _ in PARTS))]
    table += [(load(name).name, *(say(p[k], t) for k, _, _ in PARTS)) for name, p, t in rows]
    return State(
        Chart(series, height=200, narrow_height=230,
              x=Axis(unit=Text("份额，%" if of == "share" else "参数", "share, %" if of == "share" else "parameters"),
                     range=(0, 100 if of == "share" else total)),
              y=Axis(categories=[label for _, _, label in PARTS]), totals=[say(parts[key], total) for key, _, _ in PARTS],
              summary=Text(f"三根横条：embedding {say(parts['embedding'], total)}，位置表 {say(parts['position'], total)}，"
                           f"所有块 {say(parts['blocks'], total)}。",
                           f"Three bars: embedding {say(parts['embedding'], total)}, positions "
                           f"{say(parts['position'], total)}, all blocks {say(parts['blocks'], total)}.")),
        sentence,
        Table((Text("模型", "Model"), *(label for _, _, label in PARTS)), table),
    )  # fmt: skip
