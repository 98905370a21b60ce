"""What the blocks of the page on the shape contract print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_who_feeds(run_snippet, lang):
    lines = run_snippet("primer/shape/who_feeds.py", lang)
    reach = [line.split("  ")[-1].strip() for line in lines[2:]]
    assert reach == ["0, 1, 2, 3, 4, 5", "0, 1, 2", "2"]


def test_who_feeds_speaks_the_readers_language(run_snippet):
    assert "attention，因果掩码" in "\n".join(run_snippet("primer/shape/who_feeds.py", "zh"))
    assert "attention, causal mask" in "\n".join(run_snippet("primer/shape/who_feeds.py", "en"))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_widths(run_snippet, lang):
    rows = {line.split("  ")[0]: line.split()[-3:] for line in run_snippet("primer/shape/widths.py", lang)[2:]}
    assert rows == {
        "GPT-2 small": ["768", "768", "3,072"],
        "Llama-2-7B": ["4,096", "4,096", "11,008"],
        "Llama-3-8B": ["4,096", "4,096", "14,336"],
        "Qwen3.8-27B": ["5,120", "6,144", "17,408"],
    }
