import torch

from blocklib import Text, show
from blocklib.nn.moe import Experts, MoE, SoftmaxThenTopK

torch.manual_seed(0)
d, n_experts = 8, 8
moe = MoE(d, Experts(n_experts, d, d_ff=16), SoftmaxThenTopK(2))
x = torch.randn(4, d)


def reached(tokens):
    """Experts whose weights get a gradient from these tokens."""
    moe.zero_grad()
    moe(tokens).sum().backward()
    moved = moe.experts.gate.grad.abs().amax((1, 2)) > 0
    return ", ".join(str(i) for i in range(n_experts) if moved[i])


rows = [(Text(f"第 {i + 1} 个", f"token {i + 1}"), reached(x[i:i + 1]))
        for i in range(len(x))]
rows.append((Text("四个一起", "all four"), reached(x)))
show.table(("token", Text("走过的专家", "experts it passes")), rows)
