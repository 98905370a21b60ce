from blocklib import show
from blocklib.lab.report import say

show.markdown(say(("layernorm", "base")))
