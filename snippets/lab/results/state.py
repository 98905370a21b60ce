from blocklib import show
from blocklib.lab.report import standing

show.table(*standing())
