"""The exhibit of the deep seeded net: how alike its tokens become, and which gradients are left."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, power
from blocklib.text import Text
from blocklib.theory.mixing import row_similarity

TOKENS, WIDTH, HEADS, DEPTH, SEED = 16, 128, 4, 24, 0
BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, DEPTH)
ALIKE = 1e-10  # double precision cannot tell rows apart that are closer than this
FLOOR = 1e-12  # below it a gradient is rounding


class Net(NamedTuple):
    """What one net shows: mean cosine of two tokens' rows at the input and after each block; norm of the gradient
    of each block's query and key matrices, and of its value and output matrices."""

    similarity: tuple[float, ...]
    query_key: tuple[float, ...]
    value_output: tuple[float, ...]


@cache
def drawn(seed: int) -> tuple:
    """The tokens ``(1, T, d)``, a linear read-out of the same shape, and (attention, FFN) of each block.

    Every matrix is normal with variance 1/fan-in, so that on average it keeps sizes; float64.
    """
    import torch
    from torch import nn

    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.ffn import FeedForward
    from blocklib.nn.norm import RMSNorm

    def filled(layer: nn.Module) -> nn.Module:
        for weight in layer.double().parameters():
            nn.init.normal_(weight, 0.0, weight.shape[1] ** -0.5)
        return layer

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        tokens = RMSNorm(WIDTH, affine=False)(torch.randn(1, TOKENS, WIDTH, dtype=torch.float64))
        read_out = torch.randn_like(tokens) * (TOKENS * WIDTH) ** -0.5
        blocks = [(filled(MultiHeadAttention(WIDTH, HEADS, causal=False)), filled(FeedForward(WIDTH)))
                  for _ in range(DEPTH)]  # fmt: skip
    return tokens, read_out, blocks


@cache
def net(ffn: bool, residual: bool, seed: int = SEED) -> Net:
    """Sixteen random tokens through a stack of 24 pre-norm blocks, forward and backward.

    Unmasked attention with four heads, with or without an FFN (GELU, 4d) behind it, each reading its input through
    RMSNorm without gain. The loss is a random linear read-out of the normed output. Weights are the same with and
    without residuals.
    """
    import torch
    from torch import Tensor
    from torch.nn.functional import normalize

    from blocklib.nn.norm import RMSNorm

    def similarity(rows: Tensor) -> float:
        unit = normalize(rows.detach()[0], dim=-1)
        return ((unit @ unit.T).sum() - TOKENS).item() / (TOKENS * (TOKENS - 1))

    norm, (x, read_out, blocks) = RMSNorm(WIDTH, affine=False), drawn(seed)
    likeness = [similarity(x)]
    for attention, feed_forward in blocks:
        for layer in (attention, feed_forward) if ffn else (attention,):
            x = layer(norm(x)) + (x if residual else 0)
        likeness.append(similarity(x))
    matrices = [a.weight for attention, _ in blocks for a in (attention.q, attention.k, attention.v, attention.o)]
    squares = [g.square().sum().item() for g in torch.autograd.grad((norm(x) * read_out).sum(), matrices)]
    pairs = [(a + b) ** 0.5 for a, b in zip(squares[::2], squares[1::2], strict=True)]
    return Net(tuple(likeness), tuple(pairs[::2]), tuple(pairs[1::2]))


def alike(cosine: float) -> str:
    """A cosine in three decimals, or what it lacks to one where they would hide it."""
    short = 1 - cosine
    if short < ALIKE:
        return "1"
    return f"1 − {power(short, 2)}" if short < 0.0005 else f"{cosine:.3f}"


def gradient(norm: float) -> str:
    """A gradient's norm in three digits, or the bound under which it is rounding."""
    return f"< {power(FLOOR)}" if norm < FLOOR else num(norm, 3)


STACKS = ((False, Text("只有 attention", "attention only")), (True, Text("attention 加 FFN", "attention and FFN")))
SKIPS = ((False, Text("没有", "without")), (True, Text("有", "with")))
WITHOUT, WITH = Text("没有残差", "without residuals"), Text("有残差", "with residuals")
QUERY_KEY, VALUE_OUTPUT = Text("query 与 key", "query and key"), Text("value 与输出", "value and output")


@exhibit(
    "deep-seeded-net", number=29, title=Text("叠深之后，token 还分得开吗？", "Stacked deep, can tokens still be told apart?"),
    controls=(
        Range("block", Text("第几块", "Block"), values=BLOCKS, default=4),
        Choice("residual", Text("残差", "Residuals"), options=SKIPS, default=False),
        Choice("ffn", Text("块里", "In a block"), options=STACKS, default=True),
        Choice("show", Text("看", "Show"), options=(("similarity", Text("token 有多像", "likeness of tokens")),
               ("gradient", Text("各块的梯度", "gradients by block"))), default="similarity"),
    ),
)  # fmt: skip
def deep_seeded_net(block: int, residual: bool, ffn: bool, show: str) -> State:
    """Likeness of the tokens after each block, or the gradients of each block's matrices, in a net with one draw of
    weights; its twin without (or with) residuals stands behind."""
    view = _similarity if show == "similarity" else _gradient
    return view(block, residual, ffn)


def _said(ffn: bool, residual: bool) -> Text:
    stack, skip = dict(STACKS)[ffn], WITH if residual else WITHOUT
    return Text(f"{stack.zh}，{skip.zh}", f"{stack.en[0].upper()}{stack.en[1:]}, {skip.en}")


def _similarity(block: int, residual: bool, ffn: bool) -> State:
    here, other = net(ffn, residual).similarity, net(ffn, not residual).similarity
    depth = list(range(DEPTH + 1))
    names = (WITH, WITHOUT) if residual else (WITHOUT, WITH)
    theory = [1.0 if k and not residual else float(row_similarity(TOKENS, k if residual else 0)) for k in depth]
    series = [
        Series(name, x=depth, y=[round(v, 4) for v in line], mark="line", role=role, end=_ended(name, alike(line[-1])))
        for name, line, role in ((names[1], other, "ghost"), (names[0], here, "c1"))
    ]  # fmt: skip
    series.append(
        Series(Text("此处", "here"), x=[block], y=[here[block]], mark="points", role="ink", bold=True,
               labels=[alike(here[block]) if block <= 12 else None], place="below"))  # fmt: skip
    average = Text("", "")
    if not ffn:
        series.insert(0, Series(Text("只算平均", "averaging alone"), x=depth, y=theory, mark="line", role="line-2", dash=True))  # fmt: skip
        average = Text(f"若每层只写回各行的平均，会是 **{num(theory[block], 3)}**。",
                       f" If every layer wrote back the plain average of the rows, it would be **{num(theory[block], 3)}**.")  # fmt: skip
    says, value = _said(ffn, residual), alike(here[block])
    gone = here[block] > 1 - ALIKE
    sentence = Text(
        f"{says.zh}：过了第 **{block}** 块，任意两个 token 的向量之间，余弦平均是 **{value}**"
        + ("，差别已经小到双精度看不出来" if gone else "") + f"；{names[1].zh}时是 **{alike(other[block])}**。" + average.zh,
        f"{says.en}: after block **{block}** the cosine of two tokens' vectors is **{value}** on average"
        + (", to within double precision" if gone else "") + f"; {names[1].en} it is **{alike(other[block])}**."
        + average.en)  # fmt: skip
    head = [Text("过了第几块", "After block"), *names]
    rows = [[_row(k, block), alike(here[k]), alike(other[k])] for k in (0, *BLOCKS)]
    if not ffn:
        head.append(Text(f"只算平均，{names[0].zh}", f"averaging alone, {names[0].en}"))
        rows = [[*row, num(theory[k], 3)] for row, k in zip(rows, (0, *BLOCKS), strict=True)]
    return State(
        Chart(series, height=270, narrow_height=270,
              x=Axis(unit=Text("块", "blocks"), range=(0, DEPTH), ticks=(0, 8, 16, DEPTH)),
              y=Axis(label=Text("两个 token 的余弦，平均", "cosine of two tokens, mean"), range=(-0.06, 1.12), ticks=(0, 0.5, 1)),
              summary=Text(f"两条线，从零出发：没有残差的几块之内升到一，有残差的慢慢上升；第 {block} 块之后，{names[0].zh}的在 {value}。",
                           f"Two lines from zero: without residuals it reaches one within a few blocks, with residuals it climbs "
                           f"slowly; {names[0].en} it stands at {value} after block {block}.")),
        sentence,
        Table(head, rows),
    )  # fmt: skip


def _gradient(block: int, residual: bool, ffn: bool) -> State:
    here, other = net(ffn, residual), net(ffn, not residual)
    depth = list(range(1, DEPTH + 1))

    def line(values: tuple[float, ...], name: Text, role: str, label: bool = True) -> Series:
        return Series(name, x=depth, y=[float(f"{max(v, FLOOR):.3g}") for v in values], mark="line", role=role,
                      dash=False, end=_ended(name, gradient(values[-1])) if label else None)  # fmt: skip

    behind = WITHOUT if residual else WITH
    values = {name: (own[block - 1], own[0], twin[block - 1]) for name, own, twin in (
        (QUERY_KEY, here.query_key, other.query_key), (VALUE_OUTPUT, here.value_output, other.value_output))}  # fmt: skip
    qk, vo = values[QUERY_KEY], values[VALUE_OUTPUT]
    says = _said(ffn, residual)
    sentence = Text(
        f"{says.zh}：第 **{block}** 块里，query 与 key 两个矩阵的梯度范数是 **{gradient(qk[0])}**（第 1 块 {gradient(qk[1])}），"
        f"value 与输出两个矩阵的是 **{gradient(vo[0])}**（第 1 块 {gradient(vo[1])}）。{behind.zh}时，这一块是"
        f" **{gradient(qk[2])}** 与 **{gradient(vo[2])}**。",
        f"{says.en}: in block **{block}** the gradient of the query and key matrices has norm **{gradient(qk[0])}** "
        f"(block 1: {gradient(qk[1])}), that of the value and output matrices **{gradient(vo[0])}** (block 1: "
        f"{gradient(vo[1])}). In the same block {behind.en} they are **{gradient(qk[2])}** and **{gradient(vo[2])}**.")  # fmt: skip
    columns = (here.query_key, here.value_output, other.query_key, other.value_output)
    named = WITH if residual else WITHOUT
    head = (Text("第几块", "Block"), *(Text(f"{name.zh}，{skip.zh}", f"{name.en}, {skip.en}")
            for skip in (named, behind) for name in (QUERY_KEY, VALUE_OUTPUT)))  # fmt: skip
    rows = [(_row(k, block), *(gradient(column[k - 1]) for column in columns)) for k in BLOCKS]
    return State(
        Chart([
            line(other.query_key, QUERY_KEY, "ghost", label=False), line(other.value_output, VALUE_OUTPUT, "ghost", label=False),
            line(here.query_key, QUERY_KEY, "c1"), line(here.value_output, VALUE_OUTPUT, "c2"),
            Series(Text("此处", "here"), x=[block] * 2, y=[max(qk[0], FLOOR), vo[0]], mark="points", role="ink"),
        ], height=270, narrow_height=270,
              x=Axis(unit=Text("块", "block"), range=(0, DEPTH), ticks=(1, 8, 16, DEPTH)),
              y=Axis(label=Text("梯度的范数", "norm of the gradient"), log=True, range=(FLOOR / 1000, 300), ticks=(1e-12, 1e-8, 1e-4, 1)),
              summary=Text(f"对数纵轴上两条线：第 {block} 块里，query 与 key 的梯度是 {gradient(qk[0])}，value 与输出的是 {gradient(vo[0])}。",
                           f"Two lines on a log axis: in block {block} the gradient of query and key is {gradient(qk[0])}, that of "
                           f"value and output {gradient(vo[0])}.")),
        sentence,
        Table(head, rows),
    )  # fmt: skip


def _ended(name: Text, value: str) -> Text:
    return Text(f"{name.zh} {value}", f"{name.en} {value}")


def _row(k: int, chosen: int) -> Text:
    mark = "▸ " * (k == chosen)
    return Text(f"{mark}第 {k} 块", f"{mark}block {k}") if k else Text("输入", "input")
