from blocklib import show
from blocklib.lab.report import late

show.table(*late())
