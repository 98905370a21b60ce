import torch

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward

numbers = torch.tensor([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
clash = torch.tensor([-1.0, 1, 1, -1])  # one singular, one plural
mixed = numbers * 0.5  # half of each, by a pattern held fixed

inputs = torch.cat([mixed, torch.ones(4, 1)], 1)
best = torch.linalg.lstsq(inputs, clash[:, None]).solution
linear = (inputs @ best)[:, 0]

ffn = FeedForward(2, d_ff=2, activation="relu", bias=True)
with torch.no_grad():
    ffn.up.weight.copy_(torch.tensor([[2.0, -2], [-2, 2]]))
    ffn.up.bias.zero_()
    ffn.down.weight.copy_(torch.tensor([[1.0, 1], [0, 0]]))
    ffn.down.bias.copy_(torch.tensor([-1.0, 0]))
    bent = ffn(mixed)[:, 0]

names = {-1: Text("单", "singular"), 1: Text("复", "plural")}
rows = [(names[int(s)], names[int(v)], f"{c:+.0f}", f"{abs(a):.2f}",
         f"{b:+.2f}")
        for (s, v), c, a, b in zip(
            numbers, clash, linear, bent, strict=True)]
show.table((Text("主语", "subject"), Text("动词", "verb"),
            Text("冲突", "clash"), Text("线性读出", "linear readout"),
            Text("两个 ReLU", "two ReLUs")), rows)
