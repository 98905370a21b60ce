"""Claim blocks on pages: which are found, and what their body is. The faults are planted in tests/mutations."""

from __future__ import annotations

import pytest

from blocklib.claims import closure
from blocklib.claims.pages import titles
from tests.minisite import FILES, write_site

PAGE = "docs/primer/paths.en.md"


def found(tmp_path, text):
    write_site(tmp_path, sign=False)
    (tmp_path / PAGE).write_text(text)
    return [(use.claim, use.line, use.body) for use in closure.uses(tmp_path) if use.path == PAGE]


def test_uses_with_page_language_line_and_body(tmp_path):
    write_site(tmp_path, sign=False)
    uses = [use for use in closure.uses(tmp_path) if use.claim == "paths-share"]
    assert [(use.page, use.lang, use.path) for use in uses] == [
        ("primer/paths", "en", PAGE),
        ("primer/paths", "zh", "docs/primer/paths.zh.md"),
    ]
    assert uses[0].body == "These paths share their weights; there are $2^N$, here [16,777,216][all]."
    line = FILES[PAGE].splitlines()[uses[0].line - 1]
    assert line == "/// claim | paths-share"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n\n/// claim | a\nOne.\n\nTwo.\n///\n", [("a", 3, "One.\n\nTwo.")]),
        ("# T\n\n/// claim | a\n    attrs: {class: x}\n\nOne.\n///\n", [("a", 3, "One.")]),
        ("# T\n\n//// margin\n/// claim | a\nOne.\n///\n////\n", [("a", 4, "One.")]),
        ("# T\n\n```text\n/// claim | a\nOne.\n///\n```\n", []),
        ("# T\n\n<!--\n/// claim | a\nOne.\n///\n-->\n", []),
        ("# T\n\n    /// claim | a\n    ///\n", []),
    ],
)
def test_what_is_a_claim_block(tmp_path, text, expected):
    assert found(tmp_path, text) == expected


def test_block_without_an_id_or_a_sentence(tmp_path):
    write_site(tmp_path, sign=False)
    for lang in ("zh", "en"):
        file = tmp_path / f"docs/primer/paths.{lang}.md"
        file.write_text(file.read_text() + "\n/// claim |\nText.\n///\n")
    messages = [p.message for p in closure.check(tmp_path)]
    assert messages == ["a claim block without an id; write /// claim | its-id"] * 2


def test_an_empty_claim(tmp_path):
    write_site(tmp_path, sign=False)
    for lang, body in (("zh", "通常先相加。"), ("en", "Usually the addition comes first.")):
        file = tmp_path / f"docs/primer/paths.{lang}.md"
        file.write_text(file.read_text().replace(body + "\n", ""))
    assert [p.message for p in closure.check(tmp_path)] == [
        "claim 'add-then-norm' says nothing: its block is empty or not closed"
    ] * 2


PATHS = "docs/primer/paths.claims.toml"


def moved(tmp_path, beside):
    """The site with its last claim entered in the file ``beside`` instead."""
    write_site(tmp_path)
    file = tmp_path / "docs/claims.toml"
    text = file.read_text()
    at = text.index("[add-then-norm]")
    file.write_text(text[:at])
    (tmp_path / beside).write_text("# a page's own\n\n" + text[at:])
    return tmp_path


def test_a_claim_entered_beside_its_page(tmp_path):
    assert closure.check(moved(tmp_path, PATHS)) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"convention"', '"computed"', 3, "claim 'add-then-norm': graded computed but has no test"),
        ('ledger = "both"', 'ledger = "both"\ntests = ["tests/paths/test_paths.py::test_none"]', 6, "does not exist"),
        ('ledger = "both"', 'ledger = "both"\nsources = ["veit2015, abstract"]', 6, "no entry 'veit2015'"),
        ('ledger = "both"', 'ledger = "both"\nexperiments = ["arm"]', 6, "there is no blocklib/lab/summary.json"),
        ("[add-then-norm]", "[short-paths]", 3, "stands already in docs/claims.toml:11"),
    ],
)
def test_faults_beside_a_page_are_reported_there(tmp_path, old, new, line, message):
    file = moved(tmp_path, PATHS) / PATHS
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    assert (PATHS, line) in [(p.path, p.line) for p in closure.check(tmp_path) if message in p.message]


def test_a_marker_names_the_file_of_its_claim(tmp_path):
    file = moved(tmp_path, PATHS) / "tests/paths/test_paths.py"
    file.write_text(file.read_text() + '\n\n@pytest.mark.claim("add-then-norm")\ndef test_more():\n    pass\n')
    assert [p.message for p in closure.check(tmp_path)] == [
        "marked as evidence of claim 'add-then-norm', "
        f"whose tests in {PATHS} (line 3) do not list tests/paths/test_paths.py::test_more"
    ]


def test_a_claim_beside_a_page_on_which_it_does_not_stand(tmp_path):
    moved(tmp_path, "docs/index.claims.toml")
    assert [str(p) for p in closure.check(tmp_path)] == [
        "docs/index.claims.toml:3: claim 'add-then-norm' is not a claim of this page; it stands on docs/primer/paths.en.md"
    ]


def test_titles(tmp_path):
    write_site(tmp_path, sign=False)
    assert titles(tmp_path, "zh") == {"index": "首页", "primer/paths": "路径"}
