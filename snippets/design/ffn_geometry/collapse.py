import torch

from blocklib import Text, show
from blocklib.nn.ffn import ACTIVATIONS, FeedForward

torch.manual_seed(0)
d = 8
rows = []
for name in ("identity", "relu", "gelu"):
    ffn = FeedForward(d)
    ffn.activation = ACTIVATIONS.get(name, lambda x: x)
    x = torch.randn(4 * d, d)
    with torch.no_grad():
        y = ffn(x)
        one = torch.linalg.lstsq(x, y).solution  # the best single matrix
        missed = (x @ one - y).norm() / y.norm()
    rows.append((name, f"{missed:.1%}"))
show.table((Text("中间的函数", "function between"),
            Text("一个矩阵差多少", "one matrix misses")), rows)

ffn = FeedForward(d)
product = ffn.down.weight @ ffn.up.weight
matrices = {"W1": ffn.up.weight, "W2": ffn.down.weight,
            "W2 W1": product}
rows = [(name, tuple(m.shape), torch.linalg.matrix_rank(m).item())
        for name, m in matrices.items()]
show.table((Text("矩阵", "matrix"), Text("形状", "shape"),
            Text("秩", "rank")), rows)
