import torch

from blocklib import Text, show

torch.manual_seed(0)
rows = []
for d in (64, 256, 1024):
    moved = []
    for rate in (1e-3, 1e-3 * 64 / d):         # fixed, or falling with d
        layer = torch.nn.Linear(d, d, bias=False)
        x = torch.randn(d).sign()              # entries of size one
        before = layer(x).detach()
        (before.sign() @ layer(x)).backward()
        torch.optim.Adam(layer.parameters(), lr=rate).step()
        moved.append((layer(x).detach() - before).abs().mean())
    rows.append((f"{d:,}", *(f"{m:.3f}" for m in moved)))
show.table((Text("宽度", "width"), Text("学习率不变", "rate fixed"),
            Text("学习率除以宽度的倍数", "rate falls with width")), rows)
