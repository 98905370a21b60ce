"""Pages that are generated: about the site, third-party notices, how to report an error, and the reference lists."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from blocklib.problems import BlocklibError
from blocklib.site import meta, notices, reference
from blocklib.text import Text

if TYPE_CHECKING:
    from blocklib.site.build import Build

# The oldest versions with everything the style sheets and scripts use; `:has()` decides for Firefox.
BROWSERS = (("Chrome, Edge", "120"), ("Firefox", "121"), ("Safari, iOS", "17"))

ABOUT = Text(
    """---
title: 关于本站
description: 《两本账》是什么，数字与断言如何保证，支持哪些浏览器，许可是什么。
---

# 关于本站 { #about }

《两本账》讲 Transformer 的块：训练为什么需要它的每个零件，运行又为它付出什么。
{ .tl-standfirst }

## 数字与断言 { #honesty }

页面上的数字或由经过测试的代码算出，或出自写明位置的文献；每次构建都逐一重算、逐一比对，有一个对不上，构建就失败。每个数字都通往它的来历，全部列在[数字总表](numbers.md)；带论证的句子都标明我们如何知道，列在[断言总表](claims.md)。

## 浏览器 { #browsers }

文字、数字、公式、静态图和数据表不需要脚本。交互部分在以下浏览器及更新的版本上受支持：

{browsers}

自动测试在 Chromium 上进行：每一页、两种语言、手机与桌面宽度、明暗两种配色，键盘操作与无障碍检查也在其中。

## 隐私 { #privacy }

本站不请求任何外部地址，不做统计，不设 cookie；只在浏览器里记住你选择的明暗配色。

## 许可 { #licence }

代码以 MIT 许可，文字以 CC BY 4.0 许可。第三方部分的许可见[第三方声明](notices.md)。发现错误，请[告诉我们](report.md)。
""",
    """---
title: About this site
description: What Two Ledgers is, how its numbers and claims are kept honest, which browsers it supports, its licences.
---

# About this site { #about }

Two Ledgers is about the Transformer block: why training asks for each of its parts, and what running them costs.
{ .tl-standfirst }

## Numbers and claims { #honesty }

A number on these pages is computed by tested code or comes from a source, with the place in it. Each build works all of them out again and compares; if one has drifted, the build fails. Every number leads to its origin, and the [list of numbers](numbers.md) has them all. Every sentence that carries an argument says how it is known; see the [list of claims](claims.md).

## Browsers { #browsers }

Text, numbers, formulas, static pictures and data tables need no script. The interactive parts are supported in these browsers and later versions:

{browsers}

Automatic tests run in Chromium: every page, in both languages, at phone and desktop widths, light and dark, with keyboard and accessibility checks.

## Privacy { #privacy }

The site asks nothing of any other host, counts nobody and sets no cookie. Your browser remembers the palette you chose, and that is all.

## Licences { #licence }

The code is under the MIT licence, the text under CC BY 4.0. For the licences of third-party parts see the [notices](notices.md). If you find an error, please [tell us](report.md).
""",
)

REPORT = Text(
    """---
title: 报告错误
description: 发现数字、断言或文字有误，怎样告诉我们，要附上哪些信息。
---

# 报告错误 { #report }

一个数字不对，一句话说过了头，一条链接断了，都值得告诉我们。
{ .tl-standfirst }

请附上下面几项：有了它们，就能找到出错的地方和生成那一页的代码。

{fields}

{where}
""",
    """---
title: Report an error
description: How to tell us that a number, a claim or a sentence is wrong, and what to enclose.
---

# Report an error { #report }

A wrong number, a sentence that says too much, a broken link: all are worth telling us.
{ .tl-standfirst }

Please enclose the following: it shows us where the error stands and which code made the page.

{fields}

{where}
""",
)

FIELDS = {
    "page": Text("页面", "Page"),
    "fact": Text("数字", "Number"),
    "commit": Text("提交", "Commit"),
}
TO_TRACKER = Text(
    '<a href="{url}" data-tl-tracker>在问题列表中填写</a>',
    '<a href="{url}" data-tl-tracker>Open an issue in the tracker</a>',
)
NO_TRACKER = Text(
    "把它们连同你认为正确的内容，写进本站源代码仓库的问题列表。",
    "Send them, with what you think is right, to the issue list of this site's source repository.",
)


NUMBERS = "reference/numbers.md"


def body(markdown: str) -> str:
    """Markdown without its front matter."""
    return re.sub(r"\A---\n.*?\n---\n+", "", markdown, count=1, flags=re.S)


def _browsers(lang: str) -> str:
    head = ("浏览器", "最早版本") if lang == "zh" else ("Browser", "Oldest version")
    rows = "".join(f"<tr><td>{name}</td><td>{version}</td></tr>" for name, version in BROWSERS)
    return f"<table><thead><tr><th>{head[0]}</th><th>{head[1]}</th></tr></thead><tbody>{rows}</tbody></table>"


def _report(build: Build, lang: str) -> str:
    commit = escape(meta.commit(build.root))
    rows = "".join(
        f'<dt>{label[lang]}</dt><dd data-tl-report="{name}">{f"<code>{commit}</code>" if name == "commit" else "—"}</dd>'
        for name, label in FIELDS.items()
    )
    tracker = build.issues_url
    where = TO_TRACKER[lang].replace("{url}", escape(tracker)) if tracker else NO_TRACKER[lang]
    fields = f'<dl class="tl-report-fields">{rows}</dl>'
    script = f'\n<script src="{meta.SITE_ROOT}assets/js/report.js" defer></script>\n'
    return REPORT[lang].replace("{fields}", fields).replace("{where}", where) + script


def generated(build: Build, lang: str) -> dict[str, str]:
    """Markdown of every generated page in ``lang``, by its place in docs/. A page that cannot be made is noted."""
    root, url = build.root, build.url(lang)
    makers = {
        "reference/about.md": lambda: ABOUT[lang].replace("{browsers}", _browsers(lang)),
        "reference/report.md": lambda: _report(build, lang),
        "reference/notices.md": lambda: notices.page(root, lang),
        "reference/claims.md": lambda: reference.claims(root, lang, url),
        "reference/sources.md": lambda: reference.source_list(root, lang, url, build.printed_facts()),
        "reference/glossary.md": lambda: reference.glossary(root, lang),
    }
    makers[NUMBERS] = lambda: build.number_list(lang)  # last, for it lists what the pages before it print
    made = build.api.markdown(lang)
    for place, make in makers.items():
        try:
            made[place] = make()
        except BlocklibError as error:
            build.note(f"docs/{place}", 0, error)
    return made
