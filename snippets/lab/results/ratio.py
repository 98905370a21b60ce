from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("ratio"))
head, rows = comparisons("ratio")
if rows:
    show.table(head, rows)
