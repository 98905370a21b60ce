"""What pages quote about the size of real models: parameter counts and their shares, cache bytes.

Every count uses the ledger's conventions: learned tensors once, tied heads at no cost, biases, norms and learned
positions included, vision towers and draft heads left out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.atlas.models import find, load
from blocklib.exact import at_least, plain
from blocklib.facts.registry import Model, fact
from blocklib.ledger import cache, params
from blocklib.ledger.config import Config


def _config(model: str) -> Config:
    return load(find(model)).config


@fact(
    formula="sum of all components", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",)
)
def parameters(model: Model) -> int:
    """All parameters of this model: a tied head once, biases and learned positions included, text model only.

    中文：该模型的全部参数：绑定的输出头不重复计，含偏置与可学的位置编码，只算文本部分。
    """
    return params.count(_config(model)).total


@fact(
    formula="vocab_size · d_model", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",)
)
def embedding_params(model: Model) -> int:
    """Parameters of this model's token embedding table.

    中文：该模型 token embedding 表的参数。
    """
    return params.count(_config(model)).embedding


@fact(
    formula="learned positions · d_model",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def position_params(model: Model) -> int:
    """Parameters of this model's learned positions; zero where positions are computed.

    中文：该模型可学的位置编码的参数；位置靠公式算出的模型为零。
    """
    return params.count(_config(model)).position


@fact(
    formula="vocab_size · d_model, or 0 when tied",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def head_params(model: Model) -> int:
    """Parameters of this model's head beyond the embedding table; zero when the two are tied.

    中文：该模型输出头在 embedding 之外的参数；两者绑定时为零。
    """
    return params.count(_config(model)).head


@fact(
    formula="vocab_size · d_model",
    tests=("tests/claims_evidence/test_model.py::test_tied_head",),
)
def tied_saving(model: Model) -> int:
    """Parameters that tying head and embedding saves in this model, or would save where they are not tied.

    中文：输出头与 embedding 绑定所省下的参数；没有绑定的模型，则是本可省下的。
    """
    config = _config(model)
    return config.vocab_size * (config.embedding_width or config.d_model)


@fact(
    formula="embedding / all parameters",
    tests=("tests/claims_evidence/test_block.py::test_embedding_share_falls",),
)
def embedding_share(model: Model) -> Fraction:
    """Share of this model's parameters in the token embedding table; positions and an untied head not counted
    with it.

    中文：token embedding 表占该模型参数的比例；位置编码与未绑定的输出头不算在内。
    """
    count = params.count(_config(model))
    return Fraction(count.embedding, count.total)


@fact(
    formula="attention + FFN + two norms",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def block_params(model: Model) -> int:
    """Parameters of one block of this model, biases and norms included; in a hybrid, a block with full
    attention.

    中文：该模型一个块的参数，含偏置与归一化；混合模型取完整 attention 的块。
    """
    return params.block(_config(model)).total


@fact(formula="sum over the blocks", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",))
def stack_params(model: Model) -> int:
    """Parameters of all blocks of this model together: no embedding, positions, final norm or head.

    中文：该模型所有块合起来的参数；不含 embedding、位置编码、末尾归一化与输出头。
    """
    config = _config(model)
    return params.count(config).total - params.outside_blocks(config).total


@fact(
    formula="all blocks / all parameters",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def stack_share(model: Model) -> Fraction:
    """Share of this model's parameters in its blocks.

    中文：所有块占该模型参数的比例。
    """
    return Fraction(stack_params(model), parameters(model))


@fact(formula="sum over the FFNs", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",))
def ffn_total_params(model: Model) -> int:
    """Parameters of all FFNs of this model together.

    中文：该模型所有 FFN 合起来的参数。
    """
    return params.count(_config(model)).ffn


@fact(
    formula="FFN / all parameters", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",)
)
def ffn_share(model: Model) -> Fraction:
    """Share of this model's parameters in its FFNs.

    中文：FFN 占该模型参数的比例。
    """
    count = params.count(_config(model))
    return Fraction(count.ffn, count.total)


@fact(
    formula="d · (q + k + v + o widths)",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def model_attention_weights(model: Model) -> int:
    """Matrix weights of one full-attention layer of this model; no biases, no norm gains.

    中文：该模型一个完整 attention 层的矩阵权重；不含偏置与归一化的增益。
    """
    return params.attention_weights(_config(model))


@fact(formula="matrices · d · d_ff", tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",))
def model_ffn_weights(model: Model) -> int:
    """Matrix weights of one FFN of this model; no biases.

    中文：该模型一个 FFN 的矩阵权重；不含偏置。
    """
    return params.ffn_weights(_config(model))


@fact(
    formula="FFN matrices / full-attention matrices",
    tests=("tests/claims_evidence/test_block.py::test_ratio_in_real_models",),
)
def ffn_attention_ratio(model: Model) -> int | Fraction:
    """FFN weights over attention weights in one block of this model, matrices only; in a hybrid, a block with
    full attention.

    中文：该模型一个块里 FFN 与 attention 的权重之比，只算矩阵；混合模型取完整 attention 的块。
    """
    config = _config(model)
    return plain(Fraction(params.ffn_weights(config), params.attention_weights(config)))


@fact(
    formula="(FFN matrices + biases) / (full-attention matrices + biases)",
    tests=("tests/claims_evidence/test_block.py::test_ratio_in_real_models",),
)
def ffn_attention_ratio_with_biases(model: Model) -> int | Fraction:
    """FFN parameters over attention parameters in one block of this model, biases included.

    中文：该模型一个块里 FFN 与 attention 的参数之比，含偏置。
    """
    config = _config(model)
    ffn = params.ffn_weights(config) + params.ffn_biases(config)
    return plain(Fraction(ffn, params.attention_weights(config) + params.attention_biases(config)))


@fact(
    unit="B",
    formula="2 · full-attention layers · n_kv_heads · head_dim · bytes per element",
    tests=("tests/ledger/test_cache.py::test_golden_bytes_per_token",),
)
def kv_bytes_per_token(model: Model, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"]) -> int:
    """Bytes that each further token adds to the key-value cache of one sequence.

    中文：每多一个 token，一条序列的 KV 缓存增加的字节数。
    """
    return cache.kv_bytes_per_token(_config(model), dtype)


@fact(
    unit="B",
    formula="bytes per token · tokens",
    tests=("tests/ledger/test_cache.py::test_golden_bytes_per_token",),
)
def kv_bytes(model: Model, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"], tokens: int) -> int:
    """Bytes of the key-value cache of one sequence of this length: what the next token has to read.

    中文：这么长的一条序列的 KV 缓存字节数：生成下一个 token 时要读这么多。
    """
    at_least("tokens", tokens, 0)
    return cache.kv_bytes(_config(model), dtype, tokens)
