"""Codes within their bound, and attention over them: close, and not equal."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn.cache import ContiguousCache
from blocklib.nn.quantised import QuantisedCache, Quantiser, attention_error_bound
from tests.nn.tiny import TinyLM, close, in_chunks, token_ids


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def decoded(quantiser, x):
    return quantiser.decode(*quantiser.encode(x), dtype=x.dtype)


@settings(max_examples=80)
@given(
    bits=st.sampled_from([4, 8]),
    group=st.sampled_from([2, 4, 16]),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16]),
    spread=st.sampled_from([1e-3, 1.0, 50.0]),
    shift=st.sampled_from([0.0, 30.0, -1000.0]),
    seed=st.integers(0, 2**31),
)
def test_every_element_is_within_its_bound(bits, group, dtype, spread, shift, seed):
    quantiser, x = Quantiser(bits, group), (normal(2, 3, 5, 16, seed=seed) * spread + shift).to(dtype)
    error = (decoded(quantiser, x).double() - x.double()).abs()
    assert (error <= quantiser.error_bound(x).double()).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_the_bound_is_tight(bits):
    """Some element of many comes within a tenth of it; a bound for one bit more would be broken."""
    quantiser, x = Quantiser(bits, 16), normal(64, 64, 64)
    ratio = (decoded(quantiser, x) - x).abs() / quantiser.error_bound(x)
    assert 0.9 < ratio.max() <= 1 and (ratio > 2 / 2.1).any()


def test_by_hand():
    codes, scale, low = Quantiser(4, 4).encode(torch.tensor([[-1.0, 0.0, 2.0, 6.5]]))
    assert (scale.item(), low.item()) == (0.5, -1.0)
    assert codes.tolist() == [[0 | 2 << 4, 6 | 15 << 4]]  # two codes a byte, the first in the low half
    assert Quantiser(8, 4).encode(torch.tensor([[0.0, 255.0, 1.0, 100.4]]))[0].tolist() == [[0, 255, 1, 100]]


@pytest.mark.parametrize("bits", [4, 8])
def test_levels_and_constants_are_exact(bits):
    quantiser = Quantiser(bits, 4)
    for x in (torch.full((1, 8), 3.7), torch.zeros(1, 8), torch.tensor([[0.0, 15, 3, 7]]) * (17 if bits == 8 else 1)):
        assert torch.equal(decoded(quantiser, x), x)


def test_groups_do_not_share_their_outliers():
    x = normal(1, 64)
    x[0, 0] = 1e6
    narrow, wide = Quantiser(8, 16), Quantiser(8, 64)
    assert (decoded(narrow, x) - x)[0, 16:].abs().max() < 0.02
    assert (decoded(wide, x) - x)[0, 16:].abs().max() > 0.5


@pytest.mark.parametrize(("bits", "group", "bytes_each"), [(8, 32, 1.25), (4, 32, 0.75), (4, 128, 0.5625)])
def test_size(bits, group, bytes_each):
    cache = QuantisedCache(bits, group, capacity=10)
    k = torch.zeros(2, 3, 10, 128)
    cache.update(0, k, k)
    assert cache.nbytes == 2 * k.numel() * bytes_each == 2 * k.numel() * cache.quantiser.bytes_per_element()


@settings(max_examples=25)
@given(bits=st.sampled_from([4, 8]), seed=st.integers(0, 2**31))
def test_attention_moves_within_its_bound(bits, seed):
    q, k, v = normal(2, 3, 4, 16, seed=seed), normal(2, 3, 9, 16, seed=seed + 1), normal(2, 3, 9, 8, seed=seed + 2)
    cache = QuantisedCache(bits, 8)
    near_k, near_v = cache.update(0, k, v)
    exact = (q @ k.transpose(-2, -1) / 4).softmax(-1) @ v
    near = (q @ near_k.transpose(-2, -1) / 4).softmax(-1) @ near_v
    moved = (near - exact).abs().amax(-1)
    errors = cache.quantiser.error_bound(k), cache.quantiser.error_bound(v)
    assert (moved <= attention_error_bound(q, v, *errors, scale=1 / 4)).all() and moved.max() > 0


@pytest.mark.parametrize("bits", [4, 8])
def test_control_the_values_error_alone_is_no_bound(bits):
    """Values that are coded exactly (one number per token) leave the keys' error alone."""
    q, k, v = normal(1, 1, 4, 16), normal(1, 1, 9, 16, seed=1), normal(1, 1, 9, 1, seed=2).expand(-1, -1, -1, 8)
    cache = QuantisedCache(bits, 8)
    near_k, near_v = cache.update(0, k, v)
    exact, near = ((q @ keys.transpose(-2, -1) / 4).softmax(-1) @ x for keys, x in ((k, v), (near_k, near_v)))
    key_error, value_error = cache.quantiser.error_bound(k), cache.quantiser.error_bound(v)
    moved = (near - exact).abs().amax(-1)
    assert (moved <= attention_error_bound(q, v, key_error, value_error, scale=1 / 4)).all()
    assert (moved > attention_error_bound(q, v, key_error * 0, value_error, scale=1 / 4)).all()


@pytest.mark.parametrize("delta", [0.01, 0.5, 3.0])
def test_the_bound_on_attention_is_attained(delta):
    """Two keys whose scores −δ/2 and δ/2 change places, and values −1 and 1."""
    q, v = torch.tensor([[1.0, -1.0]]).double(), torch.tensor([[-1.0], [1.0]]).double()
    k = torch.tensor([[-1.0, 1.0], [1.0, -1.0]]).double() * delta / 4
    exact, moved = ((q @ keys.T).softmax(-1) @ v for keys in (k, -k))
    bound = attention_error_bound(q, v, torch.full_like(k, delta / 2), torch.zeros_like(v), scale=1.0)
    torch.testing.assert_close((exact - moved).abs().squeeze(-1), bound)


@settings(max_examples=10)
@given(where=st.lists(st.integers(1, 15), max_size=6), bits=st.sampled_from([4, 8]), seed=st.integers(0, 2**31))
def test_chunks_do_not_matter_and_the_model_comes_close(where, bits, seed):
    model, ids = TinyLM(seed=seed), token_ids(2, 16, seed)
    cut, once = (in_chunks(model, ids, QuantisedCache(bits, 4), at) for at in (where, []))
    assert close(cut, once)
    with torch.no_grad():
        full = model(ids)
    off = (once - full).norm() / full.norm()
    assert 1e-6 < off < {8: 0.02, 4: 0.3}[bits]  # close, never equal


def test_rewinds():
    model, ids = TinyLM(), token_ids(1, 9)
    cache, straight = QuantisedCache(8, 4), QuantisedCache(8, 4)
    in_chunks(model, torch.cat([ids[:, :5], token_ids(1, 3, seed=7)], 1), cache, [])
    cache.truncate(5)
    assert cache.length == 5
    assert close(in_chunks(model, ids[:, 5:], cache, []), in_chunks(model, ids, straight, [5])[:, 5:])


def test_dtype_is_kept_and_memory_saved():
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        k, _ = QuantisedCache(8, 4).update(0, *(normal(1, 1, 3, 8, dtype=dtype),) * 2)
        assert k.dtype == dtype
    plain, coded = ContiguousCache(16), QuantisedCache(4, 64, capacity=16)
    x = normal(1, 2, 16, 64, dtype=torch.bfloat16)
    plain.update(0, x, x), coded.update(0, x, x)
    assert coded.nbytes / plain.nbytes == 0.625 / 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quantiser(3), "bits must be 4 or 8"),
        (lambda: Quantiser(8, 5), "even"),
        (lambda: Quantiser(8, 6).encode(torch.ones(1, 8)), "groups of 6 do not divide the width 8"),
        (lambda: Quantiser(8, 2).encode(torch.tensor([[1.0, torch.inf]])), "finite"),
        (lambda: Quantiser(8, 2).encode(torch.tensor([[1.0, torch.nan]])), "finite"),
        (lambda: Quantiser(8, 2).encode(torch.tensor([[3e38, -3e38]])), "finite range"),
    ],
)
def test_what_cannot_be_coded_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
