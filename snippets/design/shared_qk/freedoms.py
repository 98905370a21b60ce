import torch
from torch.autograd.functional import jacobian

from blocklib import Text, show
from blocklib.theory.freedoms import score_freedoms, tied_score_freedoms

torch.manual_seed(0)

def directions(form, *matrices):
    """In how many independent directions the scoring form can move."""
    parts = jacobian(form, matrices)
    moved = torch.cat([p.flatten(2).flatten(0, 1) for p in parts], 1)
    return int(torch.linalg.matrix_rank(moved, rtol=1e-10))

rows = []
for d, r in ((6, 6), (6, 3), (8, 2)):
    q, k = torch.randn(2, d, r, dtype=torch.float64)
    rows.append((d, r, 2 * d * r,
                 directions(lambda q, k: q @ k.T, q, k),
                 score_freedoms(d, r),
                 directions(lambda w: w @ w.T, q),
                 tied_score_freedoms(d, r)))
show.table(("d", "r", Text("矩阵元素", "entries"),
            Text("分开：数出", "two: found"), "r(2d−r)",
            Text("共用：数出", "one: found"), "r(2d−r+1)/2"), rows)
