from blocklib import Text, show
from blocklib.lab.arms import BASE, replace
from blocklib.lab.stack import parameters

label = Text("加宽的 FFN", "a wider FFN")
wider = replace(BASE, id="wider", label=label, d_ff=400)
more = parameters(wider) / parameters(BASE) - 1
show(label, f"{parameters(wider):,}", f"{more:+.2%}")
