from blocklib import Text, show
from blocklib.lab import report
from blocklib.lab.arms import get

rows = [(get(arm).label, get(arm).layout, report.loss(arm))
        for arm in report.arms_of("ratio")]
show.table((Text("排法", "arrangement"), Text("次序", "order"), Text("损失", "loss")), rows)
show.markdown(report.sentences("ratio"))
