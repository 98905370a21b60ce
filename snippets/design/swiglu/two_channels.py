import torch

from blocklib import Text, show
from blocklib.nn.ffn import SwiGLU

ffn = SwiGLU(2, d_ff=2)                        # two channels
with torch.no_grad():
    ffn.gate.weight.copy_(torch.tensor([[1.0, 0], [-1, 0]]))
    ffn.up.weight.copy_(torch.tensor([[0.0, 1], [0, -1]]))
    ffn.down.weight.copy_(torch.tensor([[1.0, 1], [0, 0]]))

rows = []
for g, u in ((2, 3), (-2, 3), (0.5, -4), (-6, -1)):
    x = torch.tensor([g, u], dtype=torch.float32)
    with torch.no_grad():
        one, two = ffn.join(ffn.gate(x), ffn.up(x))
        out = ffn(x)[0]
    rows.append((f"{g}", f"{u}", f"{one:.3f}", f"{two:.3f}",
                 f"{out:.3f}"))
show.table((Text("门 g", "gate g"), Text("内容 u", "value u"),
            Text("通道一", "channel 1"), Text("通道二", "channel 2"),
            Text("输出", "output")), rows)
