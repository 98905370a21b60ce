"""The cells of the map of how the block's parts changed: what each era did and the figure that spoke for a change.

Figures come from the atlas, the theory and the cited facts; none is typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blocklib.atlas.model_facts import ffn_share
from blocklib.atlas.shape_facts import ffn_expansion, ffn_width, model_head_dim, model_layers, model_width, query_width
from blocklib.charts import num, percent
from blocklib.facts.registry import evaluate
from blocklib.text import Text
from blocklib.theory.gated_width import matched_width
from blocklib.theory.gates import swiglu
from blocklib.theory.initialisation import residual_init_std
from blocklib.theory.norm_ops import norm_core_ops
from blocklib.theory.norm_place import embedding_variance_share
from blocklib.theory.qk_norm import qk_logit_bound
from blocklib.theory.stream import residual_writes, stream_rms

QWEN = "qwen3.8-27b"
CORNER = 10  # where gate and value are taken to show that their product has no bound
INIT_STD, INIT_BLOCKS = Fraction("0.02"), 4  # GPT-2's usual start, and a stack small enough to follow
NONE = Text("没有", "none")
NOTHING_MORE = Text("（到此为止）", "(the map ends here)")


@dataclass(frozen=True)
class Cell:
    """One part in one era: two or three words for the map, what was done, and what speaks for the next step."""

    short: Text
    practice: Text
    next: Text = NOTHING_MORE


def cited(expr: str) -> str:
    """A cited figure as it is printed here; percentages as such."""
    value = evaluate(expr).value
    return percent(value, 2 if value < 0.1 else 3) if 0 < value < 1 else num(value)


def widths(model: str) -> str:
    """``768 → 3,072``: the stream and the inside of the FFN of a model of the atlas."""
    return f"**{num(model_width(model))}** → **{num(ffn_width(model))}**"


def ffn_row() -> tuple[Cell, ...]:
    """FFN and activation, era by era: what it is, and what it leaves to be desired."""
    wide = [cited(f"ffn_width_perplexity?width={w}") for w in ("half", "base", "double")]
    short, full = (
        [cited(f"glu_log_perplexity?run={a}-{run}") for a in ("gelu", "swiglu")] for run in ("short", "full")
    )
    matched = num(round(float(matched_width(model_width("deepseek-llm-67b"))), 2), 7)
    corner = num(swiglu(CORNER, CORNER), 5)
    caps = [num(evaluate(e).value) for e in ("gpt_oss_clamp", "deepseek_v4_clamp", "situ_cap?part=output")]
    return (
        Cell(
            Text("ReLU", "ReLU"),
            Text(
                f"两个矩阵加 ReLU，{widths('transformer-base')}", f"two matrices and ReLU, {widths('transformer-base')}"
            ),
            Text(
                f"只改内部宽度，减半、不变、加倍，困惑度 **{wide[0]}**、**{wide[1]}**、**{wide[2]}**：越宽越好，参数也跟着涨",
                f"with the inner width halved, kept and doubled, perplexity is **{wide[0]}**, **{wide[1]}** and "
                f"**{wide[2]}**: wider is better, and costs parameters",
            ),
        ),
        Cell(
            Text("GELU", "GELU"),
            Text(f"两个矩阵加 GELU，{widths('gpt2-small')}", f"two matrices and GELU, {widths('gpt2-small')}"),
            Text(
                f"参数对齐后仍输给带门的：T5-base 的对数困惑度，短训练 **{short[0]}** 对 **{short[1]}**，全程 **{full[0]}** 对 **{full[1]}**",
                f"at equal parameters it loses to a gate: log-perplexity of T5-base **{short[0]}** against "
                f"**{short[1]}** in short runs, **{full[0]}** against **{full[1]}** in full ones",
            ),
        ),
        Cell(
            Text("SwiGLU", "SwiGLU"),
            Text(
                f"三个矩阵的 SwiGLU，按 8d/3 取宽：DeepSeek-LLM-67B {widths('deepseek-llm-67b')}（8d/3 是 **{matched}**）",
                f"SwiGLU in three matrices, 8d/3 wide: DeepSeek-LLM-67B {widths('deepseek-llm-67b')} (8d/3 is "
                f"**{matched}**)",
            ),
            Text(
                f"8d/3 只是公平比较用的换算，各家另取：Llama-3-8B 是 **{num(ffn_expansion('llama-3-8b'))}** 倍",
                f"8d/3 is a conversion for fair comparison and models go their own way: Llama-3-8B takes "
                f"**{num(ffn_expansion('llama-3-8b'))}** times the width",
            ),
        ),
        Cell(
            Text("SwiGLU", "SwiGLU"),
            Text(
                f"SwiGLU，{widths(QWEN)}，即 **{num(ffn_expansion(QWEN))}** 倍，占文本模型参数的 **{percent(ffn_share(QWEN))}**",
                f"SwiGLU, {widths(QWEN)}, a factor of **{num(ffn_expansion(QWEN))}**; it holds "
                f"**{percent(ffn_share(QWEN))}** of the text model's parameters",
            ),
            Text(
                f"输出没有上界：门与内容各取 {CORNER}，乘积已是 **{corner}**，再大会撑破低精度格式",
                f"its output has no bound: gate and value at {CORNER} give **{corner}**, and larger ones overrun narrow "
                f"number formats",
            ),
        ),
        Cell(
            Text("封顶", "capped"),
            Text(
                f"截断（gpt-oss **{caps[0]}**，DeepSeek-V4 **{caps[1]}**）或软封顶（Kimi K3 的 SiTU-GLU，输出不过 **{caps[2]}**）；"
                "或拆成许多小 FFN（MoE）",
                f"clamped (gpt-oss at **{caps[0]}**, DeepSeek-V4 at **{caps[1]}**) or softly capped (Kimi K3's SiTU-GLU, "
                f"output within **{caps[2]}**), or split into many small FFNs (MoE)",
            ),
        ),
    )


def residual_row() -> tuple[Cell, ...]:
    """The residual stream, era by era."""
    layers = model_layers(QWEN)
    writes, size = residual_writes(layers), num(stream_rms(layers))
    started = num(residual_init_std(INIT_STD, INIT_BLOCKS), 3)
    return (
        Cell(
            Text("x + F(x)", "x + F(x)"),
            Text("每个子层 x + F(x)，来自 ResNet", "every sublayer is x + F(x), taken over from ResNet"),
            Text(
                f"归一化一离开求和之处，流就只加不减：**{writes}** 次单位大小、互不相关的写入之后，均方根 **{size}**",
                f"once the norm leaves the sum, the stream only adds up: after **{writes}** uncorrelated writes of unit "
                f"size its RMS is **{size}**",
            ),
        ),
        Cell(
            Text("缩小初值", "scaled"),
            Text(
                f"写回残差流的矩阵，初值除以写入次数的平方根；四个块时 {num(INIT_STD)} 变成 **{started}**",
                f"the matrices that write start smaller, by the root of the number of writes; with four blocks {num(INIT_STD)} "
                f"becomes **{started}**",
            ),
            Text(
                f"所有层共用一条 **{num(model_width('gpt2-small'))}** 维的流读写，层一多就嫌窄（各家自述，没有公认的量法）",
                f"all layers read and write one stream of width **{num(model_width('gpt2-small'))}**, which some teams "
                "find tight in deep models; there is no agreed measure",
            ),
        ),
        Cell(
            Text("x + F(x)", "x + F(x)"),
            Text(
                f"仍是一条流；Llama-3-8B 写入 **{residual_writes(model_layers('llama-3-8b'))}** 次",
                f"still one stream; Llama-3-8B writes **{residual_writes(model_layers('llama-3-8b'))}** times",
            ),
            Text(
                f"一条 **{num(model_width('llama-3-8b'))}** 维的流，要供越来越多的层读写",
                f"one stream of width **{num(model_width('llama-3-8b'))}** has to serve more and more layers",
            ),
        ),
        Cell(
            Text("x + F(x)", "x + F(x)"),
            Text(
                f"仍是一条流：**{layers}** 层各写两次，共 **{writes}** 次",
                f"still one stream: **{layers}** layers write twice each, **{writes}** in all",
            ),
            Text(
                f"写入若都是单位大小、互不相关，embedding 只剩方差的 **{percent(embedding_variance_share(layers))}**",
                f"with uncorrelated writes of unit size the embedding is down to "
                f"**{percent(embedding_variance_share(layers))}** of the variance",
            ),
        ),
        Cell(
            Text("多条流", "streams"),
            Text(
                f"mHC 把流分成 **{cited('residual_streams')}** 条并学习怎样混合；AttnRes 让每层对更早各层的输出做 attention",
                f"mHC runs **{cited('residual_streams')}** streams and learns how to mix them; in AttnRes a layer attends "
                "to the outputs of earlier ones",
            ),
        ),
    )


def norm_row() -> tuple[Cell, ...]:
    """Kind and place of the norm, era by era."""
    width = model_width("gpt2-small")
    core = [num(norm_core_ops(kind, width)) for kind in ("layernorm", "rmsnorm")]
    head = model_head_dim(QWEN)
    return (
        Cell(
            Text("post-norm", "post-norm"),
            Text("LayerNorm（2016）放在求和之后", "LayerNorm (2016), after the sum"),
            Text(
                f"原论文预热 **{cited('warm_up_steps')}** 步；后来的分析说，初始化时靠近输出的梯度太大",
                f"the paper warms up for **{cited('warm_up_steps')}** steps; later analysis finds gradients too large "
                "near the output at initialisation",
            ),
        ),
        Cell(
            Text("pre-norm", "pre-norm"),
            Text(
                "LayerNorm 移到支路入口，末尾补一个", "LayerNorm moves to the branch's input, and a final one is added"
            ),
            Text(
                f"居中占了核心运算的五分之二：宽 **{num(width)}** 时 **{core[0]}** 对 **{core[1]}**，有人论证它可以不要",
                f"centring is two fifths of its core: **{core[0]}** operations against **{core[1]}** at width "
                f"**{num(width)}**, and it is argued to be dispensable",
            ),
        ),
        Cell(
            Text("RMSNorm", "RMSNorm"),
            Text("pre-norm，换成 RMSNorm，没有偏置", "pre-norm with RMSNorm, no bias"),
            Text(
                "若不把增益排除在外，weight decay 会把它拉向零",
                "unless it is exempt, weight decay pulls the gain towards zero",
            ),
        ),
        Cell(
            Text("1 + w", "1 + w"),
            Text(
                f"增益写成 1 + w，w 从零起；另有 QK-norm，头宽 **{head}**，增益为一时 logit 不超过 **{num(qk_logit_bound(head, 1))}**",
                f"the gain is 1 + w with w starting at zero; and QK-norm, which at head width **{head}** and gain one "
                f"keeps logits within **{num(qk_logit_bound(head, 1))}**",
            ),
            Text(
                "归一化只管读进来的；写出去的有多大，没有人管",
                "a norm at the entrance fixes what is read and leaves the size of what is written open",
            ),
        ),
        Cell(
            Text("出口等", "output"),
            Text(
                "OLMo 2 归一化支路的输出；DeepSeek-V4 归一化 query 与 KV 条目，不再需要 QK-Clip；nanochat 的归一化没有任何参数",
                "OLMo 2 norms the branch's output; DeepSeek-V4 norms queries and KV entries and needs no QK-Clip; "
                "nanochat's norms have no parameters",
            ),
        ),
    )


def gate_row() -> tuple[Cell, ...]:
    """Gates, era by era, from none to those of attention's output."""
    without, gated = (cited(f"first_token_attention?gate={g}") for g in ("without", "with"))
    queries = query_width(QWEN)
    return (
        Cell(
            NONE,
            Text(
                "没有门；GLU 在 **2016** 年已经出现，用在卷积语言模型里",
                "no gate, though GLU has existed since **2016**, in convolutional language models",
            ),
            Text(
                "激活函数只按自己的输入定门槛，一个神经元不能用别的特征来调自己的大小",
                "an activation looks at its own input alone; one neuron cannot scale its feature by another",
            ),
        ),
        Cell(
            NONE,
            Text("没有门，GPT-2 用 GELU", "no gate; GPT-2 uses GELU"),
            Text(
                f"参数对齐时带门的更好：对数困惑度 **{cited('glu_log_perplexity?run=swiglu-full')}**，GELU 是 "
                f"**{cited('glu_log_perplexity?run=gelu-full')}**（T5-base）",
                f"at equal parameters a gate does better: log-perplexity "
                f"**{cited('glu_log_perplexity?run=swiglu-full')}** against GELU's "
                f"**{cited('glu_log_perplexity?run=gelu-full')}** (T5-base)",
            ),
        ),
        Cell(
            Text("FFN 里", "in FFN"),
            Text("FFN 里有门：SiLU(x·W_gate) ⊙ (x·W_up)", "a gate in the FFN: SiLU(x·W_gate) ⊙ (x·W_up)"),
            Text(
                f"softmax 总要把权重分完；在 Qwen 团队的 15B MoE 实验里，首个 token 平均分到 **{without}**",
                f"softmax has to hand out all of its weight; in experiments of the Qwen team on a 15B MoE the first token "
                f"gets **{without}** of it on average",
            ),
        ),
        Cell(
            Text("又加一处", "+ heads"),
            Text(
                f"attention 的输出也过门：query 投影 **{num(model_width(QWEN))}** → **{num(2 * queries)}**，"
                f"一半是 query（**{num(queries)}**），一半过 sigmoid 当门，每层多 **{num(queries * model_width(QWEN))}** 个权重；上述实验里首个 token 降到 **{gated}**",
                f"attention's output is gated too: the query projection goes **{num(model_width(QWEN))}** → "
                f"**{num(2 * queries)}**, half of it queries (**{num(queries)}**) and half a sigmoid gate, "
                f"**{num(queries * model_width(QWEN))}** more weights a layer; in the experiments the first token's "
                f"share falls to **{gated}**",
            ),
            Text(
                "能过门的不只 softmax attention 的输出",
                "softmax attention is not the only mixer whose output can be gated",
            ),
        ),
        Cell(
            Text("不止两处", "several"),
            Text(
                "据报道，Kimi K3 给 MLA 加输出门，Qwen3.8-Flash-Next 的线性 attention 输出门改用 sigmoid",
                "Kimi K3 is reported to gate the output of MLA, Qwen3.8-Flash-Next to use a sigmoid for the output gate of "
                "its linear attention",
            ),
        ),
    )


ROWS = {"ffn": ffn_row, "residual": residual_row, "norm": norm_row, "gate": gate_row}
