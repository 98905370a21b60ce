from itertools import combinations

import torch

from blocklib import Text, show

torch.manual_seed(0)
blocks = [0.3 * torch.randn(5, 5, dtype=torch.float64) for _ in range(4)]
x = torch.randn(5, dtype=torch.float64)

y = x
for w in blocks:                               # the network: four residual blocks
    y = y + w @ y

total, count = torch.zeros_like(x), 0
for length in range(len(blocks) + 1):          # its paths: every subset, in order
    for chosen in combinations(blocks, length):
        term = x
        for w in chosen:
            term = w @ term
        total, count = total + term, count + 1

show(Text("走法：", "paths:"), count)
show(Text("各走法之和等于输出：", "their sum is the output:"), torch.allclose(total, y))
