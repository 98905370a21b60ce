"""The evolution map against the figures of the literature, as the papers and configurations print them."""

from __future__ import annotations

import pytest

from blocklib.charts.design import evolution
from blocklib.charts.discover import load
from tests.charts.test_primer_exhibits import rows, said
from tests.charts.words import collisions

IDS = ("evolution-norm", "evolution-ffn", "evolution-residual", "evolution-gate")
# (exhibit, era, what its sentence must say)
SAID = [
    ("evolution-ffn", 0, "512 → 2,048"),
    ("evolution-ffn", 0, "5.12, 4.92 and 4.75"),
    ("evolution-ffn", 1, "768 → 3,072"),
    ("evolution-ffn", 1, "1.983 against 1.944"),
    ("evolution-ffn", 1, "1.679 against 1.636"),
    ("evolution-ffn", 2, "8,192 → 22,016 (8d/3 is 21,845.33)"),
    ("evolution-ffn", 3, "5,120 → 17,408, a factor of 3.4"),
    ("evolution-ffn", 3, "63.6%"),  # 17,112,760,320 of 26,895,998,464
    ("evolution-ffn", 3, "gate and value at 10 give 99.995"),
    ("evolution-ffn", 4, "gpt-oss at 7, DeepSeek-V4 at 10"),
    ("evolution-residual", 0, "after 128 uncorrelated writes of unit size its RMS is 11.36"),
    ("evolution-residual", 1, "0.02 becomes 0.00707"),
    ("evolution-residual", 3, "64 layers write twice each, 128 in all"),
    ("evolution-residual", 3, "0.775%"),
    ("evolution-residual", 4, "4 streams"),
    ("evolution-norm", 0, "4,000 steps"),
    ("evolution-norm", 1, "3,840 operations against 2,304 at width 768"),
    ("evolution-norm", 3, "head width 256 and gain one keeps logits within 16"),
    ("evolution-gate", 2, "46.7%"),
    ("evolution-gate", 3, "5,120 → 12,288, half of it queries (6,144)"),
    ("evolution-gate", 3, "31,457,280 more weights"),
    ("evolution-gate", 3, "falls to 4.8%"),
]


@pytest.mark.parametrize(("id", "era", "words"), SAID)
def test_cells_print_the_published_figures(id, era, words):
    assert words in said(id, era=era)


@pytest.mark.parametrize("id", IDS)
def test_the_walk_dwells_on_one_cell_of_its_own_column(id):
    part = id.removeprefix("evolution-")
    for era in range(5):
        strong = [s for s in load(id).state(era=era).chart.series if s.alpha == (1.0,)]
        assert [(s.x, s.y) for s in strong] == [((evolution.PARTS.index(part),), (era,))]
        heads = list(rows(id, era=era))
        assert len(heads) == 5 and [h.startswith("▸ ") for h in heads] == [i == era for i in range(5)]
        assert "**" not in str(load(id).state(era=era).table.rows)


@pytest.mark.parametrize("id", IDS)
def test_words_keep_apart(id):
    assert collisions(id) == []
