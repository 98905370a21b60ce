import torch
from torch.autograd.graph import saved_tensors_hooks

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward, SwiGLU

d = 96
ffns = [("ReLU", FeedForward(d, 4 * d, "relu")),
        ("GELU", FeedForward(d, 4 * d, "gelu")),
        ("SwiGLU", SwiGLU(d, 8 * d // 3))]
rows = []
for name, ffn in ffns:
    x = torch.randn(1, d, requires_grad=True)
    kept, skip = {}, {x.data_ptr(), *(w.data_ptr() for w in ffn.parameters())}

    def keep(t, kept=kept, skip=skip):
        if t.data_ptr() not in skip:           # neither input nor weights
            kept[t.data_ptr()] = t.numel()
        return t

    with saved_tensors_hooks(keep, lambda t: t):
        out = ffn(x)                           # held: nothing is freed
    count = sum(w.numel() for w in ffn.parameters())
    rows.append((name, f"{count:,}", f"{sum(kept.values()) / d:.2f} d"))
show.table(("FFN", Text("权重", "weights"),
            Text("为反向留下", "kept for backward")), rows)
