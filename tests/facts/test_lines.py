"""The patterns of Markdown's lines agree with the extensions that act on them."""

from __future__ import annotations

import pytest
from markdown_exec._internal.main import _to_bool

from blocklib.facts.items import BLOT
from blocklib.facts.lines import EXEC, Comments, Fence, cells, front_matter, labels


@pytest.mark.parametrize("word", ["on", "1", "yes", "true", "once", "ON", "off", "0", "no", "false", "False"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_fence_is_executed_when_markdown_exec_says_so(word, quote):
    assert bool(EXEC.search(f"python exec={quote}{word}{quote} title='x'")) is _to_bool(word)


def test_no_option_no_execution():
    assert not EXEC.search("python title='exec the plan'") and not EXEC.search('python noexec="1"')


def numbered(source: str) -> list[tuple[int, str]]:
    offset, found = 0, []
    for line in source.split("\n"):
        found.append((offset, line))
        offset += len(line) + 1
    return found


def test_link_definitions_stand_outside_code():
    source = "[A  b]: x\n```py\n[c]: y\n~~~\n[d]: z\n```\n[e]: w\n    [f]: v\n[^Note]: text\n[e]: again\n> ~~~\n> [g]: u\n> ~~~\n[h]: t"
    assert labels(numbered(source)) == {"a b": 1, "e": 7, "^Note": 9, "h": 14}


@pytest.mark.parametrize(("source", "entries", "end"), [
    ("---\ntitle: A\n  more\n\ndescription: >\n  B\nplain\n---\nx",
     [("title", 4, [(11, "A"), (15, "more"), (20, "")]), ("description", 21, [(35, ""), (38, "B")])], 8),
    ("---\n---\nx", [], 2), ("---\n...\nx", [], 2), ("---\ntitle: A", [], 0), ("title: A\n---", [], 0), ("", [], 0),
    ("---\n  x\ntitle: A\n---", [("title", 8, [(15, "A")])], 4), ("\ufeff---\na: b\n---", [("a", 5, [(8, "b")])], 3),
])  # fmt: skip
def test_front_matter(source, entries, end):
    assert front_matter(numbered(source)) == (entries, end)


def blotted(*lines: str) -> tuple[list[str], Comments]:
    comments = Comments()
    return [comments.blot(line).replace(BLOT, "#") for line in lines], comments


@pytest.mark.parametrize(("line", "shown"), [
    ("a<!--b-->c", "a########c"), ("<!-- a --> b <!-- c -->d", "########## b ##########d"), ("`<!-- x -->` y", "`<!-- x -->` y"),
    ("a ` <!-- x -->", "a ` ##########"), ("a `` b ` <!-- x -->", "a `` b ` ##########"), ("``` <!-- x -->", "``` ##########"),
    ("a", "a"), ("", ""),
])  # fmt: skip
def test_comments_are_blotted_column_by_column(line, shown):
    (found,), comments = blotted(line)
    assert found == shown and not comments.open and not comments.broken


def test_comments_run_over_lines_from_the_margin_only():
    found, comments = blotted("<!-- a", "b", "-->c", "d")
    assert found == ["######", "#", "###c", "d"] and not comments.open and not comments.broken
    for indent, inside in ((3, False), (4, True)):
        _, comments = blotted(" " * indent + "<!-- a")
        assert comments.inside is inside and comments.broken is inside and comments.open
    _, comments = blotted("a <!-- b")
    assert comments.broken
    assert comments.blot("<!-- c -->x").replace(BLOT, "#") == "##########x" and comments.broken
    assert blotted("a <!--<!-- b -->")[1].broken and not blotted("a <!-- b -->")[1].broken


@pytest.mark.parametrize(("row", "found"), [
    ("a|b", ["a", "b"]), ("| a | b |", [" a ", " b "]), (r"\||b", [r"\|", "b"]), (r"a\|b|c", [r"a\|b", "c"]), ("`a|b`|c", ["`a|b`", "c"]),
    ("a||b", ["a", "b"]), ("|", []), ("", []), ("a", ["a"]),
])  # fmt: skip
def test_cells_of_a_row(row, found):
    spans = cells(row)
    assert [row[a:b] for a, b in spans] == found and all(0 <= a < b for a, b in spans)


def test_a_fence_closes_in_its_own_column():
    fence = Fence("```", 4, 0, 1, False)
    assert fence.closed_by("\t```") and fence.closed_by("    ```  ") and not fence.closed_by("   ```")
    assert fence.left_by("  x") and not fence.left_by("    x") and not fence.left_by("  ")
    assert Fence("~~~", 2, 1, 1, False).closed_by("> ~~~") and not Fence("~~~", 2, 1, 1, False).closed_by("  ~~~")
