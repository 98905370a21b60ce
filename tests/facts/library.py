"""A small library of facts, written to a folder of a test and imported under a name of its own."""

from __future__ import annotations

import itertools
import sys
import textwrap
from pathlib import Path

from blocklib.facts.items import Bound
from blocklib.facts.registry import Registry

_numbers = itertools.count()

THEORY = '''
"""Facts of the tests."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.facts.registry import fact
from blocklib.facts.values import Measured, Range
from {package}.constants import FACTOR

Kind = Literal["layernorm", "rmsnorm"]


@fact(formula="7d, 4d", tests=("tests/x.py::test_y",))
def norm_ops(kind: Kind, d_model: int) -> int:
    """Operations of a norm
    on one vector.

    中文：一个向量的
    运算数。
    """
    return (FACTOR if kind == "layernorm" else 4) * d_model


@fact(formula="2^blocks")
def implicit_paths(blocks: int) -> int:
    """Paths.

    中文：路径。
    """
    return 2**blocks


@fact(unit="B")
def kv_bytes(tokens: int, dtype: Literal["fp32", "bf16"] = "bf16") -> int:
    """Bytes of the cache.

    中文：缓存字节数。
    """
    return 80 * 2 * 8 * 128 * (2 if dtype == "bf16" else 4) * tokens


@fact(grade="measured", unit="s")
def step_time() -> Measured:
    """Time.

    中文：时间。
    """
    return Measured(Fraction("0.01583"), Fraction("0.0004"))


@fact()
def gain_share() -> Fraction:
    """Share.

    中文：占比。
    """
    return Fraction(616, 1000)


@fact()
def saving() -> Range:
    """Range.

    中文：范围。
    """
    return Range(Fraction(7, 100), Fraction(64, 100))


@fact()
def decay(gain: float, layers: int) -> Fraction:
    """Decay.

    中文：衰减。
    """
    return Fraction(repr(gain)) ** layers


@fact()
def exact_share(part: Fraction, enabled: bool = True, name: str = "a") -> Fraction:
    """Exact.

    中文：精确。
    """
    return part if enabled else -part


@fact(slow=True, grade="measured")
def slow_one(seed: int) -> int:
    """Slow.

    中文：慢。
    """
    return seed // 3


@fact(grade="measured")
def bare_time(whole: bool) -> float:
    """Time without its noise.

    中文：没有噪声的时间。
    """
    return Fraction(3, 2) if whole else Measured(1.5, 0)


@fact()
def raising(x: int) -> int:
    """Raises.

    中文：抛错。
    """
    return 1 // (x - x)


@fact()
def not_a_number(x: int) -> str:
    """No number.

    中文：不是数。
    """
    return float("nan") if x else "text"
'''

CITED = """
[resnet_error]
about.zh = "错误率"
about.en = "Top-1 error"
source = "he2015"
place = "Table 2"
parameter = "network"

[resnet_error.values]
plain-18 = "27.94%"
resnet-34 = { value = "25.03%", place = "Table 3" }

[rmsnorm_speedup]
about.zh = "加速"
about.en = "Speed-up"
source = "zhang2019"
place = "abstract"
value = "7–64%"
"""


def make_library(root: Path, cited: str = CITED) -> Registry:
    """Write the library under ``root`` and return its registry; its package has a new name every time."""
    package = f"minilib{next(_numbers)}"
    folder = root / package
    (folder / "facts").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "constants.py").write_text("FACTOR = 7\n")
    (folder / "theory.py").write_text(textwrap.dedent(THEORY.replace("{package}", package)), encoding="utf-8")
    (folder / "facts" / "cited.toml").write_text(cited, encoding="utf-8")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return Registry(root, package)


def again(registry: Registry) -> Registry:
    """A fresh registry of the same package, its modules forgotten: what a new process would see."""
    for name in [n for n in sys.modules if n.split(".")[0] == registry.package]:
        del sys.modules[name]
    return Registry(registry.root, registry.package)


def row_at(numbers, line: int, target: str):
    """The row of the link with this target (``fact:…``, or a key) on this line of the page; None where none leads on."""
    for item in numbers.page.items:
        if isinstance(item, Bound) and numbers.page.line(item.start) == line:
            if target in (item.target, f"{item.kind}:{item.target}"):
                return numbers.row(item)
    return None
