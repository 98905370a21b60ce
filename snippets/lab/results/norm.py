from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("norm"))
head, rows = comparisons("norm")
if rows:
    show.table(head, rows)
