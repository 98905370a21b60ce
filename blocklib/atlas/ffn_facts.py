"""What pages quote about the FFNs of real models: gated widths against the textbook's, experts held and experts used."""

from __future__ import annotations

from fractions import Fraction

from blocklib.atlas.models import find, load
from blocklib.exact import plain
from blocklib.facts.registry import Model, fact
from blocklib.ledger import params
from blocklib.ledger.config import Config
from blocklib.ledger.ffn import MoE
from blocklib.ledger.parts import ConfigError
from blocklib.theory.gated_width import gated_ffn_excess

BUILT = ("tests/atlas/test_ffn_facts.py::test_excess_of_built_ffns",)
ROUTED = ("tests/atlas/test_ffn_facts.py::test_shapes_of_mixtures_as_published",)
ACTIVE = ("tests/atlas/test_ffn_facts.py::test_active_counts_by_hand",)


def _config(model: str) -> Config:
    return load(find(model)).config


def _moe(model: str) -> MoE:
    found = _config(model).moe
    if found is None:
        raise ConfigError(f"{model} has no experts")
    return found


@fact(formula="3 · d · d_ff / 8d² - 1", tests=BUILT)
def model_ffn_excess(model: Model) -> int | Fraction:
    """By what share the matrices of this model's gated dense FFN exceed the textbook's 8d²; negative when they hold
    fewer weights.

    中文：该模型带门的（非专家）FFN 的矩阵权重比教科书的 8d² 多出的比例；负数表示更少。

    Raises:
        ConfigError: the model has no dense FFN with a gate.
    """
    config = _config(model)
    if config.dense_ffn is None or config.dense_ffn.matrices != 3:
        raise ConfigError(f"{model} has no dense FFN with a gate")
    return gated_ffn_excess(config.d_model, config.dense_ffn.d_ff)


@fact(formula="n_experts", tests=ROUTED)
def experts_held(model: Model) -> int:
    """Routed experts in each mixture layer of this model; a shared one is not counted.

    中文：该模型每个混合专家层里可供挑选的专家数；共享专家不算。
    """
    return _moe(model).n_experts


@fact(formula="top_k", tests=ROUTED)
def experts_used(model: Model) -> int:
    """Routed experts that one token visits in each mixture layer of this model; a shared one is not counted.

    中文：该模型每个混合专家层里一个 token 走进的专家数；共享专家不算。
    """
    return _moe(model).top_k


@fact(formula="top_k / n_experts", tests=ROUTED)
def experts_used_share(model: Model) -> int | Fraction:
    """Share of a layer's routed experts that one token visits.

    中文：一个 token 走进的专家占该层可挑选专家的比例。
    """
    moe = _moe(model)
    return plain(Fraction(moe.top_k, moe.n_experts))


@fact(formula="all parameters - (n_experts - top_k) · one expert · mixture layers", tests=ACTIVE)
def active_parameters(model: Model) -> int:
    """Parameters of this model that one token passes through, embedding and head included: of each mixture of experts
    only the router, the experts chosen and the shared one.

    中文：一个 token 真正经过的参数，含 embedding 与输出头；每个混合专家层只算路由、选中的专家与共享专家。
    """
    return params.active(_config(model)).with_embeddings


@fact(formula="active parameters / all parameters", tests=ACTIVE)
def active_share(model: Model) -> int | Fraction:
    """Share of this model's parameters that one token passes through.

    中文：一个 token 经过的参数占该模型全部参数的比例。
    """
    config = _config(model)
    return plain(Fraction(params.active(config).with_embeddings, params.count(config).total))


@fact(formula="top_k · expert's d_ff + shared d_ff", tests=ROUTED)
def active_ffn_width(model: Model) -> int:
    """Inner width of all experts together that one token passes in a mixture layer, the shared one included.

    中文：一个 token 在一个混合专家层里经过的专家内部宽度之和，含共享专家。
    """
    moe = _moe(model)
    return moe.top_k * moe.expert.d_ff + (moe.shared.d_ff if moe.shared else 0)


@fact(formula="mixture layers · n_experts · one expert / all parameters", tests=ACTIVE)
def routed_share(model: Model) -> int | Fraction:
    """Share of this model's parameters in its routed experts.

    中文：可供挑选的专家占该模型全部参数的比例。

    Raises:
        ConfigError: the model has no experts.
    """
    config = _config(model)
    held = 0
    for layer, times in config.groups.items():
        if isinstance(layer.ffn, MoE):
            width = layer.ffn.latent or config.d_model
            held += times * layer.ffn.n_experts * params.ffn_params_of(layer.ffn.expert, width).ffn
    if not held:
        raise ConfigError(f"{model} has no experts")
    return plain(Fraction(held, params.count(config).total))
