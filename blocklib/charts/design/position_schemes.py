"""One head's scores under eight ways to know positions, with one matrix for queries and keys or with two.

Only the score matters here, so each scheme is a few lines over the library's modules; two that no model of the atlas
uses (Shaw et al. 2018, Sun et al. 2022) are written out.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from blocklib.text import Text

if TYPE_CHECKING:
    from torch import Tensor

SCHEMES = {
    "none": Text("没有", "none"),
    "learned": Text("可学", "learned"),
    "sinusoidal": Text("正弦", "sinusoidal"),
    "rope": Text.same("RoPE"),
    "alibi": Text.same("ALiBi"),
    "t5": Text.same("T5"),
    "shaw": Text.same("Shaw"),
    "xpos": Text.same("xPos"),
}
HEAD_DIM = 4
XPOS_GAMMA = 0.4  # Sun et al. 2022
XPOS_STRETCH = 8  # positions per step of the decay; slower in real models, where five tokens would show nothing


def scheme_scores(scheme: str, x: Tensor, tied: bool, seed: int = 0) -> Tensor:
    """Scores ``(T, T)`` of tokens ``x (T, d)`` in a head with random projections, before mask and softmax.

    ``tied`` makes keys with the query matrix. The same ``seed`` gives the same projections for every scheme.

    Raises:
        KeyError: the scheme is none of :data:`SCHEMES`.
    """
    import torch

    from blocklib.nn.frequencies import rope_frequencies
    from blocklib.nn.position import ALiBi, LearnedPositions, RoPE, SinusoidalPositions, T5Bias

    tokens, d = x.shape
    positions = range(tokens)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        w_q, w_k = torch.randn(2, d, HEAD_DIM, dtype=x.dtype) / sqrt(d)
        if scheme == "learned":
            x = x + LearnedPositions(tokens, d).to(x.dtype)(positions)
        elif scheme == "sinusoidal":
            x = x + SinusoidalPositions(d)(positions, dtype=x.dtype)
        q, k = x @ w_q, x @ (w_q if tied else w_k)
        if scheme in ("rope", "xpos"):
            turn = RoPE(rope_frequencies(HEAD_DIM))
            q, k = (turn(v[None, None], positions)[0, 0] for v in (q, k))
        if scheme == "xpos":
            sizes = xpos_sizes(tokens).to(x.dtype)
            q, k = q * sizes, k / sizes
        scores = q @ k.T / sqrt(HEAD_DIM)
        if scheme == "alibi":
            scores = scores + ALiBi(1)(tokens, tokens, like=scores)[0]
        elif scheme == "t5":
            scores = scores + T5Bias(1, buckets=8, max_distance=16, bidirectional=True)(tokens, tokens, scores)[0]
        elif scheme == "shaw":
            table = torch.randn(2 * tokens - 1, HEAD_DIM, dtype=x.dtype)
            offsets = torch.arange(tokens) - torch.arange(tokens)[:, None] + tokens - 1  # key minus query, from zero
            scores = scores + torch.einsum("td,tsd->ts", q, table[offsets]) / sqrt(HEAD_DIM)
        elif scheme not in SCHEMES:
            raise KeyError(scheme)
        return scores


def xpos_sizes(tokens: int) -> Tensor:
    """What xPos multiplies onto a query's entries and divides a key's by, ``(T, D)``; slower pairs shrink less."""
    import torch

    pairs = torch.arange(HEAD_DIM // 2, dtype=torch.float64) / (HEAD_DIM // 2)
    rate = (pairs + XPOS_GAMMA) / (1 + XPOS_GAMMA)
    return torch.cat([rate, rate]) ** (torch.arange(tokens, dtype=torch.float64)[:, None] / XPOS_STRETCH)
