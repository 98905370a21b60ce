from blocklib import show
from blocklib.lab.report import comparisons

head, rows = comparisons("depth")
show.table(head, rows[:3])                     # shapes; sharing comes below
