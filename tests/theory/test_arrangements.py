"""Stacks of sublayers against stacks that are built and run: parameters, FLOPs, cached numbers, writes."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from blocklib.exact import DomainError
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.cache import ContiguousCache
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.theory.arrangements import BUDGET, EQUAL, Stack, stack_writes, unit_ratio

D = 8


def built(layout: str):
    """(attention or None, FFN or None) of each step."""
    ffn = {"F": 4 * D, "P": 4 * D, "f": 2 * D}
    return [
        (MultiHeadAttention(D, 2) if letter in "AP" else None, FeedForward(D, ffn[letter]) if letter in ffn else None)
        for letter in layout
    ]


def run(stack, x, cache=None):
    """Walk the stack; returns the output and the number of writes to the stream."""
    writes = layer = 0
    for attention, ffn in stack:
        written = 0
        if attention is not None:
            written = written + (attention(x) if cache is None else attention(x, cache=cache, layer=layer))
            layer += 1
        if ffn is not None:
            written = written + ffn(x)
        x, writes = x + written, writes + 1
    return x, writes


LAYOUTS = ["AF", "AAF", "AFF", "fAf", "AAFF", "P", "PP", "AAA", "FF", "PAf"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_and_flops_of_built_stacks(layout):
    stack, made = Stack(layout), built(layout)
    modules = [m for step in made for m in step if m is not None]
    assert stack.weights * D**2 == sum(p.numel() for m in modules for p in m.parameters())
    tokens = 5
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run(made, torch.zeros(1, tokens, D))
    counted = counter.get_total_flops()
    # All tokens run; the counter takes the square of scores, that is, every token over all positions.
    assert counted == tokens * (stack.weight_flops(D) + stack.score_flops(D, tokens))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cache_by_storing_it(layout):
    cache, made = ContiguousCache(), built(layout)
    with torch.no_grad():
        run(made, torch.zeros(1, 3, D), cache)
    stored = sum(t.numel() for pair in cache._store.values() for t in pair)
    assert stored == 3 * Stack(layout).cache_elements(D)


def test_writes_by_walking_a_stack():
    for layout in LAYOUTS:
        _, writes = run(built(layout), torch.zeros(1, 2, D))
        assert writes == Stack(layout).steps
    for blocks in (1, 4, 7):
        for unit in ("AF", "AFF", "AAFF"):
            assert stack_writes(blocks, len(unit)) == run(built(unit * blocks), torch.zeros(1, 2, D))[1]


def test_equal_layouts_are_equal():
    assert {Stack(layout).weights for layout in EQUAL.values()} == {BUDGET}
    assert not Stack(EQUAL["ffn-only"]).complete and not Stack(EQUAL["attention-only"]).complete
    assert all(Stack(EQUAL[name]).complete for name in EQUAL if "only" not in name)
    assert sorted(EQUAL["sandwich"]) == sorted(EQUAL["one-to-one"])


@pytest.mark.parametrize(
    ("kind", "ffn"),
    [
        ("plain", lambda d: FeedForward(d)),
        ("narrowed", lambda d: SwiGLU(d, 8 * d // 3)),
        ("gated", lambda d: SwiGLU(d, 4 * d)),
    ],
)
@pytest.mark.parametrize(("attentions", "ffns"), [(1, 1), (1, 2), (2, 1), (3, 5)])
def test_ratio_by_counting(kind, ffn, attentions, ffns):
    d = 12

    def size(module):
        return sum(p.numel() for p in module.parameters())

    counted = Fraction(ffns * size(ffn(d)), attentions * size(MultiHeadAttention(d, 2)))
    assert unit_ratio(attentions, ffns, kind) == counted


def test_outside_the_domain():
    for wrong in ("", "AXF"):
        with pytest.raises(DomainError, match="layout"):
            Stack(wrong)
    for call in (lambda: stack_writes(2, 0), lambda: unit_ratio(0, 1, "plain"), lambda: Stack("A").score_flops(4, 0)):
        with pytest.raises(DomainError):
            call()
