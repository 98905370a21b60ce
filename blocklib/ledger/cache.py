"""Bytes of the key-value cache and of the state that recurrent layers keep instead.

Full attention stores one key and one value per key/value head, layer and token. Recurrent layers store nothing
per token; their state has a fixed size.
"""

from __future__ import annotations

from blocklib.exact import at_least
from blocklib.ledger.config import Config, ConfigError

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}


def dtype_bytes(dtype: str) -> int:
    """Bytes of one element of ``dtype``.

    Raises:
        ConfigError: the dtype is unknown.
    """
    try:
        return DTYPE_BYTES[dtype]
    except KeyError:
        raise ConfigError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPE_BYTES)}") from None


def kv_elements_per_token(config: Config) -> int:
    """Cache elements that one more token adds, over all layers that cache."""
    return 2 * config.full_layers * config.kv_width


def kv_bytes_per_token(config: Config, dtype: str) -> int:
    """Bytes that one more token adds to the cache of one sequence.

    Raises:
        ConfigError: the dtype is unknown.
    """
    return kv_elements_per_token(config) * dtype_bytes(dtype)


def kv_bytes(config: Config, dtype: str, tokens: int) -> int:
    """Bytes of the cache of one sequence of ``tokens`` tokens, the fixed recurrent state not included.

    Raises:
        ConfigError: the dtype is unknown.
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    return kv_bytes_per_token(config, dtype) * tokens


def state_elements(config: Config) -> int:
    """Elements of the recurrent state of one sequence: a key-by-value matrix per value head and layer."""
    if config.gated_delta is None:
        return 0
    delta = config.gated_delta
    return config.mixers.count("gated_delta") * delta.v_heads * delta.v_dim * delta.k_dim
