import torch

from blocklib import Text, show

torch.manual_seed(0)
x = torch.linspace(0, 1, 2**12 + 1, dtype=torch.float64)


def fold(y):                                   # two ReLU neurons
    return 2 * torch.relu(y) - 4 * torch.relu(y - 0.5)


def pieces(y):                                 # runs of equal slope
    slope = y.diff() / x.diff()
    return 1 + int((slope.diff().abs() > 1e-6).sum())


rows, deep = [], x
for layers in range(1, 7):
    deep = fold(deep)
    knots = x[torch.randperm(len(x) - 2)[:2 * layers] + 1]
    wide = torch.relu(x[:, None] - knots) @ torch.rand(2 * layers).double()
    rows.append((2 * layers, pieces(wide), pieces(deep)))
show.table((Text("神经元", "neurons"), Text("并排一层", "in one layer"),
            Text("两个一层，先后相接", "two a layer, in sequence")), rows)
