"""The block: two sublayers, two residual additions, two norms, in either order."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from blocklib.nn.norm import LayerNorm

Stages = dict[str, Tensor]


class Block(nn.Module):
    """What both kinds of block share: the parts, and the walk through them.

    ``skip`` scales the residual path: 1 is the usual block, 0 cuts the path, anything between weakens it.

    Args:
        d_model: width d.
        attention, ffn: the sublayers, ``(B, T, d)`` to the same shape.
        norm: makes a norm from a width.
        skip: factor on the residual path.
    """

    def __init__(
        self,
        d_model: int,
        attention: nn.Module,
        ffn: nn.Module,
        norm: Callable[[int], nn.Module] = LayerNorm,
        skip: float = 1.0,
    ):
        super().__init__()
        self.attention, self.ffn, self.skip = attention, ffn, skip
        self.norm_attention, self.norm_ffn = norm(d_model), norm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, T, d)`` to the same shape."""
        return list(self.stages(x).values())[-1]

    def stages(self, x: Tensor) -> Stages:
        """The six intermediate tensors by name, in the order they arise; the last is the output."""
        raise NotImplementedError


class PreNormBlock(Block):
    """``x = x + attention(norm(x))``, then ``x = x + ffn(norm(x))``: nothing stands on the residual path."""

    def stages(self, x: Tensor) -> Stages:
        """norm, attention, add, norm, ffn, add; each ``(B, T, d)``."""
        read = self.norm_attention(x)
        write = self.attention(read)
        middle = self.skip * x + write
        read_again = self.norm_ffn(middle)
        write_again = self.ffn(read_again)
        return {
            "norm_attention": read, "attention": write, "add_attention": middle,
            "norm_ffn": read_again, "ffn": write_again, "add_ffn": self.skip * middle + write_again,
        }  # fmt: skip


class PostNormBlock(Block):
    """``x = norm(x + attention(x))``, then ``x = norm(x + ffn(x))``: the norm takes the residual path along."""

    def stages(self, x: Tensor) -> Stages:
        """attention, add, norm, ffn, add, norm; each ``(B, T, d)``."""
        write = self.attention(x)
        total = self.skip * x + write
        middle = self.norm_attention(total)
        write_again = self.ffn(middle)
        total_again = self.skip * middle + write_again
        return {
            "attention": write, "add_attention": total, "norm_attention": middle,
            "ffn": write_again, "add_ffn": total_again, "norm_ffn": self.norm_ffn(total_again),
        }  # fmt: skip
