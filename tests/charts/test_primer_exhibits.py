"""Every exhibit of the primer at settings whose values are known: sentences and tables against numbers worked out
elsewhere (by hand, from the papers, or by an independent computation in the test)."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

from blocklib.charts import Axis, Chart, Series
from blocklib.charts.discover import discover, load
from blocklib.charts.layout import FIT, measure, scene
from blocklib.charts.payload import cell, margins
from blocklib.charts.primer import growth, pre_post_norm, residuals, shape
from blocklib.charts.scale import fraction
from blocklib.text import LANGS, Text

F = Fraction


def said(id: str, **settings) -> str:
    """The English sentence; the Chinese one must state the same figures in bold, in whatever order."""
    sentence = load(id).state(**settings).sentence
    figures = [sorted(re.findall(r"−?\d[\d,.]*(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?%?", " ".join(re.findall(r"\*\*(.+?)\*\*", s))))
               for s in sentence]  # fmt: skip
    assert [f.strip(".,") for f in figures[0]] == [f.strip(".,") for f in figures[1]], sentence
    return sentence.en.replace("**", "")


def rows(id: str, lang: str = "en", **settings) -> dict[str, list[str]]:
    """The table as {row head: cells}."""
    table = load(id).state(**settings).table
    return {cell(first, lang): [cell(v, lang) for v in rest] for first, *rest in table.rows}


# -- 1 to 3: shapes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sublayer", "sources"),
    [
        ("full", "6 of the inputs, 0, 1, 2, 3, 4, 5"),
        ("causal", "3 of the inputs, 0, 1, 2;"),
        ("ffn", "1 of the inputs, 2,"),
    ],
)
def test_feeds_token_names_the_sources_of_output_two(sublayer, sources):
    assert f"output 2 depends on {sources}" in said("feeds-token", sublayer=sublayer)


def test_feeds_token_follows_the_dependence_of_a_real_sublayer():
    assert shape.feeds("full") == (tuple(range(6)),) * 6
    assert shape.feeds("causal") == tuple(tuple(range(i + 1)) for i in range(6))
    assert shape.feeds("ffn") == tuple((i,) for i in range(6))
    assert rows("feeds-token", sublayer="causal", position=5)["▸ output 5"] == ["6", "0, 1, 2, 3, 4, 5"]


def test_one_vector_keeps_six_components_while_all_values_change():
    for draw in range(3):
        vectors, inner = shape.through_block(draw)
        assert [len(v) for v in vectors] == [6, 6, 6] and inner == 24
        assert all(a != b for one, other in zip(vectors, vectors[1:], strict=False)
                   for a, b in zip(one, other, strict=True))  # fmt: skip
    assert rows("one-vector", stop=2)["count"] == ["6", "6", "6"]
    assert rows("one-vector", stop=0)["count"] == ["6", "—", "—"]
    assert "Inside the FFN there were 24" in said("one-vector", stop=2) and "24" not in said("one-vector", stop=1)


@pytest.mark.parametrize(("model", "width"), [
    ("gpt2-small", "768"), ("gpt2-medium", "1,024"), ("gpt2-xl", "1,600"), ("llama-3-8b", "4,096"),
    ("llama-3-70b", "8,192"), ("gpt3-175b", "12,288")])  # fmt: skip
def test_contract_widths_locks_three_readings(model, width):
    sentence = said("contract-widths", model=model)
    assert sentence.count(f"{width} ") == 3
    chosen = [cells for head, cells in rows("contract-widths", model=model).items() if head.startswith("▸")]
    assert chosen == [[width] * 3]


# -- 4 to 7: normalisation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "last"), [
    ("0.6", "4.7384 × 10⁻⁶"), ("0.8", "0.0047224"), ("0.9", "0.079766"), ("0.95", "0.29199"), ("1", "1"), ("1.05", "3.2251"),
    ("1.1", "9.8497"), ("1.2", "79.497"), ("1.3", "542.80"), ("1.4", "3,214.2")])  # fmt: skip
def test_growth_after_twenty_four_layers(factor, last):
    assert f"after 24 layers is {last} times the start" in said("growth", factor=F(factor))
    assert rows("growth", factor=F(factor))["after layer 24"] == [last]
    assert math.isclose(float(last.replace(",", "").replace(" × 10⁻⁶", "e-6")), float(factor) ** 24, rel_tol=5e-5)


def test_layernorm_steps_of_a_vector_that_can_be_checked_by_hand():
    assert sum(growth.VECTOR) == 24 and sum((v - 3) ** 2 for v in growth.VECTOR) == 8 * 16
    assert "mean 3 and variance 16." in said("layernorm-steps", step=0)
    assert "(3, −5, 7, −2, −4, 4, −3, 0), with mean 0 and variance 16." in said("layernorm-steps", step=1)
    assert "(0.75, −1.25, 1.75, −0.5, −1, 1, −0.75, 0), with mean 0 and variance 1 − 6.25 × 10⁻⁷." in said(
        "layernorm-steps", step=2
    )  # 1e-5 / 16
    table = rows("layernorm-steps", step=2)
    assert table["mean"] == ["3", "0", "0"] and table["variance"] == ["16", "16", "1 − 6.25 × 10⁻⁷"]


@pytest.mark.parametrize(("centre", "mean"), [(3, "0.6"), (-3, "−0.6"), (0, "0"), (1, "0.2425"), (6, "0.8321")])
def test_norm_toggle_divides_the_mean_by_the_rms(centre, mean):
    assert f"with mean {mean}:" in said("norm-toggle", norm="rmsnorm", centre=centre)
    assert "with mean 0: always zero" in said("norm-toggle", norm="layernorm", centre=centre)
    out = growth.normed("rmsnorm", growth.moved(centre), 0.0)
    assert math.isclose(sum(out) / 8, centre / math.hypot(centre, 4), abs_tol=1e-12)


def test_the_two_norms_coincide_at_mean_zero_and_only_there():
    for centre in growth.MEANS:
        pair = [growth.normed(kind, growth.moved(centre), 0.0) for kind in ("layernorm", "rmsnorm")]
        same = all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(*pair, strict=True))
        assert same == (centre == 0)
    assert "the two norms coincide" in said("norm-toggle", norm="rmsnorm", centre=0)


@pytest.mark.parametrize(("width", "core_gap"), [
    (768, "1,536"), (1024, "2,048"), (1600, "3,200"), (4096, "8,192"), (8192, "16,384"), (12288, "24,576")])  # fmt: skip
def test_norm_ops_core_gap_is_two_d_and_full_gap_three_d(width, core_gap):
    assert f"{core_gap} fewer, or 40.0%" in said("norm-ops", d_model=width, count="core")
    assert f"{3 * width:,} fewer, or 42.9%" in said("norm-ops", d_model=width, count="all")
    assert rows("norm-ops", d_model=width, count="all")["total"] == [f"{7 * width:,}", f"{4 * width:,}"]


# -- 8 to 11: residuals --------------------------------------------------------------------------------------


def test_residual_toggle_with_a_silent_branch():
    x, f = residuals.branch()
    zeros = "(0, 0, 0, 0, 0, 0)"
    assert f"f(x) passes on {zeros}: nothing is left" in said("residual-toggle", skip=False, scale=F(0))
    on = said("residual-toggle", skip=True, scale=F(0))
    assert on.count(residuals.listed(x)) == 2 and "x itself, exactly" in on
    assert residuals.listed([a + b for a, b in zip(x, f, strict=True)]) in said("residual-toggle")
    assert all(cells[0] == cells[2] for cells in rows("residual-toggle", scale=F(0)).values())


@pytest.mark.parametrize(("gain", "layers", "bare", "whole"), [
    ("0.5", 12, "2.441 × 10⁻⁴", "129.7"), ("0.7", 12, "0.01384", "582.6"), ("0.9", 12, "0.2824", "2,213"),
    ("0.3", 24, "2.824 × 10⁻¹³", "542.8"), ("0.7", 24, "1.916 × 10⁻⁴", "339,449"), ("-0.9", 24, "0.07977", "10⁻²⁴"),
    ("0.7", 0, "1", "1"), ("0.1", 0, "1", "1")])  # fmt: skip
def test_gradient_depth_tells_identity_path_and_whole_product_apart(gain, layers, bare, whole):
    sentence = said("gradient-depth", gain=F(gain), layers=layers)
    assert f"the bare chain keeps {bare};" in sentence and "the identity path is 1 " in sentence
    assert whole is None or f"all paths together come to {whole}." in sentence
    chosen = next(c for head, c in rows("gradient-depth", gain=F(gain), layers=layers).items() if head.startswith("▸"))
    assert chosen[0] == bare and chosen[1] == "1"


def test_skip_rail_absent_is_the_bare_chain_and_present_adds_at_least_the_identity():
    for blocks in residuals.RAIL_BLOCKS:
        with_rail, without = (load("skip-rail").state(rail=rail, blocks=blocks).table.rows for rail in (True, False))
        assert without[2][1] == without[3][1] == residuals.size(F(7, 10) ** blocks)
        assert with_rail[1][1] == 1 and with_rail[2][1] == residuals.size(F(17, 10) ** blocks)
    assert "With the skips removed, 0.01384 of the gradient" in said("skip-rail", rail=False, blocks=12)
    assert "a gradient of 1, and all paths together bring 582.6" in said("skip-rail", rail=True, blocks=12)


def test_trainable_depth_quotes_the_papers():
    errors = said("trainable-depth", show="error")
    for figure in ("27.94% at 18", "28.54% at 34", "up by 0.6 points", "27.88%", "25.03%", "down by 2.85"):
        assert figure in errors
    depths = said("trainable-depth", show="depth")
    for figure in ("56 layers already have a higher training error than 20", "the same 2015 paper goes to 152 on ImageNet", "a year later, to 1,001 on CIFAR",
                   "hundreds of layers"):  # fmt: skip
        assert figure in depths
    table = rows("trainable-depth", show="depth")
    assert table["ResNet-152, ImageNet"] == ["2015-12", "152"]
    assert table["Highway, gated skips"] == ["2015-05", "hundreds"]


# -- 12 to 14: pre-norm and post-norm ------------------------------------------------------------------------


@pytest.mark.parametrize("size", pre_post_norm.SIZES)
def test_pre_post_walk_ends_in_a_normalised_vector_and_in_a_bare_sum(size):
    post, pre = pre_post_norm.walks(size)
    assert abs(sum(post[3])) < 1e-9 and math.isclose(pre_post_norm.rms(post[3]), 1, rel_tol=1e-4)
    assert all(math.isclose(a + b, c) for a, b, c in zip(pre[0], pre[2], pre[3], strict=True))
    assert math.isclose(pre_post_norm.rms(pre[0]), size) and pre_post_norm.rms(pre[3]) > 1.2
    table = rows("pre-post-walk", step=3, size=size)
    assert table["RMS"][0] == "1.00" and table["RMS"][1] != "1.00"
    assert rows("pre-post-walk", step=1, size=size)["RMS"][1] == "1.00"


@pytest.mark.parametrize(("factor", "gain", "post", "identity", "pre"), [
    (0, 0, "5.960 × 10⁻⁸", "5.960 × 10⁻⁸", "1"), (1, 0, "2.441 × 10⁻⁴", "2.441 × 10⁻⁴", "1"), (2, 0, "0.07977", "0.07977", "1"),
    (2, 2, "6.341", "0.07977", "53.11"), (1, 3, "1", "2.441 × 10⁻⁴", "475.9"), (3, 2, "79.50", "1", "79.50")])  # fmt: skip
def test_norm_factor_at_known_settings(factor, gain, post, identity, pre):
    setting = {"norm_factor": pre_post_norm.FACTORS[factor], "gain": pre_post_norm.BRANCHES[gain]}
    sentence = said("norm-factor", **setting)
    assert f"post-norm keeps {post} in all and {identity} on the identity path" in sentence
    assert f"pre-norm keeps {pre} in all and 1 on the identity path" in sentence
    assert ("coincide" in sentence) == (factor == 3) and ("the total holds" in sentence) == (factor == 1 and gain == 3)


@pytest.mark.parametrize(("blocks", "theory"), [(12, "5"), (24, "7"), (32, "8.062"), (64, "11.36"), (96, "13.89")])
def test_stream_growth_theory_and_measurement(blocks, theory):
    sentence = said("stream-growth", blocks=blocks)
    assert f"the stream's RMS is {theory} if all writes" in sentence
    measured = pre_post_norm.measured_stream("unit")[blocks]
    assert math.isclose(measured, math.sqrt(1 + 2 * blocks), rel_tol=0.08) and f"it is {measured:.3g}" in sentence
    assert pre_post_norm.measured_stream("block")[blocks] < 0.5 * measured


# -- 15 to 17: the block -------------------------------------------------------------------------------------


def test_six_stages_adds_one_correction_at_step_three_and_one_at_step_six():
    from blocklib.charts.primer.block import walk

    for seed in (0, 1):
        v = walk(seed)
        for x0, a, x1, b, x2 in zip(
            *(v[k] for k in ("input", "attention", "add_attention", "ffn", "add_ffn")), strict=True
        ):
            assert math.isclose(x1, x0 + a) and math.isclose(x2, x0 + a + b)
    first = [cells[0] for cells in rows("six-stages", stage=0).values()]
    for stage, moved in ((1, False), (2, False), (3, True), (4, True), (5, True), (6, True)):
        assert ([cells[0] for cells in rows("six-stages", stage=stage).values()] != first) == moved
    assert "written to twice" in load("six-stages").state(stage=6).sentence.en


@pytest.mark.parametrize(("model", "attention", "ffn"), [
    ("gpt2-small", "2,359,296", "4,718,592"), ("gpt2-medium", "4,194,304", "8,388,608"),
    ("gpt2-xl", "10,240,000", "20,480,000"), ("llama-3-8b", "67,108,864", "134,217,728"),
    ("llama-2-70b", "268,435,456", "536,870,912"), ("gpt3-175b", "603,979,776", "1,207,959,552")])  # fmt: skip
def test_textbook_ffn_has_twice_the_weights_of_attention(model, attention, ffn):
    sentence = said("attention-ffn-cost", model=model, rule="textbook")
    assert f"attention has {attention} weights, the FFN {ffn}, 2 times as many" in sentence


@pytest.mark.parametrize(("model", "ratio"), [("llama-2-70b", "4.667"), ("llama-3-8b", "4.2"), ("gpt2-small", "2")])
def test_real_models_have_ratios_of_their_own(model, ratio):
    assert f", {ratio} times as many" in said("attention-ffn-cost", model=model, rule="real")


def test_embedding_share_along_the_gpt_2_line():
    counts = said("embedding-share", of="count")
    assert (
        "124,439,808 parameters: embedding 38,597,376, positions 786,432, all blocks and the final norm 85,056,000"
        in counts
    )
    for model, share in (("gpt2-small", "31.0%"), ("gpt2-medium", "14.5%"), ("gpt2-large", "8.31%"), ("gpt2-xl", "5.16%"),
                         ("gpt3-175b", "0.354%")):  # fmt: skip
        assert f"embedding {share}" in said("embedding-share", model=model)
    assert "embedding 617,558,016" in said("embedding-share", model="gpt3-175b", of="count")


# -- 18 to 21: stacks ----------------------------------------------------------------------------------------


def test_build_stack_changes_the_count_and_never_the_width():
    small, large = said("build-stack", blocks=12), said("build-stack", blocks=96)
    assert "85,054,464 parameters in its blocks, 7,087,872 each" in small and "the depth of GPT-2 small" in small
    assert "680,435,712 parameters" in large and "the depth of GPT-3" in large
    assert rows("build-stack", blocks=12)["width"] == rows("build-stack", blocks=96)["width"] == ["768"]


@pytest.mark.parametrize(("factor", "deep", "wide"), [(1, "1", "1"), (2, "2", "4"), (4, "4", "16"), (8, "8", "64")])
def test_depth_scales_once_and_width_twice(factor, deep, wide):
    table = rows("depth-scaling", factor=factor)
    assert table["deeper only"][2] == deep and table["wider only"][2] == wide
    assert f"hold {deep} times as many weights" in said("depth-scaling", factor=factor)


@pytest.mark.parametrize(("blocks", "width", "left"), [
    (6, "49,152", "0"), (24, "24,576", "0"), (96, "12,288", "0"), (192, "8,689", "2,877,696")])  # fmt: skip
def test_equal_budget_states_width_and_what_rounding_leaves(blocks, width, left):
    sentence = said("equal-budget", blocks=blocks)
    assert f"{blocks} blocks can be {width} wide, {left} weights off the budget" in sentence
    assert 12 * blocks * int(width.replace(",", "")) ** 2 - 12 * 96 * 12288**2 == int(left.replace(",", ""))


@pytest.mark.parametrize(("blocks", "paths"), [(1, "2"), (4, "16"), (8, "256"), (12, "4,096"), (24, "16,777,216")])
def test_paths_double_with_every_block(blocks, paths):
    noun = "block has" if blocks == 1 else "blocks have"
    assert f"{blocks} {noun} {paths} paths" in said("path-counts", blocks=blocks)


def test_path_lengths_of_twenty_four_blocks():
    each, weighted = said("path-counts"), said("path-counts", weight="gradient")
    assert "mean length is 12 with a standard deviation of 2.449" in each
    assert "mean length is 5.538 with a standard deviation of 2.064" in weighted
    middle = sum(float(rows("path-counts")[f"length {k}"][1].rstrip("%")) for k in range(8, 17))
    assert math.isclose(middle, 93.6, abs_tol=0.1)
    assert rows("path-counts")["length 12"][0] == "2,704,156"


# -- 22 and 23: the model ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "width", "vocab"), [("gpt2-small", "768", "50,257"), ("llama-3-8b", "4,096", "128,256")]
)
def test_assemble_hands_on_the_width_until_the_head(model, width, vocab):
    shapes = [cells[1] for cells in rows("assemble", line=6, model=model).values()]
    assert shapes == [f"T × {width}"] * 5 + [f"T × {vocab}"]
    for line in range(1, 7):
        assert f"T × {vocab if line == 6 else width} goes on" in said("assemble", line=line, model=model)


@pytest.mark.parametrize("position", range(6))
def test_causal_mask_opens_twenty_one_of_thirty_six_cells(position):
    sentence = said("causal-mask", position=position)
    assert f"position {position} reads {position + 1}:" in sentence
    assert "Of 36 cells 21 are open (58.3%)" in sentence
    assert [cells[0] for cells in rows("causal-mask", position=position).values()] == ["1", "2", "3", "4", "5", "6"]
    assert "36 are open (100%)" in said("causal-mask", position=position, mask="none")


# -- all -----------------------------------------------------------------------------------------------------

PRIMER = [id for id, ref in discover().items() if ".primer." in ref.module]


def test_the_primer_has_its_twenty_three_exhibits():
    assert sorted(load(id).number for id in PRIMER) == list(range(1, 24))


@pytest.mark.parametrize("id", PRIMER)
@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
def test_no_words_collide_or_leave_the_picture_in_any_state(id, narrow):
    exhibit = load(id)
    for lang in LANGS:
        frame = margins(exhibit, lang, narrow)
        for indices in exhibit.indices():
            drawn = scene(exhibit.at(indices).chart, lang, narrow, frame)
            boxes = list(word_boxes(drawn, FIT[narrow]))
            for i, (text, left, right, top, bottom) in enumerate(boxes):
                where = f"{exhibit.setting(indices, lang)}: {text!r}"
                assert left > -2 and right < FIT[narrow] + 2 and top > -2 and bottom < drawn.height + 2, where
                for other, left2, right2, top2, bottom2 in boxes[i + 1 :]:
                    apart = min(right, right2) - max(left, left2) <= 1 or min(bottom, bottom2) - max(top, top2) <= 1
                    assert apart, f"{where} and {other!r}"


def word_boxes(drawn, width):
    """(text, left, right, top, bottom) of every line of words at this picture width, by the layout's own estimate."""
    m = drawn.margin
    for w in drawn.words:
        x = m.left + (w.x if w.px else fraction(w.x, drawn.x, drawn.xlog)) * (width - m.left - m.right) + w.dx
        up = (w.y if w.py else fraction(w.y, drawn.y, drawn.ylog)) * drawn.plot_height + w.dy
        y, long = m.top + drawn.plot_height - up, measure(w.text, w.size)
        left = {"start": x, "middle": x - long / 2, "end": x - long}[w.anchor]
        yield w.text, left, left + long, y - 0.45 * w.size, y + 0.45 * w.size


def test_colliding_words_would_be_noticed():
    labels = Series("l", x=[0, 0], y=[0, 0.01], mark="label", labels=["one label", "another"])
    chart = Chart([labels], y=Axis(range=(-1, 1)), summary=Text("标签", "labels"))
    boxes = list(word_boxes(scene(chart, "en"), FIT[False]))
    (_, left, right, top, bottom), (_, left2, right2, top2, bottom2) = (
        b for b in boxes if b[0] in ("one label", "another")
    )
    assert min(right, right2) - max(left, left2) > 1 and min(bottom, bottom2) - max(top, top2) > 1


@pytest.mark.parametrize("lang", LANGS)
def test_words_at_the_end_of_a_line_keep_off_it_and_inside(lang):
    """Narrow: under a falling line, over a level one, after one that ends near the left edge."""

    def end(x, y):
        line = Series("s", x=x, y=y, mark="line", end=Text("线的名字", "name of line"))
        chart = Chart([line], x=Axis(range=(0, 10)), y=Axis(range=(0, 10)), summary=Text("线", "a line"))
        return next(w for w in scene(chart, lang, narrow=True).words if w.text in ("线的名字", "name of line"))

    assert end((0, 10), (9, 1)).dy < 0 < end((0, 10), (5, 5)).dy
    assert end((0, 10), (5, 5)).anchor == "end" and end((0, 1), (5, 5)).anchor == "start"


@pytest.mark.parametrize("lang", LANGS)
def test_titles_ask_or_find(lang):
    for id in PRIMER:
        title = load(id).title[lang]
        assert title.endswith(("？", "?")) or id == "depth-scaling", title
