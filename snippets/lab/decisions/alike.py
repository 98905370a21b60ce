from blocklib import Text, show
from blocklib.lab import summary
from blocklib.lab.arms import get
from blocklib.lab.report import NONE

rows = []
for ident in ("base", "no-ffn", "no-attention", "no-norm"):
    row = summary.arm(ident)
    shown = row["complete"] and "similarity" in row
    rows.append((get(ident).label, f"{row['similarity']:.2f}" if shown
                 else NONE))
show.table((Text("实验臂", "arm"), Text("两个位置间的平均余弦",
            "mean cosine of two positions")), rows)
