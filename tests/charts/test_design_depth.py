"""The exhibits on depth at settings whose values are known."""

from __future__ import annotations

import pytest

from blocklib.charts.design import depth
from blocklib.charts.discover import load
from tests.charts.test_primer_exhibits import rows, said


@pytest.mark.parametrize(("layers", "deep", "wide"), [(1, 2, 3), (3, 8, 7), (6, 64, 13)])
@pytest.mark.parametrize("way", ["sequence", "beside"])
def test_pieces(layers, deep, wide, way):
    sentence = said("depth-pieces", layers=layers, way=way)
    assert f"{2 * layers} ReLU neurons, two a layer and in sequence, make {deep} pieces" in sentence
    assert f"all in one layer they make at most {wide}." in sentence


def test_budget_bill():
    sentence = said("budget-bill", blocks=192, base="gpt3-175b")
    assert "192 blocks are 8,689 wide" in sentence and "1.414 times the model's" in sentence
    assert f"cache is {2 * 2 * 192 * 8689:,} bytes" in sentence and "384 sublayers wait" in sentence
    table = rows("budget-bill", blocks=24, base="gpt3-175b")
    assert table["▸ 24 blocks"] == ["24,576", "0.5", "0.25"] and table["96 blocks"] == ["12,288", "1", "1"]
    assert "96 blocks are 1,131 wide" in said("budget-bill", blocks=96, base="gpt2-xl")


# parameters in millions, average score: ALBERT, Table 4
TABLE = {
    ("all", 768): (31, "79.8"), ("attention", 768): (83, "81.6"), ("ffn", 768): (57, "79.5"), ("none", 768): (108, "82.3"),
    ("all", 128): (12, "80.1"), ("attention", 128): (64, "81.7"), ("ffn", 128): (38, "80.2"), ("none", 128): (89, "81.6"),
}  # fmt: skip


@pytest.mark.parametrize(("sharing", "width"), TABLE)
def test_sharing(sharing, width):
    size, score = TABLE[sharing, width]
    both = load("shared-layers").state(sharing=sharing, width=width).sentence
    sentence = both.en.replace("**", "")
    large = f"{size / 100:.2f} 亿" if size >= 100 else f"{size * 100:,} 万"
    assert f"**{large}** 个参数，五项任务平均 **{score}** 分" in both.zh
    assert f"{size}M parameters" in sentence and f"an average of {score} over five tasks" in sentence
    if sharing != "none":
        full, best = TABLE["none", width]
        assert f"{1 - size / full:.1%} fewer parameters" in sentence
        change = round(float(score) - float(best), 1)
        assert f"average {abs(change):g} {'lower' if change < 0 else 'higher'}" in sentence


@pytest.mark.parametrize(
    ("model", "table", "words"),
    [
        ("mixtral-8x7b", "with", "46,702,792,704 parameters, and a token passes 12,879,925,248 of them, 27.6%"),
        ("mixtral-8x7b", "without", "46,571,720,704 parameters, and a token passes 12,748,853,248"),
        ("deepseek-v3", "with", "671,026,404,352 parameters, and a token passes 37,552,282,624 of them, 5.60%"),
        ("deepseek-v3", "with", "8 of 256 and a shared one"),
        ("gpt-oss-20b", "without", "a token passes 3,608,307,264"),
        ("qwen3-next-80b-a3b", "with", "10 of 512 and a shared one"),
    ],
)
def test_experts(model, table, words):
    assert words in said("experts-held-and-used", model=model, table=table)


def test_experts_lists_every_model():
    assert len(rows("experts-held-and-used")) == len(depth.MIXTURES)
