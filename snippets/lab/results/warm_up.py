from blocklib import show
from blocklib.lab.report import warm_up

show.table(*warm_up())
