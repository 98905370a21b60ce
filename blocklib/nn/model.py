"""A complete decoder-only language model around a stack of blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import torch
from torch import Tensor, nn

from blocklib.nn.norm import LayerNorm


class DecoderLM(nn.Module):
    """Embedding, blocks, final norm, head.

    Args:
        vocab_size: vocabulary V.
        d_model: width d.
        blocks: the blocks, each ``(B, T, d)`` to the same shape, causal for a language model.
        norm: makes the final norm from a width; None leaves it out (post-norm stacks end in one).
        positions: rows of a learned position table; 0 for blocks that know positions themselves.
        tied: whether the head is the embedding table.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        blocks: list[nn.Module],
        norm: Callable[[int], nn.Module] | None = LayerNorm,
        positions: int = 0,
        tied: bool = True,
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(positions, d_model) if positions else None
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = norm(d_model) if norm is not None else nn.Identity()
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids ``(B, T)`` to logits ``(B, T, V)``.

        Raises:
            ValueError: more positions than the position table has rows.
        """
        x = self.stream(ids)[-1]
        x = self.final_norm(x)
        return self.head(x)

    def stream(self, ids: Tensor) -> list[Tensor]:
        """The residual stream ``(B, T, d)`` before the first block and after each: ``len(blocks) + 1`` tensors.

        Raises:
            ValueError: as :meth:`forward`.
        """
        x = self.embed(ids)
        if self.position is not None:
            if ids.shape[1] > self.position.num_embeddings:
                raise ValueError(f"{ids.shape[1]} positions exceed the table's {self.position.num_embeddings}")
            x = x + self.position(torch.arange(ids.shape[1], device=ids.device))
        states = [x]
        for block in self.blocks:
            x = block(x)
            states.append(x)
        return states


def initialise(model: DecoderLM, std: float = 0.02, generator: torch.Generator | None = None) -> DecoderLM:
    """Normal weights of spread ``std``, biases zero; what writes to the stream is scaled by 1/√(2L).

    With L blocks there are 2L writes, so the sum of the writes starts with the spread of one. Norms keep gain one.
    Returns the model. Radford et al. 2019 (GPT-2).
    """
    writes = sqrt(2 * max(len(model.blocks), 1))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                last = name.endswith((".o.weight", ".down.weight"))
                weight.normal_(0.0, std / writes if last else std, generator=generator)
            elif name.endswith("bias"):
                weight.zero_()
    return model
