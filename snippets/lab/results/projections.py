from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("projections"))
head, rows = comparisons("projections")
if rows:
    show.table(head, rows)
