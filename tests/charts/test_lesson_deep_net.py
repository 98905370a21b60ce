"""The deep seeded net: its values, over several seeds, and against an independent computation of a few of them."""

from __future__ import annotations

import math

import pytest
import torch

from blocklib.charts.discover import load
from blocklib.charts.layout import FIT
from blocklib.charts.lessons import deep_net
from blocklib.charts.payload import cell, margins
from blocklib.charts.scene import Words
from blocklib.text import LANGS
from blocklib.theory.mixing import row_similarity
from tests.charts.test_primer_exhibits import scene, word_boxes

ID = "deep-seeded-net"


def rows(**settings) -> dict[str, list[str]]:
    table = load(ID).state(**settings).table
    return {cell(first, "en").removeprefix("▸ "): [cell(v, "en") for v in rest] for first, *rest in table.rows}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ffn", [False, True])
def test_what_the_picture_says_holds_for_other_weights_too(seed, ffn):
    """The printed digits are those of one draw of weights; the shape of the curves is not."""
    without, with_ = deep_net.net(ffn, False, seed), deep_net.net(ffn, True, seed)
    assert without.similarity[0] == with_.similarity[0] and abs(without.similarity[0]) < 0.05
    assert without.similarity[1] < 0.7 and without.similarity[3] > 0.999 and without.similarity[-1] > 1 - 1e-12
    assert 0.2 < with_.similarity[4] < 0.55 and 0.6 < with_.similarity[12] < 0.9 and with_.similarity[-1] < 0.97
    assert min(without.query_key[:2]) > 0.1 and max(without.query_key[5:]) < 1e-10
    assert min(with_.query_key) > 0.005 * with_.query_key[0]
    for net in (without, with_):
        assert max(net.value_output) < 20 * min(net.value_output) and min(net.value_output) > 1


@pytest.mark.parametrize("block", [1, 4, 12, 24])
def test_attention_alone_follows_the_closed_form(block):
    found = [deep_net.net(False, True, seed).similarity[block] for seed in range(6)]
    assert sum(found) / 6 == pytest.approx(float(row_similarity(deep_net.TOKENS, block)), abs=0.05)


def test_a_block_written_out_by_hand():
    """The first two blocks again, head by head, with softmax and GELU from their definitions."""
    x, _, blocks = deep_net.drawn(deep_net.SEED)
    x, found = x[0].detach(), {}

    def unit(v):
        return v / (v.pow(2).sum(-1, keepdim=True) / deep_net.WIDTH + 1e-6) ** 0.5

    for residual in (False, True):
        y = x.clone()
        for attention, ffn in blocks[:2]:
            read, wide = unit(y), deep_net.WIDTH // deep_net.HEADS
            heads = []
            for h in range(deep_net.HEADS):
                q, k, v = (
                    read @ m.weight[h * wide : (h + 1) * wide].T for m in (attention.q, attention.k, attention.v)
                )
                e = torch.exp(q @ k.T / wide**0.5)
                heads.append(e / e.sum(1, keepdim=True) @ v)
            y = y * residual + torch.cat(heads, 1) @ attention.o.weight.T
            inner = unit(y) @ ffn.up.weight.T
            gelu = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
            y = y * residual + gelu @ ffn.down.weight.T
        cosines = [torch.cosine_similarity(y[i], y[j], 0) for i in range(16) for j in range(16) if i != j]
        found[residual] = torch.stack(cosines).mean().item()
    for residual, value in found.items():
        assert deep_net.net(True, residual).similarity[2] == pytest.approx(value, abs=1e-9)
    assert rows()["block 2"] == [f"{found[False]:.3f}", f"{found[True]:.3f}"]


def test_a_gradient_by_finite_differences():
    """The query matrix of the second block moved along its gradient: the loss rises by the gradient's square."""
    from blocklib.nn.norm import RMSNorm

    x, read_out, blocks = deep_net.drawn(deep_net.SEED)
    norm = RMSNorm(deep_net.WIDTH, affine=False)

    def loss():
        y = x
        for attention, ffn in blocks:
            y = y + attention(norm(y))
            y = y + ffn(norm(y))
        return (norm(y) * read_out).sum()

    squares = 0.0
    for matrix in (blocks[1][0].q.weight, blocks[1][0].k.weight):
        (slope,) = torch.autograd.grad(loss(), matrix)
        step = 1e-6 / slope.norm()
        with torch.no_grad():
            matrix += step * slope
            above = loss()
            matrix -= 2 * step * slope
            below = loss()
            matrix += step * slope
        risen = ((above - below) / (2 * step)).item()
        assert risen == pytest.approx(slope.square().sum().item(), rel=1e-5)
        squares += risen
    assert deep_net.net(True, True).query_key[1] == pytest.approx(squares**0.5, rel=1e-5)


def test_printed_values():
    assert rows()["block 4"][0] == "1" and rows()["block 3"][0].startswith("1 − ")
    assert rows(show="gradient")["block 24"][0] == "< 10⁻¹²" and float(rows(show="gradient")["block 24"][1]) > 1
    assert rows(ffn=False, residual=True)["block 1"][2] == "0.0588"  # 1/17: sixteen tokens and one
    assert rows(ffn=False)["block 1"][2] == "1"
    sentence = load(ID).state().sentence.en
    assert "after block **4** the cosine of two tokens' vectors is **1** on average" in sentence


def test_digits_near_one_and_near_zero():
    assert deep_net.alike(0.25) == "0.250" and deep_net.alike(1 - 6.71e-6) == "1 − 6.7 × 10⁻⁶"
    assert deep_net.alike(1 - 1e-12) == "1" and deep_net.alike(0.9996) == "1 − 4.0 × 10⁻⁴"
    assert deep_net.gradient(3e-16) == "< 10⁻¹²" and deep_net.gradient(0.12345) == "0.123"


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("lang", LANGS)
def test_no_words_collide_or_leave_the_picture(lang, narrow):
    apart_everywhere(ID, lang, narrow)


def apart_everywhere(id: str, lang: str, narrow: bool) -> None:
    """No two words of an exhibit's picture overlap in any state, and none leaves it."""
    exhibit = load(id)
    frame = margins(exhibit, lang, narrow)
    for indices in exhibit.indices():
        drawn = scene(exhibit.at(indices).chart, lang, narrow, frame)
        assert all(isinstance(w, Words) for w in drawn.words)
        boxes = list(word_boxes(drawn, FIT[narrow]))
        for i, (text, left, right, top, bottom) in enumerate(boxes):
            where = f"{exhibit.setting(indices, lang)}: {text!r}"
            assert left > -2 and right < FIT[narrow] + 2 and top > -2 and bottom < drawn.height + 2, where
            for other, left2, right2, top2, bottom2 in boxes[i + 1 :]:
                across, down = min(right, right2) - max(left, left2), min(bottom, bottom2) - max(top, top2)
                assert across <= 1 or down <= 1, f"{where} and {other!r}"
    assert math.prod(len(c.values) for c in exhibit.controls) == exhibit.count
