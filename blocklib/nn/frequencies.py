"""How fast RoPE turns each pair of a head: the plain geometric ladder, and its stretchings for longer contexts.

All functions give angular frequencies ``(D/2,)`` in radians per position, float32, fastest first. They are made in
float32 because checkpoints were trained with such tables; a more exact table is a different one far out.
"""

from __future__ import annotations

from math import ceil, floor, log, pi

import torch
from torch import Tensor


def rope_frequencies(rotary_dim: int, theta: float = 10_000.0) -> Tensor:
    """``theta^(−2i/D)`` for i = 0 … D/2 − 1: from one radian a position down to almost ``1/theta``. Su et al. 2021.

    ``(D/2,)``, float32, radians a position.

    Args:
        rotary_dim: entries D that are turned, in pairs.
        theta: base of the ladder.

    Raises:
        ValueError: D is odd or not positive, or the base is not positive.
    """
    if rotary_dim < 2 or rotary_dim % 2:
        raise ValueError(f"RoPE turns pairs: rotary_dim must be even and positive, found {rotary_dim}")
    if not theta > 0:
        raise ValueError(f"theta must be positive, found {theta}")
    steps = torch.arange(0, rotary_dim, 2, dtype=torch.int64, device="cpu").float()
    return 1.0 / (theta ** (steps / rotary_dim))


def linear_frequencies(frequencies: Tensor, factor: float) -> Tensor:
    """All frequencies divided by ``factor``: positions are squeezed into the old range. Chen et al. 2023.

    ``(D/2,)`` in and out, radians a position.
    """
    return frequencies / factor


def llama3_frequencies(
    frequencies: Tensor, factor: float, low_freq_factor: float, high_freq_factor: float, original: int
) -> Tensor:
    """Slow pairs divided by ``factor``, fast ones kept, a straight line between. Llama 3.1 (Dubey et al. 2024).

    A pair is fast if it turns ``high_freq_factor`` times or more within the ``original`` context, slow if it turns
    ``low_freq_factor`` times or less. ``(D/2,)`` in and out, radians a position.

    Raises:
        ValueError: ``high_freq_factor`` is not above ``low_freq_factor``.
    """
    if not high_freq_factor > low_freq_factor > 0:
        raise ValueError(
            f"high_freq_factor {high_freq_factor} must be above low_freq_factor {low_freq_factor}, above 0"
        )
    turns = original * frequencies / (2 * pi)
    kept = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1)
    return (1 - kept) * frequencies / factor + kept * frequencies


def yarn_frequencies(
    frequencies: Tensor,
    factor: float,
    original: int,
    theta: float,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> Tensor:
    """As :func:`llama3_frequencies`, but the line between runs over the pair's number, not its turns. Peng et al. 2023.

    ``(D/2,)`` in and out, radians a position.

    Args:
        frequencies: of :func:`rope_frequencies` with the same ``theta``.
        original: context length before stretching.
        beta_fast, beta_slow: turns within ``original`` from which a pair is kept, and below which it is divided.
        truncate: whether the two ends of the line are rounded outwards to whole pairs.
    """
    pairs = len(frequencies)

    def pair_with(turns: float) -> float:
        return pairs * log(original / (turns * 2 * pi)) / log(theta)

    low, high = pair_with(beta_fast), pair_with(beta_slow)
    if truncate:
        low, high = floor(low), ceil(high)
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    span = high - low or 0.001
    divided = ((torch.arange(pairs, dtype=torch.float32, device="cpu") - low) / span).clamp(0, 1)
    return frequencies / factor * divided + frequencies * (1 - divided)


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
    """What cosines and sines are multiplied by, so that scores keep their spread: ``0.1 · weight · ln(factor) + 1``."""
    return 0.1 * weight * log(factor) + 1.0 if factor > 1 else 1.0
