from blocklib import show
from blocklib.lab.report import comparisons, sentences

show.markdown(sentences("parts"))
head, rows = comparisons("parts")
if rows:
    show.table(head, rows)
