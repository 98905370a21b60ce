"""The navigation: every page is in it or left out on purpose, and no entry has a title in one language."""

from __future__ import annotations

import pytest

from blocklib.site import nav
from tests.conftest import ROOT
from tests.minisite import write_site

NAV = "site_name: x\nnav:\n  - index.md\n  - primer:\n      - primer/paths.md\n"


@pytest.fixture
def said(tmp_path):
    """What is said about the small site with these settings."""
    write_site(tmp_path, sign=False)

    def about(settings: str) -> list[str]:
        (tmp_path / "mkdocs.yml").write_text(settings, "utf-8")
        return [str(problem) for problem in nav.check(tmp_path)]

    return about


def test_control_the_site_s_own_navigation():
    assert nav.check(ROOT) == []


@pytest.mark.parametrize("settings", [NAV, "site_name: x\n", "", "nav:\n", "hooks: !ENV [X, y]\n" + NAV])
def test_what_is_right(said, settings):
    assert said(settings) == []


def test_a_page_in_no_menu(said):
    assert said(NAV.replace("      - primer/paths.md\n", "      - primer/path.md\n")) == [
        "docs/primer/paths.zh.md:1: is in no menu; name primer/paths.md under nav in mkdocs.yml, "
        "or under not_in_nav if that is meant"
    ]


@pytest.mark.parametrize("setting", ["not_in_nav", "draft_docs", "exclude_docs"])
@pytest.mark.parametrize("pattern", ["primer/paths.md", "primer/*.md", "/primer/", "paths*"])
def test_a_page_left_out_on_purpose(said, setting, pattern):
    bare = NAV.replace("  - primer:\n      - primer/paths.md\n", "")
    assert len(said(bare)) == 1
    assert said(f"{bare}{setting}: |\n  other.md\n  {pattern}\n") == []


def test_a_page_in_one_language_is_missed_too(said, tmp_path):
    (tmp_path / "docs/more.en.md").write_text("# More { #more }\n", "utf-8")
    assert [line.split(": ")[0] for line in said(NAV)] == ["docs/more.en.md:1"]


def test_sections(said):
    assert said(NAV.replace("- primer:", "- prmier:")) == [
        "mkdocs.yml:4: the section 'prmier' has no title; give it one in both languages in SECTIONS, "
        "blocklib/site/languages.py; did you mean 'primer'?"
    ]
    inner = NAV + "      - atlas:\n          - later:\n              - primer/paths.md\n"
    assert [line.split(";")[0] for line in said(inner)] == ["mkdocs.yml:7: the section 'later' has no title"]


def test_a_title_in_one_language(said):
    assert said(NAV.replace("- index.md", "- Home: index.md")) == [
        "mkdocs.yml:3: 'Home' is a title in one language; write index.md alone, the page has its own"
    ]


def test_settings_that_cannot_be_read(said):
    (line,) = said("nav:\n  - [a\n")
    assert line.startswith("mkdocs.yml:3: not YAML: ")


def test_what_mkdocs_says_about_it(tmp_path):
    write_site(tmp_path, sign=False)
    (tmp_path / "docs/free.md").write_text("x", "utf-8")

    def told(message: str) -> list[str]:
        return [str(problem) for problem in nav.told(tmp_path, message)]

    out = 'The following pages exist in the docs directory, but are not included in the "nav" configuration:'
    listed = told(out + "".join(f"\n  - {uri}" for uri in ("primer/paths.md", "reference/about.md", "free.md")))
    assert [line.split("; ")[0] for line in listed] == [
        "docs/primer/paths.zh.md:1: is in no menu", "generated:reference/about.md:1: is in no menu"
    ]  # fmt: skip
    nowhere = (
        "A reference to '{}' is included in the 'nav' configuration, which is not found in the documentation files."
    )
    assert told(nowhere.format("primer/path.md")) == ["mkdocs.yml: " + nowhere.format("primer/path.md")]
    assert told(nowhere.format("primer/paths.md")) == [], "its twin is missing, which is said elsewhere"
    assert told("Another matter.") == ["mkdocs.yml: Another matter."]
