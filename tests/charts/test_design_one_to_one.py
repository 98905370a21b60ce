"""The exhibits on the ratio of the sublayers at settings worked out by hand."""

from __future__ import annotations

import pytest

from blocklib.atlas.models import load as model
from blocklib.charts.design import one_to_one
from tests.charts.test_primer_exhibits import rows, said

D2 = 4096**2


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("one-to-one", "20 attentions, 20 FFNs, 40 writes"),
        ("two-attentions", "30 attentions, 15 FFNs, 45 writes"),
        ("two-ffns", "12 attentions, 24 FFNs, 36 writes"),
        ("macaron", "20 attentions, 40 FFNs, 60 writes"),
        ("sandwich", "20 attentions, 20 FFNs, 40 writes"),
        ("parallel", "20 attentions, 20 FFNs, 20 writes"),
        ("attention-only", "60 attentions, 0 FFNs, 60 writes"),
        ("ffn-only", "0 attentions, 30 FFNs, 30 writes"),
    ],
)
def test_orders(layout, words):
    assert words in said("sublayer-orders", layout=layout)


def test_bill_of_an_order():
    weights, scores = 2 * 240 * D2, 4 * 8192 * 4096 * 12
    sentence = said("sublayer-orders", layout="two-ffns", tokens=8192)
    assert f"takes {(weights + scores) / 1e9:.2f} GFLOP forward, {scores / (weights + scores):.1%} of it" in sentence
    assert f"adds {12 * 2 * 4096 * 2:,} bytes" in sentence
    table = rows("sublayer-orders", layout="two-ffns", tokens=8192)
    assert len(table) == 8 and {cells[3] for cells in table.values()} == {f"{weights / 1e9:.2f}"}
    assert table["attention only"][4] == f"{4 * 8192 * 4096 * 60 / 1e9:.2f}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("qwen3.8-27b", "64 blocks, each with an FFN. Of their mixers 16 see all positions, 48 keep a state"),
        ("qwen3.8-27b", "there are 4 FFNs"),
        ("gemma-3-1b", "4 see all positions, 22 see a window; to each attention over all positions there are 6.5 FFNs"),
        ("gpt-oss-20b", "12 see all positions, 12 see a window"),
        ("kimi-k3", "24 see all positions, 69 keep a state of fixed size"),
        ("mistral-7b", "32 see a window; no layer sees all positions"),
        ("llama-3-8b", "32 see all positions; to each attention over all positions there is 1 FFN"),
    ],
)
def test_mixers(name, words):
    assert words in said("mixer-strips", model=name)


@pytest.mark.parametrize("name", one_to_one.MIXED)
def test_every_cell_is_a_block_of_the_model(name):
    assert len(one_to_one.reaches(name)) == model(name).config.n_layers
    cells = next(v for head, v in rows("mixer-strips", model=name).items() if head.startswith("▸"))
    assert int(cells[0]) == sum(map(int, cells[1:]))
