# ---
# title.zh: 只有一个 token 的归一化
# title.en: Normalising a single token
# description.zh: 生成时每步只算一个 token，按批求统计量的 BatchNorm 把它归一成零，还会让模型看见未来；按 token 求统计量的 LayerNorm 与 RMSNorm 各自忘掉什么，一个不多，一个不少。
# description.en: Generation computes one token at a time. BatchNorm, with the statistics of a batch, turns it into zeros and lets the model see the future. What LayerNorm and RMSNorm forget, each no more and no less.
# ---

# %% [markdown] lang="zh"
# # 只有一个 token 的归一化 { #invariances }
#
# 叠深之后，残差流越加越大，每个子层的入口都要先把大小拉回来。拉回来要用统计量，统计量从哪里来？生成时，模型手里每步只有一个 token。
# { .tl-standfirst }
#
# ## 一批里的一行 { #one-row }
#
# 图像网络里通行的做法是 BatchNorm（批归一化）：每个分量在整批样本上求均值和方差，再用它们归一化。搬到语言模型里，「样本」就是 token。取同一个 token，让它先后出现在三个批里：

# %% [markdown] lang="en"
# # Normalising a single token { #invariances }
#
# With depth the residual stream keeps growing, so every sublayer begins by bringing its input back to size. That takes statistics. Where do they come from, when generation hands the model one token at a time?
# { .tl-standfirst }
#
# ## One row of a batch { #one-row }
#
# Networks for images commonly use BatchNorm: mean and variance of each component over the whole batch of samples. In a language model a sample is a token. Let one and the same token appear in three batches:

# %%
import torch

from blocklib import Text, show
from blocklib.nn.norm import BatchNorm, LayerNorm, RMSNorm

torch.manual_seed(0)
apple = torch.tensor([[[6., -2., 10., 1., -1., 7.]]])
others, strangers = 3 + 4 * torch.randn(2, 3, 1, 6)
norm = BatchNorm(6)


def row(name, batch):
    values = norm(batch)[0, 0].tolist()
    return (name, *(f"{v:+.2f}" for v in values))


show.table(
    (Text("批", "batch"), *"123456"),
    [row(Text("和三个邻居", "with three neighbours"),
         torch.cat([apple, others])),
     row(Text("换三个邻居", "with three strangers"),
         torch.cat([apple, strangers])),
     row(Text("只有它自己", "by itself"), apple)],
)

# %% [markdown] lang="zh"
# 输入分毫未改，三行结果各不相同；只剩自己时全是零。原因很短：只有一行，均值就是它自己，减完什么也不剩。PyTorch 干脆拒绝：

# %% [markdown] lang="en"
# The input is the same to the last digit, the outputs are not, and alone it gives zeros. The reason is short: a single row is its own mean, and nothing is left after the subtraction. PyTorch declines to do it at all:

# %%
try:
    torch.nn.BatchNorm1d(6)(apple[0])
except ValueError as error:
    show(Text("PyTorch 说：", "PyTorch says:"),
         str(error).split(",")[0])

# %% [markdown] lang="zh"
# /// claim | batchnorm-erases-one-row
# 训练模式下，批里只有一行时，BatchNorm 的输出就是它的偏置，与输入无关：任何两个 token 得到同一个结果，也没有一点梯度传得到输入。
# ///
#
# /// exhibit | batchnorm-one-token
# **一个 token 和它的邻居。** 输入是固定的八个分量，柱子是归一化之后的样子。减少同批的 token，或换一组邻居，看柱子怎么动；圆点是改用训练时存下的统计量。
# ///
#
# 批大了会好一些，但毛病不止这一处。一句话里的各个位置也在同一批里，于是统计量里混进了后面的词：
#
# /// claim | batchnorm-reads-the-future
# 训练模式下，统计量若取自一批序列的全部位置，那么一个位置的输出取决于同批的其他序列，也取决于同一序列里更靠后的位置。attention 的因果掩码挡不住这条路。
# ///
#
# 语言模型靠「只看前文猜下一个」来训练，这等于把答案漏进了题目。
#
# ## 存下来的统计量 { #stored }
#
# BatchNorm 的补救，是训练时把均值和方差攒起来，推理时改用攒下的数，不看同批。这样一个 token 也能算，代价是训练时和推理时成了两个函数。差多少，取决于批有多大：

# %% [markdown] lang="en"
# /// claim | batchnorm-erases-one-row
# In training mode and with one row in the batch, BatchNorm puts out its bias, whatever the input: any two tokens get the same result, and no gradient reaches the input.
# ///
#
# /// exhibit | batchnorm-one-token
# **A token and its neighbours.** The input is fixed, eight components; the bars are what normalising makes of them. Take tokens out of the batch or change the neighbours and watch the bars. The dots are what the statistics stored in training would give.
# ///
#
# A larger batch helps, but that is not the only trouble. The positions of a sentence share the batch too, so later words find their way into the statistics:
#
# /// claim | batchnorm-reads-the-future
# In training mode, with statistics over all positions of a batch of sequences, the output at one position depends on the other sequences of the batch and on later positions of its own. The causal mask of attention does not close this way.
# ///
#
# Language models are trained to guess the next word from the words before. This leaks the answer into the question.
#
# ## Statistics in store { #stored }
#
# BatchNorm's remedy is to average means and variances during training and to use those averages afterwards, whatever the batch. A single token can then be computed, but what is trained and what is run are two functions. How far apart they are depends on the size of the batch:

# %%
def batch_of(size):
    return 3 + 4 * torch.randn(size, 1, 6)


for _ in range(300):
    norm(batch_of(256))

rows = []
for size in (2, 8, 32, 128):
    gaps = []
    for _ in range(100):
        batch = torch.cat([apple, batch_of(size - 1)])
        running = norm.running_mean.clone(), norm.running_var.clone()
        trained = norm.train()(batch)[0]
        norm.running_mean, norm.running_var = running
        gaps.append((trained - norm.eval()(batch)[0]).abs().mean())
    rows.append((size, f"{torch.stack(gaps).mean():.2f}"))
show.table((Text("批里的 token", "tokens in the batch"),
            Text("两种模式平均差", "mean gap of the two modes")), rows)

# %% [markdown] lang="zh"
# 批越小差得越多，而生成正站在最小的那一头。
#
# ## 用自己的统计量 { #own }
#
# 换一个方向求统计量，问题就没有了：不跨 token，而在一个 token 自己的各个分量之间。[LayerNorm 与 RMSNorm](../../primer/normalization.md#layernorm) 都是这样做的，有没有同伴，算出来一模一样。

# %% [markdown] lang="en"
# The smaller the batch the wider the gap, and generation stands at the smallest end.
#
# ## Statistics of its own { #own }
#
# Take the statistics in the other direction and the trouble is gone: not across tokens, but across the components of one. [LayerNorm and RMSNorm](../../primer/normalization.md#layernorm) both do so, and company makes no difference to them.

# %%
batch = torch.cat([apple, others])
for name, norm in (("LayerNorm", LayerNorm(6)),
                   ("RMSNorm", RMSNorm(6))):
    same = torch.equal(norm(batch)[:1], norm(apple))
    show(name, Text("单独算与成批算完全相同：",
                    "alone and in a batch exactly the same:"), same)

# %% [markdown] lang="zh"
# ## 忘掉的东西 { #forgotten }
#
# 归一化一定会忘掉一些东西，不然就不叫归一化。忘掉多少？把输入放大、平移、反号，看输出认不认得出来（$\varepsilon$ 取零）：

# %% [markdown] lang="en"
# ## What is forgotten { #forgotten }
#
# A norm must forget something or it would not be one. How much? Scale the input, shift it, flip its signs, and see whether the output can tell ($\varepsilon$ is zero):

# %%
x = apple[0, 0].double()
changes = [
    ("3·x", 3 * x), ("x + 5", x + 5), ("3·x + 5", 3 * x + 5),
    ("−x", -x), (Text("只改一个分量", "one component"),
                 x + torch.tensor([1., 0, 0, 0, 0, 0])),
]
norms = (LayerNorm(6, eps=0, affine=False),
         RMSNorm(6, eps=0, affine=False))


def verdict(norm, changed):
    before, after = norm(x), norm(changed)
    if torch.allclose(before, after):
        return Text("不变", "unchanged")
    if torch.allclose(before, -after):
        return Text("全部反号", "all signs flipped")
    return Text("变了", "changed")


show.table((Text("输入", "input"), "LayerNorm", "RMSNorm"),
           [(name, *(verdict(norm, changed) for norm in norms))
            for name, changed in changes])

# %% [markdown] lang="zh"
# /// exhibit | norm-invariances
# **放大、平移。** 两个滑块把输入换成 $a\cdot x+b$；柱子是输出，圆点是对 $x$ 本身的输出。柱子与圆点重合，就是认不出来。
# ///
#
# 放大倍数为负时，两种归一化都全部反号：它们忘掉的是大小，不是方向的正反。表里的最后一行说明没有忘得更多，这一点可以说得很准：
#
# /// claim | norms-forget-exactly
# $\varepsilon$ 为零、不计增益与偏置，只要归一化有定义：两个向量的 LayerNorm 相同，当且仅当其中一个是另一个乘以正数再加常数；两个向量的 RMSNorm 相同，当且仅当其中一个是另一个乘以正数。所以 LayerNorm 恰好丢掉均值和标准差这两个数，RMSNorm 恰好丢掉均方根这一个。
# ///
#
# 丢掉一个数，就是在一个方向上不再有反应。把输出对输入求导，再看这个矩阵的秩：

# %% [markdown] lang="en"
# /// exhibit | norm-invariances
# **Scale and shift.** The sliders replace the input by $a\cdot x+b$; bars are the output, dots the output for $x$ itself. Where bars and dots coincide the norm cannot tell.
# ///
#
# With a negative factor both norms flip every sign: they forget the size, not which way the vector points. The last row of the table says that they forget no more than that, and this can be said exactly:
#
# /// claim | norms-forget-exactly
# With $\varepsilon$ zero, gain and bias aside, and wherever the norms are defined, two vectors have the same LayerNorm if and only if one is the other times a positive number plus a constant, and the same RMSNorm if and only if one is the other times a positive number. So LayerNorm loses exactly two numbers, mean and standard deviation, and RMSNorm exactly one, the root mean square.
# ///
#
# To lose a number is to have no response in one direction. Differentiate the output by the input and look at the rank:

# %%
for name, norm in zip(("LayerNorm", "RMSNorm"), norms, strict=True):
    slope = torch.autograd.functional.jacobian(norm, x)
    rank = torch.linalg.matrix_rank(slope, tol=1e-9)
    show(name, Text("维数", "dimensions"), len(x),
         Text("秩", "rank"), int(rank))

# %% [markdown] lang="zh"
# RMSNorm 少一个方向，就是 $x$ 自己的方向；LayerNorm 少两个，另一个是所有分量一齐加减。
#
# <details markdown="1"><summary>练习：后面还有一个矩阵。被忘掉的东西，矩阵能找回来吗？</summary>
#
# 不能。归一化把不同的输入变成了同一个输出，再乘什么都还是同一个。能做的是绕过去：残差那条路没有经过归一化，均值和大小都还在主路上，只是这个子层看不见。
#
# </details>
#
# ## ε 的代价 { #epsilon }
#
# 真实的实现里 $\varepsilon$ 不是零，它防止除以零，也让「忘掉大小」打了折扣：很小的向量，输出也跟着变小。

# %% [markdown] lang="en"
# RMSNorm has no response in one direction, that of $x$ itself; LayerNorm has none in two, the other being all components up or down together.
#
# <details markdown="1"><summary>Exercise: a matrix follows. Can it bring back what was forgotten?</summary>
#
# No. The norm has made one output of different inputs, and they stay one whatever it is multiplied by. There is a way round, though: the residual path passes no norm, so mean and size are still on the main line. It is only this sublayer that does not see them.
#
# </details>
#
# ## The price of ε { #epsilon }
#
# In real code $\varepsilon$ is not zero. It guards against division by zero, and it takes something back from forgetting the size: very small vectors come out small.

# %%
norm = RMSNorm(6, eps=1e-6, affine=False)
unit = x / x.square().mean().sqrt()
show.table(
    (Text("输入的均方根", "RMS in"), Text("输出的均方根", "RMS out")),
    [(f"{size:g}", f"{norm(size * unit).square().mean().sqrt():.4f}")
     for size in (1, 0.1, 0.01, 0.001, 0.0001)],
)

# %% [markdown] lang="zh"
# $\varepsilon$ 取 [10⁻⁶](given:eps)、输入的均方根恰好是它的平方根时，输出只剩 [0.7071][shrunk]；再小一个数量级，几乎就没有了。
#
# /// claim | epsilon-shrinks-small-vectors
# 增益为一时，归一化的输出大小是 $s/\sqrt{s^2+\varepsilon}$，$s$ 是输入的均方根（LayerNorm 则是标准差）。它总小于一；只有 $s$ 远大于 $\sqrt\varepsilon$，缩放才近似看不出来。
# ///
#
# ## 带走什么 { #carry }
#
# 统计量取自谁，输出就取决于谁。取自一批，一个 token 就不能单独算，训练与生成也不再是同一个函数；取自自己，就能。LayerNorm 忘掉均值和大小，RMSNorm 只忘掉大小，除此之外什么都记得。
#
# 你现在可以回答：为什么语言模型不用 BatchNorm；为什么把残差流整个放大，下一个子层毫无察觉；为什么「RMSNorm 也有平移不变性」是错的；$\varepsilon$ 什么时候会被看见。

# %% [markdown] lang="en"
# With $\varepsilon$ at [10⁻⁶](given:eps) and an input whose root mean square is just the root of that, only [0.7071][shrunk] is left at the output; an order of magnitude below, hardly anything.
#
# /// claim | epsilon-shrinks-small-vectors
# With a gain of one, a norm's output has size $s/\sqrt{s^2+\varepsilon}$, where $s$ is the input's root mean square (for LayerNorm its standard deviation). It is always below one, and a change of scale goes unnoticed, nearly, only where $s$ is far above $\sqrt\varepsilon$.
# ///
#
# ## What carries over { #carry }
#
# The output depends on whomever the statistics are taken from. Taken from a batch, one token cannot be computed alone, and training and generation are no longer one function. Taken from the token itself, it can. LayerNorm forgets mean and size and RMSNorm the size alone; everything else both remember.
#
# You can now say why language models do not use BatchNorm, why the next sublayer never notices when the whole residual stream is scaled up, why it is wrong that RMSNorm ignores shifts too, and when $\varepsilon$ shows.
