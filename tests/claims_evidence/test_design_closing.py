"""Evidence for the essay's closing: training without the mask, and the public code that it points to."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocklib.nn.attention import SingleHeadAttention
from blocklib.nn.ffn import SwiGLU
from tests.claims_evidence.support import fails, gap, holds

SHARP = 60.0  # how strongly the copying layer prefers the next place


def copier(places: int, vocab: int, causal: bool) -> SingleHeadAttention:
    """Attention over (token one-hot, place one-hot) that hands each place the token of the next one, as logits."""
    width = vocab + places
    layer = SingleHeadAttention(width, width, causal).double()
    for weight in layer.parameters():
        nn.init.zeros_(weight)
    with torch.no_grad():
        for place in range(places - 1):
            layer.q.weight[vocab + place + 1, vocab + place] = SHARP * math.sqrt(width)  # asks for the next place
        layer.k.weight.copy_(torch.eye(width))
        layer.v.weight[:vocab, :vocab] = torch.eye(vocab)
        layer.o.weight.copy_(SHARP * torch.eye(width))
    return layer


@torch.no_grad()
def loss(tokens: Tensor, vocab: int, causal: bool) -> float:
    """Mean next-token loss of the copier on a text, in nats."""
    places = len(tokens)
    x = torch.cat([F.one_hot(tokens, vocab), torch.eye(places, dtype=torch.long)], dim=1).double()
    logits = copier(places, vocab, causal)(x[None])[0, :-1, :vocab]
    return F.cross_entropy(logits, tokens[1:]).item()


def losses(causal: bool) -> list[float]:
    found = []
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        vocab, places = (int(torch.randint(4, 12, (), generator=g)) for _ in range(2))
        found.append(loss(torch.randint(vocab, (places + 4,), generator=g), vocab, causal))
    return found


@pytest.mark.claim("unmasked-training-can-copy")
def test_unmasked_training_can_copy():
    holds(losses(causal=False))


@pytest.mark.claim("unmasked-training-can-copy", control=True)
def test_unmasked_training_can_copy_control():
    fails(losses(causal=True), clearly=math.log(2))


# ---- public code ------------------------------------------------------------------------------------------


def llama(kv_heads: int = 2):
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=16, intermediate_size=40, num_attention_heads=4, num_key_value_heads=kv_heads,
        num_hidden_layers=1, vocab_size=11, attn_implementation="eager",
    )  # fmt: skip


@pytest.mark.claim("llama-in-code")
@torch.no_grad()
def test_llama_in_code():
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    config = llama()
    layer = LlamaDecoderLayer(config, 0).eval()
    attention, mlp, x = layer.self_attn, layer.mlp, torch.randn(2, 5, 16)
    rows = [getattr(attention, f"{name}_proj").out_features for name in "qkvo"]
    assert rows == [16, 8, 8, 16]  # half as many heads for keys and values
    assert {name for name, _ in mlp.named_parameters()} == {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}

    ours = SwiGLU(16, 40)
    for mine, theirs in ((ours.gate, mlp.gate_proj), (ours.up, mlp.up_proj), (ours.down, mlp.down_proj)):
        mine.weight.copy_(theirs.weight)
    assert gap(ours(x), mlp(x)) < 1e-6

    place = torch.arange(5)[None]
    turn = LlamaRotaryEmbedding(config)(x, place)
    blind = torch.full((5, 5), torch.finfo(x.dtype).min).triu(1)[None, None]
    read, _ = attention(layer.input_layernorm(x), position_embeddings=turn, attention_mask=blind)
    middle = x + read
    by_hand = middle + mlp(layer.post_attention_layernorm(middle))
    whole = layer(x, position_embeddings=turn, attention_mask=blind)
    assert gap(whole if isinstance(whole, Tensor) else whole[0], by_hand) < 1e-6


@pytest.mark.claim("two-caches")
def test_two_caches():
    from transformers.cache_utils import DynamicCache, StaticCache

    config, step = llama(), torch.randn(1, 2, 1, 4)
    growing, fixed = DynamicCache(config=config), StaticCache(config=config, max_cache_len=6)
    seen: dict[str, list[tuple[int, int]]] = {"growing": [], "fixed": []}
    kept = []  # or a freed address could be given out again
    for _ in range(3):
        for name, cache in (("growing", growing), ("fixed", fixed)):
            keys, _ = cache.update(step, step, 0)
            kept.append(keys)
            seen[name].append((keys.shape[-2], keys.data_ptr()))
    assert [size for size, _ in seen["growing"]] == [1, 2, 3]
    assert len({where for _, where in seen["growing"]}) == 3
    assert [size for size, _ in seen["fixed"]] == [6, 6, 6]
    assert len({where for _, where in seen["fixed"]}) == 1
    assert (fixed.is_compileable, growing.is_compileable) == (True, False)
