import torch

from blocklib import Text, show
from blocklib.theory.hinges import linear_regions

torch.manual_seed(3)
read, threshold = torch.randn(8, 2), torch.randn(8)
near = torch.randn(300_000, 2)
inputs = torch.cat([near, 10 * near, 100 * near])
powers = 2 ** torch.arange(8)
rows = []
for neurons in (1, 2, 4, 8):
    on = inputs @ read[:neurons].T > threshold[:neurons]
    patterns = (on * powers[:neurons]).sum(1).unique()
    rows.append((neurons, len(patterns), linear_regions(neurons, 2)))
show.table((Text("神经元", "neurons"), Text("数到的块", "pieces found"),
            Text("至多", "at most")), rows)
