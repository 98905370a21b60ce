import torch

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward

rows = []
for name in ("relu", "gelu", "silu"):
    torch.manual_seed(0)
    ffn = FeedForward(4, d_ff=1, activation=name, bias=True)
    x = torch.randn(256, 4).clamp(-2, 2)
    with torch.no_grad():
        ffn.up.weight.fill_(0.25)
        ffn.up.bias.fill_(-3.0)  # no input gets past it
    before = ffn.up.bias.item()
    steps = torch.optim.SGD(ffn.parameters(), lr=0.5)
    for _ in range(200):
        loss = (ffn(x) - x).square().mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    moved = abs(ffn.up.bias.item() - before)
    rows.append((name, f"{ffn.up(x).max():.2f}", f"{moved:.3f}"))
show.table((Text("激活函数", "activation"),
            Text("最大读数", "largest reading"),
            Text("门槛动了多少", "threshold moved by")), rows)
