"""The exhibits on gates at settings whose values are known: worked out by hand, by torch, or printed in configs."""

from __future__ import annotations

import pytest
import torch

from blocklib.atlas.models import load as model
from blocklib.charts.design import swiglu
from tests.charts.test_primer_exhibits import rows, said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gate": "10", "up": 10}, "hand on 99.995: the value is multiplied by 9.9995 and keeps its sign"),
        ({"gate": "low", "up": 1}, "Gate input −1.2785 and value 1 hand on −0.27846"),
        ({"gate": "low", "up": -3}, "hand on 0.83539: the value is multiplied by −0.27846 and turns its sign"),
        ({"gate": "unit", "up": -6}, "Gate input 1.2785 and value −6 hand on −6: the value is multiplied by 1 "),
        ({"gate": "3", "up": 0}, "hand on 0: the value is zero, however wide the gate stands"),
        ({"gate": "12", "up": 12, "clamp": "ten"}, "hand on 99.995: the value is multiplied by 8.3330"),
        ({"gate": "10", "up": 10, "clamp": "ten"}, "The largest output in the picture is 99.995, reached at (10, 10)"),
        ({"gate": "10", "up": 0, "clamp": "seven"}, "hand on 7.0000: the value is zero, and what comes out"),
        ({"gate": "12", "up": 12, "clamp": "seven"}, "hand on 56.000"),
    ],
)
def test_gate_value_plane(settings, words):
    assert words in said("gate-value-plane", **settings)


@pytest.mark.parametrize("clamp", swiglu.CLAMPS)
def test_the_plane_is_torchs_and_no_cell_is_above_the_named_corner(clamp):
    field = swiglu.plane(clamp)
    g, u = (torch.tensor(v, dtype=torch.float64) for v in zip(*field, strict=True))
    made = {
        "none": lambda: torch.nn.functional.silu(g) * u,
        "ten": lambda: torch.nn.functional.silu(g.clamp(max=10)) * u.clamp(-10, 10),
        "seven": lambda: swiglu_oss(g.clamp(max=7), u.clamp(-7, 7)),
    }[clamp]()
    assert torch.allclose(made, torch.tensor(list(field.values()), dtype=torch.float64), atol=1e-12)
    corner = swiglu.CORNERS[clamp]
    assert max(field.values()) <= float(swiglu.CLAMPS[clamp][0](corner, corner)) + 1e-12


def swiglu_oss(g, u):
    return g * torch.sigmoid(1.702 * g) * (u + 1)


@pytest.mark.parametrize(
    ("name", "multiple", "words"),
    [
        ("llama-7b", 256, "8d/3 is 10,922.67, rounded up to a multiple of 256 it is 11,008. The model takes just that"),
        ("llama-7b", 256, "hold 0.781% more weights than 8d²"),
        ("deepseek-llm-67b", 256, "The model takes just that, 22,016, 2.688 times its width"),
        ("bare", 16, "8d/3 is 682.67, rounded up to a multiple of 16 it is 688"),
        ("qwen3.8-27b", 256, "The model takes 17,408, 3.4 times its width; its three matrices hold 27.5% more"),
        ("mistral-7b", 128, "it is 11,008. The model takes 14,336, 3.5 times"),
        ("llama-3-8b", 256, "14,336, 3.5 times"),
        ("qwen2.5-7b", 256, "18,944, 5.286 times its width; its three matrices hold 98.2% more"),
        ("deepseek-v3", 256, "18,432, 2.571 times its width; its three matrices hold 3.57% fewer"),
    ],
)
def test_eight_thirds(name, multiple, words):
    assert words in said("eight-thirds", model=name, multiple=multiple)


def test_eight_thirds_lists_every_model_it_shows():
    table = rows("eight-thirds", model="palm-540b", multiple=64)
    assert table["▸ PaLM 540B"] == ["18,432", "73,728", "4", "+50%"]
    assert len(table) == len(swiglu.GATED) + 1 and table["the rule, width 18,432, multiples of 64"][1] == "49,152"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "The query matrix goes from 5,120 to 12,288: 6,144 for the queries and 6,144 for gates"),
        ({}, "The gates hold 31,457,280 of 104,857,600 weights, 30.0%"),
        ({"scope": "model"}, "16 full-attention layers together"),
        ({"scope": "model"}, "The gates hold 503,316,480 of 1,677,721,600 weights"),
        ({"gate": "head"}, "6,144 for the queries and 24 for gates. The gates hold 122,880 of"),
        ({"gate": "none"}, "The gates hold 0 of 73,400,320 weights"),
    ],
)
def test_output_gate_count(settings, words):
    assert words in said("output-gate-count", **settings)


def test_output_gate_count_against_built_matrices():
    """The layer's matrices built with torch at the model's shape."""
    c = model("qwen3-next-80b-a3b").config
    with torch.device("meta"):
        sizes = [torch.nn.Linear(c.d_model, width, bias=False).weight.numel()
                 for width in (c.query_width, c.query_width, c.kv_width, c.kv_width)]  # fmt: skip
        sizes.append(torch.nn.Linear(c.query_width, c.d_model, bias=False).weight.numel())
    table = rows("output-gate-count", model="qwen3-next-80b-a3b")
    assert [cells[1] for cells in table.values()] == [f"{n:,}" for n in [*sizes, sum(sizes)]]
