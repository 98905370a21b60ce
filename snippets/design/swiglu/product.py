import torch

from blocklib import Text, show
from blocklib.nn.ffn import FeedForward

torch.manual_seed(0)
ffn = FeedForward(2, d_ff=64, activation="relu").double()
x = torch.tensor([1.0, 1.5], dtype=torch.float64)  # two readings
rows = []
with torch.no_grad():
    for t in (1, 2, 4, 8):
        grown = ffn(t * x)[0] / ffn(x)[0]
        product = (t * x).prod() / x.prod()
        rows.append((f"{t}", f"{grown:.0f}", f"{product:.0f}"))
show.table((Text("输入的倍数", "input scaled by"),
            Text("ReLU FFN 输出的倍数", "ReLU FFN scaled by"),
            Text("两数之积的倍数", "product scaled by")), rows)
