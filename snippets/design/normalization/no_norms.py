import torch

from blocklib import Text, show
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, norm = 256, RMSNorm(256, affine=False)
bare = kept = norm(torch.randn(64, d))
rows = []
for block in range(1, 25):
    for _ in ("attention", "FFN"):
        branch = torch.randn(d, d) / d**0.5
        bare = bare + bare @ branch
        kept = kept + norm(kept) @ branch
    if block in (1, 2, 4, 8, 24):
        sizes = (x.square().mean().sqrt() for x in (bare, kept))
        rows.append((block, *(f"{size:,.1f}" for size in sizes)))
show.table((Text("块数", "blocks"), Text("不归一化", "no norms"),
            Text("pre-norm", "pre-norm")), rows)
