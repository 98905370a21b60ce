"""What real models share among their query heads, and what they would hold and cache if nothing were shared."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

from blocklib.atlas.models import find, load
from blocklib.exact import plain
from blocklib.facts.registry import Model, fact
from blocklib.ledger import cache, params
from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import Attention
from blocklib.theory.heads import kv_sharing

BUILT = ("tests/atlas/test_sharing_facts.py::test_weights_match_layers_that_are_built",)
CACHED = ("tests/atlas/test_sharing_facts.py::test_cache_bytes_against_the_published_ones",)


def unshared(config: Config) -> Config:
    """The same model with a key/value head for each query head, in every layer that has such heads.

    Raises:
        ConfigError: the model's attention keeps no keys and values per head.
    """
    own = config.heads_kind.n_heads

    def opened(layer: Layer) -> Layer:
        keeps = isinstance(layer.mixer, Attention)
        return replace(layer, mixer=replace(layer.mixer, n_kv_heads=own)) if keeps else layer

    return replace(config, layers=tuple(map(opened, config.layers)))


@fact(formula="n_kv_heads / n_heads", tests=CACHED)
def model_kv_sharing(model: Model) -> int | Fraction:
    """Key/value heads of this model per query head: one where nothing is shared.

    中文：该模型每个 query 头分到几个 KV 头；不共用时是一。
    """
    config = load(find(model)).config
    return plain(Fraction(kv_sharing(config.n_heads, config.n_kv_heads)))


@fact(formula="d · (q + k + v + o widths) with n_kv_heads = n_heads", tests=BUILT)
def attention_weights_unshared(model: Model) -> int:
    """Matrix weights that one full-attention layer of this model would hold with a key/value head for each query
    head; no biases, no norm gains.

    中文：该模型若每个 query 头各配一个 KV 头，一个完整 attention 层的矩阵权重数；不含偏置与增益。
    """
    return params.attention_weights(unshared(load(find(model)).config))


@fact(unit="B", formula="kv_bytes_per_token with n_kv_heads = n_heads", tests=CACHED)
def kv_bytes_per_token_unshared(model: Model, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"]) -> int:
    """Bytes that each further token would add to the key-value cache of one sequence if this model had a key/value
    head for each query head.

    中文：该模型若每个 query 头各配一个 KV 头，一个序列每多一个 token，KV 缓存增加的字节数。
    """
    return cache.kv_bytes_per_token(unshared(load(find(model)).config), dtype)
