"""What belongs to a number and stands outside its link."""

from __future__ import annotations

import pytest

from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound

LINK = "[7](fact:a?x=1)"


@pytest.mark.parametrize(("source", "found"), [
    (f"{LINK} and {LINK}", []), (f"-{LINK}", [("-", True)]), (f"−{LINK}", [("−", True)]), (f"{LINK}-{LINK}", []),
    (f"{LINK}–{LINK} tokens", []), (f"{LINK}%", [("%", True)]), (f"{LINK} GB", [("GB", True)]), (f"3{LINK}", [("3", True)]),
    ("3[,](fact:a?x=1)", [("3", False)]), ("[,](fact:a?x=1)3", [("3", False)]), (f"3 and {LINK}", [("3", False)]),
    ("`1.2.3` 5", [("5", False)]), ("`1.2.3 and 5 GB`", [("5 GB", False)]), ("`5 layers`", []), ("`GPT-2 and 16 GB`", [("16 GB", False)]),
])  # fmt: skip
def test_unbound(source, found):
    numerals = find_unbound(scan(source, "p", "en"))
    assert len(numerals) == len(found)
    for numeral, (text, outside) in zip(numerals, found, strict=True):
        assert (numeral.reason == f"{text!r} belongs to the number and stands outside the link") is outside
        assert outside or (numeral.text == text and numeral.reason == "")


def test_they_come_in_the_order_they_stand():
    source = "5 of $128$ and `4 GB` at 6"
    assert [n.start for n in find_unbound(scan(source, "p", "en"))] == [
        source.index(t) for t in ("5", "128", "4 GB", "6")
    ]
