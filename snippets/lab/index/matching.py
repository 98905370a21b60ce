from blocklib import show
from blocklib.lab.report import matching

show.table(*matching())
