from blocklib import show
from blocklib.lab.report import layer_gradients

show.table(*layer_gradients("base", "pre-cold", "post-warm"))
