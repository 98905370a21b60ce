from blocklib import Text, show
from blocklib.lab.arms import BASE
from blocklib.lab.reference import REFERENCE
from blocklib.lab.stack import parameters

rows = []
course = Text("课程的形状", "the course's shape")
lab = Text("实验室的基准", "the lab's base")
for name, arm in ((course, REFERENCE), (lab, BASE)):
    d, layers = arm.d_model, arm.layout.count("A")
    embedding, attention = arm.vocab_size * d, 4 * d * d
    ffn, norms = 3 * d * arm.d_ff, 2 * d
    total = embedding + layers * (attention + ffn + norms) + d
    assert total == parameters(arm)            # torch counts the same
    rows.append((name, f"{embedding:,}", f"{attention:,}", f"{ffn:,}",
                 norms, d, f"{total:,}"))
show.table((Text("模型", "model"), "embedding", "attention", "FFN",
            Text("两个归一化", "two norms"),
            Text("末尾归一化", "final norm"), Text("合计", "total")), rows)
