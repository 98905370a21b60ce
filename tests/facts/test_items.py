"""Where things stand in a page: lines, sections and the offsets of links."""

from __future__ import annotations

from blocklib.facts.items import Page
from blocklib.facts.scan import scan

SOURCE = "a\n\n# One { #one }\n\n## Two { #two }\n\n### Three { #three }\n\n## Four { #four }\n\n# Five { #five }\n"


def test_a_section_ends_at_the_next_heading_of_its_level_or_above():
    page = scan(SOURCE, "p", "en")
    assert [heading.level for heading in page.headings] == [1, 2, 3, 2, 1]
    assert [page.section_end(section) for section in range(-1, 5)] == [5, 4, 3, 3, 4, 5]


def test_lines_of_offsets():
    page = Page("p", "en", "ab\n\nc\n")
    assert [page.line(offset) for offset in range(7)] == [1, 1, 1, 2, 3, 3, 4]
    page.problem(4, "x")
    assert [(p.path, p.line, p.message) for p in page.problems] == [("p", 3, "x")]


def test_links_stand_where_their_bracket_opens():
    source = "At [4,096](given:d) and **[28,672][ln]** see [x](later:a#b).\n"
    page = scan(source, "p", "en")
    assert [item.start for item in page.items] == [source.index("[4"), source.index("[28")]
    assert [link.start for link in page.later] == [source.index("[x")]
    assert page.items[0].where == "prose" and not page.items[0].place.text_only
    titled = scan('[t](u.md "has [1][k]")', "p", "en")
    assert titled.items[0].place.text_only and titled.items[0].where == "title"
