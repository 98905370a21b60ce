from blocklib import Text, show
from blocklib.lab import summary

row = summary.arm("no-mask")
if row["complete"] and row["losses"]:
    rows = [(seed, f"{row['losses'][seed]:.3f}", f"{masked:.3f}")
            for seed, masked in row["masked"].items()]
    show.table((Text("随机种子", "seed"),
                Text("不加掩码来测", "read without a mask"),
                Text("加掩码来测", "read with the mask")), rows)
else:
    show(Text("还没有跑完。", "Still running."))
