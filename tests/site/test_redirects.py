"""Ids as promises: recorded on signing, missed when they go, satisfied by a redirect."""

from __future__ import annotations

import tomllib

import pytest

from blocklib.site import redirects, twins
from tests.minisite import edit, line_of, write_site

PAIR = ("docs/primer/paths.zh.md", "docs/primer/paths.en.md")


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path)


def ids(site):
    return tomllib.loads((site / "docs/ids.toml").read_text())


def test_signing_records_what_a_reader_may_link_to(site):
    assert ids(site) == {
        "claims": ["add-then-norm", "paths-share", "short-paths"],
        "facts": ["implicit_paths"],
        "headings": {"index": ["top"], "primer/paths": ["paths", "count", "history"]},
    }
    assert redirects.check(site) == []


def test_ids_are_added_and_never_taken_away(site):
    for path in PAIR:
        edit(site, path, "{ #history }", "{ #origin }")
    assert twins.sign(site, ["primer/paths"]) == []
    assert ids(site)["headings"]["primer/paths"] == ["paths", "count", "history", "origin"]
    assert [p.message.split(";")[0] for p in redirects.check(site)] == [
        "published heading 'primer/paths#history' is gone"
    ]


def test_page_moved(site):
    for lang in ("zh", "en"):
        (site / f"docs/primer/paths.{lang}.md").rename(site / f"docs/primer/roads.{lang}.md")
    (site / "docs/primer/paths.facts").rename(site / "docs/primer/roads.facts")
    line = line_of(site, "docs/ids.toml", '"primer/paths"')
    assert [(p.path, p.line) for p in redirects.check(site)] == [("docs/ids.toml", line)] * 4  # the page, its headings
    (site / "docs/redirects.toml").write_text('[pages]\n"primer/paths" = "primer/roads"\n')
    assert redirects.check(site) == []


def test_fact_renamed(site):
    file = site / "docs/ids.toml"
    file.write_text(file.read_text().replace('"implicit_paths"', '"imaginary_paths"'))
    assert "published fact 'imaginary_paths' is gone" in redirects.check(site)[0].message
    (site / "docs/redirects.toml").write_text('[facts]\nimaginary_paths = "implicit_paths"\n')
    assert redirects.check(site) == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[claims]\n"old" = "short-path"\n', 2, "did you mean 'short-paths'?"),
        ('[claims]\n"short-paths" = "paths-share"\n', 2, "still exists"),
        ('[claims]\n"a" = "b"\n"b" = "a"\n', 2, "does not exist"),
        ('[anchors]\n"a" = "b"\n', 1, "unknown table"),
        ("[claims\n", 1, "not valid TOML"),
    ],
)
def test_faults_of_the_map(site, text, line, message):
    (site / "docs/redirects.toml").write_text(text)
    found = redirects.check(site)
    assert found[0].path == "docs/redirects.toml" and found[0].line == line and message in found[0].message


def test_chains_are_followed_and_aliases_given(site):
    (site / "docs/redirects.toml").write_text(
        '[claims]\n"a" = "b"\n"b" = "short-paths"\n\n[headings]\n"primer/paths#old" = "primer/paths#count"\n'
    )
    assert redirects.check(site) == []
    assert redirects.load(site)["claims"] == {"a": "short-paths", "b": "short-paths"}
    assert redirects.aliases(site, "primer/paths") == {"count": ["old"], "claim-short-paths": ["claim-a", "claim-b"]}
