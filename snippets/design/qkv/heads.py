import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention

torch.manual_seed(0)
d, T = 64, 100
x = torch.randn(1, T, d, dtype=torch.float64)

rows = []
for n_heads in (1, 4, 16):
    layer = MultiHeadAttention(d, n_heads, causal=False).double()
    weights = layer.weights(x)                       # (B, H, T, T)
    q, k = (f(x).unflatten(-1, (n_heads, -1))[0, :, 0]
            for f in (layer.q, layer.k))             # the first head
    rank = torch.linalg.matrix_rank(q @ k.T)
    count = sum(p.numel() for p in layer.parameters())
    rows.append((n_heads, f"{count:,}", f"{weights.numel():,}",
                 int(rank)))
show.table((Text("头数", "heads"), Text("权重", "weights"),
            Text("得分个数", "scores"),
            Text("一个头的秩", "rank of a head")), rows)
