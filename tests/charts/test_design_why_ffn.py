"""Exhibits of the essay's chapter on why there is an FFN, against dependence by rule and counts by hand."""

from __future__ import annotations

import pytest

from blocklib.charts.design import why_ffn
from tests.charts.test_primer_exhibits import rows, said
from tests.charts.words import collisions


@pytest.mark.parametrize("position", range(why_ffn.TOKENS))
def test_mixing_kinds_follow_the_dependence_of_real_layers(position):
    every, own = set(range(why_ffn.WIDTH)), {why_ffn.COMPONENT}
    expected = {
        "attention": (set(range(position + 1)), every),
        "mixer": (set(range(why_ffn.TOKENS)), own),
        "conv": (set(range(max(0, position - 2), position + 1)), own),
        "ffn": ({position}, every),
    }
    for kind, (positions, components) in expected.items():
        assert set(why_ffn.reach(kind, position)) == {(t, c) for t in positions for c in components}
        words = said("mixing-kinds", kind=kind, position=position)
        assert f"depends on {len(positions) * len(components)} of 20 input entries" in words
        table = rows("mixing-kinds", kind=kind, position=position)
        assert table[f"▸ position {position}"] == [", ".join(map(str, sorted(components)))]


def test_split_bill_counts_weights():
    words = said("split-bill", tokens=1024, model="gpt2-small")
    assert "4.95 × 10¹² weights" in words  # 8 · (1,024 · 768)²
    assert "position weights 13,107,200," in words  # 8 · 1,024² + 8 · 768²
    assert "with an FFN 7,077,888," in words  # 12 · 768²
    for tokens in why_ffn.LENGTHS:
        assert rows("split-bill", tokens=tokens, model="gpt3-175b")[f"▸ {tokens:,}"][2] == "1,811,939,328"


@pytest.mark.parametrize("id", ["mixing-kinds", "split-bill"])
def test_words_keep_apart(id):
    assert collisions(id) == []
