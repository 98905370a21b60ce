import torch

from blocklib import Text, show
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, vocab, norm = 256, 1000, RMSNorm(256, affine=False)
head = torch.randn(vocab, d) / d**0.5
stream = norm(torch.randn(64, d))
rows = []
for block in range(1, 97):
    for _ in ("attention", "FFN"):
        stream = stream + norm(stream) @ (torch.randn(d, d) / d**0.5)
    if block in (1, 12, 96):
        tops = [(x @ head.T).softmax(-1).amax(-1).mean()
                for x in (stream, norm(stream))]
        rows.append((block, *(f"{top:.1%}" for top in tops)))
show.table((Text("块数", "blocks"),
            Text("没有末尾归一化", "no final norm"),
            Text("有", "with one")), rows)
