from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("place"))
head, rows = comparisons("place")
if rows:
    show.table(head, rows)
