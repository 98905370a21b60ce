"""Positions against complex rotations, published code, and the properties that they are used for."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from blocklib.nn.frequencies import (
    linear_frequencies,
    llama3_frequencies,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)
from blocklib.nn.position import (
    ALiBi,
    InterleavedRoPE,
    LearnedPositions,
    RoPE,
    SinusoidalPositions,
    T5Bias,
    half_split_order,
)


def heads(tokens: int = 9, width: int = 8) -> torch.Tensor:
    return torch.randn(2, 3, tokens, width, dtype=torch.float64)


def test_interleaved_rope_is_multiplication_by_a_complex_number():
    """Su et al. 2021, Eq. 34, through torch's complex numbers."""
    x, positions = heads(), torch.arange(9) + 4
    turned = torch.view_as_complex(x.unflatten(-1, (4, 2))) * torch.exp(
        1j * positions[:, None] * rope_frequencies(8).double()
    )
    expected = torch.view_as_real(turned).flatten(-2)
    torch.testing.assert_close(InterleavedRoPE(rope_frequencies(8))(x, positions), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [2, 4, 8, 18])
def test_layouts_are_equal_after_the_permutation_and_not_before(width):
    x, f, order = heads(width=width), rope_frequencies(width), half_split_order(width)
    half, pairs = RoPE(f)(x[..., order], range(3, 12)), InterleavedRoPE(f)(x, range(3, 12))
    torch.testing.assert_close(half, pairs[..., order], rtol=1e-12, atol=1e-12)
    if width > 2:
        assert (RoPE(f)(x, range(3, 12)) - pairs).abs().max() > 0.1  # control: mixed up


def test_order_by_hand():
    assert half_split_order(6).tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("kind", [RoPE, InterleavedRoPE])
@pytest.mark.parametrize("shift", [1, 17, 5000])
def test_scores_depend_on_the_distance_only(kind, shift):
    rope, q, k = kind(rope_frequencies(8)), heads(), heads()

    def scores(start_q, start_k):
        return rope(q, range(start_q, start_q + 9)) @ rope(k, range(start_k, start_k + 9)).transpose(-2, -1)

    torch.testing.assert_close(scores(2 + shift, shift), scores(2, 0), rtol=1e-9, atol=1e-9)
    # Controls: another distance is another score; vectors added to the stream do not have the property.
    assert (scores(2 + shift, 0) - scores(2, 0)).abs().max() > 0.1
    table = SinusoidalPositions(8)
    a, b = ((q + table(range(s, s + 9))) @ (k + table(range(s, s + 9))).transpose(-2, -1) for s in (0, shift))
    assert (a - b).abs().max() > 0.1


def test_rope_keeps_lengths_and_the_first_position():
    x = heads()
    turned = RoPE(rope_frequencies(8))(x, range(9))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(turned[:, :, 0], x[:, :, 0])
    stretched = RoPE(rope_frequencies(8), magnitude=1.5)(x, range(9))
    torch.testing.assert_close(stretched.norm(dim=-1), 1.5 * x.norm(dim=-1))


def test_partial_rotary_turns_the_first_entries():
    x, f = heads(width=12), rope_frequencies(8)
    turned = RoPE(f)(x, range(9))
    torch.testing.assert_close(turned[..., :8], RoPE(f)(x[..., :8], range(9)))
    assert torch.equal(turned[..., 8:], x[..., 8:])
    with pytest.raises(ValueError, match="4 frequencies turn 8 entries, a head has 6"):
        RoPE(f)(heads(width=6), range(9))
    with pytest.raises(ValueError, match="8 positions given for 9 tokens"):
        RoPE(f)(x, range(8))


def test_positions_are_a_range_a_row_or_a_batch():
    rope, x = RoPE(rope_frequencies(8)), heads()
    whole = rope(x, range(5, 14))
    assert torch.equal(rope(x, range(5, 14)), whole)  # remembered
    torch.testing.assert_close(rope(x, torch.arange(5, 14)), whole)
    both = rope(x, torch.stack([torch.arange(5, 14), torch.arange(9)]))
    torch.testing.assert_close(both[0], whole[0])
    torch.testing.assert_close(both[1], rope(x, range(9))[1])


def test_angles_survive_a_change_of_type():
    rope, x = RoPE(rope_frequencies(8)), heads().float()
    with torch.inference_mode():
        rope(x, range(9))  # what was remembered there is of no use to a gradient
    leaf = x.clone().requires_grad_()
    rope(leaf, range(9)).sum().backward()
    assert leaf.grad is not None
    far = rope.half()(x.half(), range(4000, 4009)).float()
    torch.testing.assert_close(far, rope(x, range(4000, 4009)), rtol=5e-3, atol=5e-3)


SCALINGS = [
    (
        "llama3",
        {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    ),
    ("linear", {"factor": 2.5}),
    ("yarn", {"factor": 4.0, "original_max_position_embeddings": 64}),
    ("yarn", {"factor": 32.0, "original_max_position_embeddings": 4096, "truncate": False, "beta_fast": 16.0}),
]


@pytest.mark.parametrize(("kind", "options"), SCALINGS)
def test_scalings_equal_the_published_code(kind, options):
    config = LlamaConfig(
        hidden_size=256, num_attention_heads=4, max_position_embeddings=512,
        rope_parameters={"rope_type": kind, "rope_theta": 500.0, **options},
    )  # fmt: skip
    theirs, magnitude = ROPE_INIT_FUNCTIONS[kind](config)
    plain, rest = rope_frequencies(64, 500.0), dict(options)
    factor, original = rest.pop("factor"), rest.pop("original_max_position_embeddings", None)
    if kind == "llama3":
        ours = llama3_frequencies(plain, factor, original=original, **rest)
    elif kind == "yarn":
        ours = yarn_frequencies(plain, factor, original, 500.0, **rest)
        assert yarn_magnitude(factor) == pytest.approx(magnitude)
    else:
        ours = linear_frequencies(plain, factor)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)
    assert not torch.equal(ours, plain)
    if original == 64:  # the fastest pair is left alone, the slowest is stretched in full
        assert ours[0] == plain[0]
        torch.testing.assert_close(ours[-1], plain[-1] / factor)


def test_frequencies_by_hand():
    torch.testing.assert_close(rope_frequencies(4, 100.0), torch.tensor([1.0, 0.1]))
    assert yarn_magnitude(1.0) == 1.0 and yarn_magnitude(math.e) == pytest.approx(1.1)
    for wrong in (0, 3, -2):
        with pytest.raises(ValueError, match="even and positive"):
            rope_frequencies(wrong)
    with pytest.raises(ValueError, match="theta must be positive"):
        rope_frequencies(4, 0.0)
    with pytest.raises(ValueError, match="high_freq_factor 1 must be above"):
        llama3_frequencies(rope_frequencies(4), 2.0, 1, 1, 64)


def test_sinusoids_by_hand_and_as_a_rotation():
    table = SinusoidalPositions(6, base=1000.0)
    vectors = table(range(50), torch.float64)
    for p, i in ((0, 0), (7, 1), (31, 2)):
        angle = p / 1000 ** (2 * i / 6)
        assert vectors[p, 2 * i].item() == pytest.approx(math.sin(angle))
        assert vectors[p, 2 * i + 1].item() == pytest.approx(math.cos(angle))
    # Products depend on the distance only: Σ cos(ω(p − q)).
    gram = vectors @ vectors.T
    torch.testing.assert_close(gram[3, 10], gram[30, 37])
    assert table(torch.tensor([[1, 2], [3, 4]])).shape == (2, 2, 6)
    with pytest.raises(ValueError, match="must be even"):
        SinusoidalPositions(5)


def test_learned_positions():
    table = LearnedPositions(9, 4)
    assert torch.equal(table(range(2, 5)), table.weight[2:5])
    assert torch.equal(table(torch.tensor([[8, 0]])), table.weight[[8, 0]][None])
    for beyond in (range(10), torch.tensor([[3, 9]])):
        with pytest.raises(ValueError, match="10 positions exceed the table's 9"):
            table(beyond)


@pytest.mark.parametrize("n_heads", [1, 2, 5, 8, 12])
def test_alibi_equals_blooms(n_heads):
    """BLOOM adds slope · key position, which a softmax cannot tell from slope · −distance."""
    like = torch.zeros(1, dtype=torch.float64)
    ours = ALiBi(n_heads)(7, 7, like)
    theirs = build_alibi_tensor(torch.ones(1, 7), n_heads, torch.float64)  # (H, 1, 7)
    mask = torch.ones(7, 7).tril() == 0
    a, b = (s.expand(n_heads, 7, 7).masked_fill(mask, -torch.inf).softmax(-1) for s in (ours, theirs))
    torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(ALiBi(n_heads)(2, 7, like), ours[:, 5:])  # aligned to the newest position


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_bias_equals_t5s(bidirectional):
    ours = T5Bias(3, buckets=16, max_distance=40, bidirectional=bidirectional)
    distances = torch.arange(-90, 91)
    theirs = T5Attention._relative_position_bucket(distances, bidirectional, 16, 40)
    assert torch.equal(ours.bucket(distances), theirs)
    nn.init.normal_(ours.table.weight)
    like = torch.zeros(1)
    whole = ours(30, 30, like)
    assert torch.equal(ours(4, 30, like), whole[:, 26:])
    assert torch.equal(whole[1, 20, 3], ours.table.weight[ours.bucket(torch.tensor(-17)), 1])
