"""Activations that a training step keeps from the forward pass for the backward pass, by part.

What is counted: each tensor that eager autograd saves, once however many operations read it, with one number format
throughout, norms and attention as single kernels, no dropout, nothing recomputed. A matrix saves its input; a norm its
input and its statistics; attention its queries, keys, values, its output and one number per query and head (written
out, the T × S weights instead); ReLU its result, GELU and SiLU their input; a product both factors; the loss the
log-probabilities. Weights, indices and masks are not activations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blocklib.exact import at_least
from blocklib.ledger.cache import dtype_bytes
from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import FFN, Attention, ConfigError, MoE

# Inner vectors (of width d_ff) that an FFN keeps, its input apart. relu: the result, which the second matrix reads.
# gelu, silu: input and result. relu2: ReLU's result and its square. reglu: ReLU's result, value, product.
# geglu, swiglu, situglu: gate before and after the activation, value, product.
INNER = {"relu": 1, "gelu": 2, "silu": 2, "relu2": 2, "reglu": 3, "geglu": 4, "swiglu": 4, "situglu": 4}
STATISTIC_BYTES = 4


@dataclass(frozen=True)
class Activations:
    """Elements kept per token, as disjoint rows.

    Attributes:
        norms: inputs of the norms over the stream (and of the norms of queries and keys).
        inputs: what the sublayers' first matrices read.
        heads: queries, keys and values as attention reads them.
        scores: attention weights, where they are written out.
        mixed: attention's output, before and after a gate.
        ffn: inner vectors of dense FFNs and shared experts.
        experts: of each routed expert visited its copy of the input, inner vectors and output; the router's
            probabilities.
        logits: what the loss keeps.
        statistics: numbers of norms and attention that are kept in fp32 whatever the format.
    """

    norms: int = 0
    inputs: int = 0
    heads: int = 0
    scores: int = 0
    mixed: int = 0
    ffn: int = 0
    experts: int = 0
    logits: int = 0
    statistics: int = 0

    @property
    def rows(self) -> dict[str, int]:
        """Row name to elements, in the order of the fields."""
        return dict(vars(self))

    @property
    def total(self) -> int:
        """Sum of the rows, in elements."""
        return sum(self.rows.values())

    def bytes(self, dtype: str) -> int:
        """Bytes per token: the statistics at four bytes, all else in ``dtype``.

        Raises:
            ConfigError: the dtype is unknown.
        """
        return (self.total - self.statistics) * dtype_bytes(dtype) + self.statistics * STATISTIC_BYTES

    def __add__(self, more: Activations) -> Activations:
        return Activations(*(a + b for a, b in zip(self.rows.values(), more.rows.values(), strict=True)))

    def __mul__(self, times: int) -> Activations:
        return Activations(*(times * count for count in self.rows.values()))


def inner_elements(ffn: FFN, recompute: bool = False) -> int:
    """Elements of inner vectors that one FFN keeps per token; with ``recompute`` only what the first matrices made,
    everything after them being made again in the backward pass."""
    return ffn.d_ff * ((ffn.matrices - 1) if recompute else INNER[ffn.kind])


def saved(config: Config, tokens: int, attention: Literal["fused", "written"] = "fused") -> Activations:
    """What one token of a sequence of ``tokens`` leaves behind in a decoder or encoder, loss included.

    Raises:
        ConfigError: a mixer is not attention with heads, or there is a second stack: their saved tensors depend on
            kernels that no convention fixes.
        DomainError: ``tokens`` is below 1.
    """
    at_least("tokens", tokens, 1)
    if attention not in ("fused", "written"):
        raise ConfigError(f"unknown attention {attention!r}; known: fused, written")
    if config.kind == "encoder-decoder":
        raise ConfigError("activations of an encoder–decoder are not itemised")
    made = _outside(config)
    for layer, times in config.groups.items():
        made += block(config, layer, tokens, attention) * times
    return made


def block(config: Config, layer: Layer, tokens: int, attention: Literal["fused", "written"] = "fused") -> Activations:
    """The same for one block. Raises :class:`ConfigError` as :func:`saved`."""
    mixer, d = layer.mixer, config.d_model
    if not isinstance(mixer, Attention) or layer.cross is not None:
        raise ConfigError(f"activations of {mixer.kind} mixers are not itemised")
    heads = mixer.query_width + 2 * mixer.kv_width
    scores = 0 if attention == "fused" else mixer.n_heads * tokens
    normed = mixer.query_width + mixer.kv_width if mixer.qk_norm else 0
    groups = {None: 0, "full": 2}.get(mixer.qk_norm, mixer.n_heads + mixer.n_kv_heads)
    statistics = layer.norms * _statistics(config) + groups + (mixer.n_heads if attention == "fused" else 0)
    made = Activations(
        norms=layer.norms * d + normed, inputs=d * (1 if layer.norms == 1 else 2), heads=heads, scores=scores,
        mixed=mixer.query_width * (3 if mixer.gate else 1), statistics=statistics,
    )  # fmt: skip
    return made + _ffn(layer.ffn, d)


def _ffn(ffn: FFN | MoE, d: int) -> Activations:
    if isinstance(ffn, FFN):
        return Activations(ffn=inner_elements(ffn))
    width, shared = ffn.latent or d, 0 if ffn.shared is None else inner_elements(ffn.shared)
    visits = ffn.top_k * (2 * width + inner_elements(ffn.expert) + 1)  # one number: its weight in the sum
    return Activations(ffn=shared, experts=ffn.n_experts + visits)


def _outside(config: Config) -> Activations:
    width = sum(config.norm_widths)
    norms = len(config.norm_widths)
    logits = config.vocab_size if config.lm_head else 0
    return Activations(norms=width, inputs=config.d_model if config.lm_head else 0, logits=logits,
                       statistics=norms * _statistics(config))  # fmt: skip


def _statistics(config: Config) -> int:
    """Numbers that a norm keeps of each token: one root mean square, or a mean and a deviation."""
    return 1 if config.norm.startswith("rmsnorm") else 2
