"""The pages of the site by their addresses, from the sources: what a test that looks at every page goes over."""

from __future__ import annotations

import os
from pathlib import Path

from blocklib.facts.files import page_paths, read_text

ROOT = Path(__file__).resolve().parents[2]
FULL = bool(os.environ.get("FULL_MATRIX"))
WIDTHS = (360, 768, 1280) if FULL else (360, 1280)
REFERENCE = ("numbers", "claims", "sources", "glossary", "notices", "about", "report", "api")
# Of the pages of modules: classes with fields, facts with Chinese, code in docstrings, long constants.
REFERENCE += ("api/ledger-config", "api/theory-paths", "api/charts", "api/facts-grammar")


def addresses() -> list[str]:
    """Address of every page in both languages, home first, relative to the site's root."""
    own = [p.removeprefix("docs/").removesuffix(".zh.md") for p in page_paths(ROOT) if p.endswith(".zh.md")]
    slugs = ["" if name == "index" else name.removesuffix("/index") + "/" for name in own]
    slugs += [f"reference/{name}/" for name in REFERENCE if f"reference/{name}" not in own]
    return [prefix + slug for slug in slugs for prefix in ("", "en/")]


def exhibits_of(address: str) -> list[str]:
    """Ids of the exhibits on the page at ``address``."""
    slug = address.removeprefix("en/").rstrip("/") or "index"
    page = f"docs/{slug}.{'en' if address.startswith('en/') else 'zh'}.md"
    lines = read_text(ROOT, page)[0].splitlines()  # nothing for a generated page
    return [line.split("|")[1].strip() for line in lines if line.startswith("/// exhibit |")]


PAGES = addresses()
WITH_EXHIBITS = [page for page in PAGES if exhibits_of(page)]


def matrix():
    """(page, width, palette): alternating palettes, or the full cross product for ``make test-all``."""
    for i, page in enumerate(PAGES):
        widths = WIDTHS if FULL or not exhibits_of(page) else (*WIDTHS, 768)
        for j, width in enumerate(widths):
            for palette in ("default", "slate") if FULL else (("default", "slate")[(i // 2 + i + j) % 2],):
                yield page, width, palette
