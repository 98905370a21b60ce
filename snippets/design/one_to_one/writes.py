import torch

from blocklib import Text, show
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, blocks, norm = 256, 32, RMSNorm(256, affine=False)
rows = []
for sublayers in (2, 3):
    pre = post = norm(torch.randn(64, d))
    for _ in range(blocks * sublayers):
        branch = torch.randn(d, d) / d**0.5
        pre = pre + norm(pre) @ branch
        post = norm(post + post @ branch)
    sizes = [v.square().mean().sqrt() for v in (pre, post)]
    rows.append((sublayers, blocks * sublayers,
                 *(f"{size:.2f}" for size in sizes)))
show.table((Text("每块子层", "sublayers"), Text("写入次数", "writes"),
            Text("pre-norm 之后的均方根", "RMS, pre-norm"),
            Text("post-norm 之后的均方根", "RMS, post-norm")), rows)
