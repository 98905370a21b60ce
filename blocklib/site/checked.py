"""Facts and claims as the page pipeline needs them: checked once a build, expanded and listed page by page."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from blocklib.check import check_all
from blocklib.claims.sources import Library
from blocklib.facts.check import Report, check_text
from blocklib.facts.expand import expand
from blocklib.facts.pages import PageNumbers, Row, registry_for
from blocklib.problems import Problem
from blocklib.site import meta, numbers, redirects, reference
from blocklib.site.meta import SITE_ROOT
from blocklib.site.numbers import Url


def check_site(root: Path) -> Report:
    """Every checker over every page; the report's problems are those of all of them."""
    report, problems = check_all(root)
    report.problems = problems
    return report


def printed(
    text: str, page: PageNumbers | None, path: str, lang: str, line: int, root: Path
) -> tuple[str, list[Problem], list[Row]]:
    """Markdown that the block on ``line`` printed: expanded, with its problems and the rows it adds."""
    text = text.replace("\r\n", "\n")
    result = check_text(text, path, lang, line, page, registry_for(root))
    return expand(text, result), result.problems, result.rows


def report_url(prefix: str, root: Path):
    """``report_url(page, fact)``: the page "report an error" of a language, told about the place.

    ``prefix`` is the language's folder below the site's root.
    """

    def address(page: str, fact: str = "") -> str:
        asked = {"page": page, "fact": fact, "commit": meta.commit(root)}
        return f"{SITE_ROOT}{prefix}reference/report/?{urlencode({k: v for k, v in asked.items() if v})}"

    return address


def number_list(rows: dict[str, list[Row]], lang: str, root: Path, library: Library, url: Url, report) -> str:
    """Markdown of reference/numbers from the rows of all pages, those that blocks printed included."""
    retired: dict[str, list[str]] = {}
    for old, new in redirects.load(root)["facts"].items():
        retired.setdefault(new, []).append(old)
    titles = reference.titles(root, lang)
    return numbers.numbers(rows, lang, titles=titles, library=library, url=url, report_url=report, retired=retired)
