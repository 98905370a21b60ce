from blocklib import show
from blocklib.lab.report import comparisons

show.table(*comparisons("sharing"))
