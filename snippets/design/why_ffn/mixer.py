import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
d, tokens = 8, 6
across = FeedForward(tokens)  # an FFN over positions
attention = MultiHeadAttention(d, n_heads=2, causal=False)
layers = {
    "attention": attention,
    "token-mixing MLP": lambda x: across(x.mT).mT,
}
x, longer = torch.randn(1, tokens, d), torch.randn(1, tokens + 1, d)
order = torch.randperm(tokens)
rows = []
for name, layer in layers.items():
    try:
        takes = str(tuple(layer(longer).shape))
    except RuntimeError:
        takes = Text("拒绝", "refused")
    moved = (layer(x[:, order]) - layer(x)[:, order]).abs().max()
    rows.append((name, takes, f"{moved:.2f}"))
show.table((Text("混合方式", "mixing"),
            Text("多一个 token", "one token more"),
            Text("换序之差", "after reordering")), rows)
