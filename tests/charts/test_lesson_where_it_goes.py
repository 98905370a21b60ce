"""Where parameters and FLOPs go: sentences and tables against counts made elsewhere."""

from __future__ import annotations

import re

import pytest

from blocklib.charts.discover import load
from blocklib.charts.lessons import where_it_goes
from blocklib.charts.payload import cell
from blocklib.text import LANGS
from tests.atlas.counts import COMPONENTS, COUNTS
from tests.charts.test_lesson_deep_net import apart_everywhere


def table(id: str, **settings) -> dict[str, list[str]]:
    made = load(id).state(**settings).table
    return {cell(first, "en").removeprefix("▸ "): [cell(v, "en") for v in rest] for first, *rest in made.rows}


def said(id: str, **settings) -> str:
    """The English sentence without its marks; the Chinese one must put as many values in bold."""
    zh, en = load(id).state(**settings).sentence
    assert len(re.findall(r"\*\*.+?\*\*", zh)) == len(re.findall(r"\*\*.+?\*\*", en))
    return en.replace("**", "")


@pytest.mark.parametrize("model", where_it_goes.MODELS)
def test_components_are_those_of_the_meta_device_count(model):
    *counts, total = COUNTS[model]
    expected = {where_it_goes.COMPONENTS[name].en: f"{n:,}" for name, n in zip(COMPONENTS, counts, strict=True) if n}
    found = table("where-parameters-go", model=model)
    assert found.pop("total") == [f"{total:,}", "100%"]
    assert {name: count for name, (count, _) in found.items()} == expected
    assert f"has {total:,} parameters" in said("where-parameters-go", model=model)
    for level in (1, 2, 3):
        rows = table("where-parameters-go", model=model, level=level)
        whole = int(rows.pop("total")[0].replace(",", ""))
        assert whole == sum(int(count.replace(",", "")) for count, _ in rows.values())
        assert level > 1 or whole == total


def test_the_courses_model():
    kinds = table("where-parameters-go", level=1)
    assert kinds["48 × Gated DeltaNet"][0] == f"{48 * (115_876_064 - 128):,}"
    assert kinds["16 × full attention"][0] == f"{16 * 104_857_600:,}" and kinds["64 × FFN"][0] == "17,112,760,320"
    assert kinds["norms"][0] == f"{660_480 + 48 * 128:,}" and kinds["QK-norm"][0] == f"{16 * 512:,}"
    block = table("where-parameters-go", level=2)
    assert block["query"][0] == block["output gate"][0] == block["output"][0] == "31,457,280"
    assert block["key"][0] == block["value"][0] == "5,242,880" and block["FFN gate"][0] == "89,128,960"
    other = table("where-parameters-go", level=3)
    assert other["value"][0] == "31,457,280" and other["short convolution"][0] == "40,960"
    assert "FFNs hold 63.6%" in said("where-parameters-go") and "FFNs hold 71.8%" in said(
        "where-parameters-go", level=2
    )


def test_small_entries_are_drawn_together_and_listed_apart():
    chart = load("where-parameters-go").state().chart
    assert [c.en for c in chart.y.categories][-1] == "2 small entries"
    assert "2 small entries 674,816 (under 0.1%)" in said("where-parameters-go")
    assert {"norms", "QK-norm"} <= set(table("where-parameters-go"))
    assert "one kind of block" in said("where-parameters-go", model="gpt2-small", level=3)
    assert "sliding-window attention" in said("where-parameters-go", model="gemma-3-1b", level=3)


@pytest.mark.parametrize(("compare", "tokens"), [("last", 87_040), ("average", 174_080), ("layer", 21_760)])
def test_the_two_sides_meet(compare, tokens):
    sentence = said("context-slider", compare=compare, tokens=tokens)
    assert sentence.endswith("just as much.")
    assert table("context-slider", compare=compare)[f"{tokens:,}"][2] == "1"
    assert f"they are equal at {tokens:,} tokens" in said("context-slider", compare=compare, tokens=1024)


def test_flops_of_the_courses_model():
    """64 FFNs of 2 · 267,386,880, and 16 layers that read each position for 4 · 6,144."""
    rows = table("context-slider")
    assert rows["32,768"][:2] == [f"{16 * 4 * 6144 * 32_768:,}", f"{64 * 2 * 267_386_880:,}"]
    assert "equal at 49,641 tokens" in said("context-slider", compare="mixers")
    assert "beyond the 2,048 it was released for" in said("context-slider", model="gpt3-175b", tokens=4096)
    assert "beyond" not in said("context-slider", tokens=262_144)
    assert "beyond the 262,144" in said("context-slider", tokens=524_288)


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("id", ["where-parameters-go", "context-slider"])
def test_no_words_collide_or_leave_the_picture(id, lang, narrow):
    apart_everywhere(id, lang, narrow)
