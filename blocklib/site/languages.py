"""The two languages of one site: where each stands, what it is called, and which source file is whose."""

from __future__ import annotations

from dataclasses import dataclass

from blocklib.text import LANGS, Text


@dataclass(frozen=True)
class Language:
    """One language edition: ``prefix`` is its folder below the site's root ("" for the first language)."""

    code: str
    name: str
    prefix: str


LANGUAGES = {"zh": Language("zh", "中文", ""), "en": Language("en", "English", "en/")}
DEFAULT, OTHERS = LANGS[0], LANGS[1:]

SITE_NAME = Text("两本账", "Two Ledgers")
SITE_DESCRIPTION = Text(
    "Transformer block 的两本账：训练要它什么，运行付出什么。页面上的每个数字都由经过测试的代码算出，或有出处可查。",
    "The two ledgers of a Transformer block: what training asks of each part and what running it costs. "
    "Every number on the page comes from tested code or from a named source.",
)
# Titles of the navigation's sections; `nav` in mkdocs.yml names them by key. Pages bring their own titles.
SECTIONS = {
    "primer": Text("入门", "Primer"),
    "design": Text("设计哲学", "Design philosophy"),
    "inference": Text("推理", "Inference"),
    "ledgers": Text("两本账对照", "Two ledgers"),
    "lab": Text("实验室", "Lab"),
    "atlas": Text("模型图谱", "Atlas"),
    "reference": Text("参考", "Reference"),
}
HEADINGS = {
    "numbers": Text("本页数字", "Numbers on this page"),
    "citation": Text("引用本页", "Cite this page"),
    "permalink": Text("本节链接", "Link to this section"),
}


def split_source(src_uri: str) -> tuple[str, str] | None:
    """``primer/shape.zh.md`` as ``("primer/shape.md", "zh")``; None for a file of no language."""
    stem, dot, extension = src_uri.rpartition(".")
    base, dot2, lang = stem.rpartition(".")
    if extension != "md" or not dot or not dot2 or lang not in LANGUAGES:
        return None
    return f"{base}.md", lang


def source_path(src_uri: str, lang: str) -> str:
    """The file behind a page: ``primer/shape.md`` in zh is ``docs/primer/shape.zh.md``."""
    return f"docs/{src_uri.removesuffix('.md')}.{lang}.md"


def page_of(path: str) -> str:
    """The page behind a source: ``docs/primer/shape.zh.md`` is ``primer/shape``."""
    parts = split_source(path.removeprefix("docs/"))
    return parts[0].removesuffix(".md") if parts else path.removeprefix("docs/").removesuffix(".md")


def site_path(url: str, lang: str) -> str:
    """A page's URL below the site's root: ``primer/shape/`` in en is ``en/primer/shape/``."""
    return LANGUAGES[lang].prefix + ("" if url in (".", "./") else url)
