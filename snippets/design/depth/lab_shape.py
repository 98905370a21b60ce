from blocklib import show
from blocklib.lab.report import comparisons

head, rows = comparisons("depth")
shapes = rows[:3]  # sharing comes below
show.table(head, shapes)
