# ---
# title.zh: 花在哪里
# title.en: Where it goes
# description.zh: 把一个真实模型拆成账目：参数大头在 FFN，份额随分母而变；计算的大头却随上下文换人，在哪里换，要看问的是哪个问题。
# description.en: A real model taken apart into an account. Most of its parameters are in FFNs, a share that depends on the whole. Most of its arithmetic changes hands as the context grows, and where it does depends on the question.
# ---

# %% [markdown] lang="zh"
# # 花在哪里 { #where-it-goes }
#
# 零件都齐了，现在拼成一整个模型。参数花在谁身上？算一个 token 的工夫又花在谁身上？这是两本账，大头未必是同一个。
# { .tl-standfirst }
#
# ## 走一遍 { #way }
#
# 先认路。一串编号进去，一串概率出来，中间经过这些站：
#
# /// exhibit | data-flow-map
# **从编号到概率。** 第一排按钮走过各站，给出每站的形状与参数；第二排选一课，深色是那一课新学的，淡紫的已经学过，灰的还没学。标有块数的站在每个块里各有一次，参数是合计。
# ///
#
# 中间那几站，要在每个块里重走一遍。放慢，走一层：
#
# /// exhibit | layer-walk
# **一层的走法。** 左边一列是主路，也就是残差流；右边是支路。按钮一步步走，开关换成另一种层，最后一步把所有层走完。
# ///
#
# 走的时候留意三件事：主路上除了加法什么也没有，所以子层的输出必须和输入一样宽；FFN（前馈网络）那一步，token 之间互不来往；每层写两次，[Qwen3.8-27B](given:model) 的 [64][n-layers] 层走完，流一共被写了 [128][writes] 次。
#
# ## 参数这本账 { #parameters }
#
# 参数可以从配置里数出来，一个也不差。库里的账分成几项：

# %% [markdown] lang="en"
# # Where it goes { #where-it-goes }
#
# The parts are all there; now put them together into a whole model. Who has its parameters? And who takes the work of computing a token? Those are two accounts, and the largest entry need not be the same in both.
# { .tl-standfirst }
#
# ## Once through { #way }
#
# The way through, first. A row of ids goes in, a row of probabilities comes out, and these are the stages between:
#
# /// exhibit | data-flow-map
# **From ids to probabilities.** The first row of buttons walks through the stages and gives the shape and the parameters of each. The second picks a lesson: dark is what is new in it, pale what was known, grey what is still to come. Stages that name a number of blocks occur once in every block; their parameters are added up.
# ///
#
# The stages in the middle are gone through again in every block. Slow down, and walk through one layer:
#
# /// exhibit | layer-walk
# **Through one layer.** At the left the main line, which is the residual stream; at the right the branches. The buttons go step by step, the switch takes another kind of layer, and the last step goes through all of them.
# ///
#
# Three things to watch on the way. There is nothing but addition on the main line, so what a sublayer puts out must be as wide as what it took in. In the feed-forward network (FFN) tokens have no dealings with each other. And each layer writes twice: after the [64][n-layers] layers of [Qwen3.8-27B](given:model) the stream has taken [128][writes] writes.
#
# ## The account of parameters { #parameters }
#
# Parameters can be counted from the configuration, to the last one. The library's account has these entries:

# %%
from blocklib import Text, show
from blocklib.atlas import load
from blocklib.ledger import flops, params

model = load("qwen3.8-27b")
config = model.config
count = params.count(config)

show.table(
    (Text("项目", "entry"), Text("参数", "parameters"),
     Text("份额", "share")),
    [(name, f"{value:,}", f"{value / count.total:.1%}")
     for name, value in count.components.items() if value]
    + [(Text("合计", "total"), f"{count.total:,}", "100%")],
)

# %% [markdown] lang="zh"
# /// exhibit | where-parameters-go
# **一路拆下去。** 第一个滑块换模型，第二个从整个模型拆到各种块，再拆到一个块的矩阵。紫色是 FFN，灰色是其余。太小的几项画成一条，表里各有一行。
# ///
#
# FFN 拿了大头，可份额是多少，要看分母里装了什么。
#
# /// claim | ffn-share-has-three-wholes
# Qwen3.8-27B 的 FFN 一共 [17,112,760,320][ffn] 个参数。占文本模型的 [63.6%][of-text]；只看各个块，占 [70.3%][of-blocks]；放到整个检查点里，连视觉塔与草稿头一起算，占 [61.6%][of-checkpoint]（大小取自文本模型形状相同的 Qwen3.6-27B）。
# ///
#
# /// margin
# 视觉塔与草稿头约有 [8.8 亿][beside] 个参数，由 Qwen3.6-27B 检查点的总大小 [55.56 GB][bytes] 减出来；本站的账只记文本模型，没有逐项数它们。
# ///
#
# attention（注意力）那一项里住着两种层。[48][linear] 层用 Gated DeltaNet，它不回头看每一个位置，只维护一个固定大小的状态；[16][full] 层用完整的 attention。
#
# /// claim | linear-attention-holds-more
# Qwen3.8-27B 的 Gated DeltaNet 层比完整 attention 层更大：[115,875,936][delta-layer] 对 [104,857,600][full-layer] 个权重（归一化除外）。层数也多，合起来 [5,562,044,928][delta-all] 对 [1,677,721,600][full-all]。
# ///
#
# 省的不是参数，是随上下文增长的那一份。省多少，看另一本账。
#
# FFN 又是 attention 的几倍？比完整 attention 是 [2.55 倍][of-full]；Gated DeltaNet 大一些，倍数就小一些。
#
# <details markdown="1"><summary>练习：Mixtral-8x7B 的 FFN 占多少？它一个 token 会用到这么多吗？</summary>
#
# 占 [96.6%](fact:ffn_share?model=mixtral-8x7b)。用不到：八个专家里一个 token 只去两个，其余的参数在那里等着。参数的账与计算的账，在混合专家（MoE）那里分得最开。
#
# </details>
#
# ## 计算这本账 { #flops }
#
# 换成 FLOP：生成一个 token，前向一遍，矩阵里的每个权重乘加一次，记两个 FLOP。另有一笔随上下文涨：每一个完整 attention 层，都要给前面每个位置打分，再把 value 加权求和。

# %% [markdown] lang="en"
# /// exhibit | where-parameters-go
# **Taken apart, level by level.** The first slider changes the model. The second goes from the whole model to the kinds of block and on to the matrices of one block. Purple is FFN and grey the rest; entries too small to see are drawn as one and listed in the table.
# ///
#
# The FFNs have the largest share. How large it is depends on what it is a share of.
#
# /// claim | ffn-share-has-three-wholes
# The FFNs of Qwen3.8-27B have [17,112,760,320][ffn] parameters. That is [63.6%][of-text] of the text model, [70.3%][of-blocks] of its blocks alone, and [61.6%][of-checkpoint] of the whole checkpoint, vision tower and draft head included (its size is that of Qwen3.6-27B, whose text model has the same shape).
# ///
#
# /// margin
# Vision tower and draft head come to about [0.88 billion][beside] parameters, by subtraction from the [55.56 GB][bytes] of Qwen3.6-27B's checkpoint. The ledger here keeps the text model only and has not counted them one by one.
# ///
#
# Two kinds of layer live in the entry for attention. [48][linear] layers are Gated DeltaNet, which does not look back at each position and keeps a state of fixed size; [16][full] have full attention.
#
# /// claim | linear-attention-holds-more
# A Gated DeltaNet layer of Qwen3.8-27B is larger than one with full attention: [115,875,936][delta-layer] weights against [104,857,600][full-layer], norms left out. There are more of them, too: together they hold [5,562,044,928][delta-all] against [1,677,721,600][full-all].
# ///
#
# So it is not parameters that they save but what grows with the context. How much that is stands in the other account.
#
# And how many times as large as attention is the FFN? [2.55 times][of-full] full attention, somewhat less against the larger Gated DeltaNet.
#
# <details markdown="1"><summary>Exercise: what is the FFNs' share in Mixtral-8x7B? Does one token make use of it all?</summary>
#
# [96.6%](fact:ffn_share?model=mixtral-8x7b). It does not: of eight experts a token visits two, and the other parameters wait. In a mixture of experts (MoE) the accounts of parameters and of arithmetic are farthest apart.
#
# </details>
#
# ## The account of arithmetic { #flops }
#
# Now in FLOPs. To generate one token, going forward once, every weight of a matrix multiplies and adds once, which counts as two. One entry grows with the context: each layer with full attention scores every earlier position and then sums the values by their weights.

# %%
rows = []
for context in (1024, 8192, 32_768, 87_040, 262_144):
    step = flops.decode(config, context)
    attention = step.scores + step.values
    rows.append((f"{context:,}", f"{step.ffn / 1e9:.1f}",
                 f"{step.projections / 1e9:.1f}",
                 f"{attention / 1e9:.1f}",
                 f"{attention / step.ffn:.3g}"))

show.table(
    (Text("上下文", "context"), Text("FFN，十亿", "FFN, billions"),
     Text("投影，十亿", "projections, billions"),
     Text("打分与加权，十亿", "scores and values, billions"),
     Text("与 FFN 之比", "over the FFN")),
    rows,
)

# %% [markdown] lang="zh"
# 前两列一动不动，第三列随上下文成比例地涨，到某处追平。追平的地方不用试，一除就有：
#
# /// claim | attention-overtakes-the-ffn
# 每层一个 FFN、其中 $n$ 层用完整 attention 的模型，最后一个 token 的打分与加权求和在上下文 $T=\tfrac{W}{2nq}$ 处追平 FFN，$W$ 是全部 FFN 的权重（混合专家只算去到的），$q$ 是 query 头合起来的宽度。Qwen3.8-27B 是 [87,040][last] 个 token。
# ///
#
# /// exhibit | context-slider
# **谁更贵。** 滑块是上下文的长度，另一个滑块换模型。开关换一种比法：最后一个 token；整段提示取平均；一层对一层；或者把混合层的投影与状态也算进来。两条线相交的地方标了出来。
# ///
#
# 开关一换，交点就跑：同一个问题其实有好几种问法。
#
# /// claim | crossing-depends-on-the-question
# Qwen3.8-27B 的 attention 何时追平 FFN？只看一个完整 attention 层，[21,760][layer]；把混合层算的一切都算上，[约 49,600][mixers]；所有层的打分与加权，最后一个 token 是 [87,040][last]，整段因果提示取平均是 [174,080][average]，因为靠前的 token 看到的少。
# ///
#
# <details markdown="1"><summary>练习：为什么按一层算的交点，比按整个模型算的近得多？Llama-3-8B 呢？</summary>
#
# 因为 FFN 每层都有，完整的 attention 每四层才有一层；整个模型里 attention 摊薄了，交点就往后推。Llama-3-8B 层层都是完整 attention，两种算法是同一个数，[21,504](fact:score_crossover_tokens?model=llama-3-8b&compare=last)。
#
# </details>
#
# 并非所有模型都有交点：
#
# /// claim | windows-never-cross
# 只有滑动窗口的 attention，每个 token 最多读窗口那么多位置，打分的账到此封顶。窗口本身若不到交点，上下文再长也追不上 FFN，例如 Mistral-7B。
# ///
#
# ## 两本账，两个大头 { #two-accounts }
#
# 两本账对不上的地方还有两处，方向都一样：参数多，不等于算得多。
#
# /// claim | a-table-costs-no-flops
# embedding 查一行表，一次乘法也不做；输出头是同样大小的矩阵，却要完整地乘一遍。Qwen3.8-27B 里两者各有 [1,271,398,400][table] 个参数。
# ///
#
# /// claim | experts-rest
# 混合专家的参数随专家数成比例增长，一个 token 的 FLOP 只随它去的那几个专家走，专家再多也不变（路由那一小份除外）。
# ///
#
# ## 带走什么 { #carry }
#
# 参数的大头在 FFN，上下文长了，计算的大头会换成 attention。两句话都要带上条件：分母里有什么，比的是哪一个 token，算不算投影。
#
# 你现在可以回答：一个模型的参数怎么从配置里数出来；为什么同一个「FFN 占多少」有几个对的答案；长上下文为什么贵，贵从哪里起；为什么线性 attention 省的不是参数。

# %% [markdown] lang="en"
# The first two columns do not move. The third rises in proportion to the context and draws level somewhere. To find the place takes no trying, only a division:
#
# /// claim | attention-overtakes-the-ffn
# In a model with one FFN a layer and full attention in $n$ of its layers, the last token's scores and values cost as much as its FFNs at a context of $T=\tfrac{W}{2nq}$, where $W$ is the weights of all FFNs (in a mixture of experts, of those visited) and $q$ the width of the query heads together. For Qwen3.8-27B that is [87,040][last] tokens.
# ///
#
# /// exhibit | context-slider
# **Which costs more.** One slider is the length of the context, the other changes the model. The switch changes the comparison: the last token; the mean over a whole prompt; one layer against one; or with the mixers' projections and states as well. Where the lines meet is marked.
# ///
#
# Turn the switch and the crossing moves. There are several questions in this one.
#
# /// claim | crossing-depends-on-the-question
# When does the attention of Qwen3.8-27B draw level with its FFNs? For one layer with full attention at [21,760][layer]. With everything that mixers compute, at [about 49,600][mixers]. For scores and values in all layers, at [87,040][last] for the last token and at [174,080][average] on average over a causal prompt, whose early tokens see less.
# ///
#
# <details markdown="1"><summary>Exercise: why is the crossing of one layer so much nearer than the whole model's? And in Llama-3-8B?</summary>
#
# Because every layer has an FFN and only one in four has full attention: over the whole model attention is spread thin, and the crossing moves out. In Llama-3-8B all layers have full attention, and both ways give one number, [21,504](fact:score_crossover_tokens?model=llama-3-8b&compare=last).
#
# </details>
#
# Not every model has a crossing:
#
# /// claim | windows-never-cross
# Where all attention has a sliding window, a token reads at most as many positions as the window has, and there the bill for scores ends. If the window itself falls short of the crossing, no context is long enough to overtake the FFN; Mistral-7B is such a model.
# ///
#
# ## Two accounts, two largest entries { #two-accounts }
#
# There are two more places where the accounts disagree, both in one direction: many parameters need not mean much arithmetic.
#
# /// claim | a-table-costs-no-flops
# The embedding looks up a row and multiplies nothing. The output head is a matrix of the same size and is multiplied in full. In Qwen3.8-27B either has [1,271,398,400][table] parameters.
# ///
#
# /// claim | experts-rest
# The parameters of a mixture of experts grow in proportion to the number of experts. A token's FLOPs follow the few that it visits, and more experts do not change them (the router's small part aside).
# ///
#
# ## What carries over { #carry }
#
# Most parameters are in FFNs; with a long context, most arithmetic moves to attention. Either sentence needs its conditions: what the whole contains, which token is meant, whether projections count.
#
# You can now say how to count a model's parameters from its configuration; why "what share is FFN" has several right answers; why long contexts are dear, and from where on; why linear attention saves something other than parameters.
