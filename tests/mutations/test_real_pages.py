"""On the pages themselves: a changed digit and a link taken off are found on their line."""

from __future__ import annotations

import re

from blocklib.facts.check import check_pages
from blocklib.facts.files import load_refs
from blocklib.facts.items import Bound
from blocklib.facts.pages import evaluate_page
from blocklib.facts.registry import default
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound

STRIDE = 7  # every seventh digit and link: the whole takes a quarter of a minute


def test_every_seventh_digit_and_link(root):
    tried = 0
    for path, numbers in check_pages(root).pages.items():
        page = numbers.page
        refs, _ = load_refs(root, re.sub(r"\.\w+\.md$", ".facts", path))
        bound = [item for item in page.items if isinstance(item, Bound)]
        digits = [(item, i) for item in bound for i in range(item.opening[1], item.closing[0])
                  if page.source[i] in "0123456789"]  # fmt: skip
        for item, i in digits[::STRIDE]:
            changed = page.source[:i] + str((int(page.source[i]) + 1) % 10) + page.source[i + 1 :]
            problems = evaluate_page(scan(changed, path, page.lang), refs, default()).problems
            assert [p.line for p in problems] == [page.line(item.start)], (path, item.text)
            tried += 1
        # Small numbers in words are language and need no link.
        for item in [item for item in bound if any(char.isdecimal() for char in item.text)][::STRIDE]:
            inner = page.source[item.opening[1] : item.closing[0]]
            bare = page.source[: item.opening[0]] + inner + page.source[item.closing[1] :]
            again = scan(bare, path, page.lang)
            assert [again.line(n.start) for n in find_unbound(again)] == [page.line(item.start)], (path, item.text)
            tried += 1
    assert tried > 40
