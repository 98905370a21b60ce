"""Exhibits of the chapter on why there is an FFN: what reaches one entry, and what a split pays in weights."""

from __future__ import annotations

from functools import cache

from blocklib.atlas.models import load
from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit, num, power, short
from blocklib.ledger.params import ffn_params
from blocklib.text import Text
from blocklib.theory.scaling import matrix_params
from blocklib.theory.token_mixing import flat_map_weights, token_mixing_weights

TOKENS, WIDTH, COMPONENT = 5, 4, 1
MIXERS = (("attention", Text("attention", "attention")), ("mixer", Text("跨位置 MLP", "token MLP")),
          ("conv", Text("卷积", "convolution")), ("ffn", Text("FFN", "FFN")))  # fmt: skip
WEIGHTS_OF = {
    "attention": Text("混合的权重由内容当场算出，长度任意", "it mixes by weights computed from the content, at any length"),
    "mixer": Text("混合的权重是存下来的，每一对位置一份，长度固定",
                  "it mixes by stored weights, one for each pair of positions, at a fixed length"),
    "conv": Text("混合的权重是存下来的，按距离一份，只看近处", "it mixes by stored weights, one for each distance, near at hand"),
    "ffn": Text("它不混合位置，只混合分量", "it mixes components and no positions"),
}  # fmt: skip


@cache
def reach(kind: str, position: int) -> tuple[tuple[int, int], ...]:
    """The (position, component) entries of the input that one output entry has a derivative with respect to.

    Random weights; attention is causal, the convolution one per channel over three causal steps.
    """
    import torch
    from torch import nn
    from torch.autograd.functional import jacobian

    from blocklib.nn.attention import MultiHeadAttention
    from blocklib.nn.ffn import FeedForward

    with torch.random.fork_rng():
        torch.manual_seed(0)
        x = torch.randn(TOKENS, WIDTH, dtype=torch.float64)
        attention = MultiHeadAttention(WIDTH, n_heads=1).double()
        across = FeedForward(TOKENS).double()
        conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=2, groups=WIDTH, bias=False).double()
        layer = {
            "attention": lambda v: attention(v[None])[0],
            "mixer": lambda v: across(v.T).T,
            "conv": lambda v: conv(v.T[None])[0, :, :TOKENS].T,
            "ffn": FeedForward(WIDTH).double(),
        }[kind]
        moves = jacobian(lambda v: layer(v)[position, COMPONENT], x).abs() > 1e-12
    return tuple((t, c) for t in range(TOKENS) for c in range(WIDTH) if moves[t, c])


@exhibit(
    "mixing-kinds", number=54, title=Text("一个输出，够得着哪些输入？", "Which inputs does one output reach?"),
    controls=(
        Choice("kind", Text("子层", "Sublayer"), options=MIXERS, default="attention"),
        Range("position", Text("输出的位置", "Position of the output"), values=tuple(range(TOKENS)), default=2),
    ),
)  # fmt: skip
def mixing_kinds(kind: str, position: int) -> State:
    """Positions across, components down: the input entries that one entry of the output depends on."""
    near = reach(kind, position)
    far = [(t, c) for t in range(TOKENS) for c in range(WIDTH) if (t, c) not in near]
    positions, parts = ({p[i] for p in near} for i in range(2))
    name = dict(MIXERS)[kind]
    at_start = name.en[0].upper() + name.en[1:]
    series = [
        Series(Text("够得着", "reached"), x=[t for t, _ in near], y=[c for _, c in near], mark="cells", role="c1", thickness=0.9),
    ]  # fmt: skip
    if far:
        series.append(Series(Text("够不着", "out of reach"), x=[t for t, _ in far], y=[c for _, c in far], mark="cells",
                             role="ghost", thickness=0.9, alpha=[0.25] * len(far)))  # fmt: skip
    series.append(
        Series(Text("输出所在", "the output's own place"), x=[position], y=[COMPONENT], mark="points", role="ink")
    )
    which = "、".join(map(str, sorted(positions))), ", ".join(map(str, sorted(positions)))
    sentence = Text(
        f"{name.zh}：位置 **{position}**、分量 {COMPONENT} 的输出取决于输入 {TOKENS * WIDTH} 项中的 **{len(near)}** 项，"
        f"位置 {which[0]}，每个位置 **{len(parts)}** 个分量；{WEIGHTS_OF[kind].zh}。",
        f"{at_start}: the output at position **{position}**, component {COMPONENT}, depends on **{len(near)}** of "
        f"{TOKENS * WIDTH} input entries, at {'position' if len(positions) == 1 else 'positions'} {which[1]}, **{len(parts)}** "
        f"{'component' if len(parts) == 1 else 'components'} each; {WEIGHTS_OF[kind].en}.",
    )
    rows = [
        (Text(f"{'▸ ' * (t == position)}位置 {t}", f"{'▸ ' * (t == position)}position {t}"),
         ", ".join(str(c) for c in range(WIDTH) if (t, c) in near) or "—")
        for t in range(TOKENS)
    ]  # fmt: skip
    rows.append((Text("子层", "sublayer"), name))
    return State(
        Chart(
            series, height=230, narrow_height=230, square=True,
            x=Axis(categories=[str(t) for t in range(TOKENS)], unit=Text("位置", "position")),
            y=Axis(categories=[str(c) for c in range(WIDTH)], label=Text("分量", "component")),
            summary=Text(f"五列四行的格子，{len(near)} 格涂色，圆点标出输出所在的位置 {position}。",
                         f"A grid of five columns and four rows with {len(near)} cells filled; a dot marks the output's "
                         f"own place at position {position}."),
        ),
        sentence,
        Table((Text("位置", "Position"), Text("够得着的分量", "Components reached")), rows),
    )  # fmt: skip


LENGTHS = (64, 256, 1024, 4096, 16384, 65536)
EXPANSION = 4
BILL_MODELS = ("gpt2-small", "llama-3-8b", "gpt3-175b")


@exhibit(
    "split-bill", number=55, title=Text("文本变长，权重要多少？", "As texts get longer, how many weights?"),
    controls=(
        Range("tokens", Text("token 数 T", "Tokens T"), values=LENGTHS, default=1024),
        Range("model", Text("宽度取自", "Width of"), values=BILL_MODELS, default="gpt2-small",
              labels=tuple(f"{load(m).name}: {num(load(m).config.d_model)}" for m in BILL_MODELS)),
    ),
)  # fmt: skip
def split_bill(tokens: int, model: str) -> State:
    """Weights of one map over everything, of a block that stores its mixing, and of attention with an FFN."""
    d = load(model).config.d_model

    def bill(t: int) -> tuple[int, int, int]:
        return flat_map_weights(t, d), token_mixing_weights(t, EXPANSION) + ffn_params(d), matrix_params(1, d)

    names = (
        Text("一个大 FFN", "one map over all"),
        Text("Mixer 块", "Mixer block"),
        Text("attention + FFN", "attention + FFN"),
    )
    here = bill(tokens)
    series = []
    for i, (name, role) in enumerate(zip(names, ("c2", "c3", "c1"), strict=True)):
        series += [
            Series(name, x=LENGTHS, y=[float(bill(t)[i]) for t in LENGTHS], mark="line", role=role, end=name),
            Series(
                Text(f"{name.zh}，此处", f"{name.en}, here"), x=[tokens], y=[float(here[i])], mark="points", role=role
            ),
        ]
    flat = power(here[0], 3)
    said = [num(v) for v in here[1:]]
    sentence = Text(
        f"文本长 **{num(tokens)}** 个 token、宽 **{num(d)}**：铺成一个向量的大 FFN 要 **{flat}** 个权重，存下位置权重的 Mixer 块要 "
        f"**{said[0]}** 个，attention 加 FFN 要 **{said[1]}** 个，最后一个与长度无关。",
        f"For texts of **{num(tokens)}** tokens at width **{num(d)}**, one FFN over everything laid out takes **{flat}** "
        f"weights, a Mixer block with stored position weights **{said[0]}**, and attention with an FFN **{said[1]}**, "
        f"whatever the length.",
    )
    rows = [
        (Text.same(f"{'▸ ' * (t == tokens)}{num(t)}"), power(bill(t)[0], 3), num(bill(t)[1]), num(bill(t)[2]))
        for t in LENGTHS
    ]
    return State(
        Chart(
            series, height=280, narrow_height=280,
            x=Axis(unit=Text("token", "tokens"), log=True, range=(LENGTHS[0], LENGTHS[-1]),
                   ticks=[(t, num(t)) for t in (64, 1024, 16384)]),
            y=Axis(label=Text("权重", "weights"), log=True, range=(1e6, 1e19),
                   ticks=[(10.0**k, power(10**k)) for k in (6, 10, 14, 18)]),
            summary=Text(f"对数坐标上的三条线；{num(tokens)} 个 token 处依次是 {short(here[0], 'zh')}、{said[0]}、{said[1]}。",
                         f"Three lines on logarithmic axes; at {num(tokens)} tokens they stand at {flat}, {said[0]} and "
                         f"{said[1]}."),
        ),
        sentence,
        Table((Text("token 数", "Tokens"), *names), rows),
    )  # fmt: skip
