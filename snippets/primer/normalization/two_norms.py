import torch

from blocklib import Text, show
from blocklib.nn.norm import LayerNorm, RMSNorm

x = torch.tensor([6.0, -2, 10, 1, -1, 7, 0, 3], dtype=torch.float64)
layer_norm = LayerNorm(8, eps=1e-6, affine=False)
rms_norm = RMSNorm(8, eps=1e-6, affine=False)

rows = []
for name, out in [(Text("输入", "input"), x),
                  ("LayerNorm", layer_norm(x)),
                  ("RMSNorm", rms_norm(x))]:
    rms = out.square().mean().sqrt()
    rows.append((name, f"{out.mean().abs():.3f}", f"{rms:.3f}"))
show.table((Text("向量", "vector"), Text("均值", "mean"),
            Text("均方根", "RMS")), rows)

same = torch.allclose(rms_norm(x - x.mean()), layer_norm(x))
show(Text("先居中再做 RMSNorm，等于 LayerNorm：",
          "RMSNorm after centring equals LayerNorm:"), same)
