# ---
# title.zh: 门
# title.en: Gates
# description.zh: 数清一个真实模型里多出来的矩阵，一个在 FFN，一个在 attention 的输出。门乘上内容会大到哪里，怎样比才公平，为什么 attention 也要一道门，关上的门还能不能学着打开。
# description.en: A third matrix in the FFN and an output gate on attention, counted in a real model. How large gate times value can get, how to compare fairly, why attention wants a gate too, and whether a shut one can learn to open.
# ---

# %% [markdown] lang="zh"
# # 门 { #gate }
#
# 翻开一个新近模型的权重：FFN（前馈网络）不是两个矩阵，是三个；attention（注意力）的 query 投影，输出也不止 query 头那么宽。多出来的都是门。它们做什么，值不值？
# { .tl-standfirst }
#
# ## 先数一数 { #count }
#
# 形状不用抄，从模型的配置里读。照着它在不占内存的设备上搭一层 attention、一个 FFN，列出每个矩阵：

# %% [markdown] lang="en"
# # Gates { #gate }
#
# Open the weights of a recent model. Its feed-forward network (FFN) has three matrices instead of two, and attention's query projection puts out more than the query heads can take. In both places the extra numbers are gates. What do they do, and is it worth it?
# { .tl-standfirst }
#
# ## Count first { #count }
#
# No shape has to be copied; the model's configuration has them. Build a layer of attention and an FFN to it, on a device that takes no memory, and list the matrices:

# %%
import torch

from blocklib import Text, show
from blocklib.atlas import load
from blocklib.nn.attention import GatedAttention
from blocklib.nn.ffn import FeedForward, Gated, SwiGLU

model = load("qwen3.8-27b")
c = model.config
with torch.device("meta"):
    attention = GatedAttention(
        c.d_model, c.n_heads, c.n_kv_heads, c.head_dim
    )
    ffn = SwiGLU(c.d_model, c.d_ff)

show.table(
    (Text("矩阵", "matrix"), Text("从", "from"), Text("到", "to"),
     Text("权重", "weights")),
    [(f"{part}.{name}", f"{m.in_features:,}", f"{m.out_features:,}",
      f"{m.weight.numel():,}")
     for part, layer in (("attention", attention), ("ffn", ffn))
     for name, m in layer.named_children()
     if isinstance(m, torch.nn.Linear)],
)

# %% [markdown] lang="zh"
# query 与门各占一行；在检查点里，这两行合成一个矩阵，所以看上去像是 query 变宽了。
#
# /// claim | output-gate-doubles-query
# [Qwen3.8-27B](given:model) 的完整 attention 层，query 矩阵从 [5,120][width] 到 [12,288][both]：[6,144][queries] 是 query，其余是输出门，逐分量一个。门在每层占 [31,457,280][gate] 个权重，[16][layers] 层合计 [503,316,480][gates] 个。
# ///
#
# /// exhibit | output-gate-count
# **门占多少。** 第一个开关决定门的粗细：每个分量一个、每个头一个，或者没有；第二个选一层还是全部完整 attention 层；第三个换模型。横条是各个矩阵的权重。
# ///
#
# <details markdown="1"><summary>练习：换成 Qwen3-Next-80B-A3B，所有输出门一共多少权重？</summary>
#
# 把上面的 `"qwen3.8-27b"` 换成 `"qwen3-next-80b-a3b"`，看 attention 那几行，再乘层数：[12](fact:full_attention_layers?model=qwen3-next-80b-a3b) 层一共 [100,663,296](fact:output_gate_total?model=qwen3-next-80b-a3b) 个。
#
# </details>
#
# ## 门乘内容 { #product }
#
# FFN 的门用 SiLU，即 $x\,\sigma(x)$。一个通道交出的是门与内容的乘积，取几个点看看：

# %% [markdown] lang="en"
# Queries and gate have a row each here. In the checkpoint the two rows are one matrix, and so the queries look wider than they are.
#
# /// claim | output-gate-doubles-query
# In a full-attention layer of [Qwen3.8-27B](given:model) the query matrix goes from [5,120][width] to [12,288][both]: [6,144][queries] are queries and the rest is the output gate, one for each component. The gate holds [31,457,280][gate] weights a layer, [503,316,480][gates] in all [16][layers].
# ///
#
# /// exhibit | output-gate-count
# **What the gate takes up.** The first switch makes it finer or coarser: a gate for every component, for every head, or none. The second counts one layer or all that have full attention, the third changes the model. Bars are weights by matrix.
# ///
#
# <details markdown="1"><summary>Exercise: how many weights do all output gates of Qwen3-Next-80B-A3B hold?</summary>
#
# Put `"qwen3-next-80b-a3b"` in place of `"qwen3.8-27b"` above, look at the rows of attention and multiply by the layers: [12](fact:full_attention_layers?model=qwen3-next-80b-a3b) of them make [100,663,296](fact:output_gate_total?model=qwen3-next-80b-a3b).
#
# </details>
#
# ## Gate times value { #product }
#
# The FFN's gate goes through SiLU, that is $x\,\sigma(x)$. A channel hands on the product of gate and value. A few points:

# %%
swiglu = Gated("swiglu")


def channel(gate, value):
    out = swiglu(torch.tensor(gate).double(), torch.tensor(value))
    return (f"{gate:g}", f"{value:g}", f"{out.item():.3f}")


show.table(
    (Text("门的输入", "gate input"), Text("内容", "value"),
     Text("交出", "handed on")),
    [channel(*at) for at in
     ((10., 10.), (1.278, 1.), (0., 10.), (-1.278, 1.), (-10., 10.))],
)

# %% [markdown] lang="zh"
# /// exhibit | gate-value-plane
# **门与内容的平面。** 两个滑块移动一个点；颜色深浅是一个通道交出的大小，一种颜色为正，另一种为负。最后的开关像某些模型那样给输入设上限。
# ///
#
# 门可以放大，也可以翻转符号，这些在[讲 SwiGLU 的一章](../../design/swiglu.md#gain)里逐条算过。这里只追问一头：两样都大，乘积会大到装不下吗？[10](given:gate) 乘 [10](given:up) 才 [99.995][corner]，哪种格式都装得下。找出真正的边界：

# %% [markdown] lang="en"
# /// exhibit | gate-value-plane
# **The plane of gate and value.** The sliders move a point; the shading is how much a channel hands on, one colour for positive and one for negative. The last switch caps the inputs, as some models do.
# ///
#
# The gate can amplify, and it can turn the sign; the [chapter on SwiGLU](../../design/swiglu.md#gain) works this out. Here the question is about one end only: with both large, can the product outgrow its number format? [10](given:gate) and [10](given:up) make just [99.995][corner], and that fits into any. Look for the true limits:

# %%
formats = {"fp16": torch.float16, "fp8 (E4M3)": torch.float8_e4m3fn,
           "bf16": torch.bfloat16}


def edge(dtype):
    low, high = torch.tensor([1., 1e25]).double()
    for _ in range(100):
        both = (low * high).sqrt()
        if swiglu(both, both) > torch.finfo(dtype).max:
            high = both
        else:
            low = both
    return low.item()


show.table(
    (Text("格式", "format"), Text("最大的数", "largest number"),
     Text("门与内容同为", "gate and value both")),
    [(name, f"{torch.finfo(dtype).max:g}", f"{edge(dtype):.4g}")
     for name, dtype in formats.items()],
)

# %% [markdown] lang="zh"
# /// claim | overflow-needs-both-halves
# 门的输入与内容相等时，一个 SwiGLU 通道在 fp16 里要到约 [255.94][fp16] 才溢出，在 fp8（E4M3）里约 [21.2][fp8]；bf16 的边界在 [1.8 × 10¹⁹][bf16] 以上，实际中碰不到。
# ///
#
# 离边界还远的离群值也够麻烦：[DeepSeek-V4](../../reference/sources.md#deepseekv4) 的报告说，给两半各设一个上限能消掉离群值，训练也稳得多。
#
# /// claim | clamp-sets-the-corner
# 门的输入从上方截在 $c$，内容两侧截在 $\pm c$（$c$ 不小于一），一个通道交出的大小就不超过 $c\cdot\mathrm{SiLU}(c)$，在角上取到。不截，就没有上限。
# ///
#
# ## 怎样比才公平 { #fair }
#
# 第三个矩阵要钱。把带门与不带门的 FFN 放在一起比，内部都取 $4d$ 宽，行不行？

# %% [markdown] lang="en"
# /// claim | overflow-needs-both-halves
# With gate input and value equal, a SwiGLU channel overflows fp16 only at about [255.94][fp16], and fp8 (E4M3) at about [21.2][fp8]. The limit of bf16 lies above [1.8 × 10¹⁹][bf16], where nothing comes in practice.
# ///
#
# Outliers are trouble long before that limit. The report on [DeepSeek-V4](../../reference/sources.md#deepseekv4) says that a cap on either half removes them and makes training a good deal more stable.
#
# /// claim | clamp-sets-the-corner
# With the gate's input capped at $c$ from above and the value kept within $\pm c$, for a $c$ of at least one, a channel hands on at most $c\cdot\mathrm{SiLU}(c)$, and does so in the corner. Without the caps there is no bound.
# ///
#
# ## A fair comparison { #fair }
#
# The third matrix costs something. Is it fair to compare an FFN with a gate and one without, both of inner width $4d$?

# %%
d = 256
shapes = {
    Text("GELU，四倍宽", "GELU, four times"): FeedForward(d),
    Text("SwiGLU，四倍宽", "SwiGLU, four times"): SwiGLU(d, 4 * d),
    Text("SwiGLU，8d/3", "SwiGLU, 8d/3"):
        SwiGLU(d, 16 * -(-8 * d // 3 // 16)),
}
base = 8 * d * d
counts = {name: sum(p.numel() for p in layer.parameters())
          for name, layer in shapes.items()}

show.table(
    (Text("FFN", "FFN"), Text("内部宽度", "inner width"),
     Text("权重", "weights"), Text("相差", "difference")),
    [(name, layer.down.in_features, f"{counts[name]:,}",
      f"{counts[name] / base - 1:+.2%}")
     for name, layer in shapes.items()],
)

# %% [markdown] lang="zh"
# /// claim | same-width-is-no-match
# 内部宽度都取 $4d$，带门的 FFN 比不带门的多 [50%][same] 的权重，赢了也说不清是赢在门上还是赢在个头上。宽 [256](given:d_model) 时，不带门的是 [524,288][plain] 个；把 $8d/3$ 凑成 [16](given:multiple_of) 的倍数，得 [688][rule]，[528,384][matched] 个，只多 [0.78%][excess]。
# ///
#
# 8d/3 是公平对照时的换算，不是规矩。真实的模型各取各的：
#
# /// exhibit | eight-thirds
# **规则与模型。** 横条是内部宽度与残差流宽度之比，虚线处参数相等。第一个滑块选模型，第二个决定凑成几的倍数；圆点是按规则那个模型该取的值。
# ///
#
# ## attention 为什么也要门 { #attention }
#
# softmax 的权重加起来必须是一：没有一个头可以说「这里没什么好读的」。
#
# /// claim | softmax-hands-out-everything
# 若所有位置的 value 相同，既没有门也没有汇点的头，交出的就是这个 value，得分是多少都改变不了。乘上一道 sigmoid 门，门关得越紧，交出的越接近零。
# ///
#
# 给同一层 attention 的门换几个偏置，看它写多少：

# %% [markdown] lang="en"
# /// claim | same-width-is-no-match
# At an inner width of $4d$ for both, the FFN with a gate has [50%][same] more weights, and if it wins nobody can say whether by its gate or by its size. At a width of [256](given:d_model) the one without has [524,288][plain]. Round $8d/3$ up to a multiple of [16](given:multiple_of), and the gated one is [688][rule] wide, with [528,384][matched] weights: [0.78%][excess] more and no longer a difference that matters.
# ///
#
# 8d/3 is an exchange rate for fair comparisons, and nothing more. Real models take what they like:
#
# /// exhibit | eight-thirds
# **The rule and the models.** Bars are inner width over width; at the dashed line parameters are equal. The first slider picks a model, the second the multiple to round up to, and the dot is what the rule would give that model.
# ///
#
# ## Why attention wants one too { #attention }
#
# The weights of a softmax must sum to one. No head can say that there is nothing here worth reading.
#
# /// claim | softmax-hands-out-everything
# If all positions hold the same value, a head with neither gate nor sink hands on that value, and no scores can change it. Behind a sigmoid gate, the tighter it shuts, the closer to zero is what the head hands on.
# ///
#
# Give the gate of one layer of attention several biases and see how much it writes:

# %%
torch.manual_seed(0)
x = torch.randn(1, 6, 32).double()
layer = GatedAttention(32, 4, causal=False, bias=True).double()
torch.nn.init.zeros_(layer.o.bias)


def written(bias):
    torch.nn.init.constant_(layer.gate.bias, bias)
    with torch.no_grad():
        openness = layer.gate(x).sigmoid().mean().item()
        size = layer(x).square().mean().sqrt().item()
    return f"{bias:g}", f"{openness:.3f}", f"{size:.4f}"


show.table(
    (Text("门的偏置", "bias of the gate"),
     Text("门的平均开度", "gate, on average"),
     Text("写出的均方根", "RMS of what is written")),
    [written(bias) for bias in (6., 2., 0., -2., -6.)],
)

# %% [markdown] lang="zh"
# 没有门的时候，多余的权重总得有个去处，常常落在第一个 token 上；加了门之后落得少多了，[这里](../../design/swiglu.md#output-gate)有量出来的份额。
#
# ## 关上的门，还学得开吗？ { #learning }
#
# 门关上的通道什么也不交出，会不会从此收不到梯度？让 ReLU 与 SiLU 各当一回门，看门的输入为负时，梯度还剩多少：

# %% [markdown] lang="en"
# Without a gate the spare weight has to go somewhere, and often that is the first token. With one, far less goes there; the shares that were measured stand [here](../../design/swiglu.md#output-gate).
#
# ## Can a shut gate learn to open? { #learning }
#
# A channel whose gate is shut hands on nothing. Does it get no gradient ever after? Let ReLU and SiLU be the gate in turn and see what gradient is left where the gate's input is negative:

# %%
def slopes(kind, at):
    gate = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    value = torch.ones((), dtype=torch.float64, requires_grad=True)
    Gated(kind)(gate, value).backward()
    return f"{gate.grad.item():.3f}", f"{value.grad.item():.3f}"


show.table(
    (Text("门的输入", "gate input"),
     Text("ReLU：对门", "ReLU: to the gate"),
     Text("ReLU：对内容", "ReLU: to the value"),
     Text("SiLU：对门", "SiLU: to the gate"),
     Text("SiLU：对内容", "SiLU: to the value")),
    [(f"{at:g}", *slopes("reglu", at), *slopes("swiglu", at))
     for at in (1., -0.5, -1.278, -3.)],
)

# %% [markdown] lang="zh"
# /// claim | silu-gates-can-reopen
# 以 ReLU 为门，门的输入为负的通道，门与内容两边的梯度都是零。以 SiLU 为门，负的一侧两边一般都还有梯度；门这一边只在 SiLU 的最低点 ${-(1+W_0(1/e))}$ 处为零。
# ///
#
# /// margin
# 一个输入上为零，不等于永远学不动：换一个 token，门的输入就可能是正的。真正卡死，是对所有 token 都为负。
# ///
#
# 这只说明学习有路可走。SwiGLU 为什么更好，论文的作者自己没有给出解释；它胜在实验里，不在证明里。
#
# <details markdown="1"><summary>练习：只截内容，不截门，一个通道还有上限吗？</summary>
#
# 没有。内容固定在上限，门的输入越大，SiLU 越接近输入本身，乘积随它一直涨；只是从平方变成了一次。
#
# </details>

# %% [markdown] lang="en"
# /// claim | silu-gates-can-reopen
# With ReLU for a gate, a channel whose gate input is negative gets no gradient, neither in the gate nor in the value. With SiLU both in general still get some on the negative side; that of the gate is zero only at SiLU's lowest point, ${-(1+W_0(1/e))}$.
# ///
#
# /// margin
# No gradient at one input is not the end of learning: for another token the gate's input may be positive. A channel is stuck if it is negative for all of them.
# ///
#
# That learning has a way is all this shows. Why SwiGLU does better its author does not explain; it has won in experiments, not in a proof.
#
# <details markdown="1"><summary>Exercise: cap the value and leave the gate. Is there still a bound on a channel?</summary>
#
# No. With the value at its cap, the larger the gate's input, the closer SiLU comes to that input itself, and the product grows with it: once now, no longer squared.
#
# </details>

# %% [markdown] lang="zh"
# ## 学过之后 { #trained }
#
# 上面的门都是随手摆的。训练会把它们摆成什么样？让实验室的[参考模型](../index.md#reference)读一篇没见过的国情咨文，看每一层的门停在哪里：

# %% [markdown] lang="en"
# ## After training { #trained }
#
# The gates so far were set by hand. Where does training put them? Let the lab's [reference model](../index.md#reference) read an address it has never seen, and look at the gates of each layer:

# %%
from blocklib import nn
from blocklib.lab import corpus, reference

trained = nn.load(reference.FOLDER)
unseen = corpus.split()[1][1]
ids = corpus.tokenizer(2048).encode(unseen).ids[:2048]
rows = []


def look(part, inputs, _):
    gate = part.gate(inputs[0]).flatten(0, 1)
    value = part.up(inputs[0]).flatten(0, 1)
    written, negative = swiglu(gate, value).abs(), gate < 0
    rows.append((
        len(rows) + 1,
        f"{negative.double().mean():.0%}",
        f"{negative.all(0).sum()}",
        f"{(~negative).all(0).sum()}",
        f"{written[negative].sum() / written.sum():.0%}",
    ))


for block in trained.blocks:
    block.ffn.register_forward_hook(look)
with torch.no_grad():
    trained(torch.tensor(ids).view(-1, 256))

show.table(
    (Text("层", "layer"),
     Text("负的输入", "negative inputs"),
     Text("总为负的通道", "always negative"),
     Text("总为正的通道", "always positive"),
     Text("负的门交出的", "handed on by them")),
    rows,
)

# %% [markdown] lang="zh"
# 每一层都有一大半门的输入是负的。可是没有一个通道对每个 token 都为负，也没有一个都为正：照上面的说法，没有卡死的，也没有常开的。最后一列更要紧：负的门交出的并不少。SiLU 在负的一侧没有关上，它把内容反过来写。这是一个小模型读一篇文章的情形，别的模型要另外看。
#
# ## 带走什么 { #carry }
#
# 门就是两条投影逐分量相乘：一条说放多少，一条说放什么。FFN 的门是有符号的增益，attention 的输出门是零到一之间的阀。
#
# 你现在可以回答：为什么这个模型的 query 矩阵比 query 宽，多出来的是什么、有多少；为什么比较时要把宽度换成 8d/3；有的模型给门与内容设上限，输出由此被限制在哪里；为什么 softmax 自己关不上一个头。门和 FFN 各花了多少，放到整个模型里看是什么比例？下一课[算总账](where-it-goes.md)。

# %% [markdown] lang="en"
# In every layer most gate inputs are negative. Yet no channel is negative for every token, and none is positive for all of them: by the measure above none is stuck, and none stands open for good. The last column matters more. Negative gates hand on a good part of all that is handed on, for on its negative side SiLU is not shut: it writes the value with its sign turned. This is one small model reading one text; other models have to be looked at for themselves.
#
# ## What carries over { #carry }
#
# A gate is two projections multiplied component by component: one says how much, the other says what. In the FFN it is a gain with a sign, on attention's output a valve between zero and one.
#
# You can now say why this model's query matrix is wider than its queries, and how many weights that takes; why comparisons convert widths to 8d/3; what bound a cap on gate and value sets; why a softmax cannot shut a head by itself. How do gates and FFNs weigh in a whole model? The next lesson [draws up the account](where-it-goes.md).
