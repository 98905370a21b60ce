"""An essay's closing: every row of its table of parts rests on claims, and nowhere else do tiers appear."""

from __future__ import annotations

import re

import pytest

from blocklib.claims.pages import pages
from blocklib.claims.registry import load

TIERS = {
    "zh": {"必需", "可证得失", "经验", "实测冗余"},
    "en": {"required", "provable", "empirical", "redundant"},
}
_TIER = re.compile(r'<span class="tl-tier">([^<]*)</span>')
_BADGE = re.compile(r"\[[^\]]*\]\(claim:([\w-]+)\)")


def closings(root):
    return [(name, page) for name, page in pages(root) if name.endswith("/closing")]


def rows(source: str) -> list[str]:
    """The body rows of the table of parts."""
    table = source[
        source.index('<div class="tl-parts"') : source.index("</div>", source.index('<div class="tl-parts"'))
    ]
    return [line for line in table.splitlines() if line.startswith("|")][2:]


def unsupported(found: list[str], lang: str) -> list[str]:
    """Rows that cite no claim, or have no tier or an unknown one in their last cell."""
    return [
        row
        for row in found
        if not _BADGE.search(row) or not (tier := _TIER.search(row.split("|")[-2])) or tier[1] not in TIERS[lang]
    ]


def test_every_row_rests_on_claims(root):
    found = closings(root)
    assert {page.lang for _, page in found} == {"zh", "en"}
    for _, page in found:
        assert len(rows(page.source)) > 10 and unsupported(rows(page.source), page.lang) == []


def test_rows_control():
    row = '| a | b | c ([proved](claim:x)) | <span class="tl-tier">required</span> |'
    assert unsupported([row], "en") == []
    bad = [row.replace("(claim:x)", "(x.md)"), row.replace("required", "needed"), row.replace("tl-tier", "tier")]
    assert unsupported(bad, "en") == bad


def test_the_same_parts_in_both_languages(root):
    for name, page in closings(root):
        twin = next(p for n, p in closings(root) if n == name and p.lang != page.lang)
        assert [_BADGE.findall(row) for row in rows(page.source)] == [_BADGE.findall(row) for row in rows(twin.source)]
        tiers = [
            [sorted(TIERS[p.lang]).count(t) for t in _TIER.findall("\n".join(rows(p.source)))] for p in (page, twin)
        ]
        assert tiers[0] == tiers[1]


def test_all_tiers_are_used_and_explained(root):
    for _, page in closings(root):
        before = page.source[: page.source.index('<div class="tl-parts"')]
        assert set(_TIER.findall(before)) == set(_TIER.findall("\n".join(rows(page.source)))) == TIERS[page.lang]


def test_tiers_stand_in_closings_alone(root):
    elsewhere = [p.path for name, p in pages(root) if "tl-tier" in p.source and not name.endswith("/closing")]
    assert elsewhere == []


@pytest.mark.parametrize("essay", ["design"])
def test_the_closing_cites_every_chapter(root, essay):
    claims = load(root).claims
    for name, page in closings(root):
        cited = {claims[ident].page for row in rows(page.source) for ident in _BADGE.findall(row)}
        chapters = {n for n, _ in pages(root, page.lang) if n.startswith(f"{essay}/")} - {f"{essay}/index", name}
        assert name.startswith(essay) and chapters <= cited, chapters - cited
