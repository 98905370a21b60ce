import torch
import torch.nn.functional as F

from blocklib import Text, show
from blocklib.nn.attention import SingleHeadAttention

torch.manual_seed(3)
read, write = torch.tensor([1.0, -2, 0.5, 0]), torch.randn(4)
head = SingleHeadAttention(d_model=4, head_dim=1)
with torch.no_grad():
    head.q.weight.copy_(torch.tensor([[0.0, 0, 0, 1]]))
    head.k.weight.copy_(read[None])
    head.v.weight.copy_(read[None])
    head.o.weight.copy_(write[:, None])
    rows = []
    for _ in range(3):
        token = torch.randn(4)
        token[3] = 1.0  # a constant that the query reads
        null = torch.zeros(4)  # a token to look away to
        out = head(torch.stack([null, token])[None])[0, 1]
        neuron = F.silu(read @ token) * write
        rows.append((f"{read @ token:.3f}", f"{out[0]:.3f}",
                     f"{neuron[0]:.3f}"))
show.table((Text("读数", "reading"), Text("头写入", "head writes"),
            Text("SiLU 神经元写入", "a SiLU neuron writes")), rows)
