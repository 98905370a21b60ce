from blocklib import Text, show
from blocklib.lab.report import rates

head, rows = rates()
if rows:
    show.table(head, rows)
else:
    show(Text("还没有一个实验臂扫完学习率。",
              "No arm has finished its sweep yet."))
