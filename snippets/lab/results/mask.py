from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("mask"))
head, rows = comparisons("mask")
if rows:
    show.table(head, rows)
