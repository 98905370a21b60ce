"""How a model knows positions: vectors added to the stream, queries and keys turned, or scores shifted.

Positions are a ``range`` (the same for all sequences) or an integer tensor ``(T,)`` or ``(B, T)``.
"""

from __future__ import annotations

from math import log2

import torch
from torch import Tensor, nn

Positions = range | Tensor


def as_tensor(positions: Positions, device: torch.device | None = None) -> Tensor:
    """Positions as an integer tensor ``(T,)`` or ``(B, T)``."""
    if isinstance(positions, range):
        return torch.arange(positions.start, positions.stop, positions.step, device=device)
    return positions


def newest(positions: Positions, tokens: int) -> Positions:
    """The last ``tokens`` of the positions."""
    return positions[-tokens:] if isinstance(positions, range) else positions[..., -tokens:]


class LearnedPositions(nn.Embedding):
    """A vector for each of a fixed number of positions, added to the stream. Gehring et al. 2017; GPT-2.

    Args:
        rows: positions there are.
        d_model: width d.
    """

    def __init__(self, rows: int, d_model: int):
        super().__init__(rows, d_model)

    def forward(self, positions: Positions) -> Tensor:
        """Positions to ``(…, d)``.

        Raises:
            ValueError: a position beyond the table.
        """
        where = as_tensor(positions, self.weight.device)
        last = positions[-1] if isinstance(positions, range) and positions else where.max() if where.numel() else -1
        if last >= self.num_embeddings:
            raise ValueError(f"{int(last) + 1} positions exceed the table's {self.num_embeddings}")
        return super().forward(where)


class SinusoidalPositions(nn.Module):
    """Sines and cosines of geometrically spaced wavelengths, added to the stream; nothing is learned.

    Entry 2i is ``sin(p · base^(−2i/d))`` and entry 2i + 1 the cosine. Vaswani et al. 2017, §3.5.

    Args:
        d_model: width d.
        base: longest wavelength over the shortest.

    Raises:
        ValueError: d is odd.
    """

    def __init__(self, d_model: int, base: float = 10_000.0):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"sines and cosines come in pairs: d_model must be even, found {d_model}")
        self.d_model, self.base = d_model, base

    def forward(self, positions: Positions, dtype: torch.dtype = torch.float32) -> Tensor:
        """Positions to ``(…, d)``."""
        where = as_tensor(positions).to(torch.float64)
        pairs = torch.arange(0, self.d_model, 2, dtype=torch.float64, device=where.device)
        angles = where[..., None] * self.base ** (-pairs / self.d_model)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).to(dtype)


class RoPE(nn.Module):
    """Turn each pair of a head's entries by an angle proportional to the position. Su et al. 2021.

    The product of a turned query and a turned key depends on their distance only. Pairs lie half a head apart:
    entry i goes with entry i + D/2, as Llama's checkpoints have it. Where there are fewer frequencies than pairs,
    only the first ``2 · len(frequencies)`` entries turn (partial rotary).

    Args:
        frequencies: ``(D/2,)`` or fewer, radians per position of every pair, of :mod:`blocklib.nn.frequencies`.
        magnitude: factor on cosines and sines (YaRN); 1 leaves lengths alone.
    """

    def __init__(self, frequencies: Tensor, magnitude: float = 1.0):
        super().__init__()
        # Numbers, not a buffer: `model.half()` would round a buffer, and the angles with it.
        self.frequencies, self.magnitude = tuple(frequencies.tolist()), magnitude
        # Cosines and sines of positions 0, 1, 2 …, for whoever asks for a range; and what they were made for.
        self._table: tuple[Tensor, Tensor] | None = None
        self._made_for: tuple | None = None
        # The rows of the table that were asked for last.
        self._asked: range | None = None
        self._rows: tuple[Tensor, ...] = ()

    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        """``x (B, H, T, D)`` at T positions to the same shape.

        Raises:
            ValueError: a head is narrower than the frequencies need, or there are not T positions.
        """
        width, (tokens, entries) = 2 * len(self.frequencies), x.shape[-2:]
        if entries < width:
            raise ValueError(f"{len(self.frequencies)} frequencies turn {width} entries, a head has {entries}")
        cos, sin = self.turns(positions, x)
        if cos.shape[-2] != tokens:
            raise ValueError(f"{cos.shape[-2]} positions given for {tokens} tokens")
        turning = x if entries == width else x[..., :width]
        turned = torch.addcmul(turning * cos, self.partner(turning), sin)
        return turned if entries == width else torch.cat([turned, x[..., width:]], -1)

    def pair(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Queries ``(B, H, T, D)`` and keys ``(B, Hkv, T, D)`` of the same positions, turned in one go.

        Raises: as :meth:`forward`.
        """
        turned, heads = self(torch.cat([q, k], 1), positions), q.shape[1]
        return turned.narrow(1, 0, heads), turned.narrow(1, heads, k.shape[1])

    def turns(self, positions: Positions, x: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine of every entry, ``(T, D)`` or ``(B, 1, T, D)`` in the dtype of ``x``.

        The sine is negative at the first entry of each pair: ``x · cos + partner(x) · sin`` turns it.
        """
        if not isinstance(positions, range) or positions.step != 1 or positions.start < 0:
            return self._computed(positions, x)
        made_for = (x.dtype, x.device, torch.is_inference_mode_enabled())
        if self._made_for != made_for or self._table[0].shape[0] < positions.stop:
            # Twice what is asked for: a table that grew by one a step would be made anew at each.
            self._table, self._made_for = self._computed(range(max(2 * positions.stop, 64)), x), made_for
            self._asked = None
        if positions is not self._asked:  # every layer of a pass asks with the same range
            self._rows = tuple(table[positions.start : positions.stop] for table in self._table)
            self._asked = positions
        return self._rows

    def _computed(self, positions: Positions, x: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        angles = as_tensor(positions, x.device).to(wide)[..., None] * torch.tensor(
            self.frequencies, dtype=wide, device=x.device
        )
        if angles.dim() == 3:
            angles = angles[:, None]  # one axis for the heads
        cos, sin = (angles.cos() * self.magnitude).to(x.dtype), (angles.sin() * self.magnitude).to(x.dtype)
        return self.join(cos, cos), self.join(-sin, sin)

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """The first and the second entries of all pairs, ``(…, D/2)`` each, in their places: ``(…, D)``."""
        return torch.cat([first, second], -1)

    def partner(self, x: Tensor) -> Tensor:
        """Every entry's place taken by the other one of its pair, ``(…, D)`` to the same shape."""
        return x.roll(x.shape[-1] // 2, -1)


class InterleavedRoPE(RoPE):
    """RoPE whose pairs are neighbours: entry 2i goes with entry 2i + 1, as the paper writes it and GPT-J has it.

    ``frequencies`` is ``(D/2,)`` or fewer, as there.
    """

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """As :meth:`RoPE.join`: ``(…, D/2)`` twice to ``(…, D)``."""
        return torch.stack([first, second], -1).flatten(-2)

    def partner(self, x: Tensor) -> Tensor:
        """As :meth:`RoPE.partner`: ``(…, D)`` to the same shape."""
        return x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


def half_split_order(head_dim: int) -> Tensor:
    """Where each entry of a half-split head stands in the interleaved one: ``(D,)`` = 0, 2, 4, …, 1, 3, 5, ….

    ``RoPE(x[…, order])`` equals ``InterleavedRoPE(x)[…, order]``. Rows of the query and key projections permuted so,
    head by head, turn a checkpoint of one layout into the other.
    """
    return torch.cat([torch.arange(0, head_dim, 2), torch.arange(1, head_dim, 2)])


def _distances(queries: int, keys: int, device: torch.device) -> Tensor:
    """Key's position minus query's, ``(T, S)``; the last query stands at the last key."""
    return torch.arange(keys, device=device) - torch.arange(keys - queries, keys, device=device)[:, None]


class ALiBi(nn.Module):
    """Scores fall in proportion to the distance, each head with its own slope; nothing is learned. Press et al. 2022.

    Slopes of 2^k heads are ``2^(−8/H), 2^(−16/H), …``; other numbers of heads take every second slope of twice the
    next lower power for the rest, as the authors' code does.

    Args:
        n_heads: heads H.
    """

    def __init__(self, n_heads: int):
        super().__init__()
        power = 2 ** int(log2(n_heads))
        slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
        slopes += [2 ** (-4 * (2 * i + 1) / power) for i in range(n_heads - power)]
        self.slopes = tuple(slopes)

    def forward(self, queries: int, keys: int, like: Tensor) -> Tensor:
        """What is added to the scores: ``(H, T, S)``, zero at distance zero; dtype and device of ``like``."""
        slopes = torch.tensor(self.slopes, dtype=like.dtype, device=like.device)
        return slopes[:, None, None] * -_distances(queries, keys, like.device).abs().to(like.dtype)


class T5Bias(nn.Module):
    """A learned number per head and bucket of distances, added to the scores. Raffel et al. 2020, §2.1.

    Half of a direction's buckets hold one distance each, the other half widen geometrically up to ``max_distance``;
    the last one holds everything beyond.

    Args:
        n_heads: heads H.
        buckets: rows of the table; an encoder spends half of them on keys after the query.
        max_distance: distance from which on the last bucket is used.
        bidirectional: whether keys after the query have buckets of their own (an encoder).
    """

    def __init__(self, n_heads: int, buckets: int = 32, max_distance: int = 128, bidirectional: bool = False):
        super().__init__()
        self.buckets, self.max_distance, self.bidirectional = buckets, max_distance, bidirectional
        self.table = nn.Embedding(buckets, n_heads)

    def bucket(self, distances: Tensor) -> Tensor:
        """Bucket of every distance (key's position minus query's), same shape."""
        if self.bidirectional:
            buckets = self.buckets // 2
            offset, back = (distances > 0) * buckets, distances.abs()
        else:
            buckets = self.buckets
            offset, back = torch.zeros_like(distances), (-distances).clamp(min=0)
        single = buckets // 2
        growth = torch.log(back.clamp(min=1).float() / single) / torch.log(torch.tensor(self.max_distance / single))
        wide = (single + (growth * (buckets - single)).long()).clamp(max=buckets - 1)
        return offset + torch.where(back < single, back, wide)

    def forward(self, queries: int, keys: int, like: Tensor) -> Tensor:
        """What is added to the scores: ``(H, T, S)``; the last query stands at the last key."""
        return self.table(self.bucket(_distances(queries, keys, like.device))).permute(2, 0, 1).to(like.dtype)
