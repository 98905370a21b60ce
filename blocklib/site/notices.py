"""Third-party notices: what the site ships, with the licence texts of the very packages it was built from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from blocklib.problems import BlocklibError
from blocklib.text import Text


@dataclass(frozen=True)
class Part:
    """A third-party part: where it comes from ("npm" or "python"), and what of it stands in the site.

    ``files`` are its licence files, relative to the package's folder (npm) or as recorded (python); ``bundle`` a
    script into which it packs other libraries.
    """

    name: str
    package: str
    origin: str
    used: Text
    files: tuple[str, ...]
    bundle: str = ""


PARTS = (
    Part("Material for MkDocs", "mkdocs-material", "python",
         Text("页面框架、样式与脚本", "page frame, styles and script"),
         ("LICENSE",), "material/templates/assets/javascripts/bundle."),
    Part("Material Design Icons", "mkdocs-material", "python",
         Text("目录、搜索与复制按钮的图标", "the icons for contents, search and copying"),
         ("material/templates/.icons/material/LICENSE",)),
    Part("Plotly.js (cartesian bundle)", "plotly.js-cartesian-dist-min", "npm",
         Text("展品的交互图", "the interactive charts of exhibits"), ("LICENSE",)),
    Part("KaTeX", "katex", "npm",
         Text("公式的样式与字体；公式在构建时排好", "styles and fonts of formulas, which are set at build time"), ("LICENSE",)),
    Part("MiniSearch", "minisearch", "npm", Text("站内搜索", "the search"), ("LICENSE.txt",)),
    Part("Pygments", "pygments", "python",
         Text("代码着色所用的标记", "the markup of coloured code"), ("LICENSE",)),
)  # fmt: skip
# KaTeX's fonts stand under their own terms, which the package names but does not enclose.
FONTS = Text(
    "KaTeX 的字体源自 MathJax 与 AMS 的 Computer Modern 系列，以 SIL Open Font License 1.1 发布。",
    "KaTeX's fonts descend from the Computer Modern family of MathJax and the AMS and are under the SIL Open Font License 1.1.",
)


@dataclass(frozen=True)
class Notice:
    """A part as installed: version, licence name and licence text."""

    part: Part
    version: str
    licence: str
    text: str
    inside: tuple[str, ...] = ()  # libraries packed into it


def _npm(root: Path, part: Part) -> Notice:
    folder = root / "node_modules" / part.package
    try:
        about = json.loads((folder / "package.json").read_text("utf-8"))
        text = "\n\n".join((folder / name).read_text("utf-8").strip() for name in part.files)
    except (OSError, ValueError):
        where = f"node_modules/{part.package}"
        raise BlocklibError("no licence text found", where=where, remedy="run `npm ci`") from None
    return Notice(part, about["version"], about.get("license", ""), text)


def _python(part: Part) -> Notice:
    try:
        dist = distribution(part.package)
    except PackageNotFoundError:
        raise BlocklibError(f"the package {part.package} is not installed", remedy="run `make build`") from None
    texts = []
    for name in part.files:
        # Read where licences are put; listing a package's files would read thousands of names for one.
        text = next(filter(None, (dist.read_text(f"{place}{name}") for place in ("licenses/", ""))), None)
        if text is None:
            file = Path(dist.locate_file(name))
            if not file.is_file():
                raise BlocklibError(f"no licence file {name}", where=f"package {part.package}")
            text = file.read_text("utf-8")
        texts.append(text.strip())
    inside, banners = _bundled(dist, part.bundle)
    texts += banners
    licence = dist.metadata.get("License-Expression") or dist.metadata.get("License") or ""
    return Notice(part, dist.version, licence.splitlines()[0] if licence else "", "\n\n".join(texts), inside)


def _bundled(dist, start: str) -> tuple[tuple[str, ...], list[str]]:
    """Libraries packed into a script (from its source map) and the licence banners that stand in it."""
    names: set[str] = set()
    banners: list[str] = []
    folder, _, name = start.rpartition("/")
    for file in sorted(Path(dist.locate_file(folder)).glob(f"{name}*")) if start else ():
        text = file.read_text("utf-8")
        if file.suffix == ".map":
            sources = json.loads(text)["sources"]
            names |= {m for s in sources for m in re.findall(r"node_modules/((?:@[^/]+/)?[^/]+)/", s)}
        else:
            banners += [b.strip() for b in re.findall(r"/\*!(.*?)\*/", text, re.S)]
    return tuple(sorted(names)), banners


@cache
def collect(root: Path) -> tuple[Notice, ...]:
    """The notices of everything shipped. Raises :class:`BlocklibError` where a licence text is missing."""
    return tuple(_npm(root, part) if part.origin == "npm" else _python(part) for part in PARTS)


def page(root: Path, lang: str) -> str:
    """The generated page, as Markdown with the licence texts as they are."""
    zh = lang == "zh"
    title = "第三方声明" if zh else "Third-party notices"
    about = (
        "本站所含第三方部分的清单、版本与许可原文。"
        if zh
        else "The third-party parts of this site, with their versions and licence texts."
    )
    intro = (
        "本站的文件里有下列第三方部分；许可原文取自构建所用的软件包。"
        if zh
        else "The site contains the third-party parts below. The licence texts are taken from the packages it was built from."
    )
    parts = [
        f"---\ntitle: {title}\ndescription: {about}\n---\n\n# {title} {{ #notices }}\n\n{intro}\n{{ .tl-standfirst }}\n"
    ]
    for notice in collect(root):
        ident = "notice-" + "".join(c if c.isalnum() else "-" for c in notice.part.name.lower()).strip("-")
        version = f"版本 {notice.version}" if zh else f"Version {notice.version}"
        used = (
            f"{notice.part.used[lang]}。"
            if zh
            else f"{notice.part.used[lang][:1].upper()}{notice.part.used[lang][1:]}."
        )
        if notice.inside:
            names = ("、" if zh else ", ").join(notice.inside)
            used += f"其中打包了 {names}。" if zh else f" It bundles {names}."
        note = f"\n{FONTS[lang]}\n" if notice.part.package == "katex" else ""
        licence = f"{'，' if zh else ', '}{notice.licence}" if notice.licence else ""
        parts.append(
            f"## {notice.part.name} {{ #{ident} }}\n\n{used} {version}{licence}{'。' if zh else '.'}\n{note}\n"
            f'<div class="tl-scroll" tabindex="0" role="region" aria-label="{escape(notice.part.name)}" data-search-exclude>'
            f"<pre>{escape(notice.text).replace(chr(10) * 2, chr(10) + '&#8203;' + chr(10))}</pre></div>\n"
        )
    return "\n".join(parts)
