"""The run-time bill of one block of a real model: what one token pays in it, forward.

Conventions: one multiply-accumulate is two FLOPs, weight matrices only (attention's scores depend on the context and
are left out here); norm operations count every elementwise addition or multiplication and every element of a sum,
gain and bias included.
"""

from __future__ import annotations

from typing import Literal

from blocklib.atlas.models import find, load
from blocklib.facts.registry import Model, fact
from blocklib.ledger import cache, flops
from blocklib.ledger.config import ConfigError
from blocklib.theory.norm_ops import norm_ops


@fact(formula="2 · d_model", tests=("tests/atlas/test_block_bill.py::test_additions_and_norms_by_counting",))
def residual_adds(model: Model) -> int:
    """Additions of the two residual connections in one block of this model, per token.

    中文：该模型一个块里两次残差相加的加法次数（每 token）。
    """
    return 2 * load(find(model)).config.d_model


@fact(formula="2 · norm_ops(d_model)", tests=("tests/atlas/test_block_bill.py::test_additions_and_norms_by_counting",))
def model_norm_ops(model: Model) -> int:
    """Elementwise operations of the two norms over the stream in one block of this model, per token.

    中文：该模型一个块里残差流上两次归一化的逐元素运算次数（每 token）。

    Raises:
        ConfigError: the model has other norms than two a block.
    """
    config = load(find(model)).config
    if config.block.norms != 2 or config.norm not in ("layernorm", "rmsnorm"):
        raise ConfigError(f"{model} has other norms than two a block with gain and, in LayerNorm, bias")
    return 2 * norm_ops(config.norm, config.d_model)


@fact(
    unit="FLOP",
    formula="2 · matrices · d_model · d_ff",
    tests=("tests/atlas/test_block_bill.py::test_flops_match_the_flop_counter",),
)
def model_ffn_flops(model: Model) -> int:
    """FLOPs of the FFN in one block of this model, forward, per token (a multiply-accumulate is two).

    中文：该模型一个块里 FFN 的前向 FLOP（每 token，一次乘加记两次）。
    """
    return flops.ffn_flops_of(load(find(model)).config)


@fact(
    unit="FLOP",
    formula="2 · (q + k + v + o)",
    tests=("tests/atlas/test_block_bill.py::test_flops_match_the_flop_counter",),
)
def model_projection_flops(model: Model) -> int:
    """FLOPs of the four projections of one attention layer of this model, forward, per token; scores left out.

    中文：该模型一层 attention 四个投影的前向 FLOP（每 token，不含打分与加权求和）。
    """
    return flops.projection_flops(load(find(model)).config)


@fact(
    unit="B",
    formula="2 · n_kv_heads · head_dim · bytes",
    tests=("tests/atlas/test_block_bill.py::test_cache_of_a_layer_by_storing_it",),
)
def kv_bytes_per_layer(model: Model, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"]) -> int:
    """Bytes that one more token adds to the key-value cache of one full-attention layer of this model.

    中文：每多一个 token，该模型一层完整 attention 的 KV 缓存增加的字节数。
    """
    config = load(find(model)).config
    return 2 * config.kv_width * cache.dtype_bytes(dtype)
