"""Pieces and weights of one hidden layer, against patterns found by search and layers that are counted."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.nn.ffn import FeedForward
from blocklib.theory.hinges import collapsed_weights, ffn_params_with_biases, linear_regions


def patterns_found(neurons: int, inputs: int, seed: int) -> int:
    """On/off patterns of random neurons, looked for where they must be: around every crossing of ``inputs`` hinges,
    and far out along the lines where fewer of them meet."""
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(neurons, inputs, dtype=torch.float64, generator=g)
    b = torch.randn(neurons, dtype=torch.float64, generator=g)
    points = [torch.randn(400, inputs, dtype=torch.float64, generator=g) * s for s in (1, 10, 1000)]
    for some in combinations(range(neurons), inputs):
        rows = list(some)
        corner = torch.linalg.solve(w[rows], -b[rows])
        for signs in product((-1.0, 1.0), repeat=inputs):
            away = torch.linalg.solve(w[rows], torch.tensor(signs, dtype=torch.float64))
            points.append((corner + 1e-7 * away)[None])
    x = torch.cat(points)
    return len({tuple(row) for row in (x @ w.T + b > 0).tolist()})


@pytest.mark.parametrize(("neurons", "inputs"), [(1, 1), (6, 1), (3, 2), (7, 2), (5, 3), (2, 3)])
def test_regions_against_patterns_found(neurons, inputs):
    for seed in range(3):
        assert patterns_found(neurons, inputs, seed) == linear_regions(neurons, inputs)


def test_known_values():
    assert [linear_regions(n, 2) for n in (0, 1, 2, 3, 4, 8)] == [1, 2, 4, 7, 11, 37]
    assert linear_regions(10, 10) == linear_regions(10, 99) == 1024


@pytest.mark.parametrize("d", [1, 2, 7])
def test_weight_counts_against_layers(d):
    linear = torch.nn.Linear(d, d, bias=False)
    assert collapsed_weights(d) == linear.weight.numel()
    assert ffn_params_with_biases(d) == sum(p.numel() for p in FeedForward(d, bias=True).parameters())


@pytest.mark.parametrize("call", [lambda: linear_regions(-1, 2), lambda: linear_regions(2, -1),
                                  lambda: linear_regions(5000, 2), lambda: collapsed_weights(0),
                                  lambda: ffn_params_with_biases(0)])  # fmt: skip
def test_values_outside_the_domain_are_refused(call):
    with pytest.raises(DomainError):
        call()
