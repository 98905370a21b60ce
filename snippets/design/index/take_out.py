import torch
from torch import nn

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, d_ff = 64, 160

def attention(n_heads=4, projections=True):
    layer = MultiHeadAttention(d, n_heads)
    if not projections:
        layer.q = layer.k = layer.v = nn.Identity()
    return layer

def ffn():
    return SwiGLU(d, d_ff)

blocks = (                            # sublayers, a norm before each
    (Text("（什么也不拿）", "(nothing)"),
     [attention(), ffn()], RMSNorm),
    (Text("三个投影", "the three projections"),
     [attention(projections=False), ffn()], RMSNorm),
    (Text("多余的头", "all heads but one"),
     [attention(n_heads=1), ffn()], RMSNorm),
    (Text("归一化", "the norms"),
     [attention(), ffn()], nn.Identity),
    (Text("FFN", "the FFN"),
     [attention()], RMSNorm),
    (Text("门", "the gate"),
     [attention(), FeedForward(d, d_ff)], RMSNorm),
    (Text("（反而添一个 FFN）", "(an FFN added)"),
     [attention(), ffn(), ffn()], RMSNorm),
)
rows = []
for name, sublayers, norm in blocks:
    norms = [norm(d) for _ in sublayers]
    x = first = torch.randn(1, 8, d, requires_grad=True)
    for sublayer, normed in zip(sublayers, norms, strict=True):
        x = x + sublayer(normed(x))
    x.square().mean().backward()
    weights = [w for m in (*sublayers, *norms) for w in m.parameters()]
    reached = all(w.grad.abs().sum() > 0 for w in (first, *weights))
    rows.append((name, f"{sum(w.numel() for w in weights):,}",
                 "×".join(map(str, x.shape)), "✓" if reached else "–"))
show.table((Text("拿掉", "taken out"), Text("参数", "parameters"),
            Text("输出", "output"),
            Text("梯度到处都有", "gradient everywhere")), rows)
