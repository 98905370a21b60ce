"""The patterns of Markdown's lines agree with the extensions that act on them."""

from __future__ import annotations

import pytest
from markdown_exec._internal.main import _to_bool

from blocklib.facts.lines import EXEC


@pytest.mark.parametrize("word", ["on", "1", "yes", "true", "once", "ON", "off", "0", "no", "false", "False"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_fence_is_executed_when_markdown_exec_says_so(word, quote):
    assert bool(EXEC.search(f"python exec={quote}{word}{quote} title='x'")) is _to_bool(word)


def test_no_option_no_execution():
    assert not EXEC.search("python title='exec the plan'") and not EXEC.search('python noexec="1"')
