"""A config refuses what cannot be, naming the field and what was found."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from blocklib.ledger.config import Config, ConfigError, GatedDelta

GOOD = Config(
    vocab_size=10, d_model=8, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=3, d_ff=16, ffn="swiglu", norm="rmsnorm",
    tied=False,
)  # fmt: skip
DELTA = GatedDelta(k_heads=1, k_dim=2, v_heads=2, v_dim=2, conv=4)


def test_derived_widths():
    assert (GOOD.query_width, GOOD.kv_width) == (12, 6)
    assert GOOD.mixers == ("full", "full") and GOOD.full_layers == 2
    hybrid = replace(GOOD, layers=("gated_delta", "full"), gated_delta=DELTA)
    assert hybrid.mixers == ("gated_delta", "full") and hybrid.full_layers == 1
    assert (DELTA.key_width, DELTA.value_width) == (2, 4)


def test_a_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        GOOD.d_model = 9


@pytest.mark.parametrize("field", ["vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff"])
@pytest.mark.parametrize("value", [0, -1, 1.0, "8", None, True])
def test_sizes_are_positive_integers(field, value):
    with pytest.raises(ConfigError, match=f"{field} must be a positive integer"):
        replace(GOOD, **{field: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_kv_heads": 3}, "n_heads must be a multiple of n_kv_heads, found 4 and 3"),
        ({"ffn": "geglu"}, "unknown ffn 'geglu'"),
        ({"norm": "batchnorm"}, "unknown norm 'batchnorm'"),
        ({"tied": 1}, "tied must be true or false"),
        ({"qk_norm": "yes"}, "qk_norm must be true or false"),
        ({"output_gate": None}, "output_gate must be true or false"),
        ({"biases": frozenset({"q", "gate"})}, "unknown bias site 'gate'"),
        ({"learned_positions": -1}, "learned_positions must be an integer from 0 up"),
        ({"learned_positions": 1.5}, "learned_positions must be an integer from 0 up"),
        ({"layers": ("full",)}, "layers names 1 mixers for n_layers = 2"),
        ({"layers": ("full", "window")}, "unknown layer 'window'"),
        ({"layers": ("gated_delta", "full")}, "must be given together"),
        ({"gated_delta": DELTA}, "must be given together"),
    ],
)
def test_contradictions_are_named(change, message):
    with pytest.raises(ConfigError, match=message):
        replace(GOOD, **change)


@pytest.mark.parametrize(("change", "message"), [
    ({"k_dim": 0}, "k_dim must be a positive integer"), ({"k_heads": 2, "v_heads": 3}, "multiple of k_heads"),
])  # fmt: skip
def test_gated_delta_is_checked(change, message):
    with pytest.raises(ConfigError, match=message):
        replace(DELTA, **change)
