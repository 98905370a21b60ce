import torch
from torch.autograd.functional import jacobian

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
f, x = FeedForward(d_model=4), torch.randn(4)
difference = jacobian(lambda v: v + f(v), x) - jacobian(f, x)

show(Text("两个雅可比矩阵之差：", "difference of the two Jacobians:"))
for row in difference:
    show(*(f"{abs(value):.3f}" for value in row))

torch.nn.init.zeros_(f.down.weight)
show(Text("支路为零时 x + f(x) 等于 x：",
          "with a zero branch, x + f(x) equals x:"),
     torch.equal(x + f(x), x))
