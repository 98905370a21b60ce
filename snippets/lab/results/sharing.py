from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("sharing"))
head, rows = comparisons("sharing")
if rows:
    show.table(head, rows)
