from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("activation"))
head, rows = comparisons("activation")
if rows:
    show.table(head, rows)
