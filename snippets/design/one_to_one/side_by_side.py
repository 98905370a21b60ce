import torch

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
d = 8
one, two, wide = (FeedForward(d, d_ff).double() for d_ff in (16, 16, 32))
with torch.no_grad():
    wide.up.weight.copy_(torch.cat([one.up.weight, two.up.weight]))
    wide.down.weight.copy_(torch.cat([one.down.weight,
                                      two.down.weight], dim=1))
    x = torch.randn(1, 4, d).double()
    beside = x + one(x) + two(x)
    first = x + one(x)
    after = first + two(first)
    joined = x + wide(x)
show(Text("并排的两个，减去一个双倍宽的：", "side by side, minus one twice as wide:"),
     f"{(beside - joined).abs().max():.1g}")
show(Text("先后的两个，减去一个双倍宽的：", "in sequence, minus one twice as wide:"),
     f"{(after - joined).abs().max():.1g}")
