import torch

from blocklib import Text, show
from blocklib.nn.norm import LayerNorm

torch.manual_seed(0)
d, layers = 256, 24
norm = LayerNorm(d, affine=False)
weights = [torch.randn(d, d) / d**0.5 for _ in range(layers)]
constants = [norm(torch.randn(d)) for _ in range(layers)]
branches = {
    Text("线性，写一半", "linear, writes 1/2"):
        lambda x, w, c: x @ w / 2,
    Text("线性，写两倍", "linear, writes 2"):
        lambda x, w, c: x @ w * 2,
    Text("一半方差是常量", "half of it constant"):
        lambda x, w, c: (x @ w + c) / 2**0.5,
    Text("陡峭的 tanh", "a steep tanh"):
        lambda x, w, c: torch.tanh(8 * x @ w),
}
rows = []
for name, branch in branches.items():
    x = first = norm(torch.randn(64, d)).requires_grad_()
    skip = torch.ones(())
    for w, c in zip(weights, constants, strict=True):
        total = x + branch(x, w, c)
        skip = skip / total.detach().std()
        x = norm(total)
    last = torch.randn(64, d)
    (grad,) = torch.autograd.grad(x, first, last)
    ratio = grad.norm() / last.norm()
    rows.append((name, f"{skip:.2g}", f"{ratio:.2g}"))
show.table((Text("支路", "branch"),
            Text("恒等路径", "identity path"),
            Text("梯度，首层比末层", "gradient, first / last")),
           rows)
