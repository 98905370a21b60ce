"""From logits to the next token: penalties, temperature, truncation, a draw.

Definitions follow the field: the repetition penalty is CTRL's (Keskar et al. 2019), presence and frequency are
OpenAI's; top-k is Fan et al. 2018, top-p Holtzman et al. 2020, min-p Nguyen et al. 2024. The order is Hugging
Face's: penalties, temperature, top-k, top-p, min-p, each seeing what the one before it left. All arithmetic is in
float32 at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Generators = torch.Generator | Sequence[torch.Generator]
REMOVED = float("-inf")


class History:
    """Which tokens each sequence holds, and how often it has generated them.

    The repetition penalty looks at prompt and output, presence and frequency penalties at the output alone.

    Args:
        prompt: token ids ``(B, T)``.
        vocab_size: V.
        mask: boolean ``(B, T)``, false at padding, which counts as nothing.
    """

    def __init__(self, prompt: Tensor, vocab_size: int, mask: Tensor | None = None):
        held = torch.ones_like(prompt) if mask is None else mask.to(prompt.dtype)
        counts = prompt.new_zeros(prompt.shape[0], vocab_size).scatter_add_(1, prompt, held)
        self.present = counts > 0  # (B, V)
        self.generated = torch.zeros_like(counts)  # (B, V)

    def add(self, tokens: Tensor) -> None:
        """Note one generated token per sequence, ``(B,)``."""
        column = tokens.unsqueeze(1)
        self.present.scatter_(1, column, True)
        self.generated.scatter_add_(1, column, torch.ones_like(column))

    def copy(self) -> History:
        """An independent history, for continuations that may be thrown away."""
        new = object.__new__(History)
        new.present, new.generated = self.present.clone(), self.generated.clone()
        return new


def penalise_repetition(logits: Tensor, present: Tensor, penalty: float) -> Tensor:
    """Divide positive logits of present tokens by ``penalty`` and multiply negative ones by it. ``(B, V)`` each."""
    return torch.where(present, torch.where(logits < 0, logits * penalty, logits / penalty), logits)


def penalise_counts(logits: Tensor, generated: Tensor, presence: float, frequency: float) -> Tensor:
    """Subtract ``presence`` once and ``frequency`` for every time a token was generated. ``(B, V)`` each."""
    return logits - frequency * generated - presence * (generated > 0)


def top_k(logits: Tensor, k: int) -> Tensor:
    """Keep the k largest of ``(…, V)``, and all that tie with the last of them."""
    least = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < least, REMOVED)


def top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the fewest most probable tokens of ``(…, V)`` whose probabilities sum to ``p`` at least; always one.

    The token that crosses the threshold stays. Of equally probable tokens, which ones stay is not specified.
    """
    ordered, where = logits.sort(-1)
    remove = ordered.softmax(-1).cumsum(-1) <= 1 - p
    remove[..., -1] = False
    return logits.masked_fill(remove.scatter(-1, where, remove), REMOVED)


def min_p(logits: Tensor, p: float) -> Tensor:
    """Keep the tokens of ``(…, V)`` that are at least ``p`` times as probable as the most probable one."""
    probabilities = logits.softmax(-1)
    return logits.masked_fill(probabilities < p * probabilities.amax(-1, keepdim=True), REMOVED)


@dataclass(frozen=True)
class Sampling:
    """How to choose the next token. The default samples the model's own distribution.

    Args:
        temperature: divides the logits; 0 is greedy.
        top_k, top_p, min_p: truncations; None leaves them out.
        repetition_penalty: above 1 discourages tokens of prompt and output.
        presence_penalty, frequency_penalty: above 0 discourage tokens of the output.

    Raises:
        ValueError: a value outside its range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0

    def __post_init__(self) -> None:
        for name, fine, expected in (
            ("temperature", 0 <= self.temperature < float("inf"), "finite and at least 0"),
            ("top_k", self.top_k is None or self.top_k >= 1, "at least 1, or None"),
            ("top_p", self.top_p is None or 0 < self.top_p <= 1, "in (0, 1], or None"),
            ("min_p", self.min_p is None or 0 <= self.min_p <= 1, "in [0, 1], or None"),
            ("repetition_penalty", 0 < self.repetition_penalty < float("inf"), "positive"),
            ("presence_penalty", abs(self.presence_penalty) < float("inf"), "finite"),
            ("frequency_penalty", abs(self.frequency_penalty) < float("inf"), "finite"),
        ):
            if not fine:
                raise ValueError(f"{name} must be {expected}, found {getattr(self, name)}")

    @property
    def greedy(self) -> bool:
        """Whether the most probable token is taken."""
        return self.temperature == 0

    @property
    def penalises(self) -> bool:
        """Whether a history is needed."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0

    def adjust(self, logits: Tensor, history: History | None = None) -> Tensor:
        """Logits ``(B, V)`` after penalties, temperature and truncation; removed tokens are −∞.

        At temperature 0 only the penalties apply.

        Raises:
            ValueError: penalties without a history.
        """
        logits = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
        if self.penalises:
            if history is None:
                raise ValueError("penalties need the history of the sequence")
            logits = penalise_repetition(logits, history.present, self.repetition_penalty)
            logits = penalise_counts(logits, history.generated, self.presence_penalty, self.frequency_penalty)
        if self.greedy:
            return logits
        logits = logits / self.temperature
        if self.top_k is not None:
            logits = top_k(logits, self.top_k)
        if self.top_p is not None and self.top_p < 1:
            logits = top_p(logits, self.top_p)
        if self.min_p is not None:
            logits = min_p(logits, self.min_p)
        return logits

    def probabilities(self, logits: Tensor, history: History | None = None) -> Tensor:
        """The distribution ``(B, V)`` that the next token is drawn from; one-hot at temperature 0."""
        logits = self.adjust(logits, history)
        if self.greedy:
            return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
        return logits.softmax(-1)

    def choose(self, logits: Tensor, history: History | None = None, generator: Generators | None = None) -> Tensor:
        """The next tokens ``(B,)`` for logits ``(B, V)``.

        Raises:
            ValueError: sampling without a generator, or logits that leave no distribution.
        """
        if self.greedy:
            return self.adjust(logits, history).argmax(-1)
        return draw(self.probabilities(logits, history), generator)


def uniform(rows: int, generator: Generators | None, device: torch.device | None = None) -> Tensor:
    """``(rows,)`` numbers in [0, 1), float64: from one generator, or one from each of ``rows`` generators.

    With a generator per row, a sequence's draws do not depend on what else is in its batch.

    Raises:
        ValueError: no generator (results must be repeatable), or the wrong number of them.
    """
    if generator is None:
        raise ValueError("sampling needs a torch.Generator: the same seed gives the same tokens")
    if isinstance(generator, torch.Generator):
        return torch.rand(rows, generator=generator, dtype=torch.float64, device=generator.device).to(device)
    if len(generator) != rows:
        raise ValueError(f"{rows} rows need as many generators, found {len(generator)}")
    draws = [torch.rand((), generator=g, dtype=torch.float64, device=g.device) for g in generator]
    return torch.stack(draws).to(device)


def draw(probabilities: Tensor, generator: Generators | None) -> Tensor:
    """One index per row ``(B,)`` of ``(B, V)`` weights, which need not sum to one, by inverting the running sum.

    An index of weight zero is never drawn.

    Raises:
        ValueError: a row that is zero, negative or not finite; no generator.
    """
    running = probabilities.double().cumsum(-1)
    total = running[:, -1]
    if not (torch.isfinite(total) & (total > 0)).all() or (probabilities < 0).any():
        raise ValueError("cannot draw: a row of probabilities is zero, negative or not finite")
    target = uniform(len(running), generator, running.device) * total
    # The first index whose running sum exceeds the target; rounding up to the total itself must not pass the end.
    index = torch.searchsorted(running, target.unsqueeze(1), right=True).squeeze(1)
    last = running.shape[1] - 1 - (probabilities > 0).flip(1).int().argmax(1)
    return torch.minimum(index, last)
