"""Exhibits of the essay's chapter on the inside of the FFN, against torch and values by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from blocklib.charts.design import ffn_geometry
from tests.charts.test_primer_exhibits import rows, said
from tests.charts.words import collisions

F = Fraction


def test_neuron_curve_at_values_known_by_hand():
    relu = said("neuron-curve", kind="relu", reading=F(2), threshold=F(1, 2))
    assert "1.5 past it: the activation is 1.5, its slope 1" in relu and "it writes (1.2, −0.9)" in relu
    assert "activation is 2.25, its slope 3" in said("neuron-curve", kind="relu2", reading=F(2), threshold=F(1, 2))
    silent = said("neuron-curve", kind="relu", reading=F(-1), threshold=F(0))
    assert "1 short of it: the activation is 0, its slope 0," in silent and "writes (0, 0)" in silent
    hinge = said("neuron-curve", kind="relu", reading=F(1), threshold=F(1))
    assert "its slope 0 to the left and 1 to the right" in hinge
    for kind in ("gelu", "silu"):
        assert "activation is 0, its slope 0.5" in said("neuron-curve", kind=kind, reading=F(1), threshold=F(1))


@pytest.mark.parametrize("reading", [F(-2), F(-1, 2), F(3, 2)])
def test_neuron_curve_against_torch(reading):
    at = torch.tensor(float(reading), dtype=torch.float64)
    for kind, function in (("gelu", torch.nn.functional.gelu), ("silu", torch.nn.functional.silu)):
        value = function(at).item()
        found = rows("neuron-curve", kind=kind, reading=reading, threshold=F(0))
        name = "▸ " + dict(ffn_geometry.KINDS)[kind]
        assert float(found[name][0].replace("−", "-")) == pytest.approx(value, rel=5e-3)


@pytest.mark.parametrize("neurons", ffn_geometry.COUNTS)
def test_hinges_make_as_many_pieces_as_there_are_neurons(neurons):
    made = ffn_geometry.fitted(neurons, "relu")
    assert ffn_geometry.bends_in(made) == neurons
    knots = range(0, ffn_geometry.GRID + 1, ffn_geometry.GRID // neurons)
    for i in knots:  # the pieces meet the curve at the hinges
        assert made[i] == pytest.approx(math.sin(math.pi * (-1 + 2 * i / ffn_geometry.GRID) + 0.7), abs=1e-9)
    words = said("hinges", neurons=neurons)
    assert f"it is made of {neurons} straight piece" in words
    straight = ffn_geometry.fitted(neurons, "none")
    assert ffn_geometry.bends_in(straight) == 1 and "still 1 straight line" in said("hinges", activation="none")


def test_hinges_close_in_on_the_curve_and_the_line_does_not():
    off = [float(rows("hinges", neurons=n)[f"▸ {n}"][1]) for n in ffn_geometry.COUNTS]
    assert off == sorted(off, reverse=True) and off[-1] < 0.02
    lines = {rows("hinges", neurons=n, activation="none")[f"▸ {n}"][2] for n in ffn_geometry.COUNTS}
    assert len(lines) == 1 and float(lines.pop()) > 1


@pytest.mark.parametrize("id", ["neuron-curve", "hinges"])
def test_words_keep_apart(id):
    assert collisions(id) == []
