"""A lesson as the notebook that readers download: one language's cells, no outputs, the same bytes at every build.

jupytext reads the percent file; what only this site's Markdown knows becomes plain Markdown: a bound number its text,
a claim and a margin note a quotation, an exhibit its caption, a link to a page its text. A first cell says what the
notebook needs and looks for it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import blocklib
from blocklib.claims import registry
from blocklib.claims.registry import GRADES, Claim
from blocklib.facts import lessons
from blocklib.facts.expand import plain
from blocklib.facts.files import read_text
from blocklib.site import blockhtml, cache, languages, notebooks, reference
from blocklib.text import LANGS, Text

NEEDS = Text(
    """\
# 这份 notebook 需要 Python 软件包 blocklib {version}，连同附加项 lab 与 charts。
# 安装：在本站的代码仓库里运行 pip install -e ".[lab,charts]" ipykernel，再选用同一个 Python 的内核。
import os

os.environ["BLOCKLIB_LANG"] = "zh"
try:
    import blocklib
except ModuleNotFoundError:
    raise ModuleNotFoundError("缺少软件包 blocklib，安装办法见本格开头") from None
if blocklib.__version__ != "{version}":
    print("blocklib 的版本是", blocklib.__version__, "，这份 notebook 按 {version} 写成")
""",
    """\
# This notebook needs the Python package blocklib {version} with its extras lab and charts.
# To install it, run pip install -e ".[lab,charts]" ipykernel in this site's repository, and use a kernel of the same Python.
import os

os.environ["BLOCKLIB_LANG"] = "en"
try:
    import blocklib
except ModuleNotFoundError:
    raise ModuleNotFoundError("the package blocklib is missing; the head of this cell says how to install it") from None
if blocklib.__version__ != "{version}":
    print("blocklib is version", blocklib.__version__, "and this notebook was written for {version}")
""",
)
FROM = Text(
    "本 notebook 由《两本账》的课文生成，文字以 CC BY 4.0、代码以 MIT 许可。互动展品、数字的来历与断言的证据在网页上。",
    "This notebook is made from a lesson of Two Ledgers; text CC BY 4.0, code MIT. "
    "The interactive exhibits, the origin of each number and the evidence of the claims are on the web page.",
)
EXHIBIT = Text("展品（网页上可操作）", "Exhibit (interactive on the web page)")
_BLOCK = re.compile(r"^/// (\w+)(?: \| *(.*?))?[ ]*\n(.*?)^///[ ]*$", re.S | re.M)
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ ]*[#.][^{}\n]*\}[ \t]*$", re.M)
_MATH_NUMBER = re.compile(r"\\(?:fact|given)\{((?:[^{}]|\{[^{}]*\})*)\}\{[^{}]*\}")


def plain_markdown(text: str, lang: str, claims: dict[str, Claim]) -> str:
    """Markdown of a lesson's cell as any notebook shows it."""

    def block(match: re.Match[str]) -> str:
        kind, ident, body = match[1], (match[2] or "").strip(), match[3].strip()
        claim = claims.get(ident) if kind == "claim" else None
        head = {"exhibit": EXHIBIT[lang], "claim": reference.CLAIM[lang].capitalize()}.get(kind, "")
        if claim:
            grade = GRADES[claim.grade].label[lang]
            head += f"（{grade}）" if lang == "zh" else f" ({grade})"
        lines = ([f"**{head}**", ""] if head else []) + body.split("\n")
        return "\n".join(f"> {line}".rstrip() for line in lines)

    text = _ATTRIBUTES.sub("", _BLOCK.sub(block, text))
    text = _MATH_NUMBER.sub(lambda found: found[1], text)
    return reference.plain_links(plain(text)).strip()


def percent(lesson: lessons.Lesson, lang: str, claims: dict[str, Claim]) -> str:
    """The lesson as a percent file of one language."""
    cells = [f"# %% [markdown]\n# {FROM[lang]}", f"# %%\n{NEEDS[lang].replace('{version}', blocklib.__version__)}"]
    for cell in lesson.cells:
        if cell.code:
            cells.append(f"# %%\n{blockhtml.own_comments(cell.source, lang)}")
        elif cell.lang == lang and (text := plain_markdown(cell.source, lang, claims)):
            cells.append("# %% [markdown]\n" + "\n".join(f"# {line}".rstrip() for line in text.split("\n")))
    if len(cells) > 2:  # the title first
        cells[:3] = [cells[2], cells[0], cells[1]]
    return "\n\n".join(cells) + "\n"


def notebook(lesson: lessons.Lesson, lang: str, claims: dict[str, Claim]) -> str:
    """The notebook of a lesson in one language as JSON."""
    import jupytext

    made = jupytext.reads(percent(lesson, lang, claims), fmt="py:percent")
    cells = []
    for number, cell in enumerate(made.cells, 1):
        code = {"execution_count": None, "outputs": []} if cell.cell_type == "code" else {}
        source = cell.source.splitlines(keepends=True)
        cells.append({"cell_type": cell.cell_type, "id": f"cell-{number}", "metadata": {}, "source": source, **code})
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def files(root: Path, store: cache.Store, machinery: str) -> dict[str, str]:
    """The notebooks of all lessons in both languages, by their place below the site's root.

    ``machinery`` stands for the code that makes them, this module's included.
    """
    claims, found = registry.load(root).claims, {}
    grades = {ident: claim.grade for ident, claim in claims.items()}
    for path in lessons.lesson_paths(root):
        text = read_text(root, path)[0]
        for lang in LANGS:
            key = cache.key("download", machinery, text, grades, lang)
            made = store.get("downloads", key)
            if not isinstance(made, str):
                made = notebook(lessons.read(text), lang, claims)
                store.put("downloads", key, made)
            found[notebooks.notebook_path(languages.page_of(lessons.pages_of(path)[0]), lang)] = made
    return found
