"""Norms over the last axis, norms of queries and keys, and BatchNorm over tokens as the counter-example."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from blocklib.nn.scores import join_heads, split_heads


def _wide(x: Tensor) -> Tensor:
    """``x`` in float32 at least: sums of squares overflow and lose digits in half precision."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


class _Norm(nn.Module):
    """What norms over the last axis share: ``eps``, and the factor that brings a vector to unit mean square."""

    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps
        self._kept: tuple[float, Tensor] | None = None

    def _inverse_root(self, x: Tensor) -> Tensor:
        """``1 / √(mean square of x + eps)``: ``(…, d)`` to ``(…, 1)``."""
        value, eps = self._kept or (None, x)
        if value != self.eps or eps.dtype != x.dtype or eps.device != x.device:
            # A Python number is converted at every use, which for one token takes as long as the sum itself.
            with torch.inference_mode(False):
                eps = torch.tensor(self.eps, dtype=x.dtype, device=x.device)
            self._kept = (self.eps, eps)
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return torch.rsqrt(torch.addcmul(eps, length, length, value=1 / x.shape[-1]))


class LayerNorm(_Norm):
    """Subtract each vector's mean, divide by its population standard deviation, then gain and bias.

    ``eps`` is added to the variance, inside the root. Input and output ``(…, d)``, same dtype; half precision
    is computed in float32. Ba et al. 2016.

    Args:
        d_model: width d.
        affine: whether to learn a gain (starts at one) and a bias (starts at zero).
    """

    def __init__(self, d_model: int, eps: float = 1e-5, affine: bool = True):
        super().__init__(eps)
        self.gain = nn.Parameter(torch.ones(d_model)) if affine else None
        self.bias = nn.Parameter(torch.zeros(d_model)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape and dtype."""
        wide = _wide(x)
        centred = wide - wide.mean(-1, keepdim=True)
        unit = centred * self._inverse_root(centred)
        if self.gain is not None:
            unit = unit * self.gain + self.bias
        return unit.to(x.dtype)


class RMSNorm(_Norm):
    """Divide each vector by its root mean square, then gain; no mean is subtracted.

    ``eps`` is added to the mean square, inside the root. Input and output ``(…, d)``, same dtype; half precision
    is computed in float32. Zhang and Sennrich 2019.

    Args:
        d_model: width d.
        affine: whether to learn a gain (starts at one).
    """

    def __init__(self, d_model: int, eps: float = 1e-6, affine: bool = True):
        super().__init__(eps)
        self.gain = nn.Parameter(torch.ones(d_model)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape and dtype."""
        wide, gain = _wide(x), self.gain
        unit = wide * self._inverse_root(wide)
        unit = unit if gain is None else unit * gain
        return unit if unit.dtype == x.dtype else unit.to(x.dtype)


class ZeroCentredRMSNorm(_Norm):
    """RMSNorm whose gain is ``1 + weight``: a weight of zero is the identity, and decay pulls towards it.

    The sum is made in float32 at least, because ``1 + weight`` loses the weight's digits in half precision. Input
    and output ``(…, d)``, same dtype. Gemma Team 2024; not to be confused with centring the vector.

    Args:
        d_model: width d.
        eps: added to the mean square, inside the root.
    """

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__(eps)
        self.weight = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d)`` to the same shape and dtype."""
        wide = _wide(x)
        unit = wide * self._inverse_root(wide)
        return (unit * (1 + _wide(self.weight))).to(x.dtype)


class PerHeadQKNorm(nn.Module):
    """A norm of every query head and every key head over its own D entries; one gain for all heads of a kind.

    Bounds the scores: after it, a score is a cosine times √D times gains. Dehghani et al. 2023; as in Qwen3.

    Args:
        head_dim: width D of a head.
        norm: makes a norm from a width.
    """

    def __init__(self, head_dim: int, norm: Callable[[int], nn.Module] = RMSNorm):
        super().__init__()
        self.q, self.k = norm(head_dim), norm(head_dim)

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """``q (B, H, T, D)`` and ``k (B, Hkv, S, D)`` to the same shapes."""
        return self.q(q), self.k(k)


class FullQKNorm(nn.Module):
    """A norm over all query heads together, and one over all key heads, with a gain for every entry.

    One head's scale depends on the others'; OLMo Team 2024 (OLMo 2).

    Args:
        n_heads, n_kv_heads, head_dim: H, Hkv and D.
        norm: makes a norm from a width.
    """

    def __init__(self, n_heads: int, n_kv_heads: int, head_dim: int, norm: Callable[[int], nn.Module] = RMSNorm):
        super().__init__()
        self.q, self.k = norm(n_heads * head_dim), norm(n_kv_heads * head_dim)

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """``q (B, H, T, D)`` and ``k (B, Hkv, S, D)`` to the same shapes."""
        q_normed, k_normed = self.q(join_heads(q)), self.k(join_heads(k))
        return split_heads(q_normed, q.shape[1]), split_heads(k_normed, k.shape[1])


class BatchNorm(nn.Module):
    """Normalise every feature over all tokens of all sequences: what LayerNorm is not.

    In training mode the statistics come from the batch, so one token's output depends on all others; in
    evaluation mode from running averages. Input and output ``(B, T, d)``. Ioffe and Szegedy 2015.

    Args:
        d_model: width d.
        momentum: weight of the newest batch in the running averages.
    """

    def __init__(self, d_model: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """``(B, T, d)`` to the same shape; in training mode the running averages move."""
        mean, var = self.running_mean, self.running_var
        if self.training:
            tokens = x.flatten(0, -2)
            mean, var = tokens.mean(0), tokens.var(0, correction=0)
            self._remember(mean.detach(), var.detach(), tokens.shape[0])
        return (x - mean) * torch.rsqrt(var + self.eps) * self.gain + self.bias

    def _remember(self, mean: Tensor, var: Tensor, count: int) -> None:
        # The stored variance is the unbiased one, as in torch: the batch is a sample of the data.
        unbiased = var * count / max(count - 1, 1)
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(unbiased, self.momentum)
