import torch

from blocklib import Text, show
from blocklib.nn.norm import RMSNorm
from blocklib.theory.stream import stream_rms

torch.manual_seed(0)
d, norm = 256, RMSNorm(256, affine=False)
stream = norm(torch.randn(64, d))
rows = []
for block in range(1, 97):
    for _ in ("attention", "FFN"):
        branch = torch.randn(d, d) / d**0.5
        stream = stream + norm(stream) @ branch
    if block in (12, 24, 96):
        measured = stream.square().mean().sqrt()
        rows.append((block, f"{measured:.1f}",
                     f"{float(stream_rms(block)):.1f}"))
show.table((Text("块数", "blocks"), Text("实测均方根", "measured RMS"),
            Text("闭式", "closed form")), rows)
