import torch

from blocklib import Text, show
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.position import RoPE, SinusoidalPositions

torch.manual_seed(3)
forwards = torch.randn(3, 8)                   # dog, bites, man
sentences = forwards, forwards.flip(0)         # man, bites, dog
w_q, w_k = torch.randn(2, 8, 4) / 2
add, turn = SinusoidalPositions(8)(range(3)), RoPE(rope_frequencies(4))

def pair_score(x, w_k, kind, place):
    """What the later word of dog and bites gives the earlier one."""
    x = x + add if kind == "sin" else x
    q, k = x @ w_q, x @ w_k
    if kind == "RoPE":
        q, k = (turn(v[None, None], range(3))[0, 0] for v in (q, k))
    return float(q[place + 1] @ k[place]) / 2

rows = []
for kind, name in (("none", Text("没有位置", "no positions")),
                   ("sin", Text("正弦，相加", "sinusoidal, added")),
                   ("RoPE", "RoPE")):
    scores = [pair_score(x, k, kind, place)
              for k in (w_q, w_k) for place, x in enumerate(sentences)]
    rows.append((name, *(f"{s:.2f}" for s in scores)))
show.table((Text("位置编码", "positions"),
            Text("共用：狗咬人", "one: dog bites man"),
            Text("共用：人咬狗", "one: man bites dog"),
            Text("分开：狗咬人", "two: dog bites man"),
            Text("分开：人咬狗", "two: man bites dog")), rows)
