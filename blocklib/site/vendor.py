"""Third-party browser parts: copied from node_modules into the site at build, never committed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from blocklib.problems import BlocklibError

FOLDER = "assets/vendor"
KATEX_CSS = f"{FOLDER}/katex/katex.min.css"
PLOTLY = f"{FOLDER}/plotly-cartesian.min.js"
# Place in the site → place in node_modules.
FILES = {
    PLOTLY: "plotly.js-cartesian-dist-min/plotly-cartesian.min.js",
    f"{FOLDER}/minisearch.js": "minisearch/dist/umd/index.js",
}
# Older formats of KaTeX's faces; every supported browser takes woff2.
_OLD_FORMATS = re.compile(r",url\([^)]*\.(?:woff|ttf)\) format\([^)]*\)")


@dataclass(frozen=True)
class Asset:
    """One file of the site: its address, and either the file it is copied from or its text."""

    uri: str
    source: Path | None = None
    text: str | None = None


def assets(root: Path) -> list[Asset]:
    """All third-party files of the site. Raises :class:`BlocklibError` when a package is not installed."""
    modules = root / "node_modules"
    found = [Asset(uri, modules / place) for uri, place in FILES.items()]
    found += [
        Asset(f"{FOLDER}/katex/fonts/{font.name}", font)
        for font in sorted((modules / "katex/dist/fonts").glob("*.woff2"))
    ]
    missing = [a.source for a in found if not a.source.is_file()]
    css = modules / "katex/dist/katex.min.css"
    if missing or not css.is_file():
        where = (missing or [css])[0].relative_to(root)
        raise BlocklibError("missing, so the site cannot be built", where=str(where), remedy="run `npm ci`")
    return [*found, Asset(KATEX_CSS, text=_stylesheet(css))]


@cache
def _stylesheet(path: Path) -> str:
    return _OLD_FORMATS.sub("", path.read_text("utf-8"))
