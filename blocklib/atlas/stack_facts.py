"""What pages quote about the stacks of real models: width over depth, FFNs to each layer of full attention."""

from __future__ import annotations

from fractions import Fraction

from blocklib.atlas.models import find, load
from blocklib.exact import plain
from blocklib.facts.registry import Model, fact
from blocklib.ledger.config import Config
from blocklib.ledger.parts import ConfigError

PUBLISHED = ("tests/atlas/test_stack_facts.py::test_stacks_as_published",)


def _config(model: str) -> Config:
    return load(find(model)).config


@fact(formula="d_model / n_layers", tests=PUBLISHED)
def aspect_ratio(model: Model) -> int | Fraction:
    """Width of this model's stream over the number of its blocks.

    中文：该模型残差流的宽度与块数之比。
    """
    config = _config(model)
    return plain(Fraction(config.d_model, config.n_layers))


@fact(formula="n_layers / layers with full attention", tests=PUBLISHED)
def ffns_per_full_attention(model: Model) -> int | Fraction:
    """FFNs of this model to each layer whose attention reaches every position; latent attention counts as such, windows
    and recurrent mixers do not.

    中文：该模型每有一个看得到全部位置的 attention 层，配几个 FFN；压缩成潜在向量的 attention 算在内，滑动窗口与循环的混合层不算。

    Raises:
        ConfigError: no layer of the model attends to every position.
    """
    config = _config(model)
    if not config.full_layers:
        raise ConfigError(f"no layer of {model} attends to every position")
    return plain(Fraction(config.n_layers, config.full_layers))


@fact(formula="layers with a sliding window", tests=PUBLISHED)
def window_layers(model: Model) -> int:
    """Blocks of this model whose attention reaches only the last tokens.

    中文：该模型中 attention 只看最近若干个 token 的块数。
    """
    return _config(model).sliding_layers
