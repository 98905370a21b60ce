import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
d = 8
make = {"A": lambda: MultiHeadAttention(d, n_heads=2).double(),
        "F": lambda: FeedForward(d).double()}
rows = []
for layout in ("FFFFFF", "AAAAAA", "AFAFAF", "AAFAAF", "AFFAFF", "FAFFAF"):
    stack = [make[letter]() for letter in layout]

    def run(x, stack=stack):
        for sublayer in stack:
            x = x + sublayer(x)
        return x

    x = torch.randn(1, 4, d).double()          # four tokens
    poked = x.clone()
    poked[0, 0] += 1
    with torch.no_grad():
        heard = (run(poked) - run(x))[0, -1].abs().max()
        a, b = torch.randn(2, 1, 1, d).double()    # one token each
        bend = (run(a + b) - run(a) - run(b)).abs().max()
    rows.append((layout, f"{heard:.1g}", f"{bend:.1g}"))
show.table((Text("次序", "order"),
            Text("别的位置传来", "from elsewhere"),
            Text("单个 token 不线性", "bend on one token")), rows)
