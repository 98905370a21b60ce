from blocklib import show
from blocklib.lab.report import say, warm_up

show.markdown(say(("post-warm", "base"), ("post-cold", "post-warm"),
                  ("pre-cold", "base"), ("post-scaled", "post-warm")))
show.table(*warm_up())
