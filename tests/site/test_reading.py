"""Reading times and the pages on which others lean: counted from the pages, one row a page, none forgotten."""

from __future__ import annotations

import pytest

from blocklib.facts.scan import scan
from blocklib.problems import BlocklibError
from blocklib.site import reading
from blocklib.site.reading import Length, chapters, leans_on, leans_on_html, length


def page(text, lang="en"):
    return length(scan(text, f"docs/x.{lang}.md", lang))


@pytest.mark.parametrize(
    ("text", "words", "characters"),
    [
        ("One two three.", 3, 0),
        ("A state-of-the-art model isn't 4,096 wide.", 6, 0),
        ("残差流只会相加。", 0, 7),
        ("用 RoPE 转动 query 与 key", 3, 4),
        ("`code that nobody counts` and words", 2, 0),
        ("$x + y$ is a formula", 3, 0),
        ("---\ntitle: Not counted\n---\n\nText.", 1, 0),
        ("# A heading { #id }\n\n| a | b |\n|---|---|\n| c | d |", 6, 0),
        ("[words](https://no.example/of/links) [4,096](given:d_model)", 2, 0),
        ('```python exec="on"\nprint("nothing")\n```\n', 0, 0),
    ],
)
def test_what_counts_as_text(text, words, characters):
    found = page(text)
    assert (found.words, found.characters, found.figures) == (words, characters, 0)


def test_figures_are_exhibits_and_executed_blocks():
    block = '```python exec="on"\n--8<-- "a/b.py"\n```\n\n'
    assert page(
        block + block.replace(' exec="on"', "") + "/// exhibit | x\nSo.\n///\n\n/// claim | c\nWords here.\n///\n"
    ) == Length(3, 0, 2)


@pytest.mark.parametrize(
    ("size", "minutes"),
    [(Length(), 0), (Length(words=1), 1), (Length(words=200), 1), (Length(words=201), 2), (Length(characters=700), 2),
     (Length(100, 175), 1), (Length(100, 175, 1), 2), (Length(figures=4), 2)],
)  # fmt: skip
def test_minutes_are_rounded_up_once(size, minutes):
    assert size.minutes == minutes


def test_a_sum_rounds_once():
    assert (Length(words=110) + Length(words=90)).minutes == 1
    assert Length(words=110).minutes + Length(words=90).minutes == 2


def test_the_pace_is_what_the_pages_say():
    assert [reading.reading_pace(of) for of in ("words", "characters", "figures")] == [200, 350, 2]


TABLE = (
    "/// chapters | room\n| chapter | question |\n|---|---|\n| [One](one.md) | why |\n| [Two](two.md#x) | how |\n///\n"
)


@pytest.fixture
def site(tmp_path):
    def write(name, text, lang="en"):
        file = tmp_path / f"docs/{name}.{lang}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\ntitle: T\ndescription: D.\n---\n\n# {name} {{ #top }}\n\n{text}\n")

    write("room/index", TABLE + "\n/// leans-on | base\n///\n")
    write("room/one", "word " * 199 + "See [a](../base/a.md#x) and [b](../base/b.md), [two](two.md).")
    write("room/two", "word " * 410 + "See [b](../base/b.md) and [sources](../reference/sources.md#k).")
    for name in ("a", "b", "c"):
        write(f"base/{name}", "Text.")
    return tmp_path, write


def test_each_row_gets_its_minutes_and_the_index_is_not_counted(site):
    times = chapters(site[0], "room/index", "room", "en")
    assert (times["one"], times["two"]) == ("2 min", "3 min")
    assert times.total == "In all about 4 minutes."
    with pytest.raises(BlocklibError, match="leads to 'three'"):
        times["three"]


def test_the_table_names_every_page_of_the_room(site):
    root, write = site
    assert reading.check(root) == []
    write("room/three", "More.")
    assert [(p.path, p.line, p.message) for p in reading.check(root)] == [
        ("docs/room/index.en.md", 8, "the table leaves out room/three")
    ]


def test_a_row_that_leads_elsewhere(site):
    root, write = site
    write("room/index", TABLE.replace("two.md#x", "../base/a.md"))
    assert [(p.line, p.message) for p in reading.check(root)] == [
        (8, "the table leaves out room/two"), (12, "base/a is no page of the room 'room'")
    ]  # fmt: skip


def test_a_room_without_pages(site):
    root, write = site
    write("room/index", TABLE + "\n/// leans-on | basis\n///\n")
    assert [(p.line, p.message) for p in reading.check(root)] == [(15, "no pages in the room 'basis'")]


def test_pages_lean_on_those_they_link_to(site):
    found = leans_on(site[0], "room/index", "base", "en")
    assert [(name, [caller for caller, _ in by]) for name, _, by in found] == [
        ("base/b", ["room/one", "room/two"]), ("base/a", ["room/one"])
    ]  # fmt: skip
    shown = leans_on_html(site[0], "room/index", "base", "en")
    assert '<li><a href="../base/b.md">base/b</a> (<a href="one.md">room/one</a>, <a href="two.md">' in shown


def test_the_cache_key_moves_with_the_pages(site):
    root, write = site
    before = reading.stamp(root, "room/index", "en")
    write("base/c", "Other text.")
    assert reading.stamp(root, "room/index", "en") == before
    write("room/two", "Longer.")
    assert reading.stamp(root, "room/index", "en") != before
