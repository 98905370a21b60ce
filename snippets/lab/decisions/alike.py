from blocklib import Text, show
from blocklib.lab.arms import get
from blocklib.lab.report import similarity

arms = ("base", "no-ffn", "no-attention", "no-norm")
show.table((Text("实验臂", "arm"), Text("两个位置间的平均余弦",
            "mean cosine of two positions")),
           [(get(arm).label, similarity(arm)) for arm in arms])
