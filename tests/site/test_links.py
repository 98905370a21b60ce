"""Every address in the built site leads somewhere: pages, anchors, assets, references between ids."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from blocklib.site import links

HOST = "http://localhost:8000/"
ADDRESSES = ("href", "src", "action", "data-payload", "data-plotly", "data-index", "data-worker", "data-library",
             "data-numbers", "data-report", "data-href", "data-home")  # fmt: skip
REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls", "for")


class Read(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.ids, self.addresses, self.references, self.nested, self._open = Counter(), [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.ids[given["id"]] += 1
        self.addresses += [given[name] for name in ADDRESSES if given.get(name) is not None]
        self.references += [word for name in REFERENCES for word in (given.get(name) or "").split()]
        if tag == "a":
            if self._open:
                self.nested.append(given.get("href"))
            self._open += 1

    def handle_endtag(self, tag):
        self._open -= tag == "a"


@pytest.fixture(scope="module")
def pages(built_site) -> dict[Path, Read]:
    return {path: Read(path.read_text("utf-8")) for path in built_site.rglob("*.html")}


def test_every_address_leads_to_a_file_and_to_an_anchor_of_it(pages, built_site):
    lost, checked = [], 0
    for path, page in pages.items():
        here = HOST + path.relative_to(built_site).as_posix().removesuffix("index.html")
        for address in page.addresses:
            full = urlsplit(urljoin(here, address))
            if full.netloc != urlsplit(HOST).netloc or full.scheme not in ("http", "https"):
                continue
            checked += 1
            place = built_site / unquote(full.path).lstrip("/")
            target = place / "index.html" if full.path.endswith("/") else place
            if not target.is_file():
                lost.append((path.relative_to(built_site).as_posix(), address))
            elif full.fragment and target in pages and unquote(full.fragment) not in pages[target].ids:
                lost.append((path.relative_to(built_site).as_posix(), address))
    assert lost == [] and checked > 2000


def test_ids_are_unique_and_references_between_them_hold(pages, built_site):
    for path, page in pages.items():
        name = path.relative_to(built_site).as_posix()
        assert [i for i, count in page.ids.items() if count > 1] == [], name
        assert [i for i in page.references if i not in page.ids] == [], name
        assert page.nested == [], f"{name}: a link inside a link"


def test_links_written_as_html_lead_to_pages():
    at = {"primer/shape.md": "../shape/", "index.md": "../../"}
    lost: list[str] = []
    html = links.resolve(
        '<li><a class="x" href="shape.md#a">1</a> <a href="../index.md">2</a> <a href="https://h/x.md">3</a> '
        '<a href="gone.md">4</a> <code>&lt;a href="shape.md"&gt;</code></li>',
        "primer/model.md", lambda uri, anchor: at.get(uri), lost.append,
    )  # fmt: skip
    assert '<a class="x" href="../shape/#a">1' in html and '<a href="../../">2' in html
    assert '"https://h/x.md">3' in html and '"gone.md">4' in html and lost == ["gone.md"]
    assert '&lt;a href="shape.md"&gt;' in html
