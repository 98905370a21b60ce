from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("additions"))
head, rows = comparisons("additions")
if rows:
    show.table(head, rows)
