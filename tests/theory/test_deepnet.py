"""DeepNet's constants against their powers and the values worked out for a thousand blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.exact import DomainError
from blocklib.facts.registry import evaluate
from blocklib.theory.deepnet import deepnet_alpha, deepnet_beta


@given(st.integers(1, 4000))
def test_constants_power_back(blocks):
    assert float(deepnet_alpha(blocks)) ** 4 == pytest.approx(2 * blocks, rel=1e-12)
    assert float(deepnet_beta(blocks)) ** -4 == pytest.approx(8 * blocks, rel=1e-12)


@pytest.mark.claim("deepnet-constants")
def test_a_thousand_blocks():
    assert float(deepnet_alpha(1000)) == pytest.approx(6.687, abs=5e-4)
    assert float(deepnet_beta(1000)) == pytest.approx(0.1057, abs=5e-5)
    assert evaluate("deepnet_alpha?blocks=1000").grade == "cited"
    for function in (deepnet_alpha, deepnet_beta):
        with pytest.raises(DomainError):
            function(0)
