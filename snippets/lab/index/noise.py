from blocklib import Text, show
from blocklib.lab.report import loss, losses, spread

rows = [(seed, f"{value:.3f}")
        for seed, value in losses("base").items()]
show.table((Text("随机种子", "seed"),
            Text("损失，nat/token", "loss, nats/token")), rows)
show(Text("平均", "mean"), loss("base"))
show(Text("标准差", "standard deviation"), spread("base"))
