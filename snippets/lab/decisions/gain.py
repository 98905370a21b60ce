from blocklib import show
from blocklib.lab.report import say

show.markdown(say(("gain-decay", "base"), ("zero-gain-decay", "base"),
                  ("gain-decay", "zero-gain-decay")))
