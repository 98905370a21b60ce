"""Latent attention: two forms of one function, with a cache of the latents, against Hugging Face's DeepSeek-V3."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn.cache import ContiguousCache
from blocklib.nn.mla import MultiHeadLatentAttention
from blocklib.nn.paged import PagedCache, PagePool
from blocklib.nn.quantised import QuantisedCache


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def latent_attention(seed=0, kind=MultiHeadLatentAttention, q_lora_rank=10, **options):
    sizes = {"kv_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5} | options
    module = kind(20, 3, q_lora_rank=q_lora_rank, **sizes).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64) / weight.shape[-1] ** 0.5)
    return module


def both_forms(module, x, **options):
    outputs = []
    for module.absorbed in (False, True):
        with torch.no_grad():
            outputs.append(module(x, **options))
    return outputs


@settings(max_examples=30)
@given(
    tokens=st.integers(1, 9),
    q_rank=st.sampled_from([None, 10]),
    nope=st.integers(1, 8),
    rope=st.sampled_from([2, 4, 6]),
    v=st.integers(1, 8),
    rank=st.integers(1, 16),
    seed=st.integers(0, 2**31),
)
def test_absorbed_equals_expanded(tokens, q_rank, nope, rope, v, rank, seed):
    module = latent_attention(
        seed, q_lora_rank=q_rank, kv_lora_rank=rank, qk_nope_head_dim=nope, qk_rope_head_dim=rope, v_head_dim=v
    )
    expanded, absorbed = both_forms(module, normal(2, tokens, 20, seed=seed))
    torch.testing.assert_close(absorbed, expanded, rtol=1e-9, atol=1e-10)


def test_control_one_up_projection_for_all_heads():
    """Absorbing the heads' mean W_UK instead of each head's own: right for one head, wrong for three."""

    class Shared(MultiHeadLatentAttention):
        def absorb(self, q_nope):
            return torch.einsum("bhtn,nc->bhtc", q_nope, self.k_up.mean(0))

    x = normal(2, 7, 20)
    expanded, absorbed = both_forms(latent_attention(kind=Shared), x)
    assert (absorbed - expanded).abs().max() > 1e-2
    module = latent_attention(kind=Shared)
    with torch.no_grad():
        module.k_up.copy_(module.k_up[:1].expand_as(module.k_up))
    expanded, absorbed = both_forms(module, x)
    torch.testing.assert_close(absorbed, expanded, rtol=1e-9, atol=1e-10)


def test_control_a_rotation_between_the_projections_cannot_be_absorbed():
    """Why the rotated part is apart: turning the up-projected keys makes the two forms differ."""

    class Coupled(MultiHeadLatentAttention):
        def attend_expanded(self, q_nope, q_rope, latent, k_rope, mask):
            k_nope = torch.einsum("bsc,hnc->bhsn", latent, self.k_up)
            positions = range(latent.shape[1])
            keys = torch.cat([self.rope(k_nope, positions), k_rope.unsqueeze(1).expand(-1, len(k_nope[0]), -1, -1)], -1)
            scores = torch.cat([self.rope(q_nope, positions), q_rope], -1) @ keys.transpose(-2, -1)
            return self._weights(scores, mask) @ torch.einsum("bsc,hvc->bhsv", latent, self.v_up)

    expanded, absorbed = both_forms(latent_attention(kind=Coupled), normal(2, 7, 20))
    assert (absorbed - expanded).abs().max() > 1e-2


CACHES = {"contiguous": ContiguousCache, "paged": lambda: PagedCache(PagePool(20, 3, range(19, -1, -1)), 2)}


@pytest.mark.parametrize("kind", CACHES)
@settings(max_examples=15)
@given(where=st.lists(st.integers(1, 11), max_size=11), seed=st.integers(0, 2**31))
def test_cached_equals_full_and_the_forms_may_alternate(kind, where, seed):
    """Expanded over the prompt and absorbed at decoding read the same cache."""
    module, x, cache = latent_attention(seed), normal(2, 12, 20, seed=seed), CACHES[kind]()
    edges, parts = [0, *sorted(set(where)), 12], []
    with torch.no_grad():
        whole = module(x)
        for i, (start, stop) in enumerate(zip(edges, edges[1:], strict=False)):
            module.absorbed = i % 2 == 1
            parts.append(module(x[:, start:stop], cache=cache, layer=4))
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=1e-9, atol=1e-10)


def test_control_cached_without_continuing_positions():
    module, x, cache = latent_attention(), normal(2, 12, 20), ContiguousCache()
    with torch.no_grad():
        module(x[:, :8], cache=cache)
        late = module(x[:, 8:], cache=cache, positions=range(4))
        assert (late - module(x)[:, 8:]).abs().max() > 1e-3


def test_the_cache_holds_512_and_64_numbers_a_token():
    """DeepSeek-V2 and V3: 576 a layer; in bfloat16 over 61 layers 70,272 bytes a token."""
    module = MultiHeadLatentAttention(32, 2).bfloat16()
    cache, x = ContiguousCache(7), torch.randn(1, 7, 32).bfloat16()
    with torch.no_grad():
        module(x, cache=cache)
    latent, k_rope = cache.read(0)
    assert latent.shape == (1, 1, 7, 512) and k_rope.shape == (1, 1, 7, 64)
    assert cache.nbytes == 7 * 576 * 2 and 61 * cache.nbytes // 7 == 70_272
    assert module.k_up.shape == (2, 128, 512) and module.v_up.shape == (2, 128, 512)


def test_only_distances_count():
    module, x = latent_attention(), normal(2, 7, 20)
    for far in (range(1000, 1007), torch.arange(1000, 1007).expand(2, -1)):
        near, shifted = module(x), module(x, positions=far)
        torch.testing.assert_close(shifted, near, rtol=1e-6, atol=1e-7)
    uneven = module(x, positions=torch.tensor([0, 1, 2, 3, 4, 5, 60]))
    assert (uneven - module(x)).abs().max() > 1e-3


def test_a_mask_hides_padding():
    module, x = latent_attention(), normal(1, 7, 20)
    padded = torch.cat([normal(1, 3, 20, seed=5), x], dim=1)
    mask = (torch.arange(10) >= 3).expand(10, 10) | torch.eye(10, dtype=torch.bool)
    positions = (torch.arange(10) - 3).clamp(min=0)
    for ours in both_forms(module, padded, positions=positions, mask=mask):
        torch.testing.assert_close(ours[:, 3:], module(x), rtol=1e-9, atol=1e-10)


def test_a_quantised_latent_is_close():
    module, x = latent_attention(), normal(1, 12, 20)
    with torch.no_grad():
        off = (module(x, cache=QuantisedCache(8, 4)) - module(x)).norm() / module(x).norm()
    assert 1e-6 < off < 0.02


@pytest.mark.parametrize("q_rank", [None, 10])
def test_equals_hugging_face(q_rank):
    modeling = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    from transformers import DeepseekV3Config

    config = DeepseekV3Config(
        hidden_size=20, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=q_rank, kv_lora_rank=12,
        qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attn_implementation="eager",
    )  # fmt: skip
    theirs, ours = modeling.DeepseekV3Attention(config, 0).double(), latent_attention(q_lora_rank=q_rank)
    with torch.no_grad():
        if q_rank is None:
            theirs.q_proj.weight.copy_(ours.q.weight)
        else:
            theirs.q_a_proj.weight.copy_(ours.q[0].weight)
            theirs.q_a_layernorm.weight.copy_(ours.q[1].gain)
            theirs.q_b_proj.weight.copy_(ours.q[2].weight)
        theirs.kv_a_proj_with_mqa.weight.copy_(ours.kv_down.weight)
        theirs.kv_a_layernorm.weight.copy_(ours.kv_norm.gain)
        # Theirs keeps each head's rows of W_UK and W_UV one after the other.
        theirs.kv_b_proj.weight.copy_(torch.cat([ours.k_up, ours.v_up], dim=1).flatten(0, 1))
        theirs.o_proj.weight.copy_(ours.o.weight)
        x = normal(2, 9, 20)
        embedding = modeling.DeepseekV3RotaryEmbedding(config)(x.float(), torch.arange(9)[None])
        hidden = torch.full((9, 9), -torch.inf, dtype=torch.float64).triu(1)[None, None]
        expected, _ = theirs(x, tuple(t.double() for t in embedding), hidden)
        for output in both_forms(ours, x):
            torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
