import torch

from blocklib import Text, show
from blocklib.nn.norm import LayerNorm

torch.manual_seed(0)
d, norm = 256, LayerNorm(256, affine=False)
branches = [torch.randn(d, d) / d**0.5 for _ in range(24)]
inputs, last = norm(torch.randn(64, d)), torch.randn(64, d)
layers = {
    "post-norm": lambda x, w: norm(x + x @ w),
    "pre-norm": lambda x, w: x + norm(x) @ w,
}
rows = []
for name, layer in layers.items():
    x = first = inputs.clone().requires_grad_()
    for w in branches:
        x = layer(x, w)
    x.backward(last)
    ends = last.norm(), first.grad.norm()
    rows.append((name, *(f"{end:.0f}" for end in ends),
                 f"{ends[1] / ends[0]:.1f}"))
show.table((Text("排法", "order"), Text("末层梯度", "last layer"),
            Text("首层梯度", "first layer"),
            Text("比值", "ratio")), rows)
