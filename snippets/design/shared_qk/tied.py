from itertools import pairwise

import torch

from blocklib import Text, show
from blocklib.nn.attention import attention_weights

torch.manual_seed(12)
x = torch.randn(3, 6, dtype=torch.float64)      # dog, bites, man
w_q, w_k = torch.randn(2, 6, 4, dtype=torch.float64) / 2

def trip(p, *stops):
    """Product of the weights met on a round trip."""
    product = 1.0
    for here, there in pairwise(stops):
        product *= p[here, there]
    return product

columns = []
for key in (w_q, w_k):                          # shared, then separate
    q, k = x @ w_q, x @ key
    s, p = q @ k.T / 2, attention_weights(q, k)
    columns.append((s[0, 1], s[1, 0], p[0, 1], p[1, 0],
                    trip(p, 0, 1, 2, 0), trip(p, 0, 2, 1, 0)))

names = (Text("得分，狗读咬", "score, dog reads bites"),
         Text("得分，咬读狗", "score, bites reads dog"),
         Text("权重，狗读咬", "weight, dog reads bites"),
         Text("权重，咬读狗", "weight, bites reads dog"),
         Text("绕一圈的乘积", "product of a round trip"),
         Text("反着绕", "the other way round"))
rows = [(name, *(f"{value:.3f}" for value in pair))
        for name, *pair in zip(names, *columns, strict=True)]
show.table((Text("量", "quantity"), Text("共用一个矩阵", "one matrix"),
            Text("各用各的", "two matrices")), rows)
