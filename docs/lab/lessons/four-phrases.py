# ---
# title.zh: 四个短语
# title.en: Four phrases
# description.zh: attention 把「不」送到「好吃」旁边之后，为什么再乘一个矩阵也判不出褒贬，而把直线折一下就可以；一个神经元读什么、何时开口、写什么。
# description.en: Once attention has brought "not" next to "tasty", why no further matrix can tell praise from blame while a bend can, and what a neuron reads, when it speaks and what it writes.
# ---

# %% [markdown] lang="zh"
# # 四个短语 { #four-phrases }
#
# attention（注意力）把「不」送到了「好吃」旁边。接下来要在同一个位置上，把两者合成一个判断。再乘一个矩阵，够不够？
# { .tl-standfirst }
#
# ## 一个位置，两个信号 { #signals }
#
# 「好吃」「不好吃」「难吃」「不难吃」：是褒是贬，由两件事决定，一是有没有「不」，二是那个词本身是不是贬义。设想 attention 已经做完它那一半，把「不」的消息搬到了形容词所在的位置；于是这个位置的向量里有两个分量可读，出现否定记一，词是贬义记一。目标也用一个数：褒义是一，贬义是零。

# %% [markdown] lang="en"
# # Four phrases { #four-phrases }
#
# Attention has brought "not" next to "tasty". What remains is to turn the two into one judgement, at one position. Would multiplying by another matrix do?
# { .tl-standfirst }
#
# ## One position, two signals { #signals }
#
# "Tasty", "not tasty", "awful", "not awful". Whether a phrase is praise depends on two things: is it negated, and is the word itself a bad one? Suppose attention has done its half and carried the news of the "not" to where the adjective stands. The vector at that position then holds two components to read, each of them one or zero. The target is a single number: one for praise, zero for blame.

# %%
import torch

from blocklib import Text, show

phrases = [Text("好吃", "tasty"), Text("不好吃", "not tasty"),
           Text("难吃", "awful"), Text("不难吃", "not awful")]
# 两列：有否定，词是贬义 | two columns: negated, bad word
x = torch.tensor([[0., 0.], [1., 0.], [0., 1.], [1., 1.]]).double()
target = torch.tensor([1., 0., 0., 1.]).double()

show.table(
    (Text("短语", "phrase"), Text("否定", "negated"),
     Text("贬义", "bad"), Text("目标", "target")),
    [(phrase, *(f"{v:.0f}" for v in row), f"{goal:.0f}")
     for phrase, row, goal in zip(phrases, x, target, strict=True)],
)

# %% [markdown] lang="zh"
# ## 一条直线 { #line }
#
# 先用最朴素的办法：给两个信号各配一个权重，加起来，再加一个偏置。这是仿射函数，也是一个矩阵加一个偏置所能做的全部。让最小二乘替我们挑最好的三个数：

# %% [markdown] lang="en"
# ## One straight line { #line }
#
# Begin with the plainest way: give each signal a weight, add the two up, add a bias. That is an affine map, and it is all that a matrix with a bias can do. Let least squares choose the best three numbers:

# %%
columns = torch.cat([x, torch.ones(4, 1).double()], dim=1)
best = torch.linalg.lstsq(columns, target[:, None]).solution
output = (columns @ best)[:, 0]

show.table(
    (Text("短语", "phrase"), Text("目标", "target"),
     Text("输出", "output")),
    [(phrase, f"{goal:.0f}", f"{o:.3f}")
     for phrase, goal, o
     in zip(phrases, target, output, strict=True)],
)
mse = (output - target).square().mean()
show(Text("均方误差", "mean squared error"), f"{mse:.3f}")

# %% [markdown] lang="zh"
# 四个短语全得 [0.5][half]，均方误差 [0.25][quarter]：它给出的是平均数，等于什么也没读出来。这不是没调好。直线有一条躲不开的约束：把「好吃」和「不难吃」的输出相加，得到的总是「不好吃」与「难吃」的输出之和，因为两边读到的信号加起来一模一样。目标却要前一对是两个一，后一对是两个零。
#
# /// claim | affine-misses-phrases
# 对两个信号的任何仿射函数，「好吃」与「不难吃」的输出之和等于「不好吃」与「难吃」的输出之和。所以没有哪个阈值能把褒贬分开，均方误差也不会低于[四分之一][quarter]；取到这个值的只有处处输出[二分之一][half]的常数。
# ///
#
# 自己拉一拉：怎么调权重和偏置，总有短语不对。再把「折一下」打开。
#
# /// exhibit | four-phrases
# **直线与折线。** 三个滑块是两个权重和一个偏置；柱子是四个输出，圆点是目标。打开「在零处折一下」，直线低于零的部分翻上来，颜色标出它来自哪一侧。
# ///
#
# <details markdown="1"><summary>练习：去掉偏置，最好的结果是什么？</summary>
#
# 没有偏置，「好吃」的输出只能是零，因为它的两个信号都是零。其余三个依次是 [1/3][third]、[1/3][third] 和 [2/3][thirds]，均方误差升到 [1/3][no-bias]。可见刚才那个[二分之一][half]全靠偏置，两个权重都是零。
#
# </details>
#
# ## 折一下 { #fold }
#
# FFN（前馈网络）在两个矩阵之间放一个不是直线的函数。取最简单的 ReLU：负的变成零，正的原样通过。两个神经元各读一侧，加起来就把直线折了起来。

# %% [markdown] lang="en"
# All four phrases get [0.5][half], with a mean squared error of [0.25][quarter]: the map returns the average and has read nothing. Better tuning would not help. A straight line obeys a constraint it cannot escape: add its outputs for "tasty" and "not awful", and you always get the sum of those for "not tasty" and "awful", because the signals on either side add up to the same. The targets ask for two ones on the one side and two zeros on the other.
#
# /// claim | affine-misses-phrases
# Under any affine map of the two signals, the outputs for "tasty" and "not awful" add up to the same as those for "not tasty" and "awful". So no threshold separates praise from blame, and the mean squared error is at least [one quarter][quarter]; only the constant [one half][half] attains it.
# ///
#
# Pull on it yourself: whatever the weights and the bias, some phrase is wrong. Then switch the fold on.
#
# /// exhibit | four-phrases
# **A line, and a folded line.** The sliders are the two weights and the bias; bars are the four outputs, dots the targets. Folded at zero, what lies below comes up again, and the colour tells which side it comes from.
# ///
#
# <details markdown="1"><summary>Exercise: what is the best result without a bias?</summary>
#
# Without a bias "tasty" can only get zero, for both of its signals are zero. The others get [1/3][third], [1/3][third] and [2/3][thirds], and the mean squared error rises to [1/3][no-bias]. So the [one half][half] above was the bias alone; both weights were zero.
#
# </details>
#
# ## Fold it { #fold }
#
# A feed-forward network (FFN) puts a function that is not straight between two matrices. Take the simplest, ReLU: negative becomes zero, positive passes. Two neurons read one side each, and their sum is the line, folded.

# %%
# 每一行：一个神经元读什么 | each row: what a neuron reads
W_up = torch.tensor([[-1., -1.], [1., 1.]]).double()
b_up = torch.tensor([1., -1.]).double()
W_down = torch.tensor([[1., 1.]]).double()

hidden = torch.relu(x @ W_up.T + b_up)
output = (hidden @ W_down.T)[:, 0]

show.table(
    (Text("短语", "phrase"), Text("神经元一", "neuron one"),
     Text("神经元二", "neuron two"), Text("输出", "output")),
    [(phrase, *(f"{v:.0f}" for v in row), f"{o:.0f}")
     for phrase, row, o
     in zip(phrases, hidden, output, strict=True)],
)

# %% [markdown] lang="zh"
# 神经元一只对「好吃」开口，神经元二只对「不难吃」开口；两个安静的短语得零。
#
# /// claim | two-hinges-fit-phrases
# 两个 ReLU 神经元，一个读 $1-a-b$，另一个读 $a+b-1$（$a$ 是否定，$b$ 是贬义），输出相加，四个短语全部精确，不需要输出偏置。
# ///
#
# 两个是必须的吗？只留一个，再允许它的输出乘一个系数、加一个偏置：
#
# /// claim | one-hinge-falls-short
# 单个 ReLU 神经元，无论读什么方向、门槛和输出的系数与偏置是多少，四个短语上的均方误差都不会低于[六分之一][sixth]。
# ///
#
# <details markdown="1"><summary>为什么恰好是这个数</summary>
#
# 设系数为正，输出就不会低于偏置 $c$。如果「好吃」与「不难吃」都让神经元开口，那么两者超出门槛的部分之和，不大于「不好吃」与「难吃」超出的部分之和（读数的和相等，而负的读数被记成零），这正是直线的约束，误差至少[四分之一][quarter]。否则其中一个安静，得到 $c$；「不好吃」与「难吃」又都不低于 $c$，三个输出最好全等于 $c$，而它们的目标是一个一、两个零。取平均，误差恰好[六分之一][sixth]。系数为负时，褒贬对调，结论相同。
#
# </details>
#
# 「一个折角不够」说的是 ReLU。SiLU 是 $x\,\sigma(x)$，从左边过来先略微下沉，再升上去，自己就带着一个谷。把谷底对准中间两个短语：

# %% [markdown] lang="en"
# Neuron one answers to "tasty" and neuron two to "not awful". Where both are silent the output is zero.
#
# /// claim | two-hinges-fit-phrases
# Two ReLU neurons, one reading $1-a-b$ and the other $a+b-1$ ($a$ for negation, $b$ for the bad word), added up, get all four phrases exactly, without a bias on the output.
# ///
#
# Does it take two? Keep one, and allow its output a scale and a bias:
#
# /// claim | one-hinge-falls-short
# A single ReLU neuron, whatever direction it reads, whatever its threshold and the scale and bias of its output, has a mean squared error of at least [one sixth][sixth] on the four phrases.
# ///
#
# <details markdown="1"><summary>Why exactly this figure</summary>
#
# Let the scale be positive; then no output lies below the bias $c$. If both "tasty" and "not awful" make the neuron speak, what they exceed the threshold by adds up to no more than what "not tasty" and "awful" do (the readings add up to the same, and a negative one counts as zero). That is the line's constraint again, and the error is at least [one quarter][quarter]. Otherwise one of the two is silent and gets $c$. "Not tasty" and "awful" get at least $c$, so at best all three outputs equal $c$, with one target of one and two of zero. At their average the error is exactly [one sixth][sixth]. With a negative scale praise and blame change places and the result is the same.
#
# </details>
#
# "One bend is not enough" is a statement about ReLU. SiLU, which is $x\,\sigma(x)$, dips a little before it rises: it brings a valley of its own. Put the bottom of the valley under the two phrases in the middle:

# %%
silu = torch.nn.functional.silu

# 读数：step·(否定 + 贬义) − 3 | it reads step·(negated + bad) − 3
# 找一个 step，让两端一样高 | find the step that evens out both ends
low, high = torch.tensor([1., 2.]).double()
for _ in range(60):
    step = (low + high) / 2
    if silu(2 * step - 3) < silu(torch.tensor(-3.).double()):
        low = step
    else:
        high = step

hidden = silu(step * x.sum(1) - 3)
scale = 1 / (hidden[0] - hidden[1])
output = scale * (hidden - hidden[1])

show.table(
    (Text("短语", "phrase"), Text("SiLU 的输出", "SiLU gives"),
     Text("乘系数、加偏置", "scaled and shifted")),
    [(phrase, f"{h:.4f}", f"{o.abs():.6f}")
     for phrase, h, o in zip(phrases, hidden, output, strict=True)],
)

# %% [markdown] lang="zh"
# 两端一样高，中间两个共用一个更低的值；剩下的只是拉伸和平移。
#
# /// claim | one-silu-fits-phrases
# 一个 SiLU 神经元，配上输出的系数与偏置，四个短语全部精确。
# ///
#
# 所以「要几个神经元」不单是宽度的问题，也是激活函数形状的问题。
#
# ## 读、门槛、写 { #neuron }
#
# 现在把一个神经元拆开看。上矩阵的一行是它读的方向，读数是向量沿这个方向的分量；偏置取负号就是门槛；下矩阵的一列是它写的方向。它做的事就这三样：读一个数，减去门槛，把超出的部分沿固定的方向写出去。
#
# /// exhibit | read-threshold-write
# **平面上的一个神经元。** 四个短语在平面的四角，箭头是读的方向，虚线是读数恰好等于门槛的地方；虚线一侧的短语让它开口，数字是它写进去的量。写的方向在这里只有一维，就是褒义这个数加多少。
# ///
#
# /// claim | ffn-is-a-sum-of-neurons
# 不带门的 FFN（$d_{ff}$ 个神经元，激活 $\varphi$）等于每个神经元各写一笔再加起来：$\mathrm{FFN}(x)=b+\sum_i \varphi(r_i\cdot x-\theta_i)\,w_i$。第 $i$ 笔的方向 $w_i$ 与输入无关，大小只取决于 $x$ 在 $r_i$ 上的读数。
# ///
#
# /// margin
# 带门的 FFN 不属于这一类：一笔的大小取决于两个读数，一个来自门，一个来自内容。
# ///
#
# 真实的块，只要不带门，也是这样，只是方向有几千维，神经元还要更多；每个位置各算各的，[谁也不看旁边](../../primer/shape.md#who-feeds)。
#
# <details markdown="1"><summary>练习：上面那两个神经元，各读什么、门槛多少、往哪里写？</summary>
#
# 神经元一读「−否定 −贬义」，门槛是负一；神经元二读「否定 + 贬义」，门槛是一。两个都往褒义这一维写，系数都是一。在展品里把读的方向和门槛调成这两组，就能看到它们各自只对一个短语开口。
#
# </details>
#
# ## 训练找得到吗？ { #training }
#
# 有解，不等于训练走得到。从[一百](given:example)个随机起点出发，用 Adam 训练同一个任务，数一数最后有几个做到了：

# %% [markdown] lang="en"
# Both ends are equally high and the two in the middle share a lower value; the rest is stretching and shifting.
#
# /// claim | one-silu-fits-phrases
# A single SiLU neuron, with a scale and a bias on its output, gets all four phrases exactly.
# ///
#
# How many neurons it takes is thus not a matter of width alone. It also depends on the shape of the activation function.
#
# ## Read, threshold, write { #neuron }
#
# Take one neuron apart. Its row of the first matrix is the direction it reads, and the reading is the vector's component along it. Its bias, with the sign turned, is the threshold. Its column of the second matrix is the direction it writes. There is nothing else to it: read a number, subtract the threshold, write what is left over along a fixed direction.
#
# /// exhibit | read-threshold-write
# **One neuron in the plane.** The phrases stand at the four corners. The arrow is the direction it reads and the dashed line is where the reading equals the threshold; phrases beyond that line make it speak, and the numbers are what it writes. The direction it writes has one dimension here: how much is added to praise.
# ///
#
# /// claim | ffn-is-a-sum-of-neurons
# An FFN without a gate ($d_{ff}$ neurons, activation $\varphi$) is the sum of what its neurons write: $\mathrm{FFN}(x)=b+\sum_i \varphi(r_i\cdot x-\theta_i)\,w_i$. The direction $w_i$ of each entry does not depend on the input, and its size depends on the reading of $x$ along $r_i$ alone.
# ///
#
# /// margin
# Gated FFNs are not of this kind: the size of an entry depends on two readings, one for the gate and one for the content.
# ///
#
# In a real block without gates it is no different, except that a direction has thousands of components and there are more neurons still. Each position does this for itself and [looks at no other](../../primer/shape.md#who-feeds).
#
# <details markdown="1"><summary>Exercise: what do the two neurons above read, at what threshold, and where do they write?</summary>
#
# Neuron one reads "−neg −bad" against a threshold of minus one, neuron two "neg + bad" against one. Both write along praise, with a factor of one. Set the exhibit to either pair and you will see it answer to a single phrase.
#
# </details>
#
# ## Will training find it? { #training }
#
# That a solution exists does not mean that training gets there. Start from [a hundred](given:example) random points, train on the same task with Adam, and count the starts that arrive:

# %%
def trained(width, activation, starts=100, steps=250):
    torch.manual_seed(0)
    up = torch.randn(starts, 2, width).double().requires_grad_()
    down = torch.randn(starts, width, 1).double() / width**0.5
    down.requires_grad_()
    inner = torch.zeros(starts, 1, width).double().requires_grad_()
    outer = torch.zeros(starts, 1, 1).double().requires_grad_()
    adam = torch.optim.Adam([up, inner, down, outer], lr=0.1)
    for _ in range(steps):
        output = activation(x @ up + inner) @ down + outer
        mse = (output[..., 0] - target).square().mean(1)
        adam.zero_grad()
        mse.sum().backward()
        adam.step()
    return int((mse < 0.01).sum())


relu = torch.relu
found = [
    (Text(f"ReLU，{n} 个", f"ReLU, {n}"), trained(n, relu))
    for n in (1, 2, 4, 16)
]
found.append((Text("SiLU，1 个", "SiLU, 1"), trained(1, silu)))

# %%
from blocklib.charts.lessons.phrases import found_chart

show.chart(found_chart(found, 100),
           Text("神经元多了，解才好找", "With more neurons the solution is found"))

# %% [markdown] lang="zh"
# 两个 ReLU 神经元本来够用，可从大多数起点出发都停在了半路：多半是有一个神经元对四个短语都不再开口，梯度就是零，再也挪不动；其余的卡在不够低的谷底。神经元多了，总有几个起步时就站对了地方。单个 SiLU 神经元也常常到得了，因为它的曲线几乎处处有坡度。宽度因此有两重用处，一是装得下解，二是找得到解。这只是一个四行数据的小实验，不能替真实的 FFN 下结论，但它提醒我们：表达得出和学得到是两回事。
#
# ## 带走什么 { #carry }
#
# attention 在位置之间搬运，FFN 在一个位置之内做判断；判断要用到信号的组合，而直线看不见组合，所以中间必须折一下。一个神经元就是一次折叠：读一个方向，过一道门槛，沿一个方向写。
#
# 你现在可以回答：为什么只有矩阵乘法的 FFN 等于没有；两个信号「是不是一个真一个假」为什么难住直线；为什么换一种激活函数，够用的神经元数就变了。下一个问题是，把这样的子层一层层叠起来会发生什么。

# %% [markdown] lang="en"
# Two ReLU neurons would be enough, yet from most starts they get stuck half way. Usually one of them has fallen silent on all four phrases, its gradient is zero, and nothing moves it again; the rest end up in a hollow that is not deep enough. With more neurons some of them stand in the right place from the start. A single SiLU neuron often arrives too, since its curve has a slope almost everywhere. So width serves twice: it gives the solution room, and it lets training find it. This was an experiment on four rows of data and says nothing about a real FFN, but it is a reminder that what can be expressed and what can be learned are two things.
#
# ## What carries over { #carry }
#
# Attention carries things between positions; the FFN judges within one. Judgement needs the signals in combination, a straight line cannot see combinations, and so something in between has to bend. A neuron is one such bend: it reads along one direction, passes a threshold, and writes along another.
#
# You can now say why an FFN of matrix products alone is none at all, why "exactly one of the two is true" defeats a straight line, and why another activation function changes how many neurons are enough. The next question is what happens when such sublayers are stacked.
