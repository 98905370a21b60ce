import torch

from blocklib import Text, show
from blocklib.nn.attention import attention_weights

names = Text("猫", "cat"), Text("追", "hunts"), Text("鼠", "mouse")
# entries: noun, verb, big, small; every row has length √2
x = torch.tensor([[1.0, 0, 1, 0], [0, 2**0.5, 0, 0], [1, 0, 0, 1]])

weights = attention_weights(x, x)          # nothing is projected
out = weights @ x

rows = [(name, *(f"{w:.2f}" for w in row))
        for name, row in zip(names, weights, strict=True)]
show.table((Text("谁在读", "reader"), *names), rows)
show(Text("得分等于自己的转置：", "scores equal their transpose:"),
     torch.equal(x @ x.T, (x @ x.T).T))
show(Text("权重等于自己的转置：", "weights equal their transpose:"),
     torch.allclose(weights, weights.T, atol=1e-3))
show(Text("每个分量都没越出输入的范围：",
          "no entry leaves the range of the inputs:"),
     bool((out <= x.amax(0)).all() and (out >= x.amin(0)).all()))
