"""Cases at the edges of the scanner and of printed numbers, each of which a small fault would get wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.facts.compare import compare
from blocklib.facts.items import OPAQUE
from blocklib.facts.reading import read
from blocklib.facts.scan import scan
from blocklib.facts.values import Measured
from blocklib.facts.words import english_at
from tests.facts.test_scan import rendered


@pytest.mark.parametrize(("source", "runs"), [
    ("- a\n\n<!-- x\ny -->\n\n    word5", ["list: a"]),  # code: the comment at the margin has ended the list
    ("- a\n\n    <!-- x -->\n\n    word5", ["list: a", "list: ", "list: word5"]),
    ("- a\nb\n\n    word5", ["list: a b", "list: word5"]),
    ("> - a\n# h\n>     word5", ["list: a", "heading: h"]), ("> - a\n- word5", ["list: a", "list: word5"]),
    ("<script\nsrc=x>b</script>", ["html: <script", "prose: src=x>b"]),
    ("<div>\n<div/>\n</div>\n\n`b` word5", ["html: ", "prose: b", "prose: # word5"]),
])  # fmt: skip
def test_where_containers_end(source, runs):
    page = scan(source, "p", "en")
    assert [f"{run.place.where}: {run.text.replace(OPAQUE, '#').strip()}" for run in page.runs] == runs
    assert rendered(source) == {"word5"} & set(" ".join(runs).split()) and page.problems == []


def test_a_quoted_line_without_its_mark_keeps_its_place():
    run = scan("> a\n  5", "p", "en").runs[0]
    assert (run.text, run.at) == ("a 5", (2, 3, 6))


def test_title_and_description_are_two_blocks():
    page = scan("---\ntitle: a\ndescription: b\n---\nc", "p", "en")
    assert [(run.text, run.place.block) for run in page.runs] == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(("source", "line", "message"), [
    ("    x\n```\n1\n```", 2, "right after indented code"),
    ("a\n\n/// claim | x\ntext", 3, "'/// claim' is never closed"),
    ("[k]: fact:a?b=1", 1, "[k]: fact:a?b=1 belongs into the page's .facts"),
])  # fmt: skip
def test_faults_are_told_where_they_stand(source, line, message):
    (problem,) = scan(source, "p", "en").problems
    assert problem.line == line and message in problem.message


@pytest.mark.parametrize(("text", "value", "place"), [
    ("三点五千万", 35_000_000, 10**6), ("三点五万亿", 3_500_000_000_000, 10**11),
])  # fmt: skip
def test_spoken_decimals_of_large_magnitudes(text, value, place):
    assert (read(text).value, read(text).resolution) == (value, Fraction(place))


def test_a_part_of_nothing_is_no_number():
    assert english_at("thousand quarter", 0) is None


def test_a_minute_is_finer_than_a_noise_of_a_hundred_seconds():
    assert "more digits than the noise supports" in compare(read("5 min"), Measured(300, 100), "s")
    assert compare(read("5 min"), Measured(300, 60), "s") is None
