"""A small site that is right in every respect, for planting faults: two pages, three claims, a source, terms."""

from __future__ import annotations

from pathlib import Path

from blocklib.problems import Problem

FILES = {
    "snippets/primer/paths/count.py": "print(2**24)\n",
    "docs/primer/paths.zh.md": """\
---
title: 路径
description: 残差块展开成多少条路径。
---

# 路径 { #paths }

一句导语。

## 数一数 { #count }

叠 [24](given:blocks) 块，展开成 [16,777,216][all] 条路径。

/// claim | paths-share
这些路径共用权重：共 $2^N$ 条，见 [16,777,216][all]。
///

/// exhibit | path-counts
**路径数。** 说明。
///

```python exec="on"
--8<-- "primer/paths/count.py"
```

## 来历 { #history }

[原论文](../reference/sources.md#veit2016)发现有效的路径很短。

/// claim | short-paths
梯度主要来自短的路径。
///

/// claim | add-then-norm
通常先相加。
///
""",
    "docs/primer/paths.en.md": """\
---
title: Paths
description: How many paths a stack of residual blocks expands to.
---

# Paths { #paths }

An opening sentence.

## Count them { #count }

[Twenty-four](given:blocks) blocks expand to [16,777,216](fact:implicit_paths?blocks) paths.

/// claim | paths-share
These paths share their weights; there are $2^N$, here [16,777,216][all].
///

/// exhibit | path-counts
**Path counts.** A caption.
///

```python exec="on"
--8<-- "primer/paths/count.py"
```

## Where it comes from { #history }

[The paper](../reference/sources.md#veit2016) found the effective paths to be short.

/// claim | short-paths
The gradient comes mostly from short paths.
///

/// claim | add-then-norm
Usually the addition comes first.
///
""",
    "docs/primer/paths.facts": "[all]: fact:implicit_paths?blocks\n",
    "docs/index.zh.md": "---\ntitle: 首页\ndescription: 欢迎。\n---\n\n# 首页 { #top }\n\n欢迎。\n",
    "docs/index.en.md": "---\ntitle: Home\ndescription: Welcome.\n---\n\n# Home { #top }\n\nWelcome.\n",
    "docs/claims.toml": """\
[paths-share]
grade = "proved"
ledger = "training"
tests = [
    "tests/paths/test_paths.py::test_share",
    "tests/paths/test_paths.py::TestControls::test_share_control",
]
how.zh = "改一个模块，一半的路径跟着变。"
how.en = "Change one module and half of the paths change."

[short-paths]
grade = "cited"
ledger = "training"
sources = ["veit2016, abstract"]
how.zh = "论文在训练好的网络里测得。"
how.en = "Measured by the paper in a trained network."

[add-then-norm]
grade = "convention"
ledger = "both"
how.zh = "多数实现如此。"
how.en = "Most implementations do so."
""",
    "docs/sources.bib": """\
@misc{veit2016,
  author = {Veit, Andreas and Wilber, Michael and Belongie, Serge},
  title = {Residual Networks Behave Like Ensembles of Relatively Shallow Networks},
  year = {2016},
  eprint = {1605.06431},
  archiveprefix = {arXiv},
  annote = {abstract checked},
}
""",
    "docs/terms.toml": """\
[[term]]
id = "residual-stream"
zh = "残差流"
en = "residual stream"
forbidden_zh = ["残余流"]
forbidden_en = ["residue stream"]
note.zh = "只被相加改写的向量。"
note.en = "The vector changed by addition alone."

[[term]]
id = "layernorm"
zh = "LayerNorm（层归一化）"
en = "LayerNorm"
forbidden_en = ["layernorm", "layer norm"]
note.zh = "减均值，除以标准差。"
note.en = "Subtract the mean, divide by the standard deviation."
""",
    "tests/paths/test_paths.py": """\
import pytest


@pytest.mark.claim("paths-share")
def test_share():
    pass


class TestControls:
    @pytest.mark.claim("paths-share", control=True)
    def test_share_control(self):
        pass
""",
}


def write_site(root: Path, sign: bool = True) -> Path:
    """The files under ``root``, the pairs signed."""
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if sign:
        from blocklib.site import twins

        assert twins.sign(root, ["index", "primer/paths"]) == []
    return root


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Replace the one place where ``old`` stands."""
    file = root / path
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def line_of(root: Path, path: str, text: str) -> int:
    """The line on which ``text`` first stands."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def faults(root: Path, strict: bool = False) -> list[Problem]:
    """What the checkers of claims, sources, twins, ids and terms say about the site."""
    from blocklib.claims import closure, sources
    from blocklib.site import redirects, terms, twins

    found = [*closure.check(root), *sources.check(root), *twins.check(root, strict=strict)]
    return sorted({*found, *redirects.check(root), *terms.check(root)})
