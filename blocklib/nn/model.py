"""A complete decoder-only language model around a stack of blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from blocklib.nn.norm import LayerNorm
from blocklib.nn.position import LearnedPositions, Positions, newest
from blocklib.nn.scores import soft_cap

if TYPE_CHECKING:
    from blocklib.nn.cache import KVCache


class DecoderLM(nn.Module):
    """Embedding, blocks, final norm, head.

    Args:
        vocab_size: vocabulary V.
        d_model: width d.
        blocks: the blocks, each ``(B, T, d)`` to the same shape, causal for a language model.
        norm: makes the final norm from a width; None leaves it out (post-norm stacks end in one).
        positions: rows of a learned position table, or a module from positions to vectors (sinusoids); 0 for blocks
            that know positions themselves.
        tied: whether the head is the embedding table.
        embed_scale: factor on the embeddings before the first block (√d in Vaswani et al. 2017 and Gemma).
        logit_cap: bound of the logits, by ``cap · tanh(logit / cap)``; None for none (Gemma 2 has 30).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        blocks: list[nn.Module],
        norm: Callable[[int], nn.Module] | None = LayerNorm,
        positions: int | nn.Module = 0,
        tied: bool = True,
        embed_scale: float = 1.0,
        logit_cap: float | None = None,
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.embed_scale, self.logit_cap = embed_scale, logit_cap
        if isinstance(positions, int):
            positions = LearnedPositions(positions, d_model) if positions else None
        self.position = positions
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = norm(d_model) if norm is not None else nn.Identity()
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(
        self,
        ids: Tensor,
        *,
        cache: KVCache | None = None,
        attention_mask: Tensor | None = None,
        positions: Positions | None = None,
    ) -> Tensor:
        """Token ids ``(B, T)`` to logits ``(B, T, V)``.

        Args:
            cache: keys and values of earlier tokens, to which these are added; ids continue them.
            attention_mask: ``(B, S)`` over all S tokens so far, nonzero at tokens and zero at padding on the left.
                Positions count from a sequence's first token, so its logits are those without padding.
            positions: of the ids, a range or ``(T,)`` or ``(B, T)``; default as above.

        Raises:
            ValueError: more positions than the position table has rows, or a mask of another shape.
        """
        x = self.stream(ids, cache=cache, attention_mask=attention_mask, positions=positions)[-1]
        logits = self.head(self.final_norm(x))
        return logits if self.logit_cap is None else soft_cap(logits, self.logit_cap)

    def stream(
        self,
        ids: Tensor,
        *,
        cache: KVCache | None = None,
        attention_mask: Tensor | None = None,
        positions: Positions | None = None,
    ) -> list[Tensor]:
        """The residual stream ``(B, T, d)`` before the first block and after each: ``len(blocks) + 1`` tensors.

        Arguments and errors as for :meth:`forward`.
        """
        past = 0 if cache is None else cache.length
        mask, counted = _padding(attention_mask, ids, past)
        if positions is None:
            positions = counted
        x = self.embed(ids)
        if self.embed_scale != 1:
            x = x * torch.tensor(self.embed_scale, dtype=x.dtype, device=x.device)
        if self.position is not None:
            x = x + self.position(positions).to(x.dtype)
        # A block that only knows x is as good as any, as long as nothing else has to be said to it.
        context = (
            {} if cache is None and mask is None and positions is counted else {"positions": positions, "mask": mask}
        )
        states = [x]
        for layer, block in enumerate(self.blocks):
            if cache is not None:
                context |= {"cache": cache, "layer": layer}
            x = block(x, **context)
            states.append(x)
        return states


def _padding(attention_mask: Tensor | None, ids: Tensor, past: int) -> tuple[Tensor | None, Positions]:
    """The mask over keys ``(B, 1, 1, S)``, None where nothing is padded, and the positions of the ids."""
    batch, tokens = ids.shape
    if attention_mask is None:
        return None, range(past, past + tokens)
    if attention_mask.shape != (batch, past + tokens):
        raise ValueError(
            f"attention_mask must cover all tokens so far, {(batch, past + tokens)}: found {tuple(attention_mask.shape)}"
        )
    real = attention_mask != 0
    if bool(real.all()):
        return None, range(past, past + tokens)
    counted = (real.cumsum(-1) - 1).clamp(min=0)
    return real[:, None, None, :], newest(counted, tokens)


def initialise(model: DecoderLM, std: float = 0.02, generator: torch.Generator | None = None) -> DecoderLM:
    """Normal weights of spread ``std``, biases zero; what writes to the stream is scaled by 1/√(2L).

    With L blocks there are 2L writes, so the sum of the writes starts with the spread of one. Norms keep gain one.
    Returns the model. Radford et al. 2019 (GPT-2).
    """
    writes = sqrt(2 * max(len(model.blocks), 1))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
            elif weight.dim() > 1:
                last = name.endswith((".o.weight", ".down.weight", ".down"))
                weight.normal_(0.0, std / writes if last else std, generator=generator)
    return model
