"""Weights of mixing by stored matrices, against layers that are built and counted."""

from __future__ import annotations

import pytest
from torch import nn

from blocklib.exact import DomainError
from blocklib.nn.ffn import FeedForward
from blocklib.theory.token_mixing import flat_map_weights, token_mixing_weights


def weights(layer: nn.Module) -> int:
    return sum(p.numel() for p in layer.parameters())


@pytest.mark.parametrize("tokens", [1, 3, 8])
@pytest.mark.parametrize("other", [1, 4, 5])
def test_counts_against_layers(tokens, other):
    assert token_mixing_weights(tokens, other) == weights(FeedForward(tokens, other * tokens))
    assert flat_map_weights(tokens, other) == weights(FeedForward(tokens * other))


@pytest.mark.parametrize("call", [lambda: token_mixing_weights(0, 4), lambda: token_mixing_weights(4, 0),
                                  lambda: flat_map_weights(0, 4), lambda: flat_map_weights(4, 0)])  # fmt: skip
def test_values_outside_the_domain_are_refused(call):
    with pytest.raises(DomainError):
        call()
