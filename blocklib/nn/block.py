"""The block: two sublayers, two residual additions, and where the norms stand."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from blocklib.nn.norm import LayerNorm

Stages = dict[str, Tensor]
Norm = Callable[[int], nn.Module]


class Block(nn.Module):
    """What all kinds of block share: the parts, and the walk through them.

    ``skip`` scales the residual path: 1 is the usual block, 0 cuts the path (no residual), anything between weakens
    it. ``write`` scales what the sublayers add (scaled residual).

    Args:
        d_model: width d.
        attention, ffn: the sublayers, ``(B, T, d)`` to the same shape.
        norm: makes a norm from a width.
        skip: factor on the residual path.
        write: factor on the sublayers' outputs.
    """

    def __init__(
        self,
        d_model: int,
        attention: nn.Module,
        ffn: nn.Module,
        norm: Norm = LayerNorm,
        skip: float = 1.0,
        write: float = 1.0,
    ):
        super().__init__()
        self.attention, self.ffn, self.skip, self.write = attention, ffn, skip, write
        self.norm_attention, self.norm_ffn = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **context) -> Tensor:
        """``(B, T, d)`` to the same shape; ``context`` (cache, layer, positions, mask) goes to attention."""
        return self.stages(x, **context).popitem()[1]

    def stages(self, x: Tensor, **context) -> Stages:
        """The intermediate tensors by name, in the order they arise; the last is the output; each ``(B, T, d)``."""
        raise NotImplementedError

    def add(self, x: Tensor, written: Tensor) -> Tensor:
        """The residual addition, ``skip · x + write · written``; all ``(B, T, d)``."""
        kept = x if self.skip == 1 else self.skip * x
        return kept + (written if self.write == 1 else self.write * written)


class PreNormBlock(Block):
    """``x = x + attention(norm(x))``, then ``x = x + ffn(norm(x))``: nothing stands on the residual path."""

    def stages(self, x: Tensor, **context) -> Stages:
        """norm, attention, add, norm, ffn, add; each ``(B, T, d)``."""
        read = self.norm_attention(x)
        write = self.attention(read, **context)
        middle = self.add(x, write)
        read_again = self.norm_ffn(middle)
        write_again = self.ffn(read_again)
        return {
            "norm_attention": read, "attention": write, "add_attention": middle,
            "norm_ffn": read_again, "ffn": write_again, "add_ffn": self.add(middle, write_again),
        }  # fmt: skip


class PostNormBlock(Block):
    """``x = norm(x + attention(x))``, then ``x = norm(x + ffn(x))``: the norm takes the residual path along."""

    def stages(self, x: Tensor, **context) -> Stages:
        """attention, add, norm, ffn, add, norm; each ``(B, T, d)``."""
        write = self.attention(x, **context)
        total = self.add(x, write)
        middle = self.norm_attention(total)
        write_again = self.ffn(middle)
        total_again = self.add(middle, write_again)
        return {
            "attention": write, "add_attention": total, "norm_attention": middle,
            "ffn": write_again, "add_ffn": total_again, "norm_ffn": self.norm_ffn(total_again),
        }  # fmt: skip


class OutputNormBlock(Block):
    """``x = x + norm(attention(x))``, then ``x = x + norm(ffn(x))``: what is written is normed, the path stays free.

    OLMo Team 2024 (OLMo 2), §3.2; not post-norm, whose norm takes the path along.
    """

    def stages(self, x: Tensor, **context) -> Stages:
        """attention, norm, add, ffn, norm, add; each ``(B, T, d)``."""
        write = self.attention(x, **context)
        normed = self.norm_attention(write)
        middle = self.add(x, normed)
        write_again = self.ffn(middle)
        normed_again = self.norm_ffn(write_again)
        return {
            "attention": write, "norm_attention": normed, "add_attention": middle,
            "ffn": write_again, "norm_ffn": normed_again, "add_ffn": self.add(middle, normed_again),
        }  # fmt: skip


class SandwichBlock(Block):
    """A norm before and a norm after each sublayer, both off the path. Ding et al. 2021; as in Gemma 2.

    Arguments as for :class:`Block`; the two norms behind the sublayers are ``norm_attention_out``, ``norm_ffn_out``.
    """

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: Norm = LayerNorm, **options):
        super().__init__(d_model, attention, ffn, norm, **options)
        self.norm_attention_out, self.norm_ffn_out = norm(d_model), norm(d_model)

    def stages(self, x: Tensor, **context) -> Stages:
        """norm, attention, norm, add, norm, ffn, norm, add; each ``(B, T, d)``."""
        read = self.norm_attention(x)
        write = self.attention(read, **context)
        normed = self.norm_attention_out(write)
        middle = self.add(x, normed)
        read_again = self.norm_ffn(middle)
        write_again = self.ffn(read_again)
        normed_again = self.norm_ffn_out(write_again)
        return {
            "norm_attention": read, "attention": write, "norm_attention_out": normed, "add_attention": middle,
            "norm_ffn": read_again, "ffn": write_again, "norm_ffn_out": normed_again,
            "add_ffn": self.add(middle, normed_again),
        }  # fmt: skip


class ParallelBlock(Block):
    """``x = x + attention(norm(x)) + ffn(norm(x))``: both sublayers read the same stream, in one step.

    As in GPT-NeoX with two norms (Black et al. 2022); with one, as in GPT-J and PaLM, both read the same vector.

    Args:
        shared_norm: whether the two norms are one; others as for :class:`Block`.
    """

    def __init__(
        self,
        d_model: int,
        attention: nn.Module,
        ffn: nn.Module,
        norm: Norm = LayerNorm,
        shared_norm: bool = False,
        **options,
    ):
        super().__init__(d_model, attention, ffn, norm, **options)
        if shared_norm:
            self.norm_ffn = self.norm_attention

    def stages(self, x: Tensor, **context) -> Stages:
        """norm, attention, norm, ffn, add; each ``(B, T, d)``."""
        read = self.norm_attention(x)
        write = self.attention(read, **context)
        read_again = read if self.norm_ffn is self.norm_attention else self.norm_ffn(x)
        write_again = self.ffn(read_again)
        return {
            "norm_attention": read, "attention": write,
            "norm_ffn": read_again, "ffn": write_again, "add": self.add(x, write + write_again),
        }  # fmt: skip
