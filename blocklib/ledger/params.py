"""Parameters of a model, by component.

Convention: learned tensors once each. A tied head costs nothing; biases, norm gains and learned positions are
in; buffers (masks, rotary frequencies), vision towers and draft heads are out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

from blocklib.exact import at_least, plain
from blocklib.facts.registry import fact
from blocklib.ledger.config import FFN_MATRICES, Config, ConfigError, GatedDelta


@dataclass(frozen=True)
class Parameters:
    """An itemised count; the rows are disjoint and ``total`` is their sum.

    ``attention`` holds the weights and biases of every mixer (for a recurrent one its convolution and decay
    terms too), ``norm`` all norms but those of queries and keys, which are ``qk_norm``.
    """

    embedding: int = 0
    position: int = 0
    attention: int = 0
    ffn: int = 0
    norm: int = 0
    qk_norm: int = 0
    head: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """Sum of the components."""
        return sum(self.components.values())

    @property
    def components(self) -> dict[str, int]:
        """Component name to count, in the order of the fields."""
        return asdict(self)

    def __add__(self, more: Parameters) -> Parameters:
        return Parameters(*(a + b for a, b in zip(self.components.values(), more.components.values(), strict=True)))


def count(config: Config) -> Parameters:
    """All parameters of the model."""
    return sum((block(config, mixer) for mixer in config.mixers), outside_blocks(config))


def outside_blocks(config: Config) -> Parameters:
    """Embedding, learned positions, final norm and head."""
    return Parameters(
        embedding=config.vocab_size * config.d_model,
        position=config.learned_positions * config.d_model,
        norm=norm(config),
        head=0 if config.tied else config.vocab_size * config.d_model,
    )


def block(config: Config, mixer: str = "full") -> Parameters:
    """One block with this mixer: attention, FFN and their two norms.

    Raises:
        ConfigError: the model has no such mixer.
    """
    shared = Parameters(ffn=ffn_weights(config) + ffn_biases(config), norm=2 * norm(config))
    if mixer == "full":
        qk_gains = 2 * config.head_dim if config.qk_norm else 0
        return shared + Parameters(attention=attention_weights(config) + attention_biases(config), qk_norm=qk_gains)
    if mixer == "gated_delta" and config.gated_delta is not None:
        delta = config.gated_delta
        return shared + Parameters(attention=gated_delta_weights(config.d_model, delta), norm=delta.v_dim)
    raise ConfigError(f"the model has no {mixer!r} layers")


def norm(config: Config) -> int:
    """One norm over the stream: a gain, and a bias for LayerNorm."""
    return config.d_model * (2 if config.norm == "layernorm" else 1)


def attention_weights(config: Config) -> int:
    """Matrices of one full-attention layer (q, k, v, o, and the output gate where there is one), no biases."""
    query = config.query_width * (2 if config.output_gate else 1)
    return config.d_model * (query + 2 * config.kv_width + config.query_width)


def attention_biases(config: Config) -> int:
    """Biases of one full-attention layer."""
    widths = {"q": config.query_width * (2 if config.output_gate else 1), "k": config.kv_width,
              "v": config.kv_width, "o": config.d_model}  # fmt: skip
    return sum(width for site, width in widths.items() if site in config.biases)


def ffn_weights(config: Config) -> int:
    """Matrices of one FFN: two, or three with a gate; no biases."""
    return FFN_MATRICES[config.ffn] * config.d_model * config.d_ff


def ffn_biases(config: Config) -> int:
    """Biases of one FFN: one of the inner width per matrix into it, one of the outer width."""
    if "ffn" not in config.biases:
        return 0
    return (FFN_MATRICES[config.ffn] - 1) * config.d_ff + config.d_model


def gated_delta_weights(d_model: int, delta: GatedDelta) -> int:
    """One Gated DeltaNet layer without its output norm.

    Projections to queries, keys and values, to the output gate, and to the two scalars per value head; the
    depthwise convolution; a decay rate and a time-step bias per value head; the output projection.
    """
    mixed = 2 * delta.key_width + delta.value_width
    projections = d_model * (mixed + delta.value_width + 2 * delta.v_heads)
    return projections + mixed * delta.conv + 2 * delta.v_heads + delta.value_width * d_model


@fact(
    formula="4d²",
    tests=(
        "tests/ledger/test_params.py::test_textbook_block_matches_counted_matrices",
        "tests/claims_evidence/test_block.py::test_ffn_twice_attention",
    ),
)
def attention_params(d_model: int) -> int:
    """Weights of textbook attention at this width: four square matrices for queries, keys, values and output;
    no biases.

    中文：教科书式 attention 的权重数：q、k、v、o 四个方阵，不含偏置。
    """
    at_least("d_model", d_model, 1)
    return attention_weights(textbook(d_model))


@fact(
    formula="8d²",
    tests=(
        "tests/ledger/test_params.py::test_textbook_block_matches_counted_matrices",
        "tests/claims_evidence/test_block.py::test_ffn_twice_attention",
    ),
)
def ffn_params(d_model: int) -> int:
    """Weights of the textbook FFN at this width: into four times the width and back; no biases.

    中文：教科书式 FFN 的权重数：先到四倍宽再回来的两个矩阵，不含偏置。
    """
    at_least("d_model", d_model, 1)
    return ffn_weights(textbook(d_model))


@fact(
    formula="8d² / 4d²",
    tests=("tests/claims_evidence/test_block.py::test_ffn_twice_attention",),
)
def textbook_ffn_attention_ratio(d_model: int) -> int | Fraction:
    """FFN weights over attention weights in the textbook block; the same at every width.

    中文：教科书式的块里 FFN 与 attention 的权重之比；任何宽度都一样。
    """
    return plain(Fraction(ffn_params(d_model), attention_params(d_model)))


@fact(
    formula="4d / d",
    tests=("tests/claims_evidence/test_block.py::test_ffn_twice_attention",),
)
def textbook_ffn_expansion() -> int | Fraction:
    """Inner width of the textbook FFN over the width of the stream.

    中文：教科书式 FFN 的内部宽度与残差流宽度之比。
    """
    config = textbook(1)
    return plain(Fraction(config.d_ff, config.d_model))


def textbook(d_model: int) -> Config:
    """The block that textbook counts speak of: multi-head attention with square matrices, a GELU FFN of width
    4d, no biases. One head and one layer, since neither changes a block's count."""
    return Config(
        vocab_size=1, d_model=d_model, n_layers=1, n_heads=1, n_kv_heads=1, head_dim=d_model, d_ff=4 * d_model,
        ffn="gelu", norm="layernorm", tied=True,
    )  # fmt: skip
