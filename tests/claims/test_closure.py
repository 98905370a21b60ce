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


def test_a_measured_claim_needs_results(tmp_path):
    write_site(tmp_path, sign=False)
    file = tmp_path / "docs/claims.toml"
    file.write_text(file.read_text().replace('grade = "convention"', 'grade = "measured"\nexperiments = ["arm-a"]'))
    assert [p.message.split(": ")[1] for p in closure.check(tmp_path)] == [
        "experiment 'arm-a' has no results under blocklib/lab/results"
    ]
    results = tmp_path / "blocklib/lab/results"
    results.mkdir(parents=True)
    (results / "arm-a-seed-1.json").write_text("{}")
    assert closure.check(tmp_path) == []


def test_titles(tmp_path):
    write_site(tmp_path, sign=False)
    assert titles(tmp_path, "zh") == {"index": "首页", "primer/paths": "路径"}
