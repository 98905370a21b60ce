"""The outline of a page: what is structure, and what only looks like it."""

from __future__ import annotations

import pytest

from blocklib.claims.outline import block_body, outline

PAGE = """\
---
title: x
---

# Title { #top .big }

/// claim | first-claim
Body with [1](fact:x).

More.
///

## Part two {#part-2}

/// exhibit | an-exhibit
Caption.
///

```python exec="on"
--8<-- "primer/a.py"
```

Setext title
------------
"""


def kinds(markdown):
    return [(mark.kind, mark.ident, mark.line, mark.level) for mark in outline(markdown)]


def test_marks_with_their_lines():
    assert kinds(PAGE) == [
        ("heading", "top", 5, 1),
        ("claim", "first-claim", 7, 0),
        ("heading", "part-2", 13, 2),
        ("exhibit", "an-exhibit", 15, 0),
        ("snippet", "primer/a.py", 19, 0),
        ("heading", "", 23, 2),
    ]


def test_body_of_a_block():
    claim = outline(PAGE)[1]
    assert block_body(PAGE, claim) == "Body with [1](fact:x).\n\nMore."
    assert block_body("/// claim | a\nnever closed\n", outline("/// claim | a\nnever closed\n")[0]) == ""


def test_options_are_not_body():
    text = "/// claim | a\n    attrs: {class: x}\n\nBody.\n///\n"
    assert block_body(text, outline(text)[0]) == "Body."


def test_line_ends_and_byte_order_mark_do_not_matter():
    assert kinds("\ufeff" + PAGE.replace("\n", "\r\n")) == kinds(PAGE)


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no heading\n/// claim | x\n///\n```\n",
        "~~~~ text\n# no heading\n~~~\n/// claim | x\n~~~~\n",
        "    ```\n    # no heading { #x }\n    ```\n",
        "<!-- # no heading\n/// claim | x\n-->\n",
        "a | b\n- | -\n",
        "- item\n---\n",
        "one line\nsecond line\n---\n",
        "####### seven\n",
        '```python\n--8<-- "shown/not_run.py"\n```\n',
    ],
)
def test_what_is_no_mark(text):
    assert kinds(text) == []


def test_a_claim_inside_a_wider_block():
    text = "//// margin\n/// claim | inner\nText.\n///\n////\n"
    assert kinds(text) == [("claim", "inner", 2, 0)]
    assert outline(text)[0].end == 4


def test_block_without_an_id_is_a_mark_with_none():
    assert kinds("/// claim\nText.\n///\n") == [("claim", "", 1, 0)]
