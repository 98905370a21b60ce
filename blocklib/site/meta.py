"""What a page says about itself: addresses in both languages, sitemap, robots, version and commit."""

from __future__ import annotations

import html
import os
import posixpath
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urljoin

import blocklib
from blocklib.site.languages import DEFAULT, LANGUAGES, site_path
from blocklib.text import LANGS


@cache
def commit(root: Path) -> str:
    """Short hash of the sources: ``SOURCE_COMMIT``, else git's; "" outside a repository."""
    if named := os.environ.get("SOURCE_COMMIT", "").strip():
        return named[:12]
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def version() -> str:
    """The project's version, from the package."""
    return blocklib.__version__


@dataclass(frozen=True)
class Alternate:
    """One language's address of a page; ``lang`` may be "x-default"."""

    lang: str
    url: str


def alternates(site_url: str, url: str) -> list[Alternate]:
    """Absolute addresses of a page in every language and the default; empty without a site address."""
    if not site_url:
        return []
    found = [Alternate(lang, urljoin(site_url, site_path(url, lang))) for lang in LANGS]
    return [*found, Alternate("x-default", found[LANGS.index(DEFAULT)].url)]


def sitemap(site_url: str, urls: Iterable[str]) -> str:
    """One sitemap of both languages; ``urls`` are page addresses within a language.

    There is no ``lastmod``: a date that moves with the build would say nothing true about a page.
    """
    rows = []
    for url in sorted(set(urls)):
        links = "".join(
            f'    <xhtml:link rel="alternate" hreflang="{a.lang}" href="{html.escape(a.url)}"/>\n'
            for a in alternates(site_url, url)
        )
        for lang in LANGS:
            address = html.escape(urljoin(site_url, site_path(url, lang)))
            rows.append(f"  <url>\n    <loc>{address}</loc>\n{links}  </url>\n")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
        + "".join(rows)
        + "</urlset>\n"
    )


def robots(site_url: str) -> str:
    """Everything may be read; the sitemap is named where the site knows its address."""
    lines = ["User-agent: *", "Allow: /"]
    if site_url:
        lines.append(f"Sitemap: {urljoin(site_url, 'sitemap.xml')}")
    return "\n".join(lines) + "\n"


# ---- one set of assets for both languages -------------------------------------------------------------

_ASSET = re.compile(r'((?:href|src|poster|data-[a-z-]+)=")((?:\.\./)*|\./)assets/')
_ROOTED = re.compile(r'((?:href|src|data-[a-z]+)=")(/(?!/)[^"]*)"')


# In cached HTML, which does not know at what depth it will stand, an address below the root of the whole site.
SITE_ROOT = "site:/"


def from_root(page: str, lang: str, url: str) -> str:
    """Resolve :data:`SITE_ROOT` in a finished page that stands at ``url`` within ``lang``."""
    return page.replace(f'"{SITE_ROOT}', '"' + ("../" * site_path(url, lang).count("/") or "./"))


def lift_assets(page: str) -> str:
    """Point a page of a prefixed language at the assets of the site's root: one folder further up."""
    return _ASSET.sub(lambda m: f"{m[1]}../{m[2].removeprefix('./')}assets/", page)


def settle_rooted(page: str, root_path: str) -> str:
    """Clean addresses from the host's root in an error page, and point its assets at the site's root.

    An error page answers at any depth, so its links are absolute; ``root_path`` is the path of the site.
    """

    def clean(match: re.Match[str]) -> str:
        path, mark, rest = re.fullmatch(r"([^?#]*)([?#]?)(.*)", match[2], re.S).groups()
        tidy = posixpath.normpath(path)
        if path.endswith(("/", "/.", "/..")) and tidy != "/":
            tidy += "/"
        for language in LANGUAGES.values():
            if language.prefix and tidy.startswith(f"{root_path}{language.prefix}assets/"):
                tidy = root_path + tidy.removeprefix(root_path + language.prefix)
        return f'{match[1]}{tidy}{mark}{rest}"'

    return _ROOTED.sub(clean, page)
