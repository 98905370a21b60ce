"""Each kind of fault in a number, planted in a clean site: found, with file and line, and nothing else found.

A plant is (name, file, what stands there, what is put there, line of the fault, part of the message).
"""

from __future__ import annotations

import re

import pytest

from blocklib.facts.check import check_pages
from tests.facts.library import again
from tests.mutations.pages import FILES, make_site

EN, ZH, FACTS = "docs/norm.en.md", "docs/norm.zh.md", "docs/norm.facts"
SEN, SZH = "docs/sizes.en.md", "docs/sizes.zh.md"


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def plant(site, file, old, new):
    """Replace the first ``old``; the line it stands on in the file, counted from one."""
    path = site.root / file
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} does not stand in {file}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return text.count("\n", 0, text.index(old)) + 1


def found(site, registry=None):
    return [(p.path, p.line, p.message) for p in check_pages(site.root, registry=registry or site).problems]


def assert_found(site, expected):
    problems = found(site)
    assert [(path, line) for path, line, _ in problems] == [(path, line) for path, line, _ in expected], problems
    for (_, _, message), (_, _, part) in zip(problems, expected, strict=True):
        assert part in message, message


def test_the_site_without_a_plant_is_clean(site):
    report = check_pages(site.root, registry=site)
    assert report.problems == []
    assert sorted(report.pages) == [EN, ZH, SEN, SZH]
    keys = {path: sorted(row.key for row in numbers.rows) for path, numbers in report.pages.items()}
    assert keys[EN] == keys[ZH] and keys[SEN] == keys[SZH] and len(keys[EN]) == 7


ONE = [
    ("a digit in zh only", ZH, "做 [28,672][ln] 次", "做 [28,673][ln] 次", 7, "printed 28,673 but the value is 28,672"),
    ("a digit in en only", EN, "takes [28,672][ln]", "takes [28,671][ln]", 7, "printed 28,671 but the value is 28,672"),
    ("a digit in a table", EN, "| RMSNorm | [16,384]", "| RMSNorm | [16,834]", 13, "printed 16,834 but"),
    ("a digit in a heading", ZH, "[61.6%][share]", "[61.9%][share]", 15, "printed 61.9% but the value is 61.6%"),
    ("a digit in a caption", EN, "stand at [16,384]", "stand at [16,385]", 22, "printed 16,385 but"),
    ("a digit in alt text", ZH, "在 [28,672][ln] 处", "在 [28,072][ln] 处", 19, "printed 28,072 but"),
    ("a digit in a formula", EN, "16{,}777{,}216", "16{,}777{,}217", 31, "printed 16,777,217 but"),
    ("a digit in inline code", EN, "`10 GiB`", "`11 GiB`", 34, "printed 11 GiB but"),
    ("a digit in a list", SEN, "open [4]", "open [5]", 5, "printed 5 but the value is 4"),
    ("a digit in an admonition", SZH, "    共 [14]", "    共 [15]", 8, "printed 15 but the value is 14"),
    ("a digit in a title", SZH, "其中 [14]", "其中 [41]", 7, "printed 41 but the value is 14"),
    ("a digit in a footnote", SEN, "is [4](fact", "is [3](fact", 10, "printed 3 but the value is 4"),
    ("a digit in a cited figure", SZH, "[27.94%]", "[27.49%]", 3, "printed 27.49% but the value is 27.94%"),
    ("unbound in prose", EN, "takes [16,384][rms]", "takes 16,384", 8, "printed 16,384 but nothing vouches for it"),
    ("unbound in prose, zh", ZH, "[1,678 万][paths]", "1,678 万", 27, "printed 1,678 万 but nothing vouches for it"),
    ("unbound in words", ZH, "[一千六百多万][paths]", "一千六百多万", 28, "printed 一千六百多万 but nothing vouches"),
    ("unbound in a table", EN, "| LayerNorm | [28,672][ln] |", "| LayerNorm | 28,672 |", 12, "(table)"),
    ("unbound in a list", SEN, "open [4](fact:implicit_paths?blocks)", "[4](fact:implicit_paths?blocks) of 4", 5, "(list)"),
    ("unbound in a footnote", SZH, "[4](fact:implicit_paths?blocks=2)", "4", 10, "printed 4 but nothing vouches"),
    ("unbound in a caption", ZH, "柱高 [16,384][rms] 次", "柱高 16,384 次", 22, "(caption)"),
    ("unbound in alt text", EN, "at [28,672][ln] operations]", "at 28,672 operations]", 19, "(alt text)"),
    ("unbound in inline code", EN, "[`10 GiB`](fact:kv_bytes?tokens=32768)", "`10 GiB`", 34, "(inline code)"),
    ("unbound in a formula", EN, r"\fact{16{,}777{,}216}{implicit_paths?blocks}", "16{,}777{,}216", 31, "in a formula"),
    ("a result unbound in a formula", EN, "2^{L} = ", r"3 + 4 = 7, \quad 2^{L} = ", 31, "the result of a computation"),
    ("unbound in the front matter", EN, "[4,096](given:example)", "4,096", 3, "(front matter)"),
    ("unbound in raw HTML", EN, "## Paths", "<p>It takes 28,672 in all.</p>\n\n## Paths", 25, "(html)"),
    ("unbound in an attribute", ZH, "## 路径", '<p title="共 28,672 次">好</p>\n\n## 路径', 25, "(attribute)"),
    ("half of a number", EN, "takes [28,672][ln]", "takes [28,672][ln]%", 7, "'%' belongs to the number"),
    ("unknown fact", EN, "fact:saving", "fact:savings", 17, "unknown fact 'savings' (did you mean saving?)"),
    ("unknown parameter", SEN, "network=plain-18", "netwrok=plain-18", 3, "no parameter 'netwrok' (did you mean network?)"),
    ("wrong parameter", SZH, "network=plain-18", "network=plain-19", 3, "'plain-19' does not fit the parameter network"),
    ("missing parameter", SEN, "implicit_paths?blocks=2", "implicit_paths", 10, "needs the parameter blocks: int"),
    ("wrong type", SZH, "implicit_paths?blocks=2", "implicit_paths?blocks=2.5", 10, "'2.5' does not fit"),
    ("wrong unit", EN, "`10 GiB`", "`10 GB`", 34, "printed 10 GB but the value is 11 GB (10 GiB)"),
    ("wrong unit, zh", ZH, "[10 GiB]", "[10 GB]", 34, "printed 10 GB but"),
    ("unit missing", ZH, "[10 GiB]", "[10,737,418,240]", 34, "without a unit"),
    ("a unit too many", EN, "[16,777,216][paths]", "[16,777,216 B][paths]", 27, "without a unit: B stands outside"),
    ("wrong relation", EN, "[> 16,000,000][paths]", "[< 16,000,000][paths]", 28, "printed < 16,000,000 but"),
    ("wrong relation, zh", ZH, "[超过 1,600 万]", "[不到 1,600 万]", 28, "printed 不到 1,600 万 but"),
    ("word and value disagree", ZH, "[一千六百多万]", "[一千七百多万]", 28, "printed 一千七百多万 but"),
    ("zeros that are not meant", ZH, "[1,678 万]", "[1,680 万]", 27, "printed 1,680 万 but"),
    ("too many digits", EN, "[15.8 ms]", "[15.83 ms]", 17, "more digits than the noise supports"),
    ("a range in one number", EN, "[7–64%]", "[64%]", 17, "printed 64% but the value is a range"),
    ("an unreadable number", EN, "[16,384][rms], as", "[16,38x][rms], as", 8, "cannot read '16,38x'"),
    ("unused given", EN, "## Paths { #paths }\n", "## Paths { #paths }\n\nAt [8](given:layers) of them.\n", 25 + 2,
     "no fact uses the given 'layers' (8)"),
    ("unnamed given", EN, "(given:example)", "(given:)", 3, "has no name"),
    ("unknown key", EN, "[28,672][ln] operations\n", "[28,672][lm] operations\n", 7, "the key [lm] is unknown in docs/norm.facts "
     "(did you mean [ln]?)"),
    ("a definition in the page", EN, "## Paths", "[x]: fact:saving\n\n## Paths", 25, "belongs into the page's .facts file"),
]  # fmt: skip


@pytest.mark.parametrize("name, file, old, new, line, message", ONE, ids=[plant[0] for plant in ONE])
def test_a_plant(site, name, file, old, new, line, message):
    plant(site, file, old, new)
    assert_found(site, [(file, line, message)])


def test_a_magnitude_outside_the_link(site):
    plant(site, ZH, "[1,678 万][paths]", "[1,678][paths] 万")
    assert_found(
        site, [(ZH, 27, "'万' belongs to the number and stands outside the link"), (ZH, 27, "printed 1,678 but")]
    )


def test_a_given_that_the_section_does_not_have(site):
    # Under another heading the page's given still holds, so the plant goes where none does.
    plant(
        site,
        SEN,
        "# Sizes { #sizes }\n",
        "# Sizes { #sizes }\n\n## A { #a }\n\n[4](fact:implicit_paths?blocks).\n\n## B { #b }\n",
    )
    assert_found(site, [(SEN, 5, "no [..](given:blocks) stands there")])


def test_a_given_changed_moves_every_number_after_it(site):
    plant(site, EN, "[4,096](given:d_model)", "[4,097](given:d_model)")
    assert_found(site, [(EN, line, "but the value is") for line in (7, 8, 12, 13, 19, 22)])


def test_a_given_in_words_changed(site):
    plant(site, ZH, "[二十四](given:blocks)", "[二十五](given:blocks)")
    assert_found(site, [(ZH, 27, "but the value is"), (ZH, 28, "but the value is"), (ZH, 31, "but the value is")])


def test_an_inexact_given(site):
    plant(site, EN, "[4,096](given:d_model)", "[about 4,096](given:d_model)")
    problems = found(site)
    assert problems[0][:2] == (EN, 7) and any("what others depend on is exact" in p[2] for p in problems)


def test_a_later_given_overrides_to_the_end_of_its_section(site):
    plant(site, EN, "## Paths { #paths }\n", "## Wide { #wide }\n\nAt [8,192](given:d_model) it is [57,344][ln].\n\n"
          "### Deeper { #deeper }\n\nStill [57,344][ln].\n\n## Paths { #paths }\n\nBack: [28,672][ln].\n")  # fmt: skip
    assert found(site) == []
    plant(site, EN, "Back: [28,672]", "Back: [57,344]")
    assert_found(site, [(EN, 35, "printed 57,344 but the value is 28,672")])


def test_a_given_after_its_number_in_the_same_sentence(site):
    plant(site, SEN, "[Two](given:blocks) blocks open [4](fact:implicit_paths?blocks) paths",
          "[4](fact:implicit_paths?blocks) paths open with [two](given:blocks) blocks")  # fmt: skip
    assert found(site) == []


def test_a_given_said_again(site):
    plant(site, EN, "| norm | operations |", "At [4,096](given:d_model), again:\n\n| norm | operations |")
    assert found(site) == []
    plant(site, EN, "At [4,096](given:d_model), again", "At [4,906](given:d_model), again")
    assert found(site)


def test_a_key_that_nobody_uses(site):
    plant(site, FACTS, "[share]", "[spare]: fact:saving\n[share]")
    assert_found(site, [(FACTS, 5, "the key [spare] is used by neither language")])


def test_a_key_unused_after_it_lost_its_last_use(site):
    for file in (EN, ZH):
        plant(site, file, "[61.6%][share]", "[61.6%](fact:gain_share)")
    assert_found(site, [(FACTS, 5, "the key [share] is used by neither language")])


def test_an_unknown_fact_in_the_facts_file_is_said_once_there(site):
    plant(site, FACTS, "fact:norm_ops?kind=layernorm", "fact:norm_op?kind=layernorm")
    assert_found(site, [(FACTS, 2, "[ln]: unknown fact 'norm_op' (did you mean norm_ops?)")])


def test_a_wrong_parameter_in_the_facts_file(site):
    plant(site, FACTS, "kind=rmsnorm", "kind=rmsnrom")
    assert_found(site, [(FACTS, 3, "'rmsnrom' does not fit the parameter kind")])


def test_a_broken_line_of_the_facts_file(site):
    plant(site, FACTS, "[share]: fact:gain_share", "[share] fact:gain_share")
    problems = found(site)
    assert (FACTS, 5) in [p[:2] for p in problems] and (EN, 15) in [p[:2] for p in problems]


def test_a_key_twice(site):
    plant(site, FACTS, "[share]", "[ln]: fact:saving\n[share]")
    assert_found(site, [(FACTS, 5, "already defined on line 2")])


def test_a_facts_file_that_is_missing(site):
    (site.root / FACTS).unlink()
    problems = found(site)
    links = sum(len(re.findall(r"\]\[\w+\]", FILES[file])) for file in (EN, ZH))
    assert len(problems) == links
    assert all("docs/norm.facts, which does not exist" in p[2] for p in problems)


def test_a_library_constant_changed(site):
    (site.root / site.package / "constants.py").write_text("FACTOR = 8\n")
    problems = found(site, again(site))
    assert [(path, line) for path, line, _ in problems] == [
        (EN, 7), (EN, 12), (EN, 19), (ZH, 7), (ZH, 12), (ZH, 19), (SEN, 7), (SEN, 8), (SZH, 7), (SZH, 8)]  # fmt: skip
    assert "printed 28,672 but the value is 32,768" in problems[0][2]


def test_a_cited_figure_changed(site):
    (site.folder / "cited.toml").write_text(
        (site.folder / "cited.toml").read_text(encoding="utf-8").replace("27.94", "28.94"), encoding="utf-8"
    )
    assert [p[:2] for p in found(site, again(site))] == [(SEN, 3), (SZH, 3)]


def test_a_broken_cited_file_is_one_problem(site):
    path = site.folder / "cited.toml"
    path.write_text(path.read_text(encoding="utf-8") + "\n[oops\n", encoding="utf-8")
    problems = found(site, again(site))
    assert len(problems) == 1 and problems[0][0].endswith("facts/cited.toml") and "not valid TOML" in problems[0][2]


def test_all_faults_at_once_and_sorted(site):
    plant(site, ZH, "做 [28,672][ln] 次", "做 [28,673][ln] 次")
    plant(site, EN, "stand at [16,384]", "stand at [16,385]")
    plant(site, SEN, "open [4]", "open [5]")
    plant(site, FACTS, "[share]", "[spare]: fact:saving\n[share]")
    assert [p[:2] for p in found(site)] == [(EN, 22), (FACTS, 5), (ZH, 7), (SEN, 5)]
