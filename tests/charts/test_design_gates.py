"""The exhibits on the family of gates at settings whose values are known: by torch, and by counting saved tensors."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from blocklib.charts.design import gates
from blocklib.charts.discover import load
from blocklib.ledger.activations import INNER
from blocklib.nn.ffn import Gated
from tests.charts.test_primer_exhibits import rows, said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "At input −1 the gain is −0.2689: the value shrinks and its sign turns"),
        ({}, "Its gain never falls below −0.2785 and has no upper limit"),
        ({"gate": "glu", "input": "2"}, "the gain is 0.8808: the value shrinks and its sign stays"),
        ({"gate": "glu"}, "Its gain always lies between 0 and 1"),
        ({"gate": "reglu"}, "the gain is 0: nothing of the value passes. Its gain never falls below 0 "),
        ({"gate": "reglu", "input": "1"}, "the gain is 1: the value passes as it is"),
        ({"gate": "geglu", "input": "-0.5"}, "the gain is −0.1543"),
        ({"gate": "geglu", "input": "-0.5"}, "never falls below −0.1700"),
        ({"gate": "swiglu", "input": "3"}, "the gain is 2.858: the value grows and its sign stays"),
    ],
)
def test_gate_family(settings, words):
    assert words in said("gate-family", **settings)


@pytest.mark.parametrize("kind", gates.FAMILY)
def test_curves_are_torchs(kind):
    x, y = (torch.tensor(v, dtype=torch.float64) for v in gates.curve(kind))
    assert torch.allclose(Gated(kind)(x, torch.ones_like(x)), y, atol=1e-12)
    for value in gates.INPUTS:
        assert gates.LOW <= Fraction(value) <= gates.HIGH


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {},
            "SwiGLU leaves 10.67d elements per token in 4 vectors (gate, value, gain, product), 2.667 times ReLU's, 1.333",
        ),
        ({"kind": "relu"}, "ReLU leaves 4d elements per token in 1 vector (ReLU), 0.5 times GELU's."),
        ({"kind": "reglu"}, "ReGLU leaves 8d elements per token in 3 vectors"),
        ({"kind": "relu2"}, "ReLU² leaves 8d elements per token in 2 vectors"),
        ({"width": "same"}, "SwiGLU leaves 16d elements per token"),
        ({"keep": "recompute"}, "SwiGLU leaves 5.333d elements per token in 2 vectors (gate, value)"),
    ],
)
def test_saved_activations(settings, words):
    assert words in said("saved-activations", **settings)


def test_each_vector_kept_is_drawn():
    """As many parts as the ledger counts, and two or one of them made by the first matrices."""
    for kind, parts in gates.KEPT.items():
        assert len(parts) == INNER[kind] and sum(first for _, first in parts) == (2 if "glu" in kind else 1)
        chart = load("saved-activations").state(kind=kind).chart
        assert sum(s.role == "c1" for s in chart.series) == len(parts)
    assert [cells[0] for cells in rows("saved-activations").values()] == ["1", "2", "2", "3", "4", "4"]
