"""Figures from the literature against each other and against what can be computed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from blocklib.atlas import model_facts
from blocklib.facts.registry import evaluate
from blocklib.theory.paths import paths_within


def figure(expr: str):
    return evaluate(expr).value


@pytest.mark.parametrize(
    ("network", "error"), [("plain-18", "27.94"), ("plain-34", "28.54"), ("resnet-18", "27.88"), ("resnet-34", "25.03")]
)
def test_resnet_table(network, error):
    found = evaluate(f"resnet_error?network={network}")
    assert found.value == Fraction(error) / 100 and (found.grade, found.origin) == ("cited", "he2015, Table 2")


def test_modules_and_layers_are_the_same_range():
    """Two layers a module; and the share of paths in it is that of the binomial over the network's modules."""
    layers, modules = figure("veit_path_layers"), figure("veit_path_modules")
    assert (layers.low, layers.high) == (2 * modules.low, 2 * modules.high) == (10, 34)
    computed = paths_within(54, int(modules.low), int(modules.high))
    assert round(computed, 4) == figure("veit_path_share")
    assert figure("veit_network_layers") == 2 * 54 + 2  # the first convolution and the classifier


def test_the_upper_end_of_the_speed_up_is_the_partial_variant():
    whole, alone = figure("rmsnorm_speedup"), figure("rmsnorm_only_speedup")
    ours, theirs = (figure(f"rmsnorm_table8_time?norm={norm}") for norm in ("prmsnorm", "layernorm"))
    assert round(1 - ours / theirs, 2) == whole.high == Fraction(64, 100)
    assert round(alone.low, 2) == whole.low and alone.high == Fraction(408, 1000) < whole.high


def test_gpt3_as_printed_and_as_counted():
    counted = model_facts.parameters("gpt3-175b")
    assert abs(counted - figure("gpt3_published_parameters?table=compute")) < 5 * 10**7
    assert evaluate("gpt3_published_parameters?table=headline").origin == "brown2020, Table 2.1"


def test_depths():
    assert (figure("plain_depth?network=shallower"), figure("plain_depth?network=deeper")) == (20, 56)
    assert (figure("resnet_depth"), figure("preact_resnet_depth"), figure("deepnet_layers")) == (152, 1001, 1000)


def test_remaining_figures():
    assert figure("geva_ffn_share") == Fraction(2, 3)  # the textbook block: 8d² of 12d²
    assert figure("parallel_block_speedup") == Fraction(15, 100)
    albert, bert = (figure(f"albert_parameters?network={name}-base") for name in ("albert", "bert"))
    assert (albert, bert) == (12 * 10**6, 108 * 10**6)
