import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
sublayers = [
    (Text("attention，无掩码", "attention, no mask"),
     MultiHeadAttention(8, n_heads=2, causal=False)),
    (Text("attention，因果掩码", "attention, causal mask"),
     MultiHeadAttention(8, n_heads=2, causal=True)),
    ("FFN", FeedForward(8)),
]
x, chosen, rows = torch.randn(1, 6, 8), 2, []
for name, f in sublayers:
    feeds = []
    for j in range(6):
        poked = x.clone()
        poked[0, j] += 1
        if not torch.allclose(f(poked)[0, chosen], f(x)[0, chosen]):
            feeds.append(str(j))
    rows.append((name, ", ".join(feeds)))
show.table((Text("子层", "sublayer"),
            Text("能改变位置 2 的输出", "can move output 2")), rows)
