import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
d = 6
block = PreNormBlock(d, MultiHeadAttention(d, n_heads=2), FeedForward(d))
x = torch.randn(1, 4, d)                       # (B, T, d)

rows = []
with torch.no_grad():
    stages = block.stages(x)
    for name, value in stages.items():
        rows.append((name, str(tuple(value.shape)), f"{value[0, -1].norm():.2f}"))
    left = stages["add_ffn"] - (x + stages["attention"] + stages["ffn"])
show.table((Text("步骤", "step"), Text("形状", "shape"), Text("长度", "length")), rows)
show(Text("输出减去三笔之和：", "output minus the three entries:"), f"{left.abs().max():.0e}")
