"""Files are read whatever bytes they hold: what is wrong with them is said, and nothing is raised."""

from __future__ import annotations

import pytest

from blocklib.facts.files import has_page, load_refs, page_paths, read_page, read_text
from blocklib.site import redirects


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.en.md").write_bytes(b"\xef\xbb\xbf# A { #a }\r\n\r\nTwo [4][k]\rthree\n")
    (tmp_path / "docs/a.facts").write_bytes(b"[k]: fact:implicit_paths?blocks=2\n")
    return tmp_path


def test_line_ends_and_marks_are_taken_off(root):
    assert read_text(root, "docs/a.en.md") == ("# A { #a }\n\nTwo [4][k]\nthree\n", [])


def test_bad_bytes_are_a_fault_with_its_line_and_the_rest_is_read(root):
    (root / "docs/a.facts").write_bytes(b"[k]: fact:implicit_paths?blocks=2\n# \xa3\n")
    refs, problems = load_refs(root, "docs/a.facts")
    assert list(refs.by_key) == ["k"]
    assert [str(p) for p in problems] == ["docs/a.facts:2: not UTF-8 text: byte 0xa3 (invalid start byte)"]
    assert redirects.current(root).headings == {"a#a"}


def test_a_missing_file(root):
    assert load_refs(root, "docs/none.facts")[0].path is None
    text, problems = read_text(root, "docs/none.md")
    assert text == "" and str(problems[0]).startswith("docs/none.md: cannot be read")


def test_a_bad_byte_after_an_empty_line(root):
    (root / "docs/a.en.md").write_bytes(b"\n\xff\n")
    assert [p.line for p in read_text(root, "docs/a.en.md")[1]] == [2]


def test_a_full_stop_in_a_pages_name_is_no_language(root):
    (root / "docs/v1.2.en.md").write_text("# A { #a }\n", encoding="utf-8")
    assert read_page(root, "docs/v1.2.en.md")[0].lang == "en"


def test_a_page_is_scanned_once_and_again_when_it_changes(root):
    (path,) = page_paths(root)
    first, _ = read_page(root, path)
    assert read_page(root, path)[0] is first
    (root / path).write_text("# B { #b }\n", encoding="utf-8")
    assert [head.id for head in read_page(root, path)[0].headings] == ["b"]


LESSON = '# ---\n# title.zh: 一\n# title.en: One\n# ---\n\n# %% [markdown] lang="zh"\n# 甲\n\n# %% [markdown] lang="en"\n# A\n'


def test_pages_of_lessons_are_read_in_their_language(root):
    for name in ("b", "v1.2"):
        (root / f"docs/{name}.py").write_text(LESSON, encoding="utf-8")
        assert read_text(root, f"docs/{name}.en.md")[0].split() == ["---", "title:", "One", "---", "A"]
        assert read_text(root, f"docs/{name}.zh.md")[0].split() == ["---", "title:", "一", "---", "甲"]
    assert [has_page(root, f"docs/{name}") for name in ("a", "b", "v1.2", "c")] == [True, True, True, False]
