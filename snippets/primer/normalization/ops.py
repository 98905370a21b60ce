from blocklib import Text, show
from blocklib.theory.norm_ops import norm_core_gap, norm_steps

d = 12_288
layernorm = norm_steps("layernorm", d)
rmsnorm = norm_steps("rmsnorm", d)
kept = {step.name for step in rmsnorm}

rows = []
for step in layernorm:
    count = f"{step.operations:,}"
    rows.append((step.name, count, count if step.name in kept else "0"))
totals = [sum(s.operations for s in n) for n in (layernorm, rmsnorm)]
rows.append((Text("合计", "total"), *(f"{n:,}" for n in totals)))
show.table((Text("步骤", "step"), "LayerNorm", "RMSNorm"), rows)

share = 2 * norm_core_gap(d) / (24 * d**2)
show(Text("两次归一化省下的核心运算，占该块矩阵乘法：",
          "saved in both cores, of the block's matrix products:"),
     f"{share:.4%}")
