"""Each fault of claims, twins, terms, sources and ids, planted in a site that is right: found, at its line, alone."""

from __future__ import annotations

import pytest

from tests.minisite import edit, faults, line_of, write_site

ZH, EN = "docs/primer/paths.zh.md", "docs/primer/paths.en.md"
CLAIMS, BIB, TESTS = "docs/claims.toml", "docs/sources.bib", "tests/paths/test_paths.py"


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path)


def test_control_the_site_is_right(site):
    assert faults(site, strict=True) == []


def expect(site, path: str, line: int, *words: str) -> None:
    """Exactly one fault, at ``path:line``, whose message holds ``words``."""
    found = faults(site)
    assert [(p.path, p.line) for p in found] == [(path, line)], "\n".join(map(str, found))
    for word in words:
        assert word in found[0].message


# (where, old, new, line is that of … on …, words of the message)
PLANTS = {
    "heading added in one language": (
        EN, "## Where it comes from", "## More { #more }\n\nText.\n\n## Where it comes from",
        (ZH, "--8<--", -1), ["heading #more is missing"],
    ),
    "heading of another level": (
        EN, "## Where", "### Where", (EN, "### Where", 0), ["has level 3; level 2 in docs/primer/paths.zh.md:26"],
    ),
    "fact bound in one language only": (
        ZH, "有效的路径很短。", "有效的路径很短，[4,096](fact:implicit_paths?blocks=12) 条。",
        (EN, "## Where", 0), ["section #history lacks fact implicit_paths?blocks=12"],
    ),
    "proved without a control": (
        TESTS, ", control=True", "", (CLAIMS, "tests = [", 0), ["without a negative control"],
    ),
    "proved without a test that holds": (
        TESTS, 'claim("paths-share")\n', 'claim("paths-share", control=True)\n', (CLAIMS, "tests = [", 0),
        ["without a test that holds"],
    ),
    "cited without a place": (
        CLAIMS, "veit2016, abstract", "veit2016", (CLAIMS, "sources =", 0), ["names no place"],
    ),
    "unknown source": (
        CLAIMS, "veit2016, abstract", "veit2015, abstract", (CLAIMS, "sources =", 0),
        ["no entry 'veit2015'", "veit2016"],
    ),
    "cited with no source": (
        CLAIMS, 'sources = ["veit2016, abstract"]\n', "", (CLAIMS, "[short-paths]", 0), ["names no source"],
    ),
    "source without a way to find it": (
        BIB, "  eprint = {1605.06431},\n", "", (BIB, "@misc", 0), ["no way to find it"],
    ),
    "source without a title": (
        BIB, "  title = {Residual Networks Behave Like Ensembles of Relatively Shallow Networks},\n", "",
        (BIB, "@misc", 0), ["title is missing"],
    ),
    "grade misspelled": (
        CLAIMS, '"convention"', '"custom"', (CLAIMS, '"custom"', 0), ["unknown grade 'custom'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTS)
def test_plant(site, name):
    path, old, new, (where, text, offset), words = PLANTS[name]
    edit(site, path, old, new)
    expect(site, where, line_of(site, where, text) + offset, *words)


def places(found, word: str) -> list[tuple[str, int]]:
    return [(p.path, p.line) for p in found if word in p.message]


def test_lines_of_the_counterpart_are_named(site):
    edit(site, EN, "## Where it comes from", "## More { #more }\n\nText.\n\n## Where it comes from")
    edit(site, ZH, "有效的路径很短。", "有效的路径很短，[4,096](fact:implicit_paths?blocks=12) 条。")
    more, fact = line_of(site, EN, "#more"), line_of(site, ZH, "blocks=12")
    assert [str(p).split("; it stands in ")[1] for p in faults(site)] == [f"{ZH}:{fact}", f"{EN}:{more}"]


def test_claim_without_an_entry(site):
    edit(site, CLAIMS, "[add-then-norm]", "[add-then-norms]")
    found = faults(site)
    block = "/// claim | add-then-norm"
    assert places(found, "has no entry") == [(EN, line_of(site, EN, block)), (ZH, line_of(site, ZH, block))]
    assert all("did you mean 'add-then-norms'?" in p.message for p in found if "has no entry" in p.message)
    assert places(found, "stands on no page") == [(CLAIMS, line_of(site, CLAIMS, "[add-then-norms]"))]
    assert places(found, "published claim") == [("docs/ids.toml", line_of(site, "docs/ids.toml", "claims = ["))]
    assert len(found) == 4


@pytest.mark.parametrize(("new", "word"), [("", "has no id"), ("{ #历史 }", "not ASCII")])
def test_heading_id(site, new, word):
    edit(site, ZH, "{ #history }", new)
    assert places(faults(site), word) == [(ZH, line_of(site, ZH, "## 来历"))]


def test_another_given_is_said_on_both_sides(site):
    edit(site, ZH, "[24](given:blocks)", "[12](given:blocks)")
    found = faults(site)
    assert places(found, "lacks given blocks = 12") == [(EN, line_of(site, EN, "## Count"))]
    assert places(found, "lacks given blocks = 24") == [(ZH, line_of(site, ZH, "## 数一数"))]
    assert len(found) == 2


def test_twin_deleted(site):
    (site / EN).unlink()
    found = faults(site)
    assert any(p.path == ZH and "the twin docs/primer/paths.en.md is missing" in p.message for p in found)
    assert {p.line for p in found if "stands here only" in p.message} == {
        line_of(site, ZH, f"claim | {name}") for name in ("paths-share", "short-paths", "add-then-norm")
    }


def test_headings_swapped(site):
    text = (site / EN).read_text()
    count, history = text.index("## Count"), text.index("## Where")
    (site / EN).write_text(text[:count] + text[history:] + "\n" + text[count:history])
    found = faults(site)
    assert found and {p.path for p in found} == {EN}
    moved = [p for p in found if p.message.startswith("heading")]
    assert [(p.line, "it stands after" in p.message) for p in moved] == [
        (line_of(site, EN, moved[0].message.split()[1]), True)
    ]


def test_signature_stale(site):
    edit(site, EN, "An opening sentence.", "Another opening sentence.")
    assert faults(site) == []
    found = faults(site, strict=True)
    assert [(p.path, p.line) for p in found] == [(EN, 1)]
    line = line_of(site, "docs/twins.toml", '"primer/paths"')
    assert f"docs/twins.toml:{line}" in found[0].message and "--sign primer/paths" in found[0].message


@pytest.mark.parametrize(
    ("path", "old", "new", "form", "right"),
    [
        (ZH, "一句导语。", "残余流只被相加改写。", "残余流", "残差流"),
        (ZH, "一句导语。", "这里用 layernorm 归一。", "layernorm", "LayerNorm（层归一化）"),
        (ZH, "**路径数。** 说明。", "**残余流。** 说明。", "残余流", "残差流"),
        (ZH, "description: 残差块", "description: 残余流", "残余流", "残差流"),
        (EN, "An opening sentence.", "The residue stream grows.", "residue stream", "residual stream"),
        (EN, "An opening sentence.", "The residue\nstream grows.", "residue stream", "residual stream"),
        (EN, "Usually the addition", "Layer norms follow. The addition", "Layer norms", "LayerNorm"),
    ],
)
def test_term_in_its_forbidden_form(site, path, old, new, form, right):
    edit(site, path, old, new)
    expect(site, path, line_of(site, path, new.split("\n")[0]), repr(form), repr(right))


def test_claim_without_a_test(site):
    edit(site, TESTS, "def test_share():", "def test_other():")
    found = faults(site)
    assert {(p.path, p.line) for p in found} == {(CLAIMS, line_of(site, CLAIMS, "tests = [")),
                                                 (TESTS, line_of(site, TESTS, "claim(\"paths-share\")"))}  # fmt: skip
    assert any("test_share does not exist" in p.message for p in found)


def test_claim_with_no_tests_at_all(site):
    edit(site, CLAIMS, 'grade = "convention"', 'grade = "computed"')
    expect(site, CLAIMS, line_of(site, CLAIMS, "[add-then-norm]"), "graded computed but has no test")


def test_marker_without_a_claim(site):
    file = site / TESTS
    file.write_text(file.read_text() + '\n\n@pytest.mark.claim("paths-shared")\ndef test_more():\n    pass\n')
    expect(site, TESTS, line_of(site, TESTS, "paths-shared"), "'paths-shared'", "did you mean 'paths-share'?")


def test_evidence_that_is_skipped(site):
    edit(site, TESTS, "def test_share():", "@pytest.mark.skip\ndef test_share():")
    found = faults(site)
    assert any(
        p.path == TESTS and p.line == line_of(site, TESTS, "def test_share") and "marked skip" in p.message
        for p in found
    )


def test_claim_twice_on_a_page(site):
    for path in (ZH, EN):
        file = site / path
        file.write_text(file.read_text() + "\n/// claim | short-paths\nAgain.\n///\n")
    found = faults(site)
    assert {p.path for p in found} == {ZH, EN} and all("twice" in p.message for p in found)
    assert [p.line for p in found] == [(site / path).read_text().count("\n") - 2 for path in (EN, ZH)]


def test_entry_used_nowhere(site):
    file = site / CLAIMS
    file.write_text(
        file.read_text() + '\n[spare]\ngrade = "convention"\nledger = "both"\nhow.zh = "某"\nhow.en = "x"\n'
    )
    expect(site, CLAIMS, line_of(site, CLAIMS, "[spare]"), "stands on no page")


def test_source_cited_by_nothing(site):
    file = site / BIB
    file.write_text(file.read_text() + "\n" + file.read_text().replace("veit2016", "spare"))
    expect(site, BIB, line_of(site, BIB, "@misc{spare"), "cited by no claim")


def test_source_key_twice(site):
    file = site / BIB
    file.write_text(file.read_text() + "\n" + file.read_text())
    assert [(p.path, p.line) for p in faults(site) if "already" in p.message] == [(BIB, 10)]


def test_cited_key_missing_on_a_page(site):
    edit(site, EN, "sources.md#veit2016", "sources.md#veit16")
    expect(site, EN, line_of(site, EN, "veit16"), "no entry 'veit16'")


def test_published_id_gone_and_redirected(site):
    for path in (ZH, EN):
        edit(site, path, "{ #history }", "{ #origin }")
    line = line_of(site, "docs/ids.toml", '"primer/paths"')
    expect(site, "docs/ids.toml", line, "primer/paths#history", "docs/redirects.toml")
    redirect = site / "docs/redirects.toml"
    redirect.write_text('[headings]\n"primer/paths#history" = "primer/paths#origin"\n')
    assert faults(site) == []
    redirect.write_text('[headings]\n"primer/paths#history" = "primer/paths#origins"\n')
    expect(site, "docs/redirects.toml", 2, "does not exist", "did you mean 'primer/paths#origin'?")
