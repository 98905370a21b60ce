"""A tiny site of two pages in two languages, with every kind of place in which a number can stand."""

from __future__ import annotations

from pathlib import Path

from blocklib.facts.registry import Registry
from tests.facts.library import make_library

NORM_FACTS = """\
# shared by both languages
[ln]: fact:norm_ops?kind=layernorm&d_model
[rms]: fact:norm_ops?kind=rmsnorm&d_model
[paths]: fact:implicit_paths?blocks
[share]: fact:gain_share
"""

NORM_EN = r"""---
title: Normalisation
description: What a norm costs at width [4,096](given:example)
---
# Normalisation { #normalization }

At width [4,096](given:d_model) LayerNorm takes [28,672][ln] operations
and RMSNorm takes [16,384][rms], as GPT-2 showed in 2019.

| norm | operations |
|------|-----------:|
| LayerNorm | [28,672][ln] |
| RMSNorm | [16,384][rms] |

## Saving of [61.6%][share] { #saving }

It saves [7–64%](fact:saving), and the step takes [15.8 ms](fact:step_time) here.

![A chart: LayerNorm at [28,672][ln] operations](norm.svg)

/// exhibit | norm-ops
The bars stand at [16,384][rms] operations.
///

## Paths { #paths }

[Twenty-four](given:blocks) blocks hide [16,777,216][paths] paths, more than
[16.8 million][paths] and [> 16,000,000][paths].

$$
2^{L} = \fact{16{,}777{,}216}{implicit_paths?blocks}
$$

The cache takes [`10 GiB`](fact:kv_bytes?tokens=32768) in all.
"""

NORM_ZH = r"""---
title: 归一化
description: 宽度 [4,096](given:example) 时 norm 的开销
---
# 归一化 { #normalization }

宽度取 [4,096](given:d_model) 时，LayerNorm 做 [28,672][ln] 次运算，
RMSNorm 做 [16,384][rms] 次。

| norm | 运算 |
|------|-----:|
| LayerNorm | [28,672][ln] |
| RMSNorm | [16,384][rms] |

## 省下 [61.6%][share] { #saving }

省下 [7–64%](fact:saving)，一步用 [15.8 毫秒](fact:step_time)。

![图：LayerNorm 在 [28,672][ln] 处](norm.svg)

/// exhibit | norm-ops
柱高 [16,384][rms] 次运算。
///

## 路径 { #paths }

[二十四](given:blocks) 个块里藏着 [1,678 万][paths] 条路径，
即 [一千六百多万][paths] 条，[超过 1,600 万][paths] 条。

$$
2^{L} = \fact{16{,}777{,}216}{implicit_paths?blocks}
$$

缓存共 [10 GiB](fact:kv_bytes?tokens=32768)。
"""

PATHS_EN = """\
# Sizes { #sizes }

Plain-18 errs on [27.94%](fact:resnet_error?network=plain-18) of the images.

- [Two](given:blocks) blocks open [4](fact:implicit_paths?blocks) paths.[^1]

!!! note "[14](fact:norm_ops?kind=layernorm&d_model=2) of them"
    In full: [14](fact:norm_ops?kind=layernorm&d_model=2).

[^1]: That is [4](fact:implicit_paths?blocks=2).
"""

PATHS_ZH = """\
# 大小 { #sizes }

Plain-18 错 [27.94%](fact:resnet_error?network=plain-18)。

- [两](given:blocks) 个块打开 [4](fact:implicit_paths?blocks) 条路径。[^1]

!!! note "其中 [14](fact:norm_ops?kind=layernorm&d_model=2) 次"
    共 [14](fact:norm_ops?kind=layernorm&d_model=2) 次。

[^1]: 即 [4](fact:implicit_paths?blocks=2)。
"""

FILES = {
    "docs/norm.facts": NORM_FACTS, "docs/norm.en.md": NORM_EN, "docs/norm.zh.md": NORM_ZH,
    "docs/sizes.en.md": PATHS_EN, "docs/sizes.zh.md": PATHS_ZH,
}  # fmt: skip


def make_site(root: Path) -> Registry:
    """Write the site and its library under ``root``; the registry of that library."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return make_library(root)
