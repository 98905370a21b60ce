import torch
from torch.utils.flop_counter import FlopCounterMode

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward

d, depth = 64, 12


def block():
    return PreNormBlock(d, MultiHeadAttention(d, n_heads=4), FeedForward(d))


own, one = [block() for _ in range(depth)], block()
rows = []
for name, stack in ((Text("各有一份", "own weights"), own),
                    (Text("共用一份", "one set shared"), [one] * depth)):
    weights = {id(w): w.numel() for b in stack for w in b.parameters()}
    x = torch.randn(1, 16, d)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        for b in stack:
            x = b(x)
    rows.append((name, f"{sum(weights.values()):,}",
                 f"{counter.get_total_flops():,}", len(stack)))
show.table((Text("权重", "weights"), Text("参数", "parameters"),
            "FLOP", Text("先后几块", "in a row")), rows)
