"""Where the parameters and the arithmetic of a real model go, beyond the totals of its components.

Parameters by the ledger's convention (text model only; gains of queries and keys, and of a recurrent mixer, are no
weights of it). FLOPs forward, a multiply-accumulate as two, matrix products only; *scores* are the products of queries
with keys and the sums of values; of a mixture of experts, what one token visits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from blocklib.atlas.models import find, load
from blocklib.exact import plain
from blocklib.facts.registry import Model, evaluate, fact
from blocklib.ledger import flops, params
from blocklib.ledger.config import Config, ConfigError
from blocklib.ledger.matrices import mixer_rows
from blocklib.ledger.parts import Attention

CHECKPOINTS = {"qwen3.8-27b": "qwen_checkpoint_bytes"}  # cited sizes of whole checkpoints, in bf16
BF16 = 2  # bytes


def _config(model: str) -> Config:
    return load(find(model)).config


@fact(
    formula="query heads · head_dim · 2 with a gate",
    tests=("tests/atlas/test_where_facts.py::test_the_gate_by_the_layer_that_runs",),
)
def query_matrix_width(model: Model) -> int:
    """Outputs of the query projection of one full-attention layer of this model, its output gate included where there
    is one.

    中文：该模型一个完整 attention 层里 query 投影的输出宽度；有输出门的，门也在内。
    """
    config = _config(model)
    return config.query_width * (2 if config.output_gate else 1)


@fact(
    formula="d_model · query width",
    tests=("tests/atlas/test_where_facts.py::test_the_gate_by_the_layer_that_runs",),
)
def output_gate_weights(model: Model) -> int:
    """Weights of the gate on the output of one full-attention layer of this model; zero where there is none.

    中文：该模型一个完整 attention 层的输出门的权重数；没有输出门则为零。
    """
    config = _config(model)
    return mixer_rows(config.heads_kind, config.d_model)["output_gate"]


@fact(
    formula="full-attention layers · d_model · query width",
    tests=("tests/atlas/test_where_facts.py::test_the_gate_by_the_layer_that_runs",),
)
def output_gate_total(model: Model) -> int:
    """Weights of the gates on the output of all full-attention layers of this model.

    中文：该模型所有完整 attention 层的输出门合起来的权重数。
    """
    return output_gate_weights(model) * _config(model).full_layers


@fact(
    formula="gate / (query, gate, key, value, output)",
    tests=("tests/atlas/test_where_facts.py::test_the_gate_by_the_layer_that_runs",),
)
def output_gate_share(model: Model) -> Fraction:
    """Share of the output gate in the matrices of one full-attention layer of this model.

    中文：输出门占该模型一个完整 attention 层矩阵权重的比例。
    """
    config = _config(model)
    return plain(Fraction(output_gate_weights(model), params.attention_weights(config)))


@fact(
    formula="matrices, convolution and decay terms of the recurrent mixer",
    tests=("tests/atlas/test_where_facts.py::test_mixers_by_the_shapes_of_the_checkpoint",),
)
def recurrent_mixer_weights(model: Model) -> int:
    """Weights of one recurrent mixer (linear attention) of this model, its output norm's gain left out.

    中文：该模型一个线性 attention 层的权重数，不含输出处归一化的增益。

    Raises:
        ConfigError: the model has no recurrent mixer of this kind.
    """
    config = _config(model)
    if config.gated_delta is None:
        raise ConfigError(f"{model} has no recurrent mixer of this kind")
    return params.mixer_params(config.gated_delta, config.d_model).attention


@fact(
    formula="sum over the mixers of this kind",
    tests=("tests/atlas/test_where_facts.py::test_mixers_by_the_shapes_of_the_checkpoint",),
)
def mixer_total(model: Model, kind: Literal["softmax", "recurrent"]) -> int:
    """Weights of all mixers of one kind in this model: attention with a softmax, or recurrent ones; norms left out.

    中文：该模型某一类混合层合起来的权重数：softmax attention，或循环的线性 attention；不含归一化。
    """
    config = _config(model)
    chosen = [(layer.mixer, times) for layer, times in config.groups.items()
              if isinstance(layer.mixer, Attention) == (kind == "softmax")]  # fmt: skip
    return sum(times * params.mixer_params(mixer, config.d_model).attention for mixer, times in chosen)


@fact(
    formula="gains and biases of all norms but those of queries and keys",
    tests=("tests/atlas/test_oracle.py::test_components_match_the_meta_device_count",),
)
def norm_params(model: Model) -> int:
    """Parameters of all norms of this model, those of queries and keys left out.

    中文：该模型所有归一化的参数，不含 query 与 key 的归一化。
    """
    return params.count(_config(model)).norm


@fact(
    formula="FFN parameters / parameters of all blocks",
    tests=("tests/atlas/test_where_facts.py::test_share_of_the_blocks",),
)
def ffn_share_of_blocks(model: Model) -> Fraction:
    """Share of the FFNs in the parameters of all blocks of this model; no embedding, positions, final norm or head.

    中文：FFN 占该模型所有块参数的比例；不含 embedding、位置编码、末尾归一化与输出头。
    """
    config = _config(model)
    whole = params.count(config)
    return plain(Fraction(whole.ffn, whole.total - params.outside_blocks(config).total))


@fact(
    formula="FFN parameters · 2 bytes / bytes of the checkpoint",
    tests=("tests/atlas/test_where_facts.py::test_share_of_the_whole_checkpoint",),
)
def ffn_share_of_checkpoint(model: Model) -> Fraction:
    """Share of the text model's FFNs in the whole published checkpoint (in bf16), vision tower and draft head included.

    中文：文本部分的 FFN 占整个发布的检查点（bf16）的比例，检查点含视觉塔与草稿头。

    Raises:
        ConfigError: no size of the whole checkpoint is cited.
    """
    id = find(model)
    if id not in CHECKPOINTS:
        raise ConfigError(f"no size of a whole checkpoint is cited for {model}")
    return Fraction(BF16 * params.count(load(id).config).ffn) / Fraction(evaluate(CHECKPOINTS[id]).value)


@fact(
    formula="bytes of the checkpoint / 2 bytes - parameters of the text model",
    tests=("tests/atlas/test_where_facts.py::test_share_of_the_whole_checkpoint",),
)
def params_beside_the_text_model(model: Model) -> Fraction:
    """Parameters of the published checkpoint (in bf16) that the ledger leaves out: vision tower and draft head. As
    exact as the printed size of the checkpoint.

    中文：发布的检查点（bf16）里，本站账目没有计入的参数：视觉塔与草稿头。精度以检查点印出的大小为准。

    Raises:
        ConfigError: no size of the whole checkpoint is cited.
    """
    id = find(model)
    if id not in CHECKPOINTS:
        raise ConfigError(f"no size of a whole checkpoint is cited for {model}")
    return plain(Fraction(evaluate(CHECKPOINTS[id]).value) / BF16 - params.count(load(id).config).total)


def ffn_flops_per_token(config: Config) -> int:
    """All FFNs of the model for one token: dense ones, shared and visited experts; routers left out."""
    one = flops.forward(config, 1)
    return one.ffn + one.experts


def crossover(config: Config, compare: str) -> Fraction | None:
    """Context at which attention costs one token as many FLOPs as the FFNs do; None where it never does, negative
    where it costs more at any length.

    ``"last"``: scores of all layers for the last token against all FFNs; ``"average"``: the same averaged over a causal
    prompt, whose tokens see half of it; ``"layer"``: scores of one layer against one FFN; ``"mixers"``: scores,
    projections and recurrent states of all mixers against all FFNs.

    Raises:
        ConfigError: the comparison is unknown, or layers see different numbers of positions.
    """
    scores = flops.score_crossover(config)
    if compare in ("last", "average") or scores is None:
        return scores if scores is None or compare == "last" else 2 * scores
    pieces = flops.attention_pieces(config)
    if compare not in ("layer", "mixers") or len(pieces) != 1:
        raise ConfigError(f"no comparison {compare!r} for a model whose layers see different numbers of positions")
    ffn = ffn_flops_per_token(config)
    if compare == "layer":
        return Fraction(ffn, config.n_layers) / (pieces[0][1] / config.full_layers)
    one = flops.forward(config, 1)
    return (ffn - one.projections - one.recurrent) / pieces[0][1]


@fact(
    formula="FFN FLOPs / FLOPs of scores and values per position",
    tests=("tests/atlas/test_where_facts.py::test_crossovers_by_counting",),
)
def score_crossover_tokens(model: Model, compare: Literal["last", "average", "layer", "mixers"]) -> int | Fraction:
    """Context at which attention costs a token of this model as many FLOPs as the FFNs: scores alone for the last
    token, averaged over a causal prompt (half of it), of one layer against one FFN, or with all that mixers compute.

    中文：上下文多长时，该模型每个 token 花在 attention 上的 FLOP 与 FFN 相等：只算最后一个 token 的打分与加权求和、对因果提示取平均（只见一半）、一层对一个
    FFN，或把混合层的全部计算都算上。

    Raises:
        ConfigError: attention never costs as much as the FFNs.
    """
    found = crossover(_config(model), compare)
    if found is None:
        raise ConfigError(f"in {model} attention never costs as much as the FFNs")
    return plain(found)


@fact(
    unit="FLOP",
    formula="2 · FFN weights met by one token",
    tests=("tests/atlas/test_where_facts.py::test_crossovers_by_counting",),
)
def ffn_flops_of_model(model: Model) -> int:
    """FLOPs of all FFNs of this model for one token, forward.

    中文：该模型全部 FFN 处理一个 token 的前向 FLOP。
    """
    return ffn_flops_per_token(_config(model))


@fact(
    unit="FLOP",
    formula="4 · query width · full-attention layers",
    tests=("tests/atlas/test_where_facts.py::test_crossovers_by_counting",),
)
def score_flops_per_position(model: Model) -> int | Fraction:
    """FLOPs that each position read adds to one token of this model: a score and a weighted value in every layer with
    full attention.

    中文：每多读一个位置，该模型一个 token 多花的 FLOP：每个完整 attention 层一次打分、一次加权。

    Raises:
        ConfigError: layers of the model see different numbers of positions.
    """
    pieces = flops.attention_pieces(_config(model))
    if len(pieces) != 1 or pieces[0][0] is not None:
        raise ConfigError(f"layers of {model} see different numbers of positions")
    return plain(pieces[0][1])
