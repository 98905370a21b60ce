"""The files of the small project in which mistakes are planted, each possible place of a number on a line of its own."""

from __future__ import annotations

ACCOUNT_ZH = """\
---
title: 账目
description: 宽度 [4,096](given:example) 时的账
---

# 账目 { #account }

宽度取 [4,096](given:d_model)，说明在后。
LayerNorm 做 [28,672][ln] 次运算，核心占 [20,480][ln-core] 次，
RMSNorm 做 [16,384][rms] 次，核心占 [12,288][rms-core] 次，
两者相差 [12,288](fact:norm_ops_gap?d_model) 次。
正文在这里。

## 表在这里 { #table }

| 归一化 | 运算 | 备注 |
|--------|-----:|------|
| LayerNorm | [28,672][ln] | 表格在这里 |
| RMSNorm | [16,384](fact:norm_ops?kind=rmsnorm&d_model) | 少一步 |

![图在这里](../assets/mark.svg)

/// exhibit | growth
图注在这里。
///

## 字节 { #bytes }

[Llama-3-8B](given:model) 每个 token 缓存 [128 KiB](fact:kv_bytes_per_token?model&dtype=bf16)，
长文缓存 [4 GiB](fact:kv_bytes?model&dtype=bf16&tokens=32768)，
短文缓存 [1 GiB](fact:kv_bytes?model&dtype=bf16&tokens=8192)。
一步用 [15.8 毫秒](fact:step_time)。

## 路径 { #paths }

叠 [24](given:blocks) 块，展开成 [16,777,216][paths] 条路径，
[超过 1,600 万][paths] 条，
[一千六百多万][paths] 条。

## 少几块 { #fewer }

叠 [8](given:blocks) 块，
展开成 [256][paths] 条路径。

## 再少几块 { #fewest }

叠 [6](given:blocks) 块，
展开成 [64][paths] 条路径。
"""

ACCOUNT_EN = """\
---
title: The account
description: The account at width [4,096](given:example)
---

# The account { #account }

The width is [4,096](given:d_model); the rest follows.
LayerNorm takes [28,672][ln] operations, [20,480][ln-core] of them in its core,
RMSNorm takes [16,384][rms], its core [12,288][rms-core],
and the difference is [12,288](fact:norm_ops_gap?d_model).
Prose stands here.

## The table { #table }

| norm | operations | note |
|------|-----------:|------|
| LayerNorm | [28,672][ln] | a cell |
| RMSNorm | [16,384](fact:norm_ops?kind=rmsnorm&d_model) | one step less |

![A picture](../assets/mark.svg)

/// exhibit | growth
A caption.
///

## Bytes { #bytes }

[Llama-3-8B](given:model) caches [128 KiB](fact:kv_bytes_per_token?model&dtype=bf16) a token,
[4 GiB](fact:kv_bytes?model&dtype=bf16&tokens=32768) for a long text
and [1 GiB](fact:kv_bytes?model&dtype=bf16&tokens=8192) for a short one.
A step takes [15.8 ms](fact:step_time).

## Paths { #paths }

[Twenty-four](given:blocks) blocks expand to [16,777,216][paths] paths,
[more than 16 million][paths],
[over sixteen million][paths].

## Fewer blocks { #fewer }

[Eight](given:blocks) blocks
expand to [256][paths] paths.

## Fewest blocks { #fewest }

[Six](given:blocks) blocks
expand to [64][paths] paths.
"""

ACCOUNT_FACTS = """\
# shared by both languages
[ln]: fact:norm_ops?kind=layernorm&d_model
[rms]: fact:norm_ops?kind=rmsnorm&d_model
[ln-core]: fact:norm_core_ops?kind=layernorm&d_model
[rms-core]: fact:norm_core_ops?kind=rmsnorm&d_model
[paths]: fact:implicit_paths?blocks
"""


def _page(title: str, text: str, front: str = "") -> str:
    return f"---\ntitle: {title}\ndescription: {title}.\n{front}---\n\n# {title} {{ #top }}\n\n{text}"


def _blocks(*names: str) -> str:
    return "\n".join(f'```python exec="on"\n--8<-- "primer/run/{name}.py"\n```\n' for name in names)


_CHAPTERS = "/// chapters | room\n| {0} |  |\n|---|---|\n| [{1}](one.md) | a |\n| [{2}](two.md) | b |\n///\n"
SNIPPETS = (
    "raises", "silent", "exits", "leaves", "warns", "absent", "broken", "quotes", "floods", "escapes", "address", "writes", "threads",
)  # fmt: skip
_TAB = '\n=== "页签"\n\n    ```python exec="on"\n    --8<-- "primer/run/tabbed.py"\n    ```\n'
RUN_ZH = _page("运行", _blocks(*SNIPPETS) + _TAB)
RUN_EN = RUN_ZH.replace("运行", "Run").replace("页签", "tab")
CLAIM_ZH = "/// claim | paths-share\n路径共用权重。\n///\n\n/// claim | addition-first\n通常先相加。\n///\n"
CLAIM_EN = "/// claim | paths-share\nThe paths share weights.\n///\n\n/// claim | addition-first\nUsually it adds first.\n///\n"

FILES = {
    "docs/primer/account.zh.md": ACCOUNT_ZH,
    "docs/primer/account.en.md": ACCOUNT_EN,
    "docs/primer/account.facts": ACCOUNT_FACTS,
    "docs/index.zh.md": _page("首页", "欢迎。\n\n## 说明 { #note }\n\n残差流在这里。\n"),
    "docs/index.en.md": _page("Home", "Welcome.\n\n## Note { #note }\n\nThe residual stream is here.\n"),
    "docs/primer/pair.zh.md": _page("一对", "两页一对。\n"),
    "docs/primer/pair.en.md": _page("A pair", "Two pages, one pair.\n"),
    "docs/primer/other.zh.md": _page("另一对", "又是一对。\n"),
    "docs/primer/other.en.md": _page("Another pair", "Again a pair.\n"),
    "docs/primer/ahead.zh.md": _page(
        "前面", "[结果](later:lab#results)另说。\n\n也有[后续](later:primer/ahead#follow)。\n"
    ),
    "docs/primer/ahead.en.md": _page(
        "Ahead", "[Results](later:lab#results) come later.\n\nMore [follows](later:primer/ahead#follow).\n"
    ),
    "docs/primer/closing.zh.md": _page(
        "收尾", "权重共用[可证](claim:paths-share)。\n\n再说一遍[可证](claim:paths-share)。\n"
    ),
    "docs/primer/closing.en.md": _page(
        "Closing", "Weights are shared [proved](claim:paths-share).\n\nAnd again [proved](claim:paths-share).\n"
    ),
    "docs/room/index.zh.md": _page("一室", _CHAPTERS.format("章", "第一", "第二"), "essay: true\n"),
    "docs/room/index.en.md": _page("A room", _CHAPTERS.format("chapter", "one", "two"), "essay: true\n"),
    **{f"docs/room/{name}.{lang}.md": _page(name, "一页。\n") for name in ("one", "two") for lang in ("zh", "en")},
    "docs/primer/evidence.zh.md": _page("证据", CLAIM_ZH),
    "docs/primer/evidence.en.md": _page("Evidence", CLAIM_EN),
    "docs/primer/run.zh.md": RUN_ZH,
    "docs/primer/run.en.md": RUN_EN,
    **{f"snippets/primer/run/{name}.py": f"print('{name}')\n" for name in (*SNIPPETS, "tabbed")},
    "snippets/primer/run/quotes.py": """\
from blocklib import show

show.markdown("[128 KiB](fact:kv_bytes_per_token?model=llama-3-8b&dtype=bf16)")
""",
    "docs/claims.toml": """\
[paths-share]
grade = "proved"
ledger = "training"
tests = [
    "tests/evidence/test_paths.py::test_share",
    "tests/evidence/test_paths.py::test_share_control",
]
how.zh = "改一个模块，一半的路径跟着变。"
how.en = "Change one module and half of the paths change."

""",
    "docs/primer/evidence.claims.toml": """\
[addition-first]
grade = "convention"
ledger = "both"
how.zh = "多数实现如此。"
how.en = "Most implementations do so."
""",
    "docs/primer/beside.zh.md": _page("旁边", "/// claim | entered-beside\n旁边有一份断言。\n///\n"),
    "docs/primer/beside.en.md": _page("Beside", "/// claim | entered-beside\nA claim is entered beside.\n///\n"),
    "docs/primer/beside.claims.toml": """\
[entered-beside]
grade = "convention"
ledger = "runtime"
how.zh = "惯例如此。"
how.en = "A convention."
""",
    "docs/later.toml": """\
["lab#results"]
zh = "实验结果"
en = "the results"

["primer/ahead#follow"]
zh = "后续"
en = "what follows"
# the end
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
""",
    "tests/evidence/test_paths.py": """\
import pytest


@pytest.mark.claim("paths-share")
def test_share():
    pass


@pytest.mark.claim("paths-share", control=True)
def test_share_control():
    pass
""",
    # The library has no measured fact before the training lab; the copy has one.
    "blocklib/theory/step_time.py": '''\
from __future__ import annotations

from fractions import Fraction

from blocklib.facts.registry import fact
from blocklib.facts.values import Measured


@fact(grade="measured", unit="s", tests=("tests/evidence/test_paths.py::test_share",))
def step_time() -> Measured:
    """Time of one step.

    中文：一步的时间。
    """
    return Measured(Fraction("0.01583"), Fraction("0.0004"))
''',
}

NAV = """
nav:
  - index.md
  - primer:
      - primer/account.md
      - primer/pair.md
      - primer/other.md
      - primer/ahead.md
      - primer/closing.md
      - primer/evidence.md
      - primer/beside.md
      - primer/run.md
  - design:
      - room/index.md
      - room/one.md
      - room/two.md
  - lab:
      - lab/plot.md
"""
