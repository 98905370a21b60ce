"""Bytes between devices in one forward pass, for tensor, pipeline and expert parallelism.

Conventions: *tensor* parallelism ends each sublayer in an all-reduce of the stream (two a block forward; one where
both sublayers run side by side), and a ring of p devices sends ``2(p − 1)/p`` of the vector from each device.
*Pipeline* sends the stream once over each boundary. *Expert* parallelism sends each token to its experts and back, all
of them taken to be elsewhere, and a token twice where two of its experts share a device. Backward passes send as much
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blocklib.exact import at_least, plain
from blocklib.ledger.cache import describe, dtype_bytes
from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import Attention, ConfigError, MoE


@dataclass(frozen=True)
class TensorParallel:
    """Tensor parallelism over ``ways`` devices.

    Attributes:
        all_reduces: collectives in one pass, which wait for one another.
        payload: bytes of the vectors reduced, all tokens.
        sent: bytes that each device sends in a ring.
    """

    ways: int
    all_reduces: int
    payload: int
    sent: int | Fraction


def tensor_parallel(config: Config, ways: int, tokens: int = 1, dtype: str = "bf16") -> TensorParallel:
    """Traffic of ``tokens`` tokens through the blocks; a split vocabulary's own collective is not in.

    Raises:
        ConfigError: the dtype is unknown.
        DomainError: ``ways`` is below 1 or ``tokens`` negative.
    """
    at_least("ways", ways, 1)
    at_least("tokens", tokens, 0)
    groups = (*config.groups.items(), *config.encoder_groups.items())
    count = sum(times * all_reduces(layer) for layer, times in groups) if ways > 1 else 0
    payload = count * tokens * config.d_model * dtype_bytes(dtype)
    return TensorParallel(ways, count, payload, plain(Fraction(2 * (ways - 1) * payload, ways)))


def all_reduces(layer: Layer) -> int:
    """Collectives of one block, forward: one a sublayer, one in all where attention and FFN share a norm."""
    return 1 if layer.norms == 1 else 2 + (layer.cross is not None)


def pipeline_bytes(config: Config, tokens: int = 1, dtype: str = "bf16") -> int:
    """Bytes over one boundary between stages, forward: the stream of ``tokens`` tokens.

    Raises:
        ConfigError: the dtype is unknown.
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    return tokens * config.d_model * dtype_bytes(dtype)


@dataclass(frozen=True)
class ExpertParallel:
    """Bytes of one pass to the experts and back, all layers."""

    dispatch: int
    combine: int

    @property
    def total(self) -> int:
        """Both ways."""
        return self.dispatch + self.combine


def expert_parallel(config: Config, tokens: int = 1, dispatch: str = "fp8", combine: str = "bf16") -> ExpertParallel:
    """Traffic of ``tokens`` tokens between their home devices and their experts.

    Raises:
        ConfigError: the model has no experts, or a dtype is unknown.
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    sent = 0
    for layer, times in config.groups.items():
        if isinstance(layer.ffn, MoE):
            sent += times * layer.ffn.top_k * (layer.ffn.latent or config.d_model)
    if not sent:
        raise ConfigError("the model has no experts to spread over devices")
    return ExpertParallel(tokens * sent * dtype_bytes(dispatch), tokens * sent * dtype_bytes(combine))


def kv_bytes_per_token(config: Config, ways: int, dtype: str = "bf16") -> int | Fraction:
    """Cache bytes that a token adds on *each* device under tensor parallelism, while all windows still fill.

    Heads are shared out; where there are fewer key/value heads than devices, each device keeps one. What all heads
    read (a latent, a compressed entry) stands on every device.

    Raises:
        ConfigError: the dtype is unknown, or ``ways`` and the heads do not divide one another.
        DomainError: ``ways`` is below 1.
    """
    at_least("ways", ways, 1)
    found = describe(config)
    elements = Fraction(found.latent + found.compressed)
    for layer, times in config.groups.items():
        if isinstance(layer.mixer, Attention):
            heads = layer.mixer.n_kv_heads
            if heads % ways and ways % heads:
                raise ConfigError(f"{heads} key/value heads cannot be shared out over {ways} devices evenly")
            elements += times * 2 * max(1, heads // ways) * layer.mixer.head_dim
        elif layer.mixer.window is not None:
            elements += times * layer.mixer.cache_elements
    return plain(elements * dtype_bytes(dtype)) if config.kind != "encoder" else 0
