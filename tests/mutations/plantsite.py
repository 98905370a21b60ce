"""A small but whole copy of the project for planting faults: its configuration, hooks, theme and library, tiny pages.

Every place in which a number can stand, every kind of bound number, claims with evidence, a term and executed
blocks are there once, each on a line of its own, so that many plants can stand side by side in one build.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.claims import sources
from blocklib.facts.registry import Registry
from blocklib.site import twins
from tests.conftest import ROOT
from tests.site.conftest import Project, make_project

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


def _page(title: str, text: str) -> str:
    return f"---\ntitle: {title}\ndescription: {title}.\n---\n\n# {title} {{ #top }}\n\n{text}"


def _blocks(*names: str) -> str:
    return "\n".join(f'```python exec="on"\n--8<-- "primer/run/{name}.py"\n```\n' for name in names)


SNIPPETS = ("raises", "silent", "exits", "leaves", "warns", "absent", "broken", "quotes")
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


@dataclass(frozen=True)
class Edit:
    """``old``, which stands once in the file, becomes ``new``. Without ``old`` the file is made, without either deleted."""

    path: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Fault:
    """Where a fault must be reported, and part of what is said: on the line of the planted file that first holds
    ``text`` (line one if there is none), ``above`` lines higher; or on no line, where the ``whole`` file is wrong."""

    path: str
    text: str = ""
    says: str = ""
    above: int = 0
    whole: bool = False


@dataclass(frozen=True)
class Plant:
    """One mistake: its edits and every fault that must be reported for it, no more and no less.

    ``run``: a block has to run before it shows. ``sign``: a person signed the pairs after the edit, so that the
    plant is found for what it is and not because its page is stale.
    """

    name: str
    edits: tuple[Edit, ...]
    faults: tuple[Fault, ...]
    run: bool = False
    sign: bool = True


class PlantSite(Project):
    """The copy; :meth:`planted` puts plants in and takes them out again."""

    def __init__(self, root: Path):
        super().__init__(make_project(root).root)
        # With its bytecode, whose stamps the copy keeps: only planted modules are compiled again.
        shutil.copytree(ROOT / "blocklib", self.root / "blocklib")
        for path, text in FILES.items():
            self.write(path, text)
        self.write_tests_of_facts()
        library = sources.load(ROOT).entries
        cited = dict.fromkeys(cite.key for cite in sources.citations(self.root))
        self.write("docs/sources.bib", "\n".join(library[key].bibtex() for key in cited))
        self.sign()

    def write_tests_of_facts(self) -> None:
        """The tests that facts name, as stubs: that they exist is checked here, what they say elsewhere."""
        registry = Registry(self.root)
        named = {test for name in registry.sites for test in registry.lookup(name).tests}
        for path in {test.split("::")[0] for test in named}:
            names = sorted(test.split("::")[-1] for test in named if test.startswith(f"{path}::"))
            if not (self.root / path).exists():
                self.write(path, "".join(f"def {name}():\n    pass\n\n\n" for name in names))

    def env(self, **more: str) -> dict[str, str]:
        return super().env(PYTHONPATH=str(self.root), **more)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.root, env=self.env(), capture_output=True, text=True, timeout=120)

    def line(self, path: str, text: str) -> int:
        """The line of a file on which ``text`` first stands."""
        lines = (self.root / path).read_text("utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def expected(self, plants: Iterable[Plant]) -> list[tuple[tuple[str, int], str]]:
        """File and line of every fault that the plants, now standing, must raise, and part of its message."""
        return [((fault.path, self._line_of(fault)), fault.says) for plant in plants for fault in plant.faults]

    def _line_of(self, fault: Fault) -> int:
        if fault.whole:
            return 0
        return self.line(fault.path, fault.text) - fault.above if fault.text else 1

    @contextlib.contextmanager
    def planted(self, *plants: Plant) -> Iterator[None]:
        paths = {edit.path for plant in plants for edit in plant.edits} | {twins.SIGNATURES}
        before = {path: file.read_bytes() if (file := self.root / path).exists() else None for path in paths}
        try:
            for edit in (edit for plant in plants for edit in plant.edits):
                self._edit(edit)
            unsigned = {twins.page_name(edit.path) for plant in plants if not plant.sign for edit in plant.edits}
            self._sign_all_but(unsigned)
            yield
        finally:
            for path, data in before.items():
                (self.root / path).unlink() if data is None else (self.root / path).write_bytes(data)

    def _edit(self, edit: Edit) -> None:
        file = self.root / edit.path
        if not edit.old:
            file.write_text(edit.new, "utf-8") if edit.new else file.unlink()
            return
        text = file.read_text("utf-8")
        assert text.count(edit.old) == 1, f"{edit.old!r} stands {text.count(edit.old)} times in {edit.path}"
        file.write_text(text.replace(edit.old, edit.new), "utf-8")

    def _sign_all_but(self, unsigned: set[str]) -> None:
        """Sign by hand: ``sign`` itself refuses pairs that differ."""
        signed = tomllib.loads((self.root / twins.SIGNATURES).read_text("utf-8"))
        for page, lang in ((page, lang) for page in signed.keys() - unsigned for lang in ("zh", "en")):
            file = self.root / f"docs/{page}.{lang}.md"
            if file.exists():
                signed[page][lang] = twins.content_hash(file.read_text("utf-8"))
        rows = (f'"{page}" = {{ zh = "{entry["zh"]}", en = "{entry["en"]}" }}\n' for page, entry in signed.items())
        self.write(twins.SIGNATURES, "".join(rows))


_LINE = re.compile(r"(?P<path>[\w./-]+?)(?::(?P<line>[0-9]+))?: (?P<message>.+)")


def reported(text: str) -> list[tuple[str, int, str]]:
    """(file, line, message) of each fault in what a build or a check has printed."""
    lines = text.splitlines()
    start = next((i + 1 for i, line in enumerate(lines) if line.endswith("fault(s):")), None)
    if start is not None:
        lines = lines[start : start + int(re.search(r"(\d+) fault", lines[start - 1])[1])]
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    return [(match["path"], int(match["line"] or 0), match["message"]) for match in found]


class WarmCheck:
    """``python -m blocklib check`` in a process that stays: nothing but the start of Python is saved."""

    PROGRAM = """\
import contextlib, io, json, sys
from blocklib.cli import main
for _ in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(["check"])
    print(json.dumps([code, out.getvalue()]), flush=True)
"""

    def __init__(self, site: PlantSite):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], cwd=site.root, env=site.env(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self) -> tuple[int, str]:
        """Exit code and output of one check of the copy as it now is."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
