"""How fast a small difference between tokens goes when each layer takes its cube.

With neither mask nor skip, one attention layer leaves of the differences between tokens a part of third order. Cubes
of cubes make the exponent, not the size, grow geometrically: doubly exponential decay (Dong et al. 2021).
"""

from __future__ import annotations

from blocklib.exact import depth
from blocklib.facts.registry import fact


@fact(
    formula="3^layers",
    tests=("tests/theory/test_collapse.py::test_exponent_by_cubing",),
)
def cubic_exponent(layers: int) -> int:
    """Power to which a small starting difference is raised after this many layers that each take its cube.

    中文：每层取一次三次方，经过这么多层，起初那点差别被升到几次方。
    """
    depth("layers", layers, 0)
    return 3**layers
