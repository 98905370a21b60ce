from math import log10

import torch
from torch.nn.init import normal_

from blocklib import Text, show
from blocklib.nn.attention import SingleHeadAttention
from blocklib.nn.ffn import FeedForward
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, T, depths = 32, 12, (1, 2, 3, 4, 8)
norm = RMSNorm(d, affine=False)

def made(part):
    """Double precision, every matrix keeping the size of its input."""
    for w in part.double().parameters():
        normal_(w, std=w.shape[1] ** -0.5)
    return part

def run(skip, with_ffn, causal):
    """Decimal digits, of their size, in which the tokens agree."""
    x = torch.randn(1, T, d, dtype=torch.float64)
    for depth in range(1, max(depths) + 1):
        parts = [made(SingleHeadAttention(d, causal=causal))]
        parts += [made(FeedForward(d))] * with_ffn
        for part in parts:
            x = part(norm(x)) + x * skip
        if depth in depths:
            spread = (x - x.mean(1, keepdim=True)).norm() / x.norm()
            yield f"{abs(log10(spread)):.1f}"

kinds = ((Text("只有 attention", "attention only"), 0, 0, False),
         (Text("同上，因果掩码", "the same, causal"), 0, 0, True),
         (Text("加残差", "with the skip"), 1, 0, False),
         (Text("加 FFN，无残差", "with the FFN, no skip"), 0, 1, False))
with torch.no_grad():
    rows = [(name, *run(*kind)) for name, *kind in kinds]
show.table((Text("层数", "layers"), *map(str, depths)), rows)
