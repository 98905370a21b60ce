"""The bytes that a page really transfers before any exhibit is approached, fonts included, as gzip would send them."""

from __future__ import annotations

import gzip

import pytest
from site_pages import PAGES

pytestmark = pytest.mark.browser
BUDGET = 300_000


@pytest.mark.parametrize("address", PAGES)
def test_a_page_transfers_at_most_300_kb(visit, built_site, address):
    with visit(width=360) as v:
        v.open(address)
        v.page.wait_for_timeout(300)
        total = {}
        for url in set(v.requested):
            name = url.removeprefix(v.address).split("?")[0].split("#")[0]
            path = built_site / (name + "index.html" if name.endswith("/") or not name else name)
            if not path.is_file() or "plotly" in name or "/exhibits/" in "/" + name:
                continue
            data = path.read_bytes()
            total[name] = len(data) if path.suffix in (".woff2", ".png") else len(gzip.compress(data, 9, mtime=0))
        assert sum(total.values()) <= BUDGET, sorted(total.items(), key=lambda x: -x[1])[:6]
        assert len(total) > 3
