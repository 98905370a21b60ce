"""What a page costs to load, gzip, before an exhibit is approached; and where the heavy parts may be loaded from."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path
from urllib.parse import urljoin

import pytest

BUDGET, INDEX_BUDGET, EXHIBIT_BUDGET = 300_000, 600_000, 60_000
PACKED = {".woff2", ".png", ".jpg", ".ico"}


@cache
def transferred(path: Path) -> int:
    data = path.read_bytes()
    return len(data) if path.suffix in PACKED else len(gzip.compress(data, 9, mtime=0))


def references(text: str, address: str, pattern: str):
    return {urljoin(address, m).split("?")[0].split("#")[0] for m in re.findall(pattern, text)}


def loaded(site: Path, page: Path) -> dict[str, int]:
    """Every file that opening ``page`` transfers, by address: the page, its styles and their fonts, its scripts, images."""
    address = "/" + page.relative_to(site).as_posix()
    html = page.read_text("utf-8")
    found = references(html, address, r'<link[^>]+rel="(?:stylesheet|icon|preload|modulepreload)"[^>]*href="([^"]+)"')
    found |= references(html, address, r'<link[^>]+href="([^"]+)"[^>]*rel="(?:stylesheet|icon|preload|modulepreload)"')
    found |= references(html, address, r'<(?:script|img|source)[^>]+src="([^"]+)"')
    for style in [f for f in found if f.endswith(".css")]:
        css = (site / style.lstrip("/")).read_text("utf-8")
        fonts = references(css, style, r"url\(['\"]?(?!data:)([^'\")]+\.woff2)")
        found |= fonts  # an upper bound: the browser fetches only the faces that the page's formulas use
    return {f: transferred(site / f.lstrip("/")) for f in sorted(found | {address}) if (site / f.lstrip("/")).is_file()}


def test_every_page_stays_in_the_budget(built_site):
    over = {}
    for page in sorted(built_site.rglob("*.html")):
        parts = loaded(built_site, page)
        fonts = sum(n for f, n in parts.items() if f.endswith(".woff2"))
        # Of KaTeX's twenty faces a page of the primer uses at most six; browser/test_weight_live.py measures the truth.
        total = sum(parts.values()) - fonts
        if total > BUDGET - 60_000:
            over[str(page.relative_to(built_site))] = parts
    assert over == {}


def test_no_page_names_plotly_among_its_scripts(built_site):
    for page in built_site.rglob("*.html"):
        html = page.read_text("utf-8")
        assert not re.search(r"<script[^>]+src=\"[^\"]*plotly", html), page
        assert not re.search(r"<link[^>]+rel=\"(?!canonical|alternate)[^>]+href=\"[^\"]*plotly", html), page
        if "reference/api" in page.as_posix():
            continue  # of modules whose names have the word
        assert ("tl-exhibit" in html) or "plotly" not in re.sub(r"<main.*</main>", "", html, flags=re.S).lower(), page


def test_indexes_and_exhibits_stay_in_their_budgets(built_site):
    for index in ("search/index.json", "en/search/index.json"):
        assert 1_000 < (built_site / index).stat().st_size <= INDEX_BUDGET
    payloads = list(built_site.glob("assets/exhibits/*.json"))
    assert payloads
    assert {p.name: n for p in payloads if (n := transferred(p)) > EXHIBIT_BUDGET} == {}


def test_nothing_is_requested_off_host(built_site):
    found = []
    for page in built_site.rglob("*.html"):
        html = page.read_text("utf-8")
        found += [
            (page.name, m) for m in re.findall(r'<(?:script|img|source|iframe|embed)[^>]+src="(https?:[^"]+)"', html)
        ]
        found += [(page.name, m) for m in re.findall(
            r'<link[^>]+rel="(?:stylesheet|icon|preload|preconnect|dns-prefetch)"[^>]+href="(https?:[^"]+)"', html)]  # fmt: skip
    for style in built_site.rglob("*.css"):
        found += [
            (style.name, m)
            for m in re.findall(r"(?:url\(|@import\s+)['\"]?(https?:[^'\")]+)", style.read_text("utf-8"))
        ]
    assert found == []


def test_weight_control(tmp_path):
    (tmp_path / "big.js").write_bytes(bytes(range(256)) * 400)
    page = tmp_path / "index.html"
    page.write_text('<script src="big.js"></script>')
    assert loaded(tmp_path, page)["/big.js"] == transferred(tmp_path / "big.js")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_page_has_its_head(built_site, lang):
    base = built_site / "en" if lang == "en" else built_site
    for page in base.rglob("index.html"):
        if lang == "zh" and "en" in page.relative_to(built_site).parts[:1]:
            continue
        html = page.read_text("utf-8")
        assert f'<html lang="{lang}"' in html
        for wanted in ("<title>", '<meta name="description"', '<link rel="canonical"', 'hreflang="zh"', 'hreflang="en"',
                       'hreflang="x-default"'):  # fmt: skip
            assert wanted in html, (page, wanted)
