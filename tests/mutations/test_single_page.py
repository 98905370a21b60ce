"""A fault planted around one page: the check of that page alone finds it, the check of another does not, and the page
is not signed while it stands, so that nothing broken gets published."""

from __future__ import annotations

import pytest

from blocklib.check import check_all
from blocklib.site import redirects, twins
from tests.minisite import edit, write_site

PAGE, OTHER = "primer/paths", "index"
ZH, EN, FACTS = "docs/primer/paths.zh.md", "docs/primer/paths.en.md", "docs/primer/paths.facts"
BESIDE, CLAIMS, TESTS = "docs/primer/paths.claims.toml", "docs/claims.toml", "tests/paths/test_paths.py"
ENTRY = """\
[entered-beside]
grade = "convention"
ledger = "both"
how.zh = "惯例。"
how.en = "A convention."
"""


@pytest.fixture
def site(tmp_path):
    """The small site without what it has no exhibit for, and with a claim entered beside the page."""
    write_site(tmp_path, sign=False)
    for path in (ZH, EN):
        text = (tmp_path / path).read_text("utf-8")
        begin = text.index("/// exhibit")
        end = text.index("///\n", begin + 3) + 5
        (tmp_path / path).write_text(text[:begin] + text[end:] + "\n/// claim | entered-beside\nIt is.\n///\n", "utf-8")
    (tmp_path / BESIDE).write_text(ENTRY, "utf-8")
    assert twins.sign(tmp_path, [OTHER, PAGE]) == []
    return tmp_path


def said(site, *paths: str) -> list[tuple[str, str]]:
    return [(p.path, p.message) for p in check_all(site, paths)[1]]


def test_control_nothing_is_wrong(site):
    for path in (ZH, EN, FACTS, BESIDE, "docs/index.zh.md"):
        assert said(site, path) == []


# The edit, and the fault it makes: the file in which it stands, part of what is said.
PLANTS = {
    "a grade that is none beside the page": (BESIDE, '"convention"', '"plausible"', BESIDE, "unknown grade 'plausible'"),
    "a claim beside the page without a test": (BESIDE, '"convention"', '"computed"', BESIDE, "but has no test"),
    "no TOML beside the page": (BESIDE, 'ledger = "both"', 'ledger = "both', BESIDE, "not valid TOML"),
    "a claim beside the page that stands on none": (BESIDE, "[entered-beside]", ENTRY + "\n[spare]", BESIDE,
                                                    "'spare' stands on no page"),
    "a source that is none beside the page": (BESIDE, 'grade = "convention"', 'grade = "cited"\nsources = ["x2015, abstract"]',
                                              BESIDE, "no entry 'x2015'"),
    "a claim of the page entered among all": (CLAIMS, 'sources = ["veit2016, abstract"]', 'sources = ["veit2016"]', CLAIMS,
                                              "names no place"),
    "its test is gone": (TESTS, "def test_share()", "def test_other()", CLAIMS, "test_share does not exist"),
    "its test carries another mark": (TESTS, '"paths-share")\ndef', '"short-paths")\ndef', TESTS, "evidence of claim 'short-paths'"),
    "no TOML where its claims are": (CLAIMS, 'ledger = "both"', 'ledger = "both', CLAIMS, "not valid TOML"),
    "its source without a year": ("docs/sources.bib", "year = {2016}", "year = {soon}", "docs/sources.bib", "is not a year"),
    "a fact that is none": (FACTS, "implicit_paths", "implicit_path", FACTS, "unknown fact"),
    "a number in the twin": (EN, "blocks expand to [16,777,216]", "blocks expand to [16,777,217]", EN, "printed 16,777,217"),
    "a heading that was published and is gone": (
        "docs/ids.toml", '"primer/paths" = [', '"primer/paths" = ["older", ', "docs/ids.toml", "'primer/paths#older' is gone"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_found_from_the_page_alone_and_keeps_it_unsigned(site, capsys, name):
    path, old, new, where, says = PLANTS[name]
    edit(site, path, old, new)
    ids, signatures = ((site / file).read_bytes() for file in (redirects.IDS, twins.SIGNATURES))
    for asked in (ZH, EN, BESIDE):
        found = said(site, asked)
        assert any(at == where and says in message for at, message in found), (asked, found)
    assert said(site, "docs/index.zh.md") == []
    assert twins.main(["--sign", PAGE], site) == 1
    told = capsys.readouterr().err
    assert f"{where}:" in told and says in told and "not signed" in told
    assert ((site / redirects.IDS).read_bytes(), (site / twins.SIGNATURES).read_bytes()) == (ids, signatures)
    assert twins.main(["--sign", OTHER], site) == 0


def test_all_of_a_page_s_faults_are_those_of_the_whole_check(site):
    for path, old, new, _, _ in list(PLANTS.values())[1:12:4]:
        edit(site, path, old, new)
    whole = check_all(site)[1]
    assert set(check_all(site, [ZH])[1]) <= set(whole) and len(check_all(site, [ZH])[1]) >= 3


def test_an_edit_of_one_side_is_the_pair_s_fault_until_signed(site):
    (site / ZH).write_text((site / ZH).read_text("utf-8") + "\n又一句。\n", "utf-8")
    assert [path for path, _ in said(site, EN)] == [ZH]
    assert twins.main(["--sign", PAGE], site) == 0 and said(site, EN) == []
