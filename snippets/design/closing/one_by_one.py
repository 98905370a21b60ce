import torch
from torch.nn.init import normal_

from blocklib import Text, show
from blocklib.nn.attention import SingleHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.norm import RMSNorm

torch.manual_seed(0)
d, T, norm = 16, 6, RMSNorm(16, affine=False)
x, y = torch.randn(2, 1, T, d).double()

def made(part):               # every matrix keeps the size of its input
    for w in part.double().parameters():
        normal_(w, std=w.shape[1] ** -0.5)
    return part

heads = [made(SingleHeadAttention(d, causal=False)) for _ in range(12)]
head, masked = heads[0], made(SingleHeadAttention(d))
ffn, gated = made(FeedForward(d, activation="relu")), made(SwiGLU(d, 40))

def skew(q, k):               # score of a pair, minus the other way
    s = q(x)[0] @ k(x)[0].T
    return (s - s.T).abs().max()

def leak(attend):             # does a later token change an earlier row?
    later = torch.cat([x[:, :-1], y[:, -1:]], dim=1)
    return (attend(later) - attend(x))[0, :-1].abs().max()

def bend(f, a=x[:, :1], b=y[:, :1]):   # on one token, more than a matrix?
    return (f(a + b) - f(a) - f(b)).abs().max()

def degree(f):                # the input doubled: the output times what?
    return f(2 * x).norm() / f(x).norm()

def deep(skip, normed, z=x):  # twelve layers of attention
    for layer in heads:
        z = skip * z + layer(normed(z))
    return z

def unlike(z):                # how much the tokens differ, of their size
    return (z - z.mean(1, keepdim=True)).norm() / z.norm()

def size(z):
    return z.norm() / x.norm()

def as_is(z):
    return z

with torch.no_grad():
    rows = [
        (Text("K 自己的矩阵", "K's own matrix"),
         Text("得分来回之差", "skew of scores"),
         skew(head.q, head.k), skew(head.q, head.q)),
        (Text("因果掩码", "the causal mask"),
         Text("后文改动前文", "later changes earlier"),
         leak(masked), leak(head)),
        (Text("FFN", "the FFN"),
         Text("单个 token 上的弯折", "bend on one token"),
         bend(lambda z: head(z) + ffn(head(z))), bend(head)),
        (Text("门", "the gate"),
         Text("输入加倍，输出乘", "input doubled, output ×"),
         degree(gated), degree(ffn)),
        (Text("残差", "the residual"),
         Text("token 之间的差别", "tokens unlike by"),
         unlike(deep(1, norm)), unlike(deep(0, norm))),
        (Text("归一化", "the norm"),
         Text("流变大的倍数", "growth of the stream"),
         size(deep(1, norm)), size(deep(1, as_is))),
    ]
show.table((Text("拿掉", "taken out"), Text("量什么", "measured"),
            Text("有", "with it"), Text("没有", "without")),
           [(part, what, f"{a:.2g}", f"{b:.2g}")
            for part, what, a, b in rows])
