import torch

from blocklib import Text, show
from blocklib.lab.arms import get
from blocklib.lab.stack import build


def matrices(arm, seed=1):
    model = build(get(arm), seed)
    return {n: w for n, w in model.named_parameters() if w.dim() > 1}


base = matrices("base")
rows = []
for arm in ("layernorm", "one-head", "qk-norm", "gelu", "no-ffn"):
    ours = matrices(arm)
    same = sum(n in base and torch.equal(w, base[n])
               for n, w in ours.items())
    rows.append((get(arm).label, len(ours), same))
show.table((Text("实验臂", "arm"), Text("矩阵", "matrices"),
            Text("与基准相同", "the same as the base's")), rows)
