import torch

from blocklib import Text, show
from blocklib.nn.attention import SingleHeadAttention

torch.manual_seed(3)
names = Text("猫", "cat"), Text("追", "chases"), Text("鼠", "mouse")
x = torch.randn(1, 3, 4)                            # (B, T, d)
head = SingleHeadAttention(d_model=4, head_dim=2)
with torch.no_grad():
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    stages = head.stages(x)
weights, v, mixed = (stages[k][0] for k in ("weights", "v", "mixed"))

def pair(vector):
    return "  ".join(f"{entry:.2f}" for entry in vector)

rows = []
for name, row, own, read in zip(names, weights, v, mixed, strict=True):
    cells = [f"{w:.2f}" if w else "·" for w in row]
    rows.append((name, *cells, pair(own), pair(read)))
show.table((Text("读者", "reader"), *names,
            Text("自己的 value", "its own value"),
            Text("读到的", "what it reads")), rows)
show(Text("第一个 token 只读到自己：", "the first reads itself alone:"),
     torch.equal(mixed[0], v[0]))
