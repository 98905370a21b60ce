import numpy as np

from blocklib import Text, show
from blocklib.lab.figures import p_value, signed
from blocklib.lab.report import VERDICTS
from blocklib.lab.statistics import compare, holm

planted = (0.0, 0.01, 0.02, 0.04)            # true differences, nats
noise = np.random.default_rng(0).normal(0, 0.02, (4, 8))
found = holm([compare(shift + row, np.zeros(8))
              for shift, row in zip(planted, noise, strict=True)])

rows = []
for shift, c in zip(planted, found, strict=True):
    kind = c.verdict
    if kind == "differs":
        kind = "above" if c.mean > 0 else "below"
    rows.append((f"{shift}", signed(c.mean, 3),
                 f"{signed(c.low, 3)} … {signed(c.high, 3)}",
                 p_value(c.p), VERDICTS[kind]))
show.table((Text("真正的差", "planted"), Text("测得", "found"),
            Text("校正前的 95% 区间", "95% interval before correction"),
            Text("Holm 校正后的 p", "p after Holm"),
            Text("结论", "verdict")), rows)
