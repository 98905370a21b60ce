"""Twins: pairs, structure, numbers by section, signatures and the command."""

from __future__ import annotations

import hashlib

import pytest

from blocklib.problems import BlocklibError, UsageError
from blocklib.site import twins
from tests.conftest import ROOT
from tests.minisite import edit, line_of, write_site

ZH, EN = "docs/primer/paths.zh.md", "docs/primer/paths.en.md"


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path)


def states(site):
    return {one.page: (one.status, one.changed) for one in twins.state(site)}


def test_a_signed_pair_is_clean(site):
    assert twins.check(site) == []
    assert states(site) == {"index": ("signed", ()), "primer/paths": ("signed", ())}


def test_hash_is_of_the_text_with_plain_line_ends():
    text = "# 标题\n\n文\n"
    assert twins.content_hash(text) == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert twins.content_hash("\ufeff" + text.replace("\n", "\r\n")) == twins.content_hash(text)
    assert twins.content_hash(text + " ") != twins.content_hash(text)


def test_line_ends_do_not_make_a_pair_stale(site):
    file = site / EN
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert twins.check(site) == []


@pytest.mark.parametrize(("path", "lang"), [(ZH, "zh"), (EN, "en")])
def test_an_edit_makes_the_pair_stale_until_signed(site, path, lang):
    file = site / path
    file.write_text(file.read_text() + "\nx\n")
    assert states(site)["primer/paths"] == ("stale", (lang,))
    assert [(p.path, p.line) for p in twins.check(site)] == [(path, 1)]
    assert twins.check(site, strict=False) == []  # the preview shows the state instead
    assert twins.sign(site, ["primer/paths"]) == []
    assert twins.check(site) == [] and states(site)["index"] == ("signed", ())


def test_a_pair_with_a_fault_cannot_be_signed(site):
    edit(site, EN, "## Where it comes from", "## New { #new }\n\n## Where it comes from")
    before = (site / "docs/twins.toml").read_text()
    problems = twins.sign(site, ["primer/paths"])
    assert any(p.path == ZH and "heading #new is missing" in p.message for p in problems)
    assert (site / "docs/twins.toml").read_text() == before


def test_unsigned_pages_and_signatures_without_a_page(site):
    (site / "docs/new.zh.md").write_text("# 新 { #new }\n")
    (site / "docs/new.en.md").write_text("# New { #new }\n")
    (site / "docs/index.zh.md").unlink()
    (site / "docs/index.en.md").unlink()
    found = {(p.path, p.line): p.message for p in twins.check(site)}
    assert "never been signed" in found["docs/new.zh.md", 1]
    assert "is no page" in found["docs/twins.toml", line_of(site, "docs/twins.toml", '"index"')]
    assert states(site)["new"] == ("unsigned", ())


def test_a_file_of_no_language(site):
    (site / "docs/notes.md").write_text("# x\n")
    assert [(p.path, "PAGE.zh.md" in p.message) for p in twins.check(site)] == [("docs/notes.md", True)]


def test_inline_and_reference_forms_are_the_same_fact(site):
    edit(site, EN, "[16,777,216](fact:implicit_paths?blocks) paths", "[16,777,216][all] paths")
    assert twins.check(site, strict=False) == []
    edit(site, EN, "[16,777,216][all] paths", "[16,777,216](fact:implicit_paths?blocks=24) paths")
    found = twins.check(site, strict=False)  # a given followed is not a value repeated
    assert [(p.path, p.line) for p in found] == [(ZH, line_of(site, ZH, "## 数一数"))]
    assert "implicit_paths?blocks=24" in found[0].message


def test_numbers_may_repeat_and_change_order_within_a_section(site):
    edit(site, ZH, "叠 [24](given:blocks) 块，展开成 [16,777,216][all] 条路径。",
         "[16,777,216][all] 条路径，共 [二十四](given:blocks) 块，再说一遍 [1,678 万][all]。")  # fmt: skip
    assert twins.check(site, strict=False) == []


def test_the_same_number_in_another_section_is_a_fault(site):
    edit(
        site,
        EN,
        "found the effective paths to be short.",
        "found short ones of [16,777,216](fact:implicit_paths?blocks=24).",
    )
    edit(site, ZH, "一句导语。", "导语 [16,777,216](fact:implicit_paths?blocks=24)。")
    found = [(p.path, p.line) for p in twins.check(site, strict=False)]
    assert found == [
        (EN, line_of(site, EN, "# Paths")),
        (ZH, line_of(site, ZH, "## 来历")),
    ]


def test_snippets_and_exhibits_belong_to_the_structure(site):
    edit(site, EN, '--8<-- "primer/paths/count.py"', '--8<-- "primer/paths/other.py"')
    edit(site, ZH, "/// exhibit | path-counts", "/// exhibit | path-count")
    messages = sorted(p.message for p in twins.check(site, strict=False))
    assert [m.split(" is missing")[0] for m in messages] == [
        "exhibit 'path-count'",
        "exhibit 'path-counts'",
        "snippet 'primer/paths/count.py'",
        "snippet 'primer/paths/other.py'",
    ]


def test_an_id_twice_and_a_reserved_id(site):
    for path in (ZH, EN):
        file = site / path
        file.write_text(file.read_text() + "\n## x { #count }\n\n## y { #claim-x }\n")
    messages = [p.message for p in twins.check(site, strict=False)]
    assert sum("stands already in line" in m for m in messages) == 2
    assert sum("may not begin with claim-" in m for m in messages) == 2


@pytest.mark.parametrize(
    "argument", ["primer/paths", "docs/primer/paths.zh.md", "primer/paths.en.md", "./docs/primer/paths.facts"]
)
def test_page_names(argument):
    assert twins.page_name(argument) == "primer/paths"


def test_the_command(site, capsys):
    assert twins.main([], site) == 0
    assert capsys.readouterr().out.split() == ["signed", "index", "signed", "primer/paths"]
    (site / EN).write_text((site / EN).read_text() + "\nx\n")
    assert twins.main([], site) == 0
    assert "stale     primer/paths" in capsys.readouterr().out
    assert twins.main(["--sign", EN], site) == 0
    assert twins.check(site) == []
    assert twins.main(["--sign", "--all"], site) == 0
    (site / ZH).write_text((site / ZH).read_text() + "\n## x { #x }\n")
    assert twins.main(["--sign", "primer/paths"], site) == 1
    assert "heading #x is missing" in capsys.readouterr().err
    with pytest.raises(UsageError):
        twins.main(["--sing", "primer/paths"], site)
    with pytest.raises(BlocklibError, match="did you mean 'primer/paths'"):
        twins.main(["--sign", "primer/path"], site)


def test_signatures_are_written_sorted_and_stable(site):
    before = (site / "docs/twins.toml").read_bytes()
    twins.main(["--sign", "--all"], site)
    assert (site / "docs/twins.toml").read_bytes() == before


def test_the_site_s_own_pages_match():
    assert twins.check(ROOT, strict=False) == []


def test_a_page_with_another_fault_is_not_signed(site, capsys):
    before = (site / "docs/twins.toml").read_bytes()
    for path in (ZH, EN):
        (site / path).write_text((site / path).read_text() + "\n/// claim | no-such-claim\nA sentence.\n///\n")
    assert twins.main(["--sign", "primer/paths"], site) == 1
    assert "no-such-claim" in capsys.readouterr().err
    assert (site / "docs/twins.toml").read_bytes() == before
