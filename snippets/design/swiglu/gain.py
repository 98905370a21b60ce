import torch

from blocklib import Text, show
from blocklib.nn.ffn import SwiGLU
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, d_ff = 6, 16
ffn, norm = SwiGLU(d, d_ff), RMSNorm(d, affine=False)
ffn.gate.weight.data.mul_(3)                   # wider swings, to see more
x = norm(torch.randn(1, 2, d))                 # (B, T, d): two tokens
with torch.no_grad():
    gain = torch.nn.functional.silu(ffn.gate(x))

show(Text("输入", "input"), tuple(x.shape), "→",
     Text("增益", "gains"), tuple(gain.shape))
rows = [(i, f"{gain[0, 0, i]:.2f}", f"{gain[0, 1, i]:.2f}")
        for i in range(6)]
show.table((Text("通道", "channel"),
            Text("第一个 token 的增益", "gain, first token"),
            Text("第二个 token 的增益", "gain, second token")), rows)
