"""Bytes of weights in a number format, and of elementwise traffic between matrix products.

Weights: every parameter at one width; formats that scale blocks of numbers state what the scales add. Real
checkpoints keep norms, routers or embeddings wider than the rest. The cache has its own module,
:mod:`blocklib.ledger.cache`, activations saved for training theirs, :mod:`blocklib.ledger.activations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from blocklib.exact import at_least
from blocklib.ledger import params
from blocklib.ledger.cache import dtype_bytes
from blocklib.ledger.config import Config
from blocklib.ledger.parts import ConfigError, MoE, shown
from blocklib.problems import nearest


@dataclass(frozen=True)
class Format:
    """A number format for weights.

    Attributes:
        bits: bits of one number.
        block: numbers that share a scale, 0 where the format itself has none.
        scale_bits: bits of that scale.
    """

    bits: int
    block: int = 0
    scale_bits: int = 0

    @property
    def bits_per_weight(self) -> Fraction:
        """Bits of one weight with its share of the scale."""
        return self.bits + (Fraction(self.scale_bits, self.block) if self.block else Fraction(0))


# mxfp4: blocks of 32 with one scale of 8 bits (OCP Microscaling Formats 1.0). Scales that a quantiser keeps beside
# fp8, int8 and int4 depend on its group size and are left out.
FORMATS = {
    "fp32": Format(32), "bf16": Format(16), "fp16": Format(16), "fp8": Format(8), "int8": Format(8),
    "int4": Format(4), "mxfp4": Format(4, block=32, scale_bits=8),
}  # fmt: skip


def format_of(dtype: str) -> Format:
    """The format of this name.

    Raises:
        ConfigError: there is none.
    """
    if dtype not in FORMATS:
        close = nearest(str(dtype), FORMATS)
        raise ConfigError(f"unknown dtype {shown(dtype)}; known: {', '.join(FORMATS)}",
                          remedy=f"did you mean {close[0]}?" if close else None)  # fmt: skip
    return FORMATS[dtype]


def bytes_of(count: int, dtype: str) -> int:
    """Bytes of ``count`` weights, rounded up to a whole byte.

    Raises:
        ConfigError: the dtype is unknown.
    """
    return ceil(count * format_of(dtype).bits_per_weight / 8)


def weight_bytes(config: Config, dtype: str) -> int:
    """Bytes of all parameters in this format, a tied head once. Raises :class:`ConfigError` as :func:`bytes_of`."""
    return bytes_of(params.count(config).total, dtype)


def expert_params(config: Config) -> int:
    """Parameters of all routed experts together; 0 in a dense model."""
    return sum(
        times * layer.ffn.n_experts * _one_expert(config, layer.ffn)
        for layer, times in config.groups.items()
        if isinstance(layer.ffn, MoE)
    )


def experts_touched(n_experts: int, top_k: int, batch: int) -> float:
    """Distinct experts that a batch of tokens visits in one layer on average, if routing is uniform and independent.

    ``E · (1 − (1 − k/E)^B)``: a floating-point number, since it is an expectation.

    Raises:
        DomainError: ``batch`` is negative.
    """
    at_least("batch", batch, 0)
    return n_experts * (1 - (1 - top_k / n_experts) ** batch)


def further_expert_params(config: Config, batch: int) -> float:
    """Parameters of routed experts that a batch visits beyond those of a single token, on average, under uniform
    independent routing; exactly 0 at batch 1."""
    if batch <= 1:
        return 0
    return sum(
        times * (experts_touched(layer.ffn.n_experts, layer.ffn.top_k, batch) - layer.ffn.top_k)
        * _one_expert(config, layer.ffn)
        for layer, times in config.groups.items()
        if isinstance(layer.ffn, MoE)
    )  # fmt: skip


def _one_expert(config: Config, moe: MoE) -> int:
    return params.ffn_params_of(moe.expert, moe.latent or config.d_model).ffn


@dataclass(frozen=True)
class Traffic:
    """Bytes that elementwise steps move between memory and chip for one token, where each is a kernel of its own.

    Attributes:
        norms: each norm over the stream reads and writes a vector.
        residuals: each residual addition reads two vectors and writes one; two additions a block.
        activations: of a gated FFN six inner vectors (the activation reads and writes, the product reads two and
            writes one, the next matrix reads), of an ungated one three.
        fused_activations: where activation and product happen inside the matrix kernels: one write, one read.
    """

    norms: int
    residuals: int
    activations: int
    fused_activations: int

    @property
    def rows(self) -> dict[str, int]:
        """Row name to bytes; the two rows of activations are alternatives."""
        return dict(vars(self))


def elementwise(config: Config, dtype: str = "bf16") -> Traffic:
    """Elementwise traffic of one token through the main stack.

    Raises:
        ConfigError: the dtype is unknown.
    """
    size, unfused, fused = dtype_bytes(dtype), 0, 0
    for layer, times in config.groups.items():
        moe = layer.ffn if isinstance(layer.ffn, MoE) else None
        inner = [(layer.ffn, 1)] if moe is None else [(moe.expert, moe.top_k), (moe.shared, moe.shared is not None)]
        for ffn, visits in inner:
            if visits:
                unfused += times * visits * ffn.d_ff * (6 if ffn.matrices == 3 else 3)
                fused += times * visits * ffn.d_ff * 2
    return Traffic(2 * config.stream_norms * config.d_model * size, 2 * config.n_layers * 3 * config.d_model * size,
                   unfused * size, fused * size)  # fmt: skip


def logits_bytes(config: Config, tokens: int, dtype: str = "fp32") -> int:
    """Bytes of the logits of ``tokens`` positions.

    Raises:
        ConfigError: the dtype is unknown.
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    return tokens * config.vocab_size * dtype_bytes(dtype)
