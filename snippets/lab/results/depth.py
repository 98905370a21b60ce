from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("depth"))
head, rows = comparisons("depth")
if rows:
    show.table(head, rows)
