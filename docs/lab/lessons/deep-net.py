# ---
# title.zh: 叠深之后
# title.en: Stacked deep
# description.zh: 把 attention 与 FFN 直接首尾相接，几块之内所有 token 就变得一模一样；消失的不是全部梯度，而是 query 与 key 的那一份。残差怎样把差别留住，又要付什么代价。
# description.en: Chain attention and FFN end to end and within a few blocks all tokens are the same. Not every gradient vanishes, only that of queries and keys. How a residual keeps the differences, and what it costs.
# ---

# %% [markdown] lang="zh"
# # 叠深之后 { #deep-net }
#
# attention（注意力）与 FFN（前馈网络）都有了。最省事的叠法是首尾相接：前一个的输出，就是后一个的输入。接上二十几块，会怎样？
# { .tl-standfirst }
#
# ## 直接接起来 { #bare }
#
# 用不着训练，随机的权重就看得出毛病。取十六个随机的 token，二十四个块，矩阵的初值照宽度缩放，平均说来不改变大小；每个子层先过一道 RMSNorm（均方根归一化），大小就不会来搅局。种子固定，跑几遍都是同一个网。

# %% [markdown] lang="en"
# # Stacked deep { #deep-net }
#
# Attention and the FFN are both in hand. The least trouble would be to chain them: what one puts out, the next takes in. What becomes of that after two dozen blocks?
# { .tl-standfirst }
#
# ## End to end { #bare }
#
# No training is needed to see what goes wrong; random weights will do. Take sixteen random tokens and twenty-four blocks. Every matrix is scaled to its width, so that on average it keeps sizes, and every sublayer reads through RMSNorm, so that size plays no part. The seed is fixed: each run builds the same net.

# %%
import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward
from blocklib.nn.norm import RMSNorm

tokens, d, heads, depth = 16, 128, 4, 24
norm = RMSNorm(d, affine=False)


def drawn(layer):
    for weight in layer.double().parameters():
        torch.nn.init.normal_(weight, 0, weight.shape[1] ** -0.5)
    return layer


torch.manual_seed(0)
start = norm(torch.randn(1, tokens, d, dtype=torch.float64))
target = torch.randn_like(start) / (tokens * d) ** 0.5
blocks = [(drawn(MultiHeadAttention(d, heads, causal=False)),
           drawn(FeedForward(d))) for _ in range(depth)]


def stack(residual):
    x = start
    after = [x]
    for block in blocks:
        for layer in block:
            x = layer(norm(x)) + (x if residual else 0)
        after.append(x)
    return after

# %% [markdown] lang="zh"
# 两个 token 有多像，用它们的向量之间的余弦来量；所有两两的余弦取平均，一表示方向完全相同。再看归一化之后最远的两个相距多少，以向量的大小为单位。

# %% [markdown] lang="en"
# How alike two tokens are is measured by the cosine of their vectors. Average it over all pairs; one means that all point the same way. Then see how far apart the farthest two are after the norm, in units of a vector's size.

# %%
def alike(x):
    unit = torch.nn.functional.normalize(x[0].detach(), dim=-1)
    pairs = tokens * (tokens - 1)
    return ((unit @ unit.T).sum().item() - tokens) / pairs


def farthest(x):
    rows = norm(x)[0].detach()
    apart = (rows[:, None] - rows).norm(dim=-1).max() / d**0.5
    return f"{apart:.2g}" if apart > 1e-12 else "< 1e-12"


bare = stack(residual=False)
show.table(
    (Text("过了第几块", "after block"),
     Text("余弦，平均", "cosine, mean"),
     Text("最远的两个相距", "farthest two apart")),
    [(k, f"{alike(bare[k]):.3f}", farthest(bare[k]))
     for k in range(6)],
)

# %% [markdown] lang="zh"
# 过了第四块，余弦已经看不出与一有别；再过一块，十六个向量之间只剩舍入误差。不管原来是哪个 token，走到这里都是同一个向量；后面的块再怎么算，也只有一个答案。
#
# 为什么这么快？attention 写出去的是各行的加权平均，权重非负，和为一。平均只会往中间收：
#
# /// claim | mixing-draws-rows-together
# 用非负、和为一的权重重新混合各行，任意两行的距离不超过混合之前最远的两行。若任何两组权重逐项取较小者、加起来都不少于 $\rho$，最远的距离还至少缩到 ${1-\rho}$ 倍。
# ///
#
# 后面的矩阵、归一化和 FFN 逐行做同一件事。残存的差别，它们能放大；已经没有的，它们造不出来。
#
# /// claim | equal-rows-stay-equal
# 各行一旦完全相同，又没有逐位置的信号加进来，那么由权重和为一的 softmax attention、FFN 和归一化组成的块，输出各行也完全相同：权重取什么值、有没有因果掩码、有没有残差，都一样。
# ///
#
# /// margin
# RoPE（旋转位置编码）救不了它：旋转只改变权重，而相同的行怎么加权，平均都是它自己。
# ///
#
# 没有捷径也没有 FFN 时，这种坍缩是双重指数的：[Dong 等人](../../reference/sources.md#dong2021)就不带掩码的 attention 证明了，输出以这个速度趋于秩一的矩阵。上面的网带着 FFN，也没能幸免。
#
# <details markdown="1"><summary>练习：换成因果掩码，还会变得一样吗？变得像谁？</summary>
#
# 会，只是慢得多；把上面的 `causal=False` 改成 `True` 就能看到。第一个 token 只读自己，谁也混不进去；其余每一行每层都分给它一些权重，没有残差，自己的那份又留不下来，于是最后都成了它的样子。
#
# </details>
#
# ## 消失的是谁的梯度 { #gradients }
#
# 通常的说法是，没有残差，梯度就消失。拿这个网验一验：给输出配一个随机的线性读数当损失，反向走一遍，按矩阵分开看梯度的大小。

# %% [markdown] lang="en"
# Past the fourth block the cosine can no longer be told from one, and a block later nothing but rounding is left between the sixteen vectors. Whichever token it was, it is the same vector by now, and the blocks to come can compute what they like: there is only one answer.
#
# Why so fast? What attention writes are averages of the rows, with weights that are not negative and sum to one. An average can only move inwards:
#
# /// claim | mixing-draws-rows-together
# Mix the rows anew with weights that are not negative and sum to one, and no two rows are farther apart than the farthest two were. If the smaller of the weights, term by term, add up to at least $\rho$ for any two sets, the farthest distance shrinks to at most ${1-\rho}$ of itself.
# ///
#
# The matrices, norms and FFNs that follow do the same to every row. A difference that is left they can enlarge. One that is gone they cannot make.
#
# /// claim | equal-rows-stay-equal
# Once all rows are the same, and no signal is added that depends on the place, the rows that a block of softmax attention (its weights sum to one), FFN and norms puts out are the same as well: whatever the weights, with or without a causal mask, with or without the residual.
# ///
#
# /// margin
# Rotary position embedding (RoPE) does not help. It turns queries and keys and so changes the weights, and equal rows average to themselves under any weights.
# ///
#
# With neither skip connections nor FFNs the collapse is doubly exponential: [Dong et al.](../../reference/sources.md#dong2021) prove, for attention without a mask, that the output tends to a matrix of rank one at that rate. The net above has FFNs, and they do not save it.
#
# <details markdown="1"><summary>Exercise: with a causal mask, do they still become alike? Like whom?</summary>
#
# They do, only far more slowly; turn `causal=False` above into `True` and see. The first token reads nothing but itself, so nothing gets mixed into it. Every other row gives it some weight in every layer and, with no residual, keeps nothing of its own; in the end they all look like the first.
#
# </details>
#
# ## Whose gradient vanishes { #gradients }
#
# The usual story is that without residuals gradients vanish. Put it to this net: take a random linear read-out of the output for a loss, go backwards once, and look at the gradients matrix by matrix.

# %%
(norm(bare[-1]) * target).sum().backward()


def gradient(*layers):
    size = sum(m.weight.grad.square().sum() for m in layers) ** 0.5
    return f"{size:.2g}" if size > 1e-12 else "< 1e-12"


show.table(
    (Text("第几块", "block"), Text("query 与 key", "query and key"),
     Text("value 与输出", "value and output")),
    [(k + 1, gradient(a.q, a.k), gradient(a.v, a.o))
     for k, (a, _) in enumerate(blocks) if k < 5 or k == depth - 1],
)

# %% [markdown] lang="zh"
# value 与输出矩阵的梯度从头到尾都在，大小相差无几。消失的是 query 与 key 的梯度，而且几块之内就没了。道理还是那一条：各行相同，不管怎么分配权重，平均出来都一样，于是得分对损失没有任何影响。
#
# /// claim | equal-rows-silence-queries
# 一层 attention 读到的各行若完全相同，query 与 key 矩阵的梯度就恰好是零，无论损失是什么；value 与输出矩阵的梯度一般不是零。
# ///
#
# 所以「梯度大小正常」不说明一层学得动。它还能学怎样改写内容，却学不会该看谁。何恺明等人在[不带残差的深网](../../primer/residuals.md#history)里检查过，梯度的大小也是正常的，误差照样变大。
#
# ## 加回去 { #skip }
#
# 同样的权重，只改一处：子层的输出加上它的输入。

# %% [markdown] lang="en"
# Value and output matrices have a gradient from the first block to the last, and of much the same size. What vanishes is the gradient of queries and keys, and within a few blocks it is gone. The reason is the one above. Where all rows are the same, any weights give the same average, so the scores have no bearing on the loss.
#
# /// claim | equal-rows-silence-queries
# If all rows that an attention layer reads are the same, the gradient of its query and key matrices is exactly zero, whatever the loss; that of its value and output matrices in general is not.
# ///
#
# So gradients of healthy size do not show that a layer can learn. It may still learn what to make of its content, but not whom to read. He and his co-authors checked the gradients of [deep nets without residuals](../../primer/residuals.md#history): their size was healthy too, and the error still rose.
#
# ## Add it back { #skip }
#
# The same weights and one change: to what a sublayer puts out, add what it took in.

# %%
kept = stack(residual=True)
show.table(
    (Text("过了第几块", "after block"),
     Text("没有残差", "without residuals"),
     Text("有残差", "with residuals")),
    [(k, f"{alike(bare[k]):.3f}", f"{alike(kept[k]):.3f}")
     for k in (1, 2, 3, 4, 8, 12, 24)],
)

# %% [markdown] lang="zh"
# /// exhibit | deep-seeded-net
# **同一个网，带残差与不带。** 滑块选第几块；开关决定有没有残差、块里有没有 FFN，以及看 token 有多像还是看各块的梯度。背后淡色的是另一种接法。设定与上面的程序相同：不带掩码，RMSNorm 放在 pre-norm 的位置，权重是固定种子的一次抽样。
# ///
#
# 残差没有让它停下，只是让它慢了下来：曲线不再几步之内顶到一，而是爬坡。为什么？看一个极端的情形，每一行都把权重平分给所有行。这时每一行得到的是同一个向量。
#
# /// claim | residual-keeps-differences
# attention 若对各行一视同仁，块里又没有 FFN，那么 pre-norm 的残差块给每一行加上同一个向量，任意两行的差原封不动。拿掉残差，差变成零。
# ///
#
# 可见残差并不阻止平均，它只是不让平均把原来的东西顶掉。各自的部分不变，共有的部分一层层堆上去，两行于是越来越像，却总有一份是自己的。
#
# /// claim | residual-slows-mixing
# 设 $T$ 行起初大小为一、互相正交，每层把归一化之后各行的平均过一个随机的保长矩阵再写回。记 $s$ 为共有部分与各自部分的均方之比，每层 $s \leftarrow s+\tfrac1T\bigl(1+(T-1)\tfrac{s}{1+s}\bigr)$，两行的余弦是 $\tfrac{s}{1+s}$（与各矩阵的抽样有关的小偏差不计）。层数多了，离一的距离 $\tfrac1{1+s}$ 大致与层数成反比。不写回而是顶替，一层就到一。
# ///
#
# [16](given:tokens) 个 token 走 [12](given:layers) 层，照此余弦是 [0.864][similar]，离坍缩还远。展品里只留 attention，虚线就是这个算法，量到的与它贴得很近；加上 FFN 更慢一些，因为它写给各行的东西不一样。
#
# ## 越加越大 { #size }
#
# 捷径有它的账。流上只加不减，写的次数一多，它就长大。[64](given:blocks) 个块一共写 [128][writes] 次；输入与每次写入若都是单位大小、互不相关，末尾的标准差是 [11.358][size]（[推导](../../primer/pre-post-norm.md#stream)）。
#
# 归一化让每个子层读到的大小不变，流再大也不要紧；可写入的大小也不变，越往后，一次写入占的分量就越小。一种办法是一开始就少写一点：把写回流的矩阵，也就是 attention 的输出矩阵与 FFN 的下矩阵，初值再除以写入次数的平方根。

# %% [markdown] lang="en"
# /// exhibit | deep-seeded-net
# **One net, with residuals and without.** The slider picks a block. The switches say whether there are residuals, whether blocks have an FFN, and whether to show how alike tokens are or the gradients by block; the other wiring stands behind in grey. All else is as in the code above: no mask, RMSNorm where pre-norm has it, one draw of random weights with a fixed seed.
# ///
#
# The residual does not stop it, it slows it down: the curve no longer shoots up to one, it climbs. Why? Take the extreme case in which each row gives equal weight to all. Then every row receives the same vector.
#
# /// claim | residual-keeps-differences
# If attention treats all rows alike and there is no FFN, a pre-norm block with residuals adds the same vector to every row and leaves the difference of any two exactly as it was. Without the residual the difference becomes zero.
# ///
#
# A residual, then, does not prevent the averaging. It keeps the average from replacing what was there. What a row has to itself stays, what all have in common piles up layer by layer, and so two rows grow more and more alike while each still has something of its own.
#
# /// claim | residual-slows-mixing
# Let $T$ rows start with unit size, orthogonal to each other, and let every layer write back the average of the normed rows, sent through a random matrix that keeps lengths. Let $s$ be the mean square of what is shared over that of what is a row's own. Each layer takes $s$ to $s+\tfrac1T\bigl(1+(T-1)\tfrac{s}{1+s}\bigr)$, and the cosine of two rows is $\tfrac{s}{1+s}$, small deviations due to the draw of the matrices aside. After many layers the distance to one, $\tfrac1{1+s}$, falls roughly as one over their number. Where the average replaces the row instead, one layer gets to one.
# ///
#
# For [16](given:tokens) tokens and [12](given:layers) layers that makes a cosine of [0.864][similar], a long way from collapse. In the exhibit, with attention only, the dashed line is this calculation and the net keeps close to it. With FFNs it is slower still, since what they write differs from row to row.
#
# ## Ever larger { #size }
#
# The skip has its price. The stream is only ever added to, and with many writes it grows. In [64](given:blocks) blocks there are [128][writes]. If the input and every write have unit size and are uncorrelated, the standard deviation at the end is [11.358][size] ([derived here](../../primer/pre-post-norm.md#stream)).
#
# Norms hand each sublayer an input of the same size, however large the stream. But what a sublayer writes keeps its size too, and so a late write counts for less. One remedy is to write less from the start. Take the matrices that write to the stream, attention's output matrix and the FFN's second, and divide their initial values once more, by the root of the number of writes.

# %%
def size_at_the_end(count, scaled):
    x = start
    for _ in range(2 * count):
        matrix = torch.randn(d, d, dtype=torch.float64) / d**0.5
        if scaled:
            matrix = matrix / (2 * count) ** 0.5
        x = x + norm(x) @ matrix
    return x.square().mean().sqrt().item()


torch.manual_seed(0)
show.table(
    (Text("块数", "blocks"), Text("照常写", "as usual"),
     Text("缩小了写", "scaled down")),
    [(count, f"{size_at_the_end(count, False):.1f}",
      f"{size_at_the_end(count, True):.2f}") for count in (4, 16, 64)],
)

# %% [markdown] lang="zh"
# /// claim | scaled-writes-keep-the-stream
# 输入与每次写入若都是单位大小、互不相关，写入再除以写入次数的平方根，那么走完整摞，流的标准差总是 $\sqrt2$，与块数无关。
# ///
#
# GPT-2 一系的写法就是如此：通常的标准差 [0.02](given:std)，[4](given:blocks) 个块写八次，这些矩阵便从 [0.00707][small] 起步。这只管得住初始时的大小，训练起来它照样会变。
#
# <details markdown="1"><summary>练习：如果 attention 与 FFN 并排，每块只写一次，六十四块之后有多大？</summary>
#
# 写了六十四次，相当于每块写两次的三十二个块：[8.06](fact:stream_rms?blocks=32)。
#
# </details>
#
# ## 带走什么 { #carry }
#
# 首尾相接的深网，几块之内就把 token 混成一个；留不住差别，query 与 key 也就学不动。残差把每一行自己的那份原样传下去，让子层只写增量；代价是流越来越大，要靠归一化与初始化来收拾。
#
# 你现在可以回答：为什么一摞 attention 会忘掉 token 原来是谁；为什么梯度不小，attention 却可能学不动；残差到底留住了什么，又放任了什么；为什么有的初始化要除以层数的平方根。流越来越大，怎么让每一层读到大小稳定的输入？那是归一化的事。

# %% [markdown] lang="en"
# /// claim | scaled-writes-keep-the-stream
# If the input and every write have unit size and are uncorrelated, and the writes are divided by the root of their number, then the stream's standard deviation after the whole stack is $\sqrt2$, however many blocks there are.
# ///
#
# This is how the GPT-2 line does it: with a usual deviation of [0.02](given:std) and [4](given:blocks) blocks, eight writes, those matrices start at [0.00707][small]. It settles the size at initialisation only; training will move it.
#
# <details markdown="1"><summary>Exercise: with attention and FFN side by side, writing once a block, how large is the stream after sixty-four blocks?</summary>
#
# Sixty-four writes are those of thirty-two blocks that write twice: [8.06](fact:stream_rms?blocks=32).
#
# </details>
#
# ## What carries over { #carry }
#
# Chained end to end, a deep net mixes its tokens into one within a few blocks, and where differences are lost queries and keys cannot learn. A residual passes on what each row has to itself and lets sublayers write increments. The price is a stream that grows, which norms and initialisation have to deal with.
#
# You can now say why a stack of attention forgets which token was which; why attention may be unable to learn though gradients are not small; what a residual keeps and what it allows; and why some initialisations divide by the root of the number of layers. How every layer gets an input of steady size from a growing stream is a matter for norms.
