"""What the exhibits about single vectors share: readable numbers, sizes, and small sublayers with real weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from blocklib.charts import num
from blocklib.text import Text

if TYPE_CHECKING:
    import torch

DRAWS = ((0, Text("甲", "first")), (1, Text("乙", "second")), (2, Text("丙", "third")))


def two(value: float) -> str:
    """``value`` to two decimals, the precision at which bars are read: ``−0.4``, ``1.75``."""
    return num(round(value, 2), 3)


def listed(values: Sequence[float]) -> str:
    """All components of a vector in brackets: ``(1.75, −1.25, 0)``."""
    return f"({', '.join(two(v) for v in values)})"


def mean(values: Sequence[float]) -> float:
    """Average of the components."""
    return sum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Population variance: squared deviations divided by the count, not by one less."""
    centre = mean(values)
    return mean([(v - centre) ** 2 for v in values])


def rms(values: Sequence[float]) -> float:
    """Root mean square of the components."""
    return mean([v * v for v in values]) ** 0.5


def components(width: int) -> list[Text]:
    """Row heads of a table with one row a component."""
    return [Text(f"第 {i} 维", f"component {i}") for i in range(1, width + 1)]


def small_ffn(width: int, size: float = 1.0) -> torch.nn.Module:
    """An FFN in double precision with weights from the generator's present state.

    Weights have variance 2 / fan-in, so that the output is about as large as the input and can be seen beside it;
    ``size`` scales the output.
    """
    import torch

    from blocklib.nn.ffn import FeedForward

    ffn = FeedForward(width).double()
    with torch.no_grad():
        for weight in ffn.parameters():
            weight.normal_(0.0, (2 / weight.shape[1]) ** 0.5)
        ffn.down.weight *= size
    return ffn
