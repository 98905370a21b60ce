"""Speculative decoding: a small model drafts, the large one checks several tokens in one pass.

Leviathan et al. 2023, algorithm 1. The output has exactly the large model's distribution, whatever the draft: a
drafted token x is kept with probability min(1, p(x)/q(x)), and at the first refusal the next token is drawn from
max(0, p − q), normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from blocklib.nn.cache import RewindableCache
from blocklib.nn.generate import GREEDY
from blocklib.nn.sampling import History, Sampling, draw, uniform


def residual(p: Tensor, q: Tensor) -> Tensor:
    """``max(0, p − q)`` normalised, ``(…, V)``: what is left of p when q has had its share.

    Where q covers p nothing can be refused; there p itself is returned.
    """
    left = (p - q).clamp_min(0)
    total = left.sum(-1, keepdim=True)
    return torch.where(total > 0, left / total.where(total > 0, 1), p)


def accept(
    p: Tensor,
    q: Tensor,
    drafted: Tensor,
    generator: torch.Generator | None,
    residual: Callable[[Tensor, Tensor], Tensor] = residual,
) -> tuple[Tensor, Tensor]:
    """Check γ drafted tokens for each of B sequences.

    Args:
        p: the large model's distributions ``(B, γ + 1, V)``, after 0 … γ drafted tokens.
        q: the draft's distributions ``(B, γ, V)``, from which ``drafted (B, γ)`` were drawn.
        generator: for γ coins and one draw per sequence.
        residual: the distribution to draw from after a refusal, by p and q.

    Returns:
        how many drafted tokens are kept ``(B,)``, and the token that follows them ``(B,)``.

    Raises:
        ValueError: shapes that do not fit together.
    """
    batch, gamma, vocab = q.shape
    if p.shape != (batch, gamma + 1, vocab) or drafted.shape != (batch, gamma):
        raise ValueError(f"p {tuple(p.shape)}, q {tuple(q.shape)}, drafted {tuple(drafted.shape)} do not fit together")
    p, q = p.double(), q.double()
    coins = uniform(batch * gamma, generator, p.device).view(batch, gamma)
    column = drafted.unsqueeze(-1)
    kept = coins * q.gather(-1, column).squeeze(-1) < p[:, :gamma].gather(-1, column).squeeze(-1)
    count = kept.long().cumprod(-1).sum(-1)  # (B,)
    rows = torch.arange(batch, device=p.device)
    target = p[rows, count]  # (B, V)
    if gamma:
        refused = residual(target, q[rows, count.clamp_max(gamma - 1)])
        target = torch.where((count < gamma).unsqueeze(-1), refused, target)
    return count, draw(target, generator)


@dataclass(frozen=True)
class Pass:
    """One pass of the large model: the tokens it gave, and how many of how many drafted ones it kept."""

    tokens: list[int]
    accepted: int
    drafted: int


@torch.inference_mode()
def speculative_steps(
    target: nn.Module,
    draft: nn.Module,
    ids: Tensor,
    max_new_tokens: int,
    *,
    gamma: int = 4,
    sampling: Sampling = GREEDY,
    target_cache: RewindableCache | None = None,
    draft_cache: RewindableCache | None = None,
    eos: Sequence[int] = (),
    generator: torch.Generator | None = None,
) -> Iterator[Pass]:
    """The passes that continue one prompt ``(1, T)``: at most ``max_new_tokens`` tokens in all, ending with an EOS.

    Both models' logits go through the same ``sampling``; with a greedy one the tokens are the large model's greedy
    ones. Caches are truncated to what was kept, so each must be able to go back γ tokens.

    Args:
        target, draft: the models, of one vocabulary, as :func:`~blocklib.nn.generate.steps` takes them.
        gamma: tokens drafted a pass.
        generator: always needed, as the coins are drawn even when the outcome is certain.

    Raises:
        ValueError: more than one prompt, or an empty one; a negative γ; no generator.
    """
    if ids.shape[0] != 1 or ids.shape[1] < 1 or gamma < 0:
        raise ValueError(f"one prompt, not empty, and γ ≥ 0 are needed, found ids {tuple(ids.shape)}, γ = {gamma}")
    text, history, left = ids, None, max_new_tokens
    while left > 0:
        ahead, q, guess = text, [], None if history is None else history.copy()
        for _ in range(min(gamma, left - 1)):
            logits = _logits(draft, ahead, 1, draft_cache)
            if sampling.penalises and guess is None:
                guess = History(ids, logits.shape[-1])
            q.append(sampling.probabilities(logits, guess))
            token = draw(q[-1], generator)
            ahead = torch.cat([ahead, token.view(1, 1)], dim=1)
            if guess is not None:
                guess.add(token)
        drafted = ahead[:, text.shape[1] :]
        logits = _logits(target, ahead, drafted.shape[1] + 1, target_cache)
        if sampling.penalises and history is None:
            history = History(ids, logits.shape[-1])
        p = _distributions(logits, drafted[0], sampling, history)
        stacked = torch.stack(q, dim=1) if q else p.new_zeros(1, 0, p.shape[-1])
        count, following = accept(p.unsqueeze(0), stacked, drafted, generator)
        kept = int(count)
        new = torch.cat([drafted[0, :kept], following])
        for at, token in enumerate(new.tolist()):
            if token in eos:
                new, left = new[: at + 1], 0
                break
        text = torch.cat([text, new.unsqueeze(0)], dim=1)
        for token in new if history is not None else ():
            history.add(token.view(1))
        for cache in (target_cache, draft_cache):
            if cache is not None:
                # The newest token has been through neither model; what lies beyond it was refused.
                cache.truncate(min(cache.length, text.shape[1] - 1))
        yield Pass(new.tolist(), min(kept, len(new)), drafted.shape[1])
        left -= len(new)


def speculative_generate(target: nn.Module, draft: nn.Module, ids: Tensor, max_new_tokens: int, **options) -> Tensor:
    """Prompt and new tokens ``(1, T + N)``. Options and errors as :func:`speculative_steps`."""
    new = [token for one in speculative_steps(target, draft, ids, max_new_tokens, **options) for token in one.tokens]
    return torch.cat([ids, ids.new_tensor([new])], dim=1)


def acceptance(p: Tensor, q: Tensor) -> Tensor:
    """The probability α that a token drafted from q is kept under p: Σ min(p, q) = 1 − TV(p, q). ``(…, V)`` to ``(…)``."""
    return torch.minimum(p, q).sum(-1)


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per pass of the large model, (1 − α^(γ+1)) / (1 − α), each draft kept with α independently. Eq. 1."""
    return float(gamma + 1) if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def speedup(alpha: float, gamma: int, cost: float) -> float:
    """Time saved over one token a pass, if a draft step takes ``cost`` passes of the large model. Theorem 3.8."""
    return expected_tokens(alpha, gamma) / (gamma * cost + 1)


def _logits(model: nn.Module, text: Tensor, last: int, cache: RewindableCache | None) -> Tensor:
    """The last ``last`` logits ``(last, V)`` over ``text``, running what the cache has not seen."""
    if cache is None:
        return model(text)[0, -last:]
    return model(text[:, cache.length :], cache=cache)[0, -last:]


def _distributions(logits: Tensor, drafted: Tensor, sampling: Sampling, history: History | None) -> Tensor:
    """The large model's ``(γ + 1, V)``, each with the drafted tokens before it in its history."""
    if history is None:
        return sampling.probabilities(logits)
    history, rows = history.copy(), []
    for at in range(len(logits)):
        rows.append(sampling.probabilities(logits[at : at + 1], history))
        if at < len(drafted):
            history.add(drafted[at].view(1))
    return torch.cat(rows)
