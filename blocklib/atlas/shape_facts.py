"""What pages quote about the shape of real models: widths, heads, layers and norms."""

from __future__ import annotations

from fractions import Fraction

from blocklib.atlas.models import find, load
from blocklib.exact import plain
from blocklib.facts.registry import Model, fact
from blocklib.ledger.config import Config, ConfigError
from blocklib.theory.norm_ops import norm_core_gap


def _config(model: str) -> Config:
    return load(find(model)).config


@fact(formula="d_model", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def model_width(model: Model) -> int:
    """Width of the residual stream of this model.

    中文：该模型残差流的宽度 d_model。
    """
    return _config(model).d_model


@fact(formula="n_layers", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def model_layers(model: Model) -> int:
    """Number of blocks of this model.

    中文：该模型的块数。
    """
    return _config(model).n_layers


@fact(formula="n_heads", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def model_heads(model: Model) -> int:
    """Query heads per attention layer of this model.

    中文：该模型每个 attention 层的 query 头数。
    """
    return _config(model).n_heads


@fact(formula="n_kv_heads", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def model_kv_heads(model: Model) -> int:
    """Key/value heads per attention layer of this model.

    中文：该模型每个 attention 层的 KV 头数。
    """
    return _config(model).n_kv_heads


@fact(formula="head_dim", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def model_head_dim(model: Model) -> int:
    """Width of one attention head of this model.

    中文：该模型每个 attention 头的宽度 head_dim。
    """
    return _config(model).head_dim


@fact(formula="n_heads · head_dim", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def query_width(model: Model) -> int:
    """Width of all query heads together; it need not equal the width of the stream.

    中文：所有 query 头合起来的宽度；不一定等于残差流的宽度。
    """
    return _config(model).query_width


@fact(formula="d_ff", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def ffn_width(model: Model) -> int:
    """Inner width of this model's FFN.

    中文：该模型 FFN 的内部宽度 d_ff。
    """
    return _config(model).d_ff


@fact(formula="d_ff / d_model", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def ffn_expansion(model: Model) -> int | Fraction:
    """Inner width of this model's FFN over the width of the stream.

    中文：该模型 FFN 内部宽度与残差流宽度之比。
    """
    config = _config(model)
    return plain(Fraction(config.d_ff, config.d_model))


@fact(formula="vocab_size", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def vocab_size(model: Model) -> int:
    """Rows of this model's embedding table, padding included.

    中文：该模型 embedding 表的行数，含填充。
    """
    return _config(model).vocab_size


@fact(formula="layers with full attention", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",))
def full_attention_layers(model: Model) -> int:
    """Blocks of this model whose mixer is full attention.

    中文：该模型中用完整 attention 的块数。
    """
    return _config(model).full_layers


@fact(
    formula="layers with a recurrent mixer", tests=("tests/atlas/test_models.py::test_shapes_match_published_values",)
)
def linear_attention_layers(model: Model) -> int:
    """Blocks of this model whose mixer is a recurrent one (linear attention) with a state of fixed size.

    中文：该模型中用线性 attention（固定大小的循环状态）的块数。
    """
    return _config(model).recurrent_layers


@fact(formula="2 · n_layers + 1", tests=("tests/atlas/test_model_facts.py::test_norms_per_token",))
def norms_per_token(model: Model) -> int:
    """Norms over the stream that one token meets in one forward pass: two per block and the final one.

    中文：一个 token 前向一遍要过多少次残差流上的归一化：每块两次，末尾一次。

    Raises:
        ConfigError: the model has other norms than two a block and a final one.
    """
    config = _config(model)
    plain = config.kind == "decoder" and config.norm_widths == (config.d_model,)
    if not plain or any(layer.norms != 2 for layer in config.groups):
        raise ConfigError(f"{model} has other norms than two a block and a final one")
    return config.stream_norms


@fact(
    formula="(2 · n_layers + 1) · 2d",
    tests=("tests/atlas/test_model_facts.py::test_norms_per_token",),
)
def norm_core_gap_per_token(model: Model) -> int:
    """Core operations that RMSNorm in place of LayerNorm would save one token in one forward pass of a model of
    this shape.

    中文：这种形状的模型若用 RMSNorm 代替 LayerNorm，每个 token 前向一遍省下的核心运算数。
    """
    return norms_per_token(model) * norm_core_gap(_config(model).d_model)
