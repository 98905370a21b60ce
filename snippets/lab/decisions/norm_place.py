from blocklib import Text, show
from blocklib.lab import report

show.markdown(report.say(("post-warm", "base"), ("post-cold", "post-warm"),
                         ("pre-cold", "base"), ("post-scaled", "post-warm")))
show.table(*report.warm_up())
show.table((Text("实验臂", "arm"), Text("学习率", "rate"),
            Text("训起来的种子", "seeds that trained"),
            Text("最大的梯度范数", "largest gradient norm")),
           [(name, report.peak(arm), report.seeds(arm), report.first_gradient(arm))
            for arm, name in report.PLACES.items()])
